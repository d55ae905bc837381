/**
 * Real controllers under a real manager on the embedded server: what they reconcile, what the
 * manager's endpoints show, and what is left when it ends. CAPSTAN_CYCLES is the number of starts
 * and ends at random points; it has been run with 1000.
 */
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { defineResource } from 'capstan/cache';
import { ignoreAlreadyExists } from 'capstan/client';
import { type ControllerBuilder, newControllerManagedBy } from 'capstan/controller';
import { type ControllerManager, type ManagerOptions, newManager } from 'capstan/manager';
import { ApiServer } from 'capstan/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parseText } from '../helpers/prometheus-text.ts';
import { Random, testSeed } from '../helpers/random.ts';
import { collectErrorValues } from '../helpers/reported-errors.ts';
import { grownSince, resources } from './active-resources.ts';

const reported = collectErrorValues();
const LOCAL = '127.0.0.1:0';

interface Thing {
  apiVersion?: string;
  kind?: string;
  metadata: { name: string; namespace: string };
  data?: Record<string, string>;
}

const ConfigMap = defineResource<Thing>()({
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
});
const Secret = defineResource<Thing>()({
  group: '',
  version: 'v1',
  kind: 'Secret',
  plural: 'secrets',
  namespaced: true,
});

async function cluster() {
  const server = await ApiServer.start();
  onTestFinished(() => server.stop());
  return server;
}

/** Keeps a Secret for each ConfigMap, with its name. */
function copies(manager: ControllerManager, name: string): ControllerBuilder<Thing> {
  const builder = newControllerManagedBy(manager)
    .for(ConfigMap)
    .named(name)
    .withOptions({ skipNameValidation: true });
  builder.complete(async (request, { signal }) => {
    const found = await manager.client.get(ConfigMap, request, { signal });
    const { namespace, name: of } = found.metadata;
    await manager.client
      .create(Secret, { metadata: { namespace, name: of } }, { signal })
      .catch(ignoreAlreadyExists);
  });
  return builder;
}

async function get(url: string): Promise<string> {
  const response = await fetch(url, { headers: { connection: 'close' } });
  return response.text();
}

function run(options: ManagerOptions, name: string) {
  const manager = newManager(options);
  copies(manager, name);
  const stopper = new AbortController();
  const done = manager.start({ signal: stopper.signal });
  return { manager, done, stop: () => stopper.abort() };
}

async function until(ready: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await ready())) await new Promise(setImmediate);
}

describe('controllers of a manager', () => {
  test('reconcile, and are seen in metrics, traces and the live page by their names', async () => {
    const server = await cluster();
    const exporter = new InMemorySpanExporter();
    const provider = new BasicTracerProvider({
      spanProcessors: [new SimpleSpanProcessor(exporter)],
    });
    const transport = server.transport();
    const { manager, done, stop } = run(
      {
        transport,
        tracer: provider.getTracer('tests'),
        metrics: { bindAddress: LOCAL },
        healthProbe: { bindAddress: LOCAL },
        leaderElection: { id: 'copies', namespace: 'default', releaseOnCancel: true },
      },
      'copies',
    );
    copies(manager, 'more copies');
    await manager.client.create(ConfigMap, { metadata: { namespace: 'default', name: 'a' } });
    await manager.elected();
    const secrets = manager.cache.informerFor(Secret);
    await until(() => secrets.getIndexer().getByKey('default/a') !== undefined);
    const spans = () =>
      // of two controllers
      exporter.getFinishedSpans().filter(({ name }) => name === 'reconcile copies');
    await until(() => spans().length > 0);

    const families = parseText(await get(`${manager.url('metrics')}/metrics`));
    const value = (name: string, labels: Record<string, string>): number | undefined =>
      families
        .get(name)
        ?.samples.find((sample) =>
          Object.entries(labels).every(([label, text]) => sample.labels[label] === text),
        )?.value;
    expect(
      value('controller_runtime_reconcile_total', { controller: 'copies', result: 'success' }),
    ).toBeGreaterThan(0);
    expect(
      value('controller_runtime_reconcile_total', { controller: 'more copies', result: 'success' }),
    ).toBeDefined();
    expect(value('controller_runtime_max_concurrent_reconciles', { controller: 'copies' })).toBe(1);
    expect(value('workqueue_adds_total', { controller: 'copies', name: 'copies' })).toBeGreaterThan(
      0,
    );
    expect(value('leader_election_master_status', { name: 'copies' })).toBe(1);
    const { host } = new URL(server.url);
    expect(
      value('rest_client_requests_total', { code: '201', host, method: 'POST' }),
    ).toBeGreaterThan(0);
    expect(
      families
        .get('capstan_informer_bytes')
        ?.samples.map(({ labels }) => labels.resource)
        .sort(),
    ).toEqual(['configmaps', 'secrets']);
    for (const name of [
      'controller_runtime_reconcile_time_seconds',
      'rest_client_request_duration_seconds',
    ])
      expect(families.get(name)?.type).toBe('histogram');

    expect(await get(`${manager.url('healthProbe')}/readyz?verbose`)).toBe(
      '[+]informer-sync ok\n[+]ping ok\nhealthz check passed\n',
    );
    const state = JSON.parse(
      await get(`${manager.url('debugPage')}/debug/capstan/state?filter=default/a`),
    );
    expect(state).toMatchObject({
      controllers: [{ name: 'copies', state: 'running' }, { name: 'more copies' }],
      leader: { holdsLease: true },
    });
    const [source] = state.controllers[0].sources;
    expect(state.informers.map(({ key }: { key: string }) => key)).toContain(source.informer);
    expect(spans()[0]).toMatchObject({ attributes: { controller: 'copies' } });

    stop();
    await done;
    expect(manager.report().controllers[0]?.state).toBe('ended');
    await transport.close?.();
    expect(reported).toEqual([]);
  });

  test('are ended whenever the manager stops, and leave nothing', async () => {
    const seed = testSeed();
    console.log(`CAPSTAN_SEED=${seed}`);
    const random = new Random(seed);
    const server = await cluster();
    for (const name of ['a', 'b', 'c']) {
      const body = JSON.stringify({ metadata: { name } });
      const { body: answer } = await server
        .transport()
        .request({ method: 'POST', path: '/api/v1/namespaces/default/configmaps', body });
      for await (const _ of answer);
    }
    const before = await resources();
    const cycles = Number(process.env.CAPSTAN_CYCLES ?? 60);
    const unhandled: unknown[] = [];
    const hear = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', hear);
    onTestFinished(() => void process.off('unhandledRejection', hear));
    for (let round = 0; round < cycles; round++) {
      const transport = server.transport();
      const { manager, done, stop } = run(
        {
          transport,
          ...(random.chance(0.5) ? { metrics: { bindAddress: LOCAL } } : {}),
          ...(random.chance(0.5)
            ? {
                leaderElection: {
                  id: `round-${round}`,
                  namespace: 'default',
                  releaseOnCancel: true,
                },
              }
            : {}),
        },
        `round-${round}`,
      );
      if (random.chance(0.3)) manager.cache.informerFor(Secret);
      for (let turn = random.int(60); turn > 0; turn--) await new Promise(setImmediate);
      stop();
      await done;
      await transport.close?.();
    }
    expect(await grownSince(before)).toEqual([]);
    expect(unhandled).toEqual([]);
    expect(reported).toEqual([]);
  });
});
