/** Transforms, freezing, and the mutation detector of a cache. */
import type { DeletedFinalStateUnknown, SharedIndexInformerOptions } from 'capstan/cache';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../../bindings/base/clock.ts';
import { deepFreeze, freezeParsed } from '../../../bindings/base/freeze.ts';
import { storedObjectOf } from '../../../bindings/cache/bytes/lazy.ts';
import { MutationDetector } from '../../../bindings/cache/store/mutation-detector.ts';
import { answer, statusBody } from '../../helpers/cache/live-server.ts';
import { setUp, teller } from '../../helpers/cache/recording-handlers.ts';
import { collectErrors } from '../../helpers/reported-errors.ts';
import type { ConfigMap } from '../../helpers/resources.ts';

const reported = collectErrors();
const messages = (): string[] => reported.map(({ error }) => (error as Error).message);

describe('a transform', () => {
  const upper = (object: ConfigMap): ConfigMap => {
    object.metadata.name = object.metadata.name.toUpperCase();
    return object;
  };

  test.each<[string, SharedIndexInformerOptions<ConfigMap>]>([
    ['as an option', { transform: upper }],
    ['set before the start', {}],
  ])('%s changes stored, indexed and notified objects', async (_, options) => {
    const { clock, server, informer } = setUp(options);
    if (options.transform === undefined) informer.setTransform(upper);
    const told: string[] = [];
    informer.addEventHandler(teller(told));
    server.put('a', { data: { v: 'x' } });
    void informer.run();
    await clock.settle();
    server.put('b');
    server.put('a', { data: { v: 'y' } });
    server.remove('b');
    await clock.settle();
    expect(told).toEqual(['+A', 'B', '~A', '-B']);
    expect(informer.getIndexer().indexKeys('byValue', 'y')).toEqual(['default/A']);
    await informer.stop();
  });

  test('is called once for each object, and not for tombstones and resyncs', async () => {
    const seen: string[] = [];
    const { clock, server, informer } = setUp({
      resyncPeriod: 10_000,
      transform(object) {
        seen.push(`${object.metadata.name}${object.data?.v}`);
        return { ...object, data: { ...object.data, v: `${object.data?.v}!` } };
      },
    });
    const deleted: (ConfigMap | DeletedFinalStateUnknown<ConfigMap>)[] = [];
    informer.addEventHandler({ onDelete: (object) => void deleted.push(object) });
    for (const name of ['a', 'b']) server.put(name, { data: { v: '1' } });
    void informer.run();
    await clock.settle();
    expect(seen).toEqual(['a1', 'b1']);
    server.put('a', { data: { v: '2' } });
    await clock.run(25_000);
    informer.addEventHandler({});
    await clock.settle();
    expect(seen).toEqual(['a1', 'b1', 'a2']);
    server.intercept = (request) => {
      server.intercept = undefined;
      return request.query?.watch ? answer(410, statusBody(410, 'Expired')) : undefined;
    };
    server.closeWatches();
    server.remove('b');
    await clock.run(5_000);
    expect(deleted).toMatchObject([{ key: 'default/b', obj: { data: { v: '1!' } } }]);
    expect(seen).toEqual(['a1', 'b1', 'a2', 'a2']);
    await informer.stop();
  });

  test('that throws or returns nothing is reported, and the object is stored', async () => {
    const { clock, server, informer } = setUp({
      transform(object) {
        if (object.metadata.name === 'throws') throw new Error('no');
        return (object.metadata.name === 'nothing' ? undefined : object) as ConfigMap;
      },
    });
    const told: string[] = [];
    informer.addEventHandler(teller(told));
    server.put('throws');
    void informer.run();
    await clock.settle();
    server.put('nothing');
    await clock.settle();
    expect(told).toEqual(['+throws', 'nothing']);
    expect(messages()).toEqual([
      'the transform of v1 ConfigMap default/throws failed, and the object was kept as it ' +
        'was by then: no',
      expect.stringContaining(
        'default/nothing failed, and the object was kept as it was by then: "transform" ' +
          'expected a function',
      ),
    ]);
    expect(reported[0]).toMatchObject({ what: 'informer transform', error: { code: 'TRANSFORM' } });
    await informer.stop();
  });

  // The store refused the object without a name, and the whole list with it: the cache never
  // synced, relisted for ever, and its state was stopped.
  test('that removes the name before it fails has no other effect', async () => {
    const broken: Record<string, (object: ConfigMap) => unknown> = {
      throws: (object) => {
        object.metadata = { labels: { half: 'done' } } as never;
        throw new Error('no');
      },
      unnamed: (object) => {
        delete (object.metadata as { name?: string }).name;
        return object;
      },
      elsewhere: (object) => {
        object.metadata.namespace = 5 as never;
        return object;
      },
      gone: (object) => {
        delete (object as { metadata?: object }).metadata;
        return object;
      },
    };
    const { clock, server, informer } = setUp({
      transform: (object) => (broken[object.metadata.name]?.(object) ?? object) as ConfigMap,
    });
    for (const name of ['good', 'throws']) server.put(name);
    void informer.run();
    await clock.settle();
    for (const name of ['unnamed', 'elsewhere', 'gone']) server.put(name);
    server.put('good', { data: { v: '2' } });
    await clock.settle();
    const indexer = informer.getIndexer();
    expect(indexer.listKeys().sort()).toEqual(
      ['elsewhere', 'gone', 'good', 'throws', 'unnamed'].map((name) => `default/${name}`),
    );
    expect(indexer.getByKey('default/throws')?.metadata).toMatchObject({
      name: 'throws',
      labels: { half: 'done' },
    });
    expect(indexer.getByKey('default/good')?.data).toEqual({ v: '2' });
    expect(informer.status()).toMatchObject({ state: 'watching', relists: 0 });
    expect(messages()).toHaveLength(4);
    await informer.stop();
  });

  test('and the watch error handler can be set until the informer starts', async () => {
    const { clock, server, informer } = setUp({ watchList: false });
    const errors: unknown[] = [];
    expect(() => informer.setTransform(7 as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
    expect(() => informer.setWatchErrorHandler(undefined as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
    informer.setWatchErrorHandler(() => expect.unreachable());
    informer.setWatchErrorHandler((error) => errors.push(error)); // the last one counts
    server.intercept = () => answer(403, statusBody(403, 'Forbidden', 'Access Denied'));
    void informer.run();
    await clock.settle();
    expect(errors).toMatchObject([{ message: expect.stringContaining('Access Denied') }]);
    const started = expect.objectContaining({ code: 'ALREADY_STARTED' });
    expect(() => informer.setTransform((object) => object)).toThrow(started);
    expect(() => informer.setWatchErrorHandler(() => undefined)).toThrow(started);
    await informer.stop();
  });
});

// Only thrown errors were caught: a rejection ended the process.
test('callbacks that are async and reject are reported', async () => {
  const rejects = (what: string) => async () => {
    throw new Error(what);
  };
  const { clock, server, informer } = setUp({
    watchErrorHandler: rejects('watch error handler') as never,
    maxBytes: 1000,
    onBytes: { at: 0.1, call: rejects('onBytes') as never },
  });
  const highWater = { at: 1, onHighWater: rejects('high water') as never };
  informer.addEventHandler({ onAdd: () => new Promise(() => undefined) }, { highWater });
  void informer.run();
  await clock.settle();
  for (const name of ['a', 'b', 'c']) server.put(name, { data: { v: 'x'.repeat(100) } });
  server.send('no json\n');
  await clock.settle();
  expect(messages().sort()).toEqual(
    expect.arrayContaining(['high water', 'onBytes', 'watch error handler']),
  );
  void informer.stop();
});

describe('objects of a cache', () => {
  const NODE_ENV = process.env.NODE_ENV;
  afterEach(() => {
    process.env.NODE_ENV = NODE_ENV;
    delete process.env.KUBE_CACHE_MUTATION_DETECTOR;
  });

  async function stored(options: SharedIndexInformerOptions<ConfigMap>): Promise<ConfigMap> {
    const { clock, server, informer } = setUp(options);
    server.put('a', { data: { v: '1' } });
    void informer.run();
    await clock.settle();
    const object = informer.getIndexer().getByKey('default/a');
    await informer.stop();
    if (object === undefined) throw new Error('nothing is stored');
    return object;
  }
  const write = (object: ConfigMap): void => {
    (object.data as Record<string, string>).v = '2';
  };

  test('are deep-frozen, also transformed ones', async () => {
    expect(() => write({ data: {} } as ConfigMap)).not.toThrow();
    const plain = await stored({});
    expect(() => write(plain)).toThrow(TypeError);
    expect(() => plain.metadata.name.concat('x')).not.toThrow();
    const transformed = await stored({
      transform: (object) => ({ ...object, data: { v: 'mine' } }),
    });
    expect(() => write(transformed)).toThrow(TypeError);
  });

  test('are not frozen in production or with freeze: false, if they are decoded', async () => {
    const transform = (object: ConfigMap): ConfigMap => object;
    expect(Object.isFrozen(await stored({ transform }))).toBe(true);
    expect(Object.isFrozen(await stored({ transform, freeze: false }))).toBe(false);
    process.env.NODE_ENV = 'production';
    expect(Object.isFrozen(await stored({ transform }))).toBe(false);
    expect(Object.isFrozen(await stored({ transform, freeze: true }))).toBe(true);
    expect(() => write(Object.freeze({ data: Object.freeze({}) }) as ConfigMap)).toThrow(TypeError);
  });

  test('that are kept as bytes are always read-only', async () => {
    process.env.NODE_ENV = 'production';
    const object = await stored({ freeze: false });
    expect(() => write(object)).toThrow(TypeError);
    expect(object).toEqual(expect.objectContaining({ data: { v: '1' } }));
  });

  test('are checked for mutations and not frozen by option or environment', async () => {
    for (const on of ['1', 'true', 'T']) {
      process.env.KUBE_CACHE_MUTATION_DETECTOR = on;
      expect(Object.isFrozen(await stored({}))).toBe(false);
    }
    expect(Object.isFrozen(await stored({ mutationDetector: false }))).toBe(true);
    // Options that need bytes take precedence: the variable of the process had silently switched
    // off the limit of a cache.
    process.env.KUBE_CACHE_MUTATION_DETECTOR = 'true';
    expect(storedObjectOf(await stored({ maxBytes: 10_000 }))).toBeDefined();
    expect(storedObjectOf(await stored({ keep: 'bytes' }))).toBeDefined();
    process.env.KUBE_CACHE_MUTATION_DETECTOR = 'yes';
    expect(Object.isFrozen(await stored({}))).toBe(true);
    expect(Object.isFrozen(await stored({ mutationDetector: true }))).toBe(false);
    expect(Object.isFrozen(await stored({ mutationDetector: true, freeze: true }))).toBe(true);
  });

  test.each([{ freeze: 1 }, { mutationDetector: 'yes' }, { transform: 7 }])(
    'refuse %j',
    (options) => {
      expect(() => setUp(options as never)).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
      );
    },
  );
});

describe('freezing', () => {
  test('reaches any depth', () => {
    let deepest: object = { end: true };
    const root = { at: deepest };
    for (let i = 0; i < 100_000; i++) {
      const next = i % 2 === 0 ? [deepest] : { in: deepest };
      deepest = next;
    }
    root.at = deepest;
    deepFreeze(root);
    let value: unknown = root.at;
    let depth = 0;
    while (typeof value === 'object' && value !== null && Object.isFrozen(value)) {
      value = Object.values(value)[0];
      depth++;
    }
    expect([value, depth]).toEqual([true, 100_001]);
  });

  test('handles cycles, skips views of memory, and reads no member of a frozen object', () => {
    const own: { me?: unknown } = {};
    own.me = own;
    expect(Object.isFrozen(deepFreeze(own))).toBe(true);
    expect(deepFreeze({ bytes: new Uint8Array(2) }).bytes[0]).toBe(0);
    const lazy = Object.freeze({
      get spec(): never {
        throw new Error('decoded');
      },
    });
    expect(deepFreeze([lazy])).toHaveLength(1);
    expect(deepFreeze(7)).toBe(7);
  });

  test('reaches every object of a parsed value, at any depth', () => {
    const levels = 5_000;
    const parsed: unknown = freezeParsed(
      JSON.parse(`${'[{"a":{"b":null}},{"at":'.repeat(levels)}1${'}]'.repeat(levels)}`),
    );
    let objects = 0;
    for (const open = [parsed]; open.length > 0; ) {
      const value = open.pop();
      if (typeof value !== 'object' || value === null) continue;
      if (!Object.isFrozen(value))
        throw new Error(`not frozen: the object after ${objects} others`);
      objects++;
      open.push(...Object.values(value));
    }
    expect(objects).toBe(4 * levels);
    expect([freezeParsed(null), freezeParsed('x')]).toEqual([null, 'x']);
  });
});

describe('the mutation detector', () => {
  test('reports an object that a reader changed, with the path and the values, once', async () => {
    const { clock, server, informer } = setUp({ mutationDetector: true });
    informer.addEventHandler({
      onAdd(object) {
        if (object.metadata.name === 'bad') (object.data as Record<string, string>).v = 'mine';
      },
    });
    server.put('good', { data: { v: '1' } });
    server.put('bad', { data: { v: '1' } });
    void informer.run();
    await clock.settle();
    expect(reported).toEqual([]);
    await clock.run(1_000);
    expect(messages()).toEqual([
      'an object of the cache of v1 ConfigMap, default/bad, was changed by one of its readers: ' +
        'data.v was "1" and is "mine". ' +
        'Objects of a cache are read-only, as all readers share them: make a copy ' +
        '(structuredClone) first.',
    ]);
    expect(reported[0]).toMatchObject({ what: 'mutation detector', error: { code: 'MUTATED' } });
    await clock.run(10_000);
    expect(reported).toHaveLength(1);
    await informer.stop();
    expect(clock.timers()).toBe(0);
  });

  test('checks objects of updates, and once more at the end', async () => {
    const { clock, server, informer } = setUp({ mutationDetector: true });
    server.put('a', { data: { v: '1' } });
    void informer.run();
    await clock.settle();
    server.put('a', { data: { v: '2' } });
    await clock.settle();
    const object = informer.getIndexer().getByKey('default/a') as ConfigMap;
    object.metadata.labels = { mine: 'x' };
    await informer.stop();
    expect(messages()).toEqual([expect.stringContaining('metadata.labels was added')]);
  });

  describe('by itself', () => {
    let clock: FakeClock;
    let detector: MutationDetector;
    beforeEach(() => {
      clock = new FakeClock();
      detector = new MutationDetector(clock, 'v1 ConfigMap');
      detector.start();
    });
    afterEach(() => detector.stop());

    const pod = () => ({
      metadata: { name: 'a', labels: { 'app.kubernetes.io/name': 'x' } as Record<string, string> },
      spec: { containers: [{ image: 'one' }, { image: 'two' }] } as Record<string, unknown>,
    });

    const GONE = Symbol('removed');
    test.each<[what: string, path: string[], value: unknown]>([
      [
        'metadata.labels["app.kubernetes.io/name"] was "x" and is "y"',
        ['metadata', 'labels', 'app.kubernetes.io/name'],
        'y',
      ],
      ['spec.containers[1].image was "two" and is 2', ['spec', 'containers', '1', 'image'], 2],
      ['spec.containers[2] was added', ['spec', 'containers', '2'], {}],
      ['spec.containers was an array of 2 and is an object', ['spec', 'containers'], {}],
      ['spec.containers was removed', ['spec', 'containers'], GONE],
      ['spec.x was added', ['spec', 'x'], undefined],
      ['metadata.name was "a" and is null', ['metadata', 'name'], null],
    ])('says %s', (what, path, value) => {
      const object = pod();
      detector.add(object);
      let at = object as Record<string, unknown>;
      for (const name of path.slice(0, -1)) at = at[name] as Record<string, unknown>;
      const name = path.at(-1) as string;
      if (value === GONE) delete at[name];
      else at[name] = value;
      clock.step(1_000);
      expect(messages()).toEqual([expect.stringContaining(`${what}. `)]);
    });

    test('names the first of several differences', () => {
      const object = pod();
      detector.add(object);
      object.spec.containers = [];
      object.metadata.name = 'b';
      clock.step(1_000);
      expect(messages()).toEqual([expect.stringContaining('metadata.name was "a" and is "b"')]);
    });

    test('checks each object for two minutes, and sets no timer without objects', () => {
      const early = pod();
      const late = pod();
      detector.add(early);
      clock.step(60_000);
      detector.add(late);
      for (let i = 0; i < 60; i++) clock.step(1_000);
      early.metadata.name = late.metadata.name = 'changed';
      clock.step(1_000);
      expect(reported).toHaveLength(1);
      for (let i = 0; i < 120; i++) clock.step(1_000);
      expect(clock.timers()).toBe(0);
      detector.add(pod());
      expect(clock.timers()).toBe(1);
    });

    test('copies values of any depth, shared values, and cycles', () => {
      let deep: object = {};
      for (let i = 0; i < 20_000; i++) deep = { deep };
      const shared = { x: 1 };
      const object: Record<string, unknown> = {
        metadata: { name: 'a' },
        deep,
        one: shared,
        two: shared,
      };
      object.self = object;
      detector.add(object);
      clock.step(1_000);
      expect(reported).toEqual([]);
      let last = deep as { deep: { deep: object } };
      while (Object.keys(last.deep).length > 0) last = last.deep as typeof last;
      (last.deep as Record<string, unknown>).x = 1;
      clock.step(1_000);
      expect(messages()).toEqual([expect.stringContaining('.deep.x was added')]);
    });
  });
});
