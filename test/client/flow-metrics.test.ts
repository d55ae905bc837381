/** What the headers of API Priority and Fairness become in the metrics of requests. */
import type { Transport, TransportRequest } from 'capstan/cache';
import { instrumentTransport, RestClientMetrics } from 'capstan/client';
import { FakeClock } from 'capstan/workqueue';
import { expect, test } from 'vitest';
import { parseText } from '../helpers/prometheus-text.ts';
import { collectErrors } from '../helpers/reported-errors.ts';

const errors = collectErrors();

interface Scripted {
  status?: number;
  schema?: string | null;
  level?: string | null;
  retryAfter?: string;
}

/** Answers requests of paths beside those of flowcontrol as `next` says. */
function server(flowcontrol: (request: TransportRequest) => { status: number; body: object }) {
  const asked: string[] = [];
  const next: Scripted = {};
  const transport: Transport = {
    async request(request) {
      const isList = request.path.startsWith('/apis/flowcontrol');
      if (isList) asked.push(request.path);
      const { status = 200, body } = isList ? flowcontrol(request) : { ...next, body: {} };
      const headers: Record<string, string | null | undefined> = isList
        ? {}
        : {
            'x-kubernetes-pf-flowschema-uid': next.schema,
            'x-kubernetes-pf-prioritylevel-uid': next.level,
            'retry-after': next.retryAfter,
          };
      return {
        status,
        headers: { get: (name) => headers[name.toLowerCase()] ?? null },
        body: (async function* () {
          yield new TextEncoder().encode(JSON.stringify(body));
        })(),
      };
    },
    host: () => 'api:6443',
  };
  return { transport, next, asked };
}

const noLists = () => ({ status: 500, body: {} });
const metadata = (kind: string, names: Record<string, string>) => ({
  status: 200,
  body: {
    kind: `${kind}List`,
    apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
    metadata: { resourceVersion: '1' },
    items: Object.entries(names).map(([name, uid]) => ({ metadata: { name, uid } })),
  },
});

function rig(flowcontrol: Parameters<typeof server>[0], flowNames: boolean) {
  const clock = new FakeClock();
  const metrics = new RestClientMetrics();
  const { transport, next, asked } = server(flowcontrol);
  const measured = instrumentTransport(transport, metrics, { clock, flowNames });
  const ask = async (answer: Scripted): Promise<void> => {
    for (const name of Object.keys(next)) delete next[name as keyof Scripted];
    Object.assign(next, answer);
    await measured.request({ method: 'GET', path: '/api/v1/pods' });
  };
  /** The samples of a metric, as `schema level value`. */
  const samples = (name: string) =>
    (parseText(metrics.text()).get(`capstan_client_flow_${name}_total`)?.samples ?? []).map(
      ({ labels, value }) => `${labels.flow_schema} ${labels.priority_level} ${value}`,
    );
  return { clock, metrics, ask, samples, asked };
}

test('answers, rejections and waits are counted by schema and level', async () => {
  const { ask, samples, asked } = rig(noLists, false);
  const [a, b] = [
    { schema: 's1', level: 'l1' },
    { schema: 's2', level: 'l1' },
  ];
  await ask(a);
  await ask({ ...a, status: 404 });
  await ask({ ...a, status: 429, retryAfter: '2' });
  await ask({ ...b, status: 429, retryAfter: '1' });
  await ask({ ...b, status: 429 });
  await ask({ ...b, status: 429, retryAfter: 'Wed, 21 Oct 2026 07:28:00 GMT' });
  await ask({ ...b, status: 429, retryAfter: '-5' });
  await ask({ ...b, status: 500, retryAfter: '7' });
  expect(samples('requests')).toEqual(['s1 l1 3', 's2 l1 5']);
  expect(samples('rejected')).toEqual(['s1 l1 1', 's2 l1 4']);
  expect(samples('retry_after_seconds')).toEqual(['s1 l1 2', 's2 l1 1']);
  expect(asked).toEqual([]);
});

test('an answer without the headers is in none of them', async () => {
  const { ask, metrics } = rig(noLists, true);
  await ask({ status: 429, retryAfter: '1' });
  await ask({ schema: 's', level: null });
  expect(metrics.text()).not.toContain('capstan_client_flow');
});

test('after a hundred pairs the rest are counted together', async () => {
  const { ask, samples } = rig(noLists, false);
  for (let i = 0; i < 150; i++) await ask({ schema: `s${i}`, level: 'l' });
  await ask({ schema: 's7', level: 'l' });
  const counted = samples('requests');
  expect(counted).toHaveLength(101);
  expect(counted).toContain('other other 50');
  expect(counted).toContain('s7 l 2');
});

test('UIDs become names, which are listed once; one made again adds to its name', async () => {
  const schemas: Record<string, string> = { 'service-accounts': 's1', mine: 's2' };
  const { ask, samples, asked, clock } = rig(
    ({ path }) =>
      path.endsWith('flowschemas')
        ? metadata('FlowSchema', schemas)
        : metadata('PriorityLevelConfiguration', { 'workload-low': 'l1' }),
    true,
  );
  await ask({ schema: 's1', level: 'l1' });
  await expect.poll(() => samples('requests')).toEqual(['service-accounts workload-low 1']);
  await ask({ schema: 's2', level: 'l1' });
  expect(asked).toHaveLength(2);
  schemas.mine = 's3';
  await ask({ schema: 's3', level: 'l1' });
  expect(samples('requests')).toContain('s3 workload-low 1');
  expect(asked).toHaveLength(2); // a minute has not gone by
  clock.step(60_000);
  await ask({ schema: 's3', level: 'l1' });
  await expect
    .poll(() => samples('requests'))
    .toEqual(['mine workload-low 3', 'service-accounts workload-low 1']);
  expect(asked).toHaveLength(4);
});

test('where names may not be listed, UIDs remain; it is told and asked once', async () => {
  const forbidden = { status: 403, body: { kind: 'Status', code: 403, reason: 'Forbidden' } };
  const { ask, samples, asked, clock } = rig(() => forbidden, true);
  await ask({ schema: 's1', level: 'l1' });
  await expect.poll(() => errors.length).toBe(1);
  expect(errors[0]?.what).toBe('names of FlowSchemas and priority levels: metrics show their UIDs');
  clock.step(3_600_000);
  await ask({ schema: 's1', level: 'l1' });
  expect(asked).toHaveLength(1);
  expect(samples('requests')).toEqual(['s1 l1 2']);
});

test('names that cannot be listed now are listed later', async () => {
  let status = 500;
  const { ask, samples, asked, clock } = rig(
    ({ path }) =>
      status === 500
        ? { status, body: {} }
        : path.endsWith('flowschemas')
          ? metadata('FlowSchema', { web: 's1' })
          : metadata('PriorityLevelConfiguration', { low: 'l1' }),
    true,
  );
  await ask({ schema: 's1', level: 'l1' });
  await expect.poll(() => asked.length).toBeGreaterThan(0);
  status = 200;
  clock.step(61_000);
  await ask({ schema: 's1', level: 'l1' });
  await expect.poll(() => samples('requests')).toEqual(['web low 2']);
});
