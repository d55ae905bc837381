/**
 * Kind and informer sources: the events that a handler gets, and when a source has synced, waits,
 * fails and ends.
 */
import {
  defineResource,
  ListWatch,
  newSharedInformerFactory,
  SharedIndexInformer,
  type SharedInformerFactory,
  type Transport,
} from 'capstan/cache';
import {
  enqueueRequestForObject,
  informerSource,
  kindSource,
  LowPriority,
} from 'capstan/controller';
import { ApiServer, fakeTransport } from 'capstan/testing';
import { FakeClock } from 'capstan/workqueue';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { answer, statusBody } from '../helpers/cache/live-server.ts';
import { FakeCluster } from '../helpers/controller/fake-cluster.ts';
import { RecordingLogger } from '../helpers/controller/fake-manager.ts';
import { type EventObject, started, telling } from '../helpers/controller/recording-queues.ts';
import { collectErrors } from '../helpers/reported-errors.ts';

const reported = collectErrors();
const Things = defineResource<EventObject>()({
  group: 'demo.capstan.dev',
  version: 'v1',
  kind: 'Thing',
  plural: 'things',
  namespaced: true,
});
const thing = (name: string) => ({ metadata: { namespace: 'default', name } });
const invalid = expect.objectContaining({ code: 'INVALID_ARGUMENT' });

let factory: SharedInformerFactory | undefined;
afterEach(() => factory?.shutdown());

function setUp() {
  const clock = new FakeClock();
  const cluster = new FakeCluster();
  const cache = newSharedInformerFactory(cluster, { clock });
  factory = cache;
  const received: string[] = [];
  return { clock, cluster, cache, told: received, handler: telling(received) };
}

describe('a kind source', () => {
  test('delivers existing objects as create events, then their changes, with causes', async () => {
    const { clock, cluster, cache, told, handler } = setUp();
    cluster.put('things', thing('a'));
    const source = kindSource({ cache, resource: Things, handler, clock });
    expect(source.name).toBe('kind Thing');
    const { queue } = await started(source);
    await clock.settle();
    cluster.put('things', thing('b'));
    cluster.put('things', thing('a'));
    cluster.remove('things', 'b');
    await clock.settle();
    expect(told).toEqual([
      'initial default/a',
      'create default/b',
      'update default/a',
      'delete default/b',
    ]);
    const object = { kind: 'Thing', namespace: 'default' };
    expect(queue.added).toMatchObject([
      {
        request: 'default/a',
        priority: LowPriority,
        cause: { kind: 'create', object: { ...object, name: 'a' } },
      },
      {
        request: 'default/b',
        cause: { kind: 'create', object: { name: 'b', resourceVersion: '102' } },
      },
      {
        request: 'default/a',
        cause: { kind: 'update', object: { name: 'a', resourceVersion: '103' } },
      },
      { request: 'default/b', cause: { kind: 'delete', object: { ...object, name: 'b' } } },
    ]);
    expect(queue.added.slice(1).map(({ priority }) => priority)).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(
      queue.added.every(({ cause }) => cause.source === 'kind Thing' && cause.at === clock.now()),
    ).toBe(true);
    expect(source.status?.()).toEqual({
      synced: true,
      events: { handled: 4, filtered: 0, failed: 0 },
      informer: 'things.demo.capstan.dev/v1',
    });
  });

  test('may be awaited before it is started', async () => {
    const { cluster, cache, told, handler } = setUp();
    cluster.put('things', thing('a'));
    const source = kindSource({ cache, resource: Things, handler });
    const waiting = source.waitForSync?.({ signal: new AbortController().signal });
    await started(source);
    await waiting;
    expect(told).toEqual(['initial default/a']);
  });

  test('has synced when its handler has handled the initial list, promises included', async () => {
    const { clock, cluster, cache } = setUp();
    cluster.put('things', thing('a'));
    const waiting: (() => void)[] = [];
    const handler = { create: () => new Promise<void>((resolve) => void waiting.push(resolve)) };
    const source = kindSource({ cache, resource: Things, handler, clock });
    const { signal } = await started(source);
    let synced = false;
    const sync = source.waitForSync?.({ signal }).then(() => {
      synced = true;
    });
    await clock.settle();
    expect([synced, waiting.length, source.status?.().synced]).toEqual([false, 1, false]);
    waiting[0]?.();
    await sync;
    expect([synced, source.status?.().synced]).toEqual([true, true]);
  });

  test('shares the informer of its cache; a later source gets all objects', async () => {
    const { clock, cluster, cache, told, handler } = setUp();
    cluster.put('things', thing('a'));
    await started(kindSource({ cache, resource: Things, handler, clock }));
    await clock.settle();
    const requests = cluster.requests.length;
    const late: string[] = [];
    await started(kindSource({ cache, resource: { ...Things }, handler: telling(late), clock }));
    await clock.settle();
    expect(late).toEqual(['initial default/a']);
    expect(told).toHaveLength(1);
    expect(cluster.requests).toHaveLength(requests);
    await cache.shutdown();
    expect(clock.timers()).toBe(0);
  });

  test('that was removed gets no more events, and the informer goes on for others', async () => {
    const { clock, cluster, cache, told, handler } = setUp();
    const other: string[] = [];
    const source = kindSource({ cache, resource: Things, handler, clock });
    const { queue, stop } = await started(source);
    await started(kindSource({ cache, resource: Things, handler: telling(other), clock }));
    await clock.settle();
    cluster.put('things', thing('a'));
    await clock.settle();
    stop();
    cluster.put('things', thing('b'));
    await clock.settle();
    expect([told, queue.requests(), other.length]).toEqual([
      ['create default/a'],
      ['default/a'],
      2,
    ]);
    expect(cache.informerFor(Things).status().handlers).toMatchObject([{ name: 'kind Thing' }]);
    await expect(
      source.waitForSync?.({ signal: new AbortController().signal }),
    ).rejects.toMatchObject({
      code: 'ABORTED',
    });
  });

  test('accepts a selection, and a name for causes', async () => {
    const { clock, cluster, cache, told, handler } = setUp();
    cluster.put('things', thing('a'));
    cluster.put('things', { metadata: { namespace: 'other', name: 'b' } });
    const source = kindSource({
      cache,
      resource: Things,
      handler,
      clock,
      name: 'for Thing',
      selection: { namespace: 'other' },
    });
    const { queue } = await started(source);
    await clock.settle();
    expect(told).toEqual(['initial other/b']);
    expect(queue.added[0]?.cause.source).toBe('for Thing');
    expect(source.status?.().informer).toBe('things.demo.capstan.dev/v1 in other');
  });

  test('drops what an async handler adds after the end', async () => {
    const { clock, cluster, cache } = setUp();
    cluster.put('things', thing('a'));
    let go = (): void => undefined;
    const { queue, stop } = await started(
      kindSource({
        cache,
        resource: Things,
        clock,
        handler: {
          async create({ object }, queue) {
            await new Promise<void>((resolve) => {
              go = resolve;
            });
            queue.add({ namespace: '', name: object.metadata.name });
          },
        },
      }),
    );
    await clock.settle();
    stop();
    go();
    await clock.settle();
    expect(queue.added).toEqual([]);
  });

  test('belongs to one controller: a second start is refused', async () => {
    const { cache, handler } = setUp();
    const source = kindSource({ cache, resource: Things, handler });
    await started(source);
    await expect(started(source)).rejects.toMatchObject({ code: 'ALREADY_STARTED' });
  });

  test('that cannot get its informer rejects waitForSync', async () => {
    const { cache, handler } = setUp();
    await cache.shutdown();
    const source = kindSource({ cache, resource: Things, handler });
    const { signal } = await started(source);
    await expect(source.waitForSync?.({ signal })).rejects.toMatchObject({ code: 'STOPPED' });
    expect(source.status?.()).toMatchObject({
      synced: false,
      problem: expect.stringContaining('has been shut down'),
    });
  });

  test('shows the failure of its informer while it has not synced', async () => {
    const { clock, handler } = setUp();
    const server = await ApiServer.start();
    onTestFinished(() => server.stop());
    server.inject({ do: 'status', status: 403, reason: 'Forbidden', verb: 'list' });
    const cache = newSharedInformerFactory(server.transport(), { clock });
    onTestFinished(() => cache.shutdown());
    const source = kindSource({ cache, resource: Things, handler, clock });
    await started(source);
    while (source.status?.().problem === undefined) await clock.settle();
    expect(source.status?.()).toMatchObject({
      synced: false,
      problem: expect.stringContaining('403'),
    });
  });

  test('shows that its informer was stopped or its kind is not served', async () => {
    const { clock, cluster, cache, handler } = setUp();
    const source = kindSource({ cache, resource: Things, handler, clock });
    await started(source);
    await clock.settle();
    expect(source.status?.().problem).toBeUndefined();
    await cache.remove(Things);
    expect(source.status?.()).toMatchObject({
      synced: true,
      problem: 'its informer has been stopped',
    });
    expect(cluster.watches()).toBe(0);

    const server = await ApiServer.start();
    onTestFinished(() => server.stop());
    const other = newSharedInformerFactory(server.transport(), { clock });
    onTestFinished(() => other.shutdown());
    const gone = kindSource({ cache: other, resource: Things, handler, clock });
    const { signal } = await started(gone);
    await gone.waitForSync?.({ signal });
    server.removeResource(Things);
    while (gone.status?.().problem === undefined) {
      await clock.run(1000);
      server.dropConnections();
    }
    expect(gone.status?.().problem).toContain('no longer serves its kind');
  });

  test('refuses options that make no sense', () => {
    const { cache, handler } = setUp();
    const good = { cache, resource: Things, handler };
    for (const none of [{}, undefined]) {
      expect(() => kindSource({ ...good, cache: none as typeof cache })).toThrow(invalid);
      expect(() => kindSource({ ...good, resource: none as typeof Things })).toThrow(
        expect.objectContaining({ message: expect.stringContaining('"options.resource"') }),
      );
    }
    expect(() => kindSource({ ...good, handler: undefined as unknown as typeof handler })).toThrow(
      invalid,
    );
    expect(() =>
      kindSource({ ...good, handler: { create: 1 } as unknown as typeof handler }),
    ).toThrow(invalid);
    expect(() => kindSource({ ...good, predicates: {} as unknown as [] })).toThrow(invalid);
    expect(() =>
      kindSource({ ...good, predicates: [{ update: 'x' } as unknown as object] }),
    ).toThrow(invalid);
    expect(() => kindSource({ ...good, name: '' })).toThrow(invalid);
    expect(() => kindSource({ ...good, clock: {} as FakeClock })).toThrow(invalid);
  });
});

describe('a kind that is not served yet', () => {
  const crd = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.demo.capstan.dev' },
    spec: {
      group: 'demo.capstan.dev',
      scope: 'Namespaced',
      names: { plural: 'things', kind: 'Thing' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object' } },
        },
      ],
    },
  };

  async function unserved(quiet = false) {
    const clock = new FakeClock();
    const server = await ApiServer.start();
    onTestFinished(() => server.stop());
    const transport = server.transport();
    const paths: string[] = [];
    const counted: Transport = {
      request: (request) => {
        paths.push(request.path);
        return transport.request(request);
      },
    };
    const cache = newSharedInformerFactory(counted, { clock });
    onTestFinished(() => cache.shutdown());
    const bringBack = server.removeResource(Things);
    const received: string[] = [];
    const source = kindSource({ cache, resource: Things, handler: telling(received), clock });
    const logger = new RecordingLogger();
    const { signal, stop, queue } = await started(source, quiet ? undefined : logger);
    while (source.status?.().problem === undefined) await clock.settle();
    const create = async (path: string, object: object): Promise<void> => {
      const { status } = await transport.request({
        method: 'POST',
        path,
        body: JSON.stringify(object),
      });
      expect(status).toBe(201);
    };
    return {
      clock,
      server,
      cache,
      paths,
      bringBack,
      told: received,
      source,
      signal,
      stop,
      queue,
      create,
      logger,
    };
  }

  test('is checked every 10 s, and starts once its definition exists', async () => {
    const { clock, paths, told, source, signal, create } = await unserved(true);
    expect(source.status?.()).toMatchObject({
      synced: false,
      problem: expect.stringContaining('does not serve things'),
    });
    const before = paths.length;
    await clock.run(4_999);
    expect(reported).toEqual([]);
    await clock.run(1);
    while (reported.length === 0) await clock.settle();
    const told5 = paths.length; // with what the server serves instead
    await clock.run(4_999);
    expect(paths).toHaveLength(told5);
    await clock.run(1);
    while (paths.length < told5 + before) await clock.settle();
    expect(source.status?.().problem).toContain('does not serve');

    await create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd);
    await create('/apis/demo.capstan.dev/v1/namespaces/default/things', {
      apiVersion: 'demo.capstan.dev/v1',
      kind: 'Thing',
      metadata: { name: 'a' },
    });
    await clock.settle();
    expect(told).toEqual([]);
    await clock.run(10_000);
    await source.waitForSync?.({ signal });
    expect(told).toEqual(['initial default/a']);
    expect(source.status?.().problem).toBeUndefined();
    // Without a logger nothing was reported for two minutes.
    expect(reported).toHaveLength(1);
    expect(String(reported[0]?.error)).toContain('does not serve things');
  });

  // A wrong plural looks like a definition that is not installed.
  test('is reported with the plural that the server has for the kind', async () => {
    const clock = new FakeClock();
    const Wrong = defineResource<EventObject>()({
      group: 'apps',
      version: 'v1',
      kind: 'Deployment',
      plural: 'deployment',
      namespaced: true,
    });
    const transport = fakeTransport({ clock });
    const cache = newSharedInformerFactory(transport, { clock });
    onTestFinished(() => cache.shutdown());
    const logger = new RecordingLogger();
    const source = kindSource({ cache, resource: Wrong, handler: telling([]), clock });
    await started(source, logger);
    while (logger.lines.length === 0) await clock.settle();
    expect(logger.lines[0]?.message).toBe(
      'the server does not serve deployment.apps/v1: it is asked again every 10 s. But it ' +
        'has the kind Deployment as "deployments" in apps/v1: did you mean that?',
    );
    expect(source.status?.().problem).toContain('"deployments"');
  });

  // The status was never read: without the definition a program logged nothing for two minutes and
  // then ended.
  test('is logged after each response of the server', async () => {
    const { clock, logger, stop } = await unserved();
    const line = {
      level: 'warn',
      message: expect.stringMatching(
        /^the server does not serve things.* Is the CustomResourceDefinition installed\?$/,
      ),
      fields: { source: 'kind Thing' },
    };
    while (logger.lines.length === 0) await clock.settle();
    expect(logger.lines).toEqual([line]);
    await clock.run(10_000);
    while (logger.lines.length < 2) await clock.settle();
    expect(logger.lines).toEqual([line, line]);
    stop();
    await clock.run(60_000);
    expect(logger.lines).toHaveLength(2);
  });

  test('has no informer until then, and an aborted wait leaves nothing behind', async () => {
    const { clock, cache, source, stop, paths } = await unserved();
    expect((await cache.waitForCacheSync()).synced.size).toBe(0);
    const given = new AbortController();
    const waiting = source.waitForSync?.({ signal: given.signal });
    given.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'ABORTED' });
    stop();
    await clock.settle();
    const before = paths.length;
    await clock.run(60_000);
    expect(paths).toHaveLength(before);
    expect(clock.timers()).toBe(0);
  });

  test('is checked within its selection, as the account may not list elsewhere', async () => {
    const clock = new FakeClock();
    const paths: string[] = [];
    const lacking = {
      request: async ({ path }: { path: string }) => {
        paths.push(path);
        if (path.endsWith('/v1')) return answer(200, '{"kind":"APIResourceList","resources":[]}');
        return answer(404, statusBody(404, 'NotFound'));
      },
    };
    const cache = newSharedInformerFactory(lacking, { clock });
    onTestFinished(() => cache.shutdown());
    const handler = enqueueRequestForObject();
    await started(
      kindSource({ cache, resource: Things, handler, clock, selection: { namespace: 'mine' } }),
    );
    await clock.settle();
    expect(paths).toEqual([
      '/apis/demo.capstan.dev/v1',
      '/apis/demo.capstan.dev/v1/namespaces/mine/things',
    ]);
  });

  test('is distinguished from a server that does not respond', async () => {
    const clock = new FakeClock();
    const paths: string[] = [];
    const silent = {
      request: ({ path, signal }: { path: string; signal?: AbortSignal }) => {
        paths.push(path);
        return new Promise<never>((_, reject) =>
          signal?.addEventListener('abort', () => {
            given.push(path);
            reject(signal.reason);
          }),
        );
      },
    };
    const given: string[] = [];
    const cache = newSharedInformerFactory(silent, { clock });
    onTestFinished(() => cache.shutdown());
    await started(
      kindSource({ cache, resource: Things, handler: enqueueRequestForObject(), clock }),
    );
    await clock.run(9_999);
    expect(paths).toEqual(['/apis/demo.capstan.dev/v1']);
    await clock.run(1);
    expect([paths, given]).toEqual([
      ['/apis/demo.capstan.dev/v1', '/apis/demo.capstan.dev/v1/things'],
      ['/apis/demo.capstan.dev/v1'],
    ]);
  });
});

describe('an informer source', () => {
  test('gets events of an informer that the caller runs, and does not stop it', async () => {
    const clock = new FakeClock();
    const cluster = new FakeCluster();
    cluster.put('things', { apiVersion: 'demo.capstan.dev/v1', kind: 'Thing', ...thing('a') });
    const informer = new SharedIndexInformer(new ListWatch(cluster, Things), { clock });
    onTestFinished(() => informer.stop());
    const received: string[] = [];
    const source = informerSource({ informer, handler: telling(received), clock });
    const { queue, signal, stop } = await started(source);
    await clock.settle();
    expect(source.status?.()).toMatchObject({
      synced: false,
      problem: 'its informer has not been started',
    });
    void informer.run();
    await source.waitForSync?.({ signal });
    expect(received).toEqual(['initial default/a']);
    expect(queue.added[0]?.cause).toMatchObject({
      source: 'informer',
      object: { kind: 'Thing', name: 'a' },
    });
    cluster.put('things', thing('a'));
    cluster.put('things', thing('b'));
    cluster.remove('things', 'a');
    await clock.settle();
    expect(received.slice(1)).toEqual(['update default/a', 'create default/b', 'delete default/a']);
    stop();
    cluster.put('things', thing('c'));
    await clock.settle();
    expect([
      received.length,
      informer.isStopped(),
      informer.getIndexer().listKeys().sort(),
    ]).toEqual([4, false, ['default/b', 'default/c']]);
  });

  test('of an informer that has ended rejects waitForSync', async () => {
    const informer = new SharedIndexInformer(new ListWatch(new FakeCluster(), Things));
    await informer.stop();
    const source = informerSource({ informer, handler: enqueueRequestForObject() });
    const { signal } = await started(source);
    await expect(source.waitForSync?.({ signal })).rejects.toMatchObject({ code: 'STOPPED' });
    for (const none of [{}, undefined])
      expect(() => informerSource({ informer: none as typeof informer, handler: {} })).toThrow(
        invalid,
      );
  });
});
