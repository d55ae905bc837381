/** The parts of the demo that decide whether a run is verified: they must be able to fail. */
import { type FromServer, type Transport, TransportError } from 'capstan/cache';
import { setControllerReference } from 'capstan/client';
import { silentLogger } from 'capstan/controller';
import { ApiServer } from 'capstan/testing';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { Api, pathOf } from '../../examples/demo/api.ts';
import { CuttingTransport } from '../../examples/demo/cutting-transport.ts';
import { Histogram } from '../../examples/demo/histogram.ts';
import { InjectedFailure, Measurements } from '../../examples/demo/measurements.ts';
import { parseOptions, UsageError } from '../../examples/demo/options.ts';
import { Random } from '../../examples/demo/random.ts';
import { verify } from '../../examples/demo/verifier.ts';
import { WatchGaps } from '../../examples/demo/watch-gaps.ts';
import { deploymentOf, serviceOf } from '../../examples/website/children.ts';
import { FINALIZER } from '../../examples/website/controller.ts';
import {
  Deployment,
  Service,
  Website,
  type WebsiteObject,
  websiteCRD,
} from '../../examples/website/resources.ts';

const context = {
  signal: new AbortController().signal,
  attempt: 1,
  get: () => undefined,
  now: () => 0,
  logger: silentLogger,
  reconcileId: 'b1c7a0de-0000-4000-8000-000000000000',
  causes: [],
  moreCauses: 0,
};

describe('the command line', () => {
  test('has defaults, with less load for a real server', () => {
    expect(parseOptions([], {})).toMatchObject({
      objects: 2000,
      duration: 15,
      workers: 16,
      json: false,
    });
    expect(parseOptions(['--server', 'http://localhost:8001'], {})).toMatchObject({
      objects: 200,
      workers: 8,
    });
    const given = [
      '--objects',
      '7',
      '--duration',
      '0.5',
      '--workers=3',
      '--kubeconfig',
      'file',
      '--json',
    ];
    expect(parseOptions(given, { CAPSTAN_SEED: '42' })).toEqual({
      objects: 7,
      duration: 0.5,
      workers: 3,
      server: undefined,
      kubeconfig: 'file',
      json: true,
      seed: 42,
    });
    expect(parseOptions(['--help'], {})).toBeUndefined();
  });

  test('rejects unknown flags and values, and says what it expected', () => {
    const wrong: [string[], RegExp][] = [
      [['--objects', '0'], /--objects expected an integer of 1 or more, got "0"/],
      [['--objects', '1.5'], /--objects expected an integer/],
      [['--objects', ''], /--objects expected an integer/],
      [['--objects'], /objects/],
      [['--duration', '-1'], /duration/],
      [['--duration=soon'], /--duration expected a number of 0 or more, got "soon"/],
      [['--workers', 'many'], /--workers expected/],
      [['--server', 'localhost:8001'], /--server expected an http or https URL/],
      [['--server', 'http://a', '--kubeconfig', 'b'], /exclude each other/],
      [['--fast'], /--fast/],
      [['something'], /something/],
    ];
    for (const [args, message] of wrong) {
      expect(() => parseOptions(args, {}), args.join(' ')).toThrow(UsageError);
      expect(() => parseOptions(args, {}), args.join(' ')).toThrow(message);
    }
    expect(() => parseOptions([], { CAPSTAN_SEED: 'x' })).toThrow(/CAPSTAN_SEED/);
  });
});

test('a histogram gives percentiles accurate to five percent', () => {
  const histogram = new Histogram();
  expect(histogram.percentile(0.99)).toBe(0);
  for (let i = 1; i <= 10_000; i++) histogram.record(i / 10);
  for (const share of [0.01, 0.5, 0.9, 0.99, 1]) {
    const exact = share * 1000;
    expect(histogram.percentile(share) / exact).toBeGreaterThanOrEqual(0.999);
    expect(histogram.percentile(share) / exact).toBeLessThanOrEqual(1.051);
  }
});

test('the longest time without a watch is measured by kind, with one that lasts', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  try {
    const gaps = new WatchGaps({
      request: async () => ({
        status: 200,
        headers: new Headers(),
        body: (async function* () {})(),
      }),
    });
    const watch = async (plural: string) => {
      const path = `/apis/apps/v1/${plural}`;
      const { body } = await gaps.request({ method: 'GET', path, query: { watch: 'true' } });
      return Array.fromAsync(body);
    };
    await gaps.request({ method: 'GET', path: '/apis/apps/v1/deployments' });
    vi.advanceTimersByTime(9_000);
    expect(gaps.longest.ms).toBe(0);
    await watch('deployments');
    vi.advanceTimersByTime(400);
    await watch('deployments');
    expect(gaps.longest).toEqual({ ms: 400, plural: 'deployments' });
    await watch('services');
    vi.advanceTimersByTime(700);
    expect(gaps.longest.ms).toBe(700);
  } finally {
    vi.useRealTimers();
  }
});

describe('the measurements', () => {
  test('detect a key that is reconciled twice at once, and nothing else', async () => {
    const measurements = new Measurements(new Random(1));
    const gate = Promise.withResolvers<void>();
    const reconcile = measurements.wrap(() => gate.promise);
    const calls = [
      reconcile({ namespace: 'a', name: 'b' }, context),
      reconcile({ namespace: 'a', name: 'c' }, context),
      reconcile({ namespace: 'b', name: 'b' }, context),
    ];
    expect(measurements.overlapped).toBe(0);
    calls.push(reconcile({ namespace: 'a', name: 'b' }, context));
    expect(measurements.overlapped).toBe(1);
    expect(measurements.running).toBe(4);
    gate.resolve();
    await Promise.all(calls);
    await reconcile({ namespace: 'a', name: 'b' }, context);
    expect(measurements).toMatchObject({ overlapped: 1, running: 0, reconciles: 5 });
  });

  test('make some reconciles fail before or after the work, and count these', async () => {
    const measurements = new Measurements(new Random(7));
    measurements.startFailing();
    let done = 0;
    const works = measurements.wrap(async () => void done++);
    const results = await Promise.allSettled(
      Array.from({ length: 2000 }, (_, i) => works({ namespace: '', name: String(i) }, context)),
    );
    const failed = results.filter((result) => result.status === 'rejected');
    expect(failed.length).toBeGreaterThan(30);
    expect(failed.every(({ reason }) => reason instanceof InjectedFailure)).toBe(true);
    expect(measurements).toMatchObject({ madeToFail: failed.length, failed: 0 });
    expect(done).toBeGreaterThan(2000 - failed.length);
    expect(done).toBeLessThan(2000);
    measurements.stopFailing();
    const breaks = measurements.wrap(() => Promise.reject(new Error('of its own')));
    await expect(breaks({ namespace: '', name: 'x' }, context)).rejects.toThrow('of its own');
    expect(measurements.failed).toBe(1);
  });

  test('measure from a write to the first reconcile that saw it', async () => {
    const measurements = new Measurements(new Random(1));
    const seeing = (uid: string, generation: number) => {
      const get = () => ({ metadata: { uid, generation } }) as FromServer<WebsiteObject>;
      return measurements.wrap(() => undefined)({ namespace: '', name: uid }, { ...context, get });
    };
    measurements.written('a', 2, performance.now());
    await seeing('a', 1);
    expect(measurements.writeToReconcile.count()).toBe(0);
    await seeing('a', 2);
    expect(measurements.writeToReconcile.count()).toBe(1);
    await seeing('b', 1);
    measurements.written('b', 1, performance.now());
    expect(measurements.writeToReconcile.count()).toBe(2);
  });
});

test('connections that the demo cuts look like lost ones, an abort does not', async () => {
  const inner: Transport = {
    request: async ({ signal }) => ({
      status: 200,
      headers: { get: () => null },
      body: (async function* () {
        yield new Uint8Array(1);
        await new Promise((_, reject) => {
          const abort = () => reject(new TransportError('aborted', 'gone'));
          if (signal?.aborted) abort();
          signal?.addEventListener('abort', abort);
        });
      })(),
    }),
  };
  const transport = new CuttingTransport(inner);
  const read = async (signal?: AbortSignal) => {
    const { body } = await transport.request({ method: 'GET', path: '/', signal });
    const reader = body[Symbol.asyncIterator]();
    await reader.next();
    return reader;
  };
  const [first, second] = [await read(), await read()];
  const ends = [first.next(), second.next()].map((next) =>
    expect(next).rejects.toMatchObject({ kind: 'reset' }),
  );
  transport.cut();
  await Promise.all(ends);
  const abort = new AbortController();
  const third = await read(abort.signal);
  const end = expect(third.next()).rejects.toMatchObject({ kind: 'aborted' });
  abort.abort();
  await end;
});

describe('the verifier', () => {
  const namespaces = ['n'];
  const spec = { image: 'site:1', replicas: 2, port: 8080 };
  let server: ApiServer;
  let api: Api;
  let transport: Transport;
  beforeAll(async () => {
    server = await ApiServer.start();
    transport = server.transport();
    api = new Api(transport);
    await api.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', websiteCRD);
  });
  afterAll(async () => {
    await transport.close?.();
    await server.stop();
  });

  /** A Website as the controller leaves it, then changed by `spoil`. */
  async function site(
    name: string,
    spoil: (website: WebsiteObject) => Promise<unknown> = async () => undefined,
  ) {
    const website = await api.create<WebsiteObject>(pathOf(Website, 'n'), {
      apiVersion: 'demo.capstan.dev/v1',
      kind: 'Website',
      metadata: { name, namespace: 'n', finalizers: [FINALIZER] },
      spec,
    });
    const status = { observedGeneration: website.metadata.generation };
    await api.patch(pathOf(Website, 'n', name, 'status'), { status });
    const key = { namespace: 'n', name };
    await api.create(
      pathOf(Deployment, 'n'),
      setControllerReference(website, deploymentOf(key, spec), Website),
    );
    await api.create(
      pathOf(Service, 'n'),
      setControllerReference(website, serviceOf(key, spec), Website),
    );
    await spoil(website);
  }

  test('reports nothing for a correct state, and each kind of error', async () => {
    const path = {
      website: pathOf(Website, 'n'),
      deployment: pathOf(Deployment, 'n'),
      service: pathOf(Service, 'n'),
    };
    await site('good');
    await site('stale', () => api.patch(`${path.website}/stale`, { spec: { replicas: 3 } }));
    await site('behind', () =>
      api.patch(`${path.website}/behind/status`, { status: { observedGeneration: 0 } }),
    );
    await site('unheld', () =>
      api.patch(`${path.website}/unheld`, { metadata: { finalizers: null } }),
    );
    await site('no-deployment', () => api.delete(`${path.deployment}/no-deployment`));
    await site('no-service', () => api.delete(`${path.service}/no-service`));
    await site('replicas', () =>
      api.patch(`${path.deployment}/replicas`, { spec: { replicas: 99 } }),
    );
    await site('port', () => api.patch(`${path.service}/port`, { spec: { ports: [{ port: 1 }] } }));
    await site('stranger', () =>
      api.patch(`${path.deployment}/stranger`, {
        metadata: {
          ownerReferences: [
            { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'other', controller: true },
          ],
        },
      }),
    );
    await site('leaving', () => api.delete(`${path.website}/leaving`));
    await site('undead');
    await site('orphan', async () => {
      await api.patch(`${path.website}/orphan`, { metadata: { finalizers: null } });
      await api.delete(`${path.website}/orphan`);
    });

    const names = (
      'good stale behind unheld no-deployment no-service ' +
      'replicas port stranger leaving missing'
    ).split(' ');
    const expected = new Map(names.map((name) => [`n/${name}`, spec]));
    const { problems, ...counts } = await verify(
      api,
      namespaces,
      expected,
      new Set(['n/undead', 'n/orphan', 'n/never']),
    );
    expect(Object.fromEntries(problems)).toEqual({
      'n/stale': 'has another spec than the last one that was written',
      'n/behind': 'is at generation 1, its status at 0',
      'n/unheld': 'has no finalizer',
      'n/no-deployment': 'has no Deployment of its own',
      'n/no-service': 'has no Service of its own',
      'n/replicas': expect.stringMatching(/^has a Deployment that does not match its spec: .*99/),
      'n/port': expect.stringMatching(/^has a Service that does not match its spec/),
      'n/stranger': 'has no Deployment of its own',
      'n/leaving': 'is being deleted',
      'n/missing': 'is missing',
      'n/undead': 'was deleted and is still there',
      'n/orphan': 'is gone, but its Deployment is not',
    });
    expect(counts).toEqual({ websites: 11, deployments: 11, services: 11 });
  });
});
