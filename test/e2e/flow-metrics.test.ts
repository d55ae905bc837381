/** What a real API server's priority and fairness tells, in the metrics of a client. */
import { instrumentTransport, newClient, RestClientMetrics } from 'capstan/client';
import { ConfigMap, FlowSchema, PriorityLevelConfiguration } from 'capstan/kinds';
import { type Envtest, startEnvtest } from 'capstan/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseText } from '../helpers/prometheus-text.ts';

let server: Envtest;

beforeAll(async () => {
  server = await startEnvtest({ authorization: 'AlwaysAllow' });
});

afterAll(async () => {
  await server?.stop();
});

/** The samples of all three metrics, as `metric schema level value`. */
function samplesOf(metrics: RestClientMetrics): string[] {
  return [...parseText(metrics.text())]
    .filter(([name]) => name.startsWith('capstan_client_flow'))
    .flatMap(([name, { samples }]) =>
      samples.map(
        ({ labels, value }) =>
          `${name.slice('capstan_client_flow_'.length)} ` +
          `${labels.flow_schema} ${labels.priority_level} ${value}`,
      ),
    );
}

test('requests are counted by the names of their schema and level, rejected ones too', async () => {
  await using admin = server.transport();
  const client = newClient({ transport: admin, fieldOwner: 'test' });
  // A level without seats, which lends and borrows none: it serves one request at a time.
  await client.create(PriorityLevelConfiguration, {
    metadata: { name: 'nothing' },
    spec: {
      type: 'Limited',
      limited: {
        nominalConcurrencyShares: 0,
        lendablePercent: 0,
        borrowingLimitPercent: 0,
        limitResponse: { type: 'Reject' },
      },
    },
  });
  await client.create(FlowSchema, {
    metadata: { name: 'eve' },
    spec: {
      matchingPrecedence: 100,
      priorityLevelConfiguration: { name: 'nothing' },
      rules: [
        {
          subjects: [{ kind: 'User', user: { name: 'eve' } }],
          resourceRules: [
            {
              verbs: ['*'],
              apiGroups: ['*'],
              resources: ['*'],
              clusterScope: true,
              namespaces: ['*'],
            },
          ],
        },
      ],
    },
  });
  // By UIDs: a list of the names may be rejected, too.
  const schema = await client.get(FlowSchema, { name: 'eve' });
  const level = await client.get(PriorityLevelConfiguration, { name: 'nothing' });
  const uids = `${schema?.metadata.uid} ${level?.metadata.uid}`;
  const rejected = new RestClientMetrics();
  await using asEve = instrumentTransport(server.transport({ as: 'eve' }), rejected);
  const path = '/api/v1/namespaces/default/configmaps';
  const ask = async () => {
    const { status, body } = await asEve.request({ method: 'GET', path });
    for await (const _ of body); // to its end
    return status;
  };
  const askMany = () => Promise.all(Array.from({ length: 40 }, ask));
  await expect.poll(askMany, { timeout: 30_000 }).toContain(429);
  const counted = () => samplesOf(rejected);
  const figure = (metric: string): number => {
    const line = counted().find((one) => one.startsWith(`${metric}_total ${uids} `));
    return Number(line?.split(' ').at(-1) ?? 0);
  };
  expect(figure('rejected')).toBeGreaterThan(0);
  expect(figure('retry_after_seconds')).toBeGreaterThan(0);
  expect(figure('requests')).toBeGreaterThan(figure('rejected'));
  console.log(counted().join('\n'));

  const metrics = new RestClientMetrics();
  await using measured = instrumentTransport(
    server.transport({ as: 'system:serviceaccount:default:web' }),
    metrics,
    {
      flowNames: true,
    },
  );
  const user = newClient({ transport: measured });
  await user.list(ConfigMap, { namespace: 'default' });
  await expect
    .poll(() => samplesOf(metrics))
    .toContain('requests_total service-accounts workload-low 1');
});
