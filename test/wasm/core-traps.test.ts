/**
 * A trap at each export of the core, in each public call that reaches it. Whatever was under way,
 * the caller gets a typed error, the instance is poisoned and says so, calls that wait reject, no
 * timer stays behind, and every other instance goes on.
 *
 * The exports are those that the module has: a new one fails here until a call below reaches it, or
 * it is listed with its reason. The trap is a real one of the real instance, an access outside of
 * its memory, made in place of the export that is armed.
 */
import { Indexer } from 'capstan/cache';
import {
  CapstanError,
  DelayingQueue,
  FakeClock,
  ItemExponentialFailureRateLimiter,
  type MetricsProvider,
  PriorityQueue,
  PrometheusProvider,
  RateLimitingQueue,
  type Request,
  requestKey,
  setErrorHandler,
  WorkQueue,
} from 'capstan/workqueue';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Core, sharedCore } from '../../bindings/wasm/core.ts';
import { type Hashing, setHashing } from '../../bindings/wasm/hashes.ts';
import { type KeyMode, setKeyMode } from '../../bindings/wasm/key-mode.ts';
import { expectError } from '../helpers/expect-error.ts';
import { type TrackedPromise, track } from '../helpers/promise-state.ts';
import { drain } from '../helpers/workqueue/queue-items.ts';
import { Stack } from '../helpers/workqueue/stack-order.ts';

const OF_BYTES = 'of the cache of bytes: test/cache/bytes/traps.test.ts';

/** Exports that no public call reaches, and why. */
const UNREACHED: Record<string, string> = {
  memoryGrant: 'for tests of the end of memory',
  memoryLimit: 'for tests of the end of memory',
  keysUsed: 'for tests: how many slots are in use',
  keysFindBytes: OF_BYTES,
  keysInternBytes: OF_BYTES,
  keysFindObject: OF_BYTES,
  keysInternObject: OF_BYTES,
  pathNew: OF_BYTES,
  pathValues: OF_BYTES,
  pathList: OF_BYTES,
  indexByPath: OF_BYTES,
  objectIndex: OF_BYTES,
  arenaNew: 'for tests: an arena is called by the core itself',
  arenaFree: 'for tests: an arena is called by the core itself',
  arenaAlloc: 'for tests: an arena is called by the core itself',
  arenaRelease: 'for tests: an arena is called by the core itself',
  arenaAt: 'for tests: an arena is called by the core itself',
  arenaSize: 'for tests: an arena is called by the core itself',
  arenaFits: 'for tests: an arena is called by the core itself',
  arenaOwner: 'for tests: an arena is called by the core itself',
  arenaSetOwner: 'for tests: an arena is called by the core itself',
  arenaLive: 'for tests: an arena is called by the core itself',
  arenaTotal: 'for tests: an arena is called by the core itself',
  arenaMoved: 'for tests: an arena is called by the core itself',
  arenaCheck: 'for tests: an arena is called by the core itself',
  jsonDepth: OF_BYTES,
  scanKeepManaged: OF_BYTES,
  scanHint: OF_BYTES,
  scanExpected: OF_BYTES,
  scanExpect: OF_BYTES,
  objectMembers: OF_BYTES,
  membersSpans: OF_BYTES,
  eventStage: OF_BYTES,
  objectMeet: OF_BYTES,
  objectMet: OF_BYTES,
  objectReplace: OF_BYTES,
  objectSize: OF_BYTES,
  objectMark: OF_BYTES,
  objectsMarked: OF_BYTES,
  trimScanned: OF_BYTES,
  shapeAt: OF_BYTES,
  streamNew: OF_BYTES,
  streamFree: OF_BYTES,
  streamRoom: OF_BYTES,
  streamPushed: OF_BYTES,
  streamPending: OF_BYTES,
  streamTake: OF_BYTES,
  eventNext: OF_BYTES,
  listNext: OF_BYTES,
  listEnded: OF_BYTES,
  rangesRoom: OF_BYTES,
  rangesSet: OF_BYTES,
  scannedPlace: OF_BYTES,
  scanReport: OF_BYTES,
  objectsNew: OF_BYTES,
  objectsFree: OF_BYTES,
  objectAt: OF_BYTES,
  objectHead: OF_BYTES,
  objectCounted: OF_BYTES,
  objectsUncount: OF_BYTES,
  objectsPack: OF_BYTES,
  objectStage: OF_BYTES,
  objectStageLike: OF_BYTES,
  objectRetain: OF_BYTES,
  objectRelease: OF_BYTES,
  objectOf: OF_BYTES,
  objectReady: OF_BYTES,
  objectPut: OF_BYTES,
  objectTake: OF_BYTES,
  objectsLive: OF_BYTES,
  objectsTotal: OF_BYTES,
  objectSlot: OF_BYTES,
  scannedSlot: OF_BYTES,
};

type Export = (...args: unknown[]) => unknown;

let armed: string | undefined; // the export that traps when it is called next
let reached = new Set<string>();
let madeLast: Record<string, Export>; // the exports of the instance that was made last
let trappedIn: Record<string, Export> | undefined;
const everyExport = new Set<string>();

const RealInstance = WebAssembly.Instance;

/**
 * Every instance made from here on tells which of its exports are called, and traps in the one that
 * is armed.
 */
beforeAll(() => {
  WebAssembly.Instance = new Proxy(RealInstance, {
    construct(target, args: [WebAssembly.Module]) {
      const { exports } = Reflect.construct(target, args) as WebAssembly.Instance;
      const real = exports as Record<string, Export>;
      const wrapped: Record<string, unknown> = {};
      madeLast = real;
      for (const [name, value] of Object.entries(real)) {
        wrapped[name] = value;
        if (typeof value !== 'function') continue;
        everyExport.add(name);
        wrapped[name] = (...given: unknown[]) => {
          reached.add(name);
          if (armed !== name) return value(...given);
          armed = undefined;
          trappedIn = real;
          return real.keysUsed?.(0xfffffff0);
        };
      }
      return { exports: wrapped };
    },
  });
});

afterAll(() => {
  WebAssembly.Instance = RealInstance;
});

const metric = { inc() {}, dec() {}, set() {}, observe() {} };
const calledMetrics: MetricsProvider = {
  newDepthMetric: () => metric,
  newAddsMetric: () => metric,
  newLatencyMetric: () => metric,
  newWorkDurationMetric: () => metric,
  newUnfinishedWorkSecondsMetric: () => metric,
  newLongestRunningProcessorSecondsMetric: () => metric,
  newRetriesMetric: () => metric,
  newDepthMetricWithPriority: () => metric,
};

interface Pod {
  metadata: { namespace: string; name: string };
  spec: { nodeName: string };
}
const pod = (name: string, nodeName = 'node-1'): Pod => ({
  metadata: { namespace: 'a', name },
  spec: { nodeName },
});

/** Queues in all states, in an instance of their own. */
class World {
  readonly core: Core;
  readonly clock = new FakeClock();
  readonly provider = new PrometheusProvider();
  /** 'ready' is ready, 'held' in processing, 'last' handed out last, 'later' waits. */
  readonly queue: DelayingQueue;
  readonly requests: DelayingQueue<Request>;
  readonly stack: DelayingQueue;
  readonly full: DelayingQueue; // with 'one' and 'two'
  readonly timed: DelayingQueue;
  readonly metered: DelayingQueue;
  readonly outer: DelayingQueue;
  readonly rated: RateLimitingQueue;
  readonly levels = new PrometheusProvider({ flavor: 'controller-runtime' });
  readonly ranked: PriorityQueue; // 'held' in processing, 'ready' ready, 'later' waits
  readonly rankedMetered: PriorityQueue; // the same
  readonly rankedRequests: PriorityQueue<Request>;
  readonly limiter = new ItemExponentialFailureRateLimiter(5, 1_000);
  readonly requestLimiter = new ItemExponentialFailureRateLimiter<Request>(5, 1_000, {
    key: requestKey,
  });
  readonly draining: WorkQueue; // 'a' in processing, 'b' ready
  readonly waiting: TrackedPromise<unknown>[]; // calls that wait in other queues of the instance
  // has an instance of its own
  readonly elsewhere = new Indexer<Pod, 'byNode'>(undefined, { byNode: 'spec.nodeName' });
  readonly exportsElsewhere = madeLast;
  readonly exports: Record<string, Export>; // of `core`
  readonly pinned: number;
  readonly bystander = new Core();

  constructor() {
    sharedCore().trapped(
      new WebAssembly.RuntimeError('given up, so that the next world has an instance of its own'),
    );
    const { clock } = this;
    this.core = sharedCore();
    this.exports = madeLast;
    this.limiter = new ItemExponentialFailureRateLimiter(5, 1_000);
    this.requestLimiter = new ItemExponentialFailureRateLimiter<Request>(5, 1_000, {
      key: requestKey,
    });
    this.queue = new DelayingQueue({ clock });
    for (const key of ['held', 'last', 'ready']) this.queue.add(key);
    this.queue.addAfter('later', 5);
    this.queue.addAfter('much later', 50);
    this.queue.tryGet();
    this.queue.tryGet();
    this.pinned = this.queue.pin('pinned');
    this.requests = new DelayingQueue<Request>({ clock, key: requestKey });
    this.requests.add({ namespace: 'a', name: 'b' });
    this.requests.add({ namespace: 'c', name: 'd' });
    this.requests.tryGet();
    this.requests.tryGet();
    this.stack = new DelayingQueue({ clock, order: new Stack() });
    for (const key of ['below', 'above']) this.stack.add(key);
    this.stack.addAfter('later', 5);
    this.full = new DelayingQueue({ clock, maxDepth: 2 });
    for (const key of ['one', 'two']) this.full.add(key);
    this.timed = new DelayingQueue({ clock, name: 'timed', metricsProvider: this.provider });
    this.metered = new DelayingQueue({ clock, name: 'metered', metricsProvider: calledMetrics });
    for (const each of [this.timed, this.metered]) for (const key of ['a', 'b']) each.add(key);
    this.timed.tryGet();
    this.metered.tryGet();
    this.outer = new DelayingQueue({ clock, inner: new WorkQueue() });
    this.outer.addAfter('later', 5);
    this.rated = new RateLimitingQueue(undefined, { clock });
    this.ranked = new PriorityQueue(undefined, {
      clock,
      name: 'ranked',
      metricsProvider: this.levels,
    });
    this.rankedMetered = new PriorityQueue(undefined, {
      clock,
      name: 'ranked',
      metricsProvider: calledMetrics,
    });
    for (const each of [this.ranked, this.rankedMetered]) {
      each.add('held');
      each.tryGet();
      each.addWithOpts({ priority: -1 }, 'ready');
      each.addWithOpts({ priority: 2, after: 5 }, 'later');
    }
    this.rankedRequests = new PriorityQueue(undefined, { clock, key: requestKey });
    const idle = new WorkQueue();
    this.draining = new WorkQueue();
    for (const key of ['a', 'b']) this.draining.add(key);
    this.draining.tryGet();
    this.waiting = [track(idle.get()), track(idle.get()), track(this.draining.shutDownWithDrain())];
    this.elsewhere.add(pod('first'));
  }

  static isPoisoned(core: Core): boolean {
    try {
      core.exports.memoryPages();
      return false;
    } catch (error) {
      return (error as CapstanError).code === 'POISONED';
    }
  }
}

/** The public calls. Each is made in a world of its own. */
const calls: Record<string, (world: World) => unknown> = {
  'new queue': () => new WorkQueue(),
  'new queue with metrics': (w) => new WorkQueue({ name: 'new', metricsProvider: w.provider }),
  'new queue around another': (w) => new DelayingQueue({ inner: w.queue }),
  'new rate limiting queue': () => new RateLimitingQueue(),
  'new limiter': () => new ItemExponentialFailureRateLimiter(1, 2),
  add: (w) => w.queue.add('new'),
  'add of a key in processing': (w) => w.queue.add('held'),
  'add of a key in an order of its own, again': (w) => w.stack.add('above'),
  'adds of keys of one sample': (w) => {
    for (let i = 0; i < 20; i++) w.queue.add(`team-${i + 10}/kube-root-ca.crt`);
  },
  'add of a request': (w) => w.requests.add({ namespace: 'e', name: 'f' }),
  'add with metrics': (w) => w.metered.add('new'),
  'add to a queue around another': (w) => w.outer.add('new'),
  'add while a get waits': (w) => {
    const empty = new WorkQueue();
    w.waiting.push(track(empty.get()));
    empty.add('wanted');
  },
  len: (w) => w.queue.len(),
  'len with an order of its own': (w) => w.stack.len(),
  tryGet: (w) => w.queue.tryGet(),
  'tryGet by an order of its own': (w) => w.stack.tryGet(),
  'tryGet with metrics': (w) => w.metered.tryGet(),
  get: (w) => w.queue.get(),
  'for await': (w) => w.queue[Symbol.asyncIterator]().next(),
  'done of the last': (w) => w.queue.done('last'),
  'done of another': (w) => w.queue.done('held'),
  'done of a request': (w) => w.requests.done({ namespace: 'a', name: 'b' }),
  'done with metrics': (w) => w.metered.done('a'),
  'done while a drain waits': (w) => {
    w.waiting.push(track(w.timed.shutDownWithDrain()));
    w.timed.done('a');
  },
  'done that hands the key on': (w) => {
    const queue = new WorkQueue();
    queue.add('a');
    queue.tryGet();
    queue.add('a');
    w.waiting.push(track(queue.get()));
    queue.done('a');
  },
  shutDown: (w) => w.queue.shutDown(),
  'shutDown of an order of its own': (w) => w.stack.shutDown(),
  'shutDown of a queue around another': (w) => w.outer.shutDown(),
  shutDownWithDrain: (w) => w.queue.shutDownWithDrain(),
  addAfter: (w) => w.queue.addAfter('new', 5),
  'addAfter of a request': (w) => w.requests.addAfter({ namespace: 'e', name: 'f' }, 5),
  'addAfter of 0': (w) => w.queue.addAfter('new', 0),
  'addAfter with a mode': (w) => w.queue.addAfter('later', 7, { mode: 'latest' }),
  'addAfter that replaces by 0': (w) => w.queue.addAfter('later', 0, { mode: 'replace' }),
  cancel: (w) => w.queue.cancel('later'),
  waiting: (w) => void w.queue.waiting(),
  'cancel of a request': (w) => w.requests.cancel({ namespace: 'e', name: 'f' }),
  'new queue with rules': () => new WorkQueue({ addEndsWait: true }),
  'add of a known key to a full queue': (w) => w.full.add('one'),
  'add of a new key to a full queue': (w) => w.full.add('three'),
  'addAfter to a full queue': (w) => w.full.addAfter('three', 5),
  addAll: (w) => w.queue.addAll(['new', 'newer']),
  getBatch: (w) => w.queue.getBatch(4),
  'getBatch by an order of its own': (w) => w.stack.getBatch(4),
  doneAll: (w) => w.queue.doneAll(['held', 'last']),
  'doneAll of a batch': (w) => {
    w.queue.add('new');
    w.queue.doneAll(w.queue.getBatch(4));
  },
  pin: (w) => w.queue.pin('new'),
  'pin of a request': (w) => w.requests.pin({ namespace: 'e', name: 'f' }),
  unpin: (w) => w.queue.unpin(w.pinned),
  slotItem: (w) => w.queue.slotItem(w.pinned),
  'addSlots of one': (w) => w.queue.addSlots(Int32Array.of(w.pinned), 1),
  'addSlots of many': (w) => w.queue.addSlots(Int32Array.of(w.pinned, w.pinned), 2),
  'addSlots while a get waits': (w) => {
    const empty = new WorkQueue();
    const slot = empty.pin('wanted');
    w.waiting.push(track(empty.get()));
    empty.addSlots(Int32Array.of(slot, slot), 2);
  },
  'getSlots and doneSlots of one': (w) => {
    const slots = new Int32Array(1);
    w.queue.doneSlots(slots, w.queue.getSlots(slots));
  },
  'getSlots and doneSlots of many': (w) => {
    w.queue.add('new');
    const slots = new Int32Array(4);
    w.queue.doneSlots(slots, w.queue.getSlots(slots));
  },
  'getSlots by an order of its own': (w) => w.stack.getSlots(new Int32Array(4)),
  snapshot: (w) => w.queue.snapshot(),
  'snapshot with times': (w) => w.timed.snapshot(),
  'snapshot of a limited queue': (w) => {
    w.rated.addRateLimited('a');
    w.rated.snapshot();
  },
  'time that passes': (w) => w.clock.step(5),
  'time that ends work': (w) => w.clock.step(600),
  addRateLimited: (w) => w.rated.addRateLimited('a'),
  'new priority queue': () => new PriorityQueue(),
  'new priority queue that ages': () => new PriorityQueue(undefined, { aging: { everyMs: 5 } }),
  'add to a priority queue': (w) => w.ranked.add('new'),
  addWithOpts: (w) => w.ranked.addWithOpts({ priority: 7, rateLimited: true }, 'new', 'ready'),
  'addWithOpts with metrics': (w) =>
    w.rankedMetered.addWithOpts({ priority: 7 }, 'new', 'ready', 'held'),
  'addWithOpts of a request': (w) =>
    w.rankedRequests.addWithOpts({ priority: 7 }, { namespace: 'a', name: 'b' }),
  'addAfter to a priority queue': (w) => w.ranked.addAfter('ready', 5),
  getWithPriority: (w) => w.ranked.getWithPriority(),
  'getWithPriority with metrics': (w) => w.rankedMetered.getWithPriority(),
  'done of a hidden key': (w) => {
    w.ranked.add('held');
    w.ranked.done('held');
  },
  'slots of a priority queue': (w) => {
    w.ranked.addSlots(Int32Array.of(w.ranked.pin('new'), w.ranked.pin('ready')), 2);
    const slots = new Int32Array(4);
    w.ranked.doneSlots(slots, w.ranked.getSlots(slots));
  },
  'snapshot of a priority queue': (w) => w.ranked.snapshot(),
  'shutDown of a priority queue': (w) => w.ranked.shutDown(),
  'drain of a priority queue': (w) => {
    w.waiting.push(track(w.ranked.shutDownWithDrain()));
    w.ranked.tryGet();
    w.ranked.done('ready');
  },
  'the text of the metrics by priority': (w) => w.levels.text(),
  'dispose of a priority queue': (w) => w.ranked.dispose(),
  'forget of a queue': (w) => w.rated.forget('a'),
  'numRequeues of a queue': (w) => w.rated.numRequeues('a'),
  when: (w) => w.limiter.when('a'),
  'when of a request': (w) => w.requestLimiter.when({ namespace: 'a', name: 'b' }),
  forget: (w) => [w.limiter.when('a'), w.limiter.forget('a')],
  'forget of a request': (w) => w.requestLimiter.forget({ namespace: 'a', name: 'b' }),
  numRequeues: (w) => [w.limiter.when('a'), w.limiter.numRequeues('a')],
  'numRequeues of a request': (w) => w.requestLimiter.numRequeues({ namespace: 'a', name: 'b' }),
  'the text of the metrics': (w) => w.provider.text(),
  'dispose of a queue': (w) => w.queue.dispose(),
  'dispose of a queue with a limiter': (w) => w.rated.dispose(),
  'dispose of a limiter': (w) => w.limiter.dispose(),
  'new store': () => new Indexer(),
  'new store with an index': () => new Indexer(undefined, { byNode: 'spec.nodeName' }),
  'add to a store': (w) => w.elsewhere.add(pod('second')),
  'update in a store': (w) => w.elsewhere.update(pod('first', 'node-2')),
  'delete from a store': (w) => w.elsewhere.delete(pod('first')),
  'replace a store': (w) => w.elsewhere.replace([pod('third')], '7'),
  'get from a store': (w) => w.elsewhere.get(pod('first')),
  byIndex: (w) => w.elsewhere.byIndex('byNode', 'node-1'),
  indexKeys: (w) => w.elsewhere.indexKeys('byNode', 'node-1'),
  index: (w) => w.elsewhere.index('byNode', pod('first')),
  listIndexFuncValues: (w) => w.elsewhere.listIndexFuncValues('byNode'),
  addIndexers: (w) => w.elsewhere.addIndexers({ byName: 'metadata.name' }),
  'add to a store without memory': (w) => {
    w.exportsElsewhere.memoryGrant?.(1);
    w.elsewhere.add({
      metadata: { namespace: 'b', name: 'c' },
      spec: { nodeName: 'node-with-a-name-that-no-record-has-room-for' },
    });
  },
  'several index values': (w) => {
    w.elsewhere.addIndexers({ several: (each) => [each.metadata.name, each.spec.nodeName] });
    w.elsewhere.update(pod('first', 'node-2'));
  },
  'several index values without memory': (w) => {
    w.elsewhere.addIndexers({ several: (each) => [each.metadata.namespace, each.metadata.name] });
    w.exportsElsewhere.memoryGrant?.(0);
    w.elsewhere.add(pod('of-a-name-that-no-record-has-room-for-as-it-is-too-long'));
  },
  'an index function that fails': (w) =>
    w.elsewhere.addIndexers({ broken: () => [1 as unknown as string] }),
};

/**
 * Calls whose error no caller can catch, or which skip the broken queue: they report the error or
 * have none.
 */
const SILENT = new Set([
  'time that passes',
  'time that ends work',
  'dispose of a queue',
  'dispose of a queue with a limiter',
  'dispose of a limiter',
  'the text of the metrics',
  'the text of the metrics by priority',
  'dispose of a priority queue',
]);

const reports: unknown[] = [];
let previous: ReturnType<typeof setErrorHandler>;

beforeEach(() => {
  reports.length = 0;
  previous = setErrorHandler((error) => reports.push(error));
});

afterEach(() => {
  setErrorHandler(previous);
  setKeyMode(undefined);
  setHashing(undefined);
  armed = undefined;
});

/** Which exports a call reaches. */
async function exportsOf(call: (world: World) => unknown): Promise<string[]> {
  const world = new World();
  reached = new Set();
  await outcome(() => call(world)); // some end in an error of their arguments
  return [...reached];
}

/** What a call throws, or its promise rejects with before anything else can happen. */
async function outcome(run: () => unknown): Promise<unknown> {
  try {
    const answer = run();
    if (!(answer instanceof Promise)) return undefined;
    const watched = track(answer);
    for (let turn = 0; turn < 20; turn++) await undefined;
    return watched.error;
  } catch (error) {
    return error;
  }
}

function requirePoisoned(error: unknown, what: string): void {
  expect(error, what).toBeInstanceOf(CapstanError);
  expect((error as CapstanError).code, what).toBe('POISONED');
  expect((error as CapstanError).cause, what).toBeInstanceOf(WebAssembly.RuntimeError);
}

/** Where the keys of stores are found, and how those of queues. */
const WAYS: readonly (readonly [KeyMode, Hashing])[] = [
  ['wasm', 'sample'],
  ['js', 'map'],
];

describe.each(WAYS)('a trap, keys of stores in %s, of queues by %s', (mode, hashing) => {
  test('at any export rejects every call that waits and breaks no other instance', {
    timeout: 60_000,
  }, async () => {
    setKeyMode(mode);
    setHashing(hashing);
    new World(); // one idle queue of each class is made once
    let pairs = 0;
    const failures: string[] = [];
    for (const [name, call] of Object.entries(calls)) {
      for (const each of await exportsOf(call)) {
        pairs++;
        const what = `${each} in ${name}`;
        try {
          await trapIn(what, each, call, SILENT.has(name));
        } catch (error) {
          failures.push(`${what}: ${(error as Error).message.split('\n')[0]}`);
        }
      }
    }
    console.log(
      `test/wasm/core-traps.test.ts (${hashing}): ${pairs} traps in`,
      `${Object.keys(calls).length} calls`,
    );
    expect(failures).toEqual([]);
    expect(pairs).toBeGreaterThan(100);
  });
});

async function trapIn(
  what: string,
  name: string,
  call: (world: World) => unknown,
  silent: boolean,
): Promise<void> {
  reports.length = 0;
  const world = new World();
  armed = name;
  trappedIn = undefined;
  const error = await outcome(() => call(world));
  expect(armed, `${what}: reached`).toBeUndefined();
  if (!silent || error !== undefined) requirePoisoned(error, what);
  for (const report of reports) requirePoisoned(report, `${what}: reported`);
  for (let turn = 0; turn < 20; turn++) await undefined;

  expect(World.isPoisoned(world.core), `${what}: the instance is poisoned`).toBe(
    trappedIn === world.exports,
  );
  if (trappedIn === world.exportsElsewhere) {
    for (const use of [
      () => world.elsewhere.add(pod('first')),
      () => world.elsewhere.byIndex('byNode', 'node-1'),
      () => world.elsewhere.getByKey('a/first'),
      () => world.elsewhere.list(),
      () => world.elsewhere.listKeys(),
      () => world.elsewhere.size(),
    ])
      requirePoisoned(await outcome(use), `${what}: a later call`);
  }
  if (trappedIn === world.exports) {
    for (const { state, error: told } of world.waiting) {
      expect(state, `${what}: who waits is told`).toBe('rejected');
      requirePoisoned(told, `${what}: who waits is told`);
    }
    expect(world.clock.timers(), `${what}: timers`).toBe(0);
    for (const use of [
      () => world.requests.add({ namespace: 'x', name: 'y' }),
      () => world.requests.tryGet(),
      () => world.requests.len(),
      () => world.requests.done({ namespace: 'c', name: 'd' }),
      () => world.requests.addAfter({ namespace: 'x', name: 'y' }, 5),
      () => world.stack.tryGet(),
      () => world.requests.shutDown(),
      () => world.requestLimiter.when({ namespace: 'x', name: 'y' }),
    ]) {
      requirePoisoned(await outcome(use), `${what}: a later call`);
    }
    expect(sharedCore(), what).not.toBe(world.core);
    expect(world.draining.recover().sort(), `${what}: what was in a queue is still known`).toEqual([
      'a',
      'b',
    ]);
    world.requests.dispose();
    expectError(() => world.requests.len(), 'DISPOSED');
    expect(world.elsewhere.byIndex('byNode', 'node-1'), `${what}: another instance`).toHaveLength(
      1,
    );
  } else {
    // The trap was in an instance of a store, or in one that was not finished: the queues have not
    // noticed.
    expect(sharedCore(), what).toBe(world.core);
    expect(world.queue.tryGet(), what).toBe('ready');
    expect(world.waiting.map(({ state }) => state)).toEqual(world.waiting.map(() => 'pending'));
  }
  expect(world.bystander.exports.memoryPages()).toBeGreaterThan(0);
  const next = new WorkQueue();
  next.add('a');
  expect(drain(next), `${what}: a new queue`).toEqual(['a']);
  world.queue.dispose();
}

test('every export of the module is reached by a call, or listed with its reason', async () => {
  const all = new Set<string>();
  for (const [mode, hashing] of WAYS) {
    setKeyMode(mode);
    setHashing(hashing);
    for (const call of Object.values(calls))
      for (const name of await exportsOf(call)) all.add(name);
  }
  expect([...everyExport].filter((name) => !all.has(name)).sort()).toEqual(
    Object.keys(UNREACHED).sort(),
  );
});

test('overwritten memory traps at the first call that reads it', async () => {
  class Broken extends WorkQueue {
    /** What a stray write into the header of a table would do. */
    overwrite(): void {
      sharedCore()
        .words()
        .fill(0xfffffff0, this.handle >>> 2, (this.handle >>> 2) + 32);
    }
  }
  const calls: ((queue: Broken) => unknown)[] = [
    (queue) => queue.add('c'),
    (queue) => queue.tryGet(),
    (queue) => queue.done('a'),
    (queue) => queue.snapshot(),
    (queue) => queue.pin('c'),
    (queue) => queue.getSlots(new Int32Array(1)),
  ];
  for (const call of calls) {
    const world = new World();
    const queue = new Broken();
    for (const key of ['a', 'b']) queue.add(key);
    queue.tryGet();
    queue.overwrite();
    requirePoisoned(await outcome(() => call(queue)), String(call));
    expect(World.isPoisoned(world.core)).toBe(true);
    expect(queue.recover().sort()).toEqual(['a', 'b']);
    for (let turn = 0; turn < 20; turn++) await undefined;
    for (const { error } of world.waiting) requirePoisoned(error, String(call));
  }
});
