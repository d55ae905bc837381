/**
 * A script that uses every structure of the core, with the model's answer beside each step:
 * core-memory.test.ts refuses it memory at every place where it asks for some.
 */
import {
  DelayingQueue,
  FakeClock,
  ItemExponentialFailureRateLimiter,
  PriorityQueue,
  PrometheusProvider,
  type QueueOptions,
  type Request,
  requestKey,
} from 'capstan/workqueue';
import { CacheCore } from '../../bindings/wasm/cache-core.ts';
import { type Core, sharedCore } from '../../bindings/wasm/core.ts';
import { IndexMap } from '../../bindings/wasm/index-map.ts';
import { ModelPriorityQueue } from '../helpers/workqueue/priority-queue-model.ts';
import { drain } from '../helpers/workqueue/queue-items.ts';
import {
  ModelDelayingQueue,
  ModelExponential,
  ModelIndexMap,
} from '../helpers/workqueue/queue-model.ts';
import { Stack } from '../helpers/workqueue/stack-order.ts';

/** So many that the directories of chunks, of states and of times, grow, which they do at 4096. */
const MANY = 4_200;
/** So many that the block for batches grows, which it does at 1024. */
const PINS = 1_100;
/** Longer than the core's first scratch: looking such a key up needs memory, too. */
const endless = (tag: string): string => `${tag}-${'x'.repeat(3_000)}`;
const requestText = ({ namespace, name }: Request): string => JSON.stringify([namespace, name]);

/** A queue that shows what the core keeps for it. */
class ProbeQueue<T = string> extends DelayingQueue<T> {
  books(): number[] {
    const { exports: x } = this.core;
    const h = this.handle;
    return [
      x.keysUsed(h),
      x.queueLen(h),
      x.queueDepth(h),
      x.queueProcessing(h),
      x.delayWaiting(h),
      x.delayNext(h),
    ];
  }
}

/** The same with priorities. */
class ProbePriorityQueue extends PriorityQueue {
  books(): number[] {
    const { exports: x } = this.core;
    const h = this.handle;
    return [
      x.keysUsed(h),
      x.queueLen(h),
      x.queueDepth(h),
      x.queueProcessing(h),
      x.delayWaiting(h),
      x.delayNext(h),
    ];
  }
}

/** Everything that the script works on, beside its model. */
export class MemoryWorld {
  readonly core: Core;
  readonly cache = new CacheCore();
  readonly clock = new FakeClock();
  readonly provider = new PrometheusProvider();
  plain!: ProbeQueue;
  timed!: ProbeQueue;
  requests!: ProbeQueue<Request>;
  stack!: ProbeQueue;
  pins!: ProbeQueue;
  ranked!: ProbePriorityQueue;
  slots = new Int32Array(PINS);
  limiter!: ItemExponentialFailureRateLimiter;
  requestLimiter!: ItemExponentialFailureRateLimiter<Request>;
  index!: IndexMap;
  readonly model = {
    plain: new ModelDelayingQueue(),
    timed: new ModelDelayingQueue(),
    requests: new ModelDelayingQueue(),
    pins: new ModelDelayingQueue(),
    ranked: new ModelPriorityQueue(new ModelExponential(5, 1_000_000)),
    limiter: new ModelExponential(5, 1_000),
    requestLimiter: new ModelExponential(5, 1_000),
    index: new ModelIndexMap(),
  };

  constructor() {
    sharedCore().trapped(
      new WebAssembly.RuntimeError('given up, so that the next world has an instance of its own'),
    );
    this.core = sharedCore();
  }

  /**
   * `blocks` more are granted in each of the two cores, of which a step uses one; -1: all. Answers
   * how many were used since the last grant of `before`.
   */
  grant(blocks: number, before = 0): number {
    return (
      2 * before - this.core.exports.memoryGrant(blocks) - this.cache.exports.memoryGrant(blocks)
    );
  }

  queue<T>(options: QueueOptions<T>): ProbeQueue<T> {
    return new ProbeQueue<T>({ clock: this.clock, ...options });
  }

  /** All that can be seen from outside and in the core's books. Asks for no memory. */
  state(): unknown {
    return {
      queues: [this.plain, this.timed, this.requests, this.stack, this.pins, this.ranked].map(
        (queue) => queue?.books(),
      ),
      metrics: this.provider.text(),
      failures: ['a', 'key-0', 'key-500'].map((key) => this.limiter?.numRequeues(key)),
      timers: this.clock.timers(),
      index: this.index?.values().map((value) => [value, [...this.index.slots(value)]]),
    };
  }

  dispose(): void {
    for (const each of [
      this.plain,
      this.timed,
      this.requests,
      this.stack,
      this.pins,
      this.ranked,
      this.limiter,
      this.requestLimiter,
      this.index,
    ])
      each.dispose();
  }
}

/** A step of the script. What both answer must be equal. */
export interface MemoryStep {
  name: string;
  real(world: MemoryWorld): unknown;
  model(world: MemoryWorld): unknown;
}

export const script: MemoryStep[] = [];
const step = (
  name: string,
  real: MemoryStep['real'],
  model: MemoryStep['model'] = () => undefined,
): void => {
  script.push({ name, real, model });
};

/** A step that makes a part of the world. */
const make = <K extends keyof MemoryWorld>(
  name: K,
  one: (world: MemoryWorld) => MemoryWorld[K],
): void =>
  step(`new ${name}`, (w) => {
    w[name] = one(w);
  });
make('plain', (w) => w.queue({}));
make('timed', (w) => w.queue({ name: 'timed', metricsProvider: w.provider }));
make('requests', (w) => w.queue({ key: requestKey }));
make('stack', (w) => w.queue({ order: new Stack() }));
make('pins', (w) => w.queue({ times: true }));
make('ranked', (w) => new ProbePriorityQueue(undefined, { clock: w.clock }));
make('limiter', () => new ItemExponentialFailureRateLimiter(5, 1_000));
make('requestLimiter', () => new ItemExponentialFailureRateLimiter(5, 1_000, { key: requestKey }));
make('index', (w) => new IndexMap(w.cache));

const add = (key: string): void =>
  step(
    `add ${key.slice(0, 20)}`,
    (w) => [w.plain.add(key), w.plain.len()],
    (w) => [w.model.plain.add(key), w.model.plain.len()],
  );
for (const key of [
  'a',
  'wide ☃',
  `long ${'k'.repeat(40)}`,
  `long and wide ☃ ${'k'.repeat(40)}`,
  endless('plain'),
  'a',
])
  add(key);
step(
  'get',
  (w) => w.plain.tryGet(),
  (w) => w.model.plain.tryGet(),
);
step(
  'add what is processed',
  (w) => w.plain.add('a'),
  (w) => w.model.plain.add('a'),
);
for (const key of ['a', 'never added', endless('never added')])
  step(
    `done ${key.slice(0, 12)}`,
    (w) => [w.plain.done(key), w.plain.len()],
    (w) => [w.model.plain.done(key), w.model.plain.len()],
  );
for (const key of ['a', 'b', `long ${'s'.repeat(40)}`])
  step(`stack ${key}`, (w) => w.stack.add(key));
step(
  'stack get',
  (w) => w.stack.tryGet()?.slice(0, 4),
  () => 'long',
);

for (let i = 0; i < MANY; i++) {
  step(
    `timed ${i}`,
    (w) => w.timed.add(`key-${i}`),
    (w) => w.model.timed.add(`key-${i}`),
  );
  if (i >= 700) continue; // the other tables have seen all but that directory by then
  step(
    `when ${i}`,
    (w) => w.limiter.when(`key-${i}`),
    (w) => w.model.limiter.when(`key-${i}`),
  );
  const request = {
    namespace: `ns-${i % 7}`,
    name: `name-${i}${i % 200 === 0 ? endless('') : ''}`,
  };
  const ms = 1 + ((i * 7919) % 5_000);
  step(
    `request ${i}`,
    (w) => w.requests.addAfter(request, ms),
    (w) => w.model.requests.addAfter(requestText(request), ms),
  );
  if (i % 300 === 0) {
    step(
      `an earlier time for ${i}`,
      (w) => w.requests.addAfter(request, 1),
      (w) => w.model.requests.addAfter(requestText(request), 1),
    );
    step(
      `when of request ${i}`,
      (w) => w.requestLimiter.when(request),
      (w) => w.model.requestLimiter.when(requestText(request)),
    );
    step(
      `forget request ${i}`,
      (w) => w.requestLimiter.forget(request),
      (w) => w.model.requestLimiter.forget(requestText(request)),
    );
  }
  if (i % 200 === 0)
    step(
      `cycle of timed ${i}`,
      (w) => {
        const key = w.timed.tryGet() as string;
        w.timed.done(key);
        return key;
      },
      (w) => {
        const key = w.model.timed.tryGet() as string;
        w.model.timed.done(key);
        return key;
      },
    );
}
for (const key of ['key-1', endless('limiter')]) {
  step(
    'when again',
    (w) => w.limiter.when(key),
    (w) => w.model.limiter.when(key),
  );
  step(
    'numRequeues',
    (w) => w.limiter.numRequeues(key),
    (w) => w.model.limiter.numRequeues(key),
  );
  step(
    'forget',
    (w) => w.limiter.forget(key),
    (w) => w.model.limiter.forget(key),
  );
}
// A few due, one by one; then many at once, sorted in blocks of their own.
for (const ms of [3, 4_000, 6_000])
  step(
    `${ms} ms pass`,
    (w) => [w.clock.step(ms), w.requests.len(), w.clock.timers()],
    (w) => {
      for (const queue of [w.model.plain, w.model.timed, w.model.requests]) queue.advance(ms);
      return [undefined, w.model.requests.len(), w.model.requests.waiting() === 0 ? 0 : 1];
    },
  );

const list = (slot: number, values: string[]): void =>
  step(
    `index ${slot}: ${values.length} values`,
    (w) => [w.index.set(slot, values), w.index.values().sort()],
    (w) => [w.model.index.set(slot, values), w.model.index.values()],
  );
const listOne = (slot: number, value: string): void =>
  step(
    `index ${slot}: one value`,
    (w) => [w.index.setOne(slot, value), w.index.values().sort()],
    (w) => [w.model.index.set(slot, [value]), w.model.index.values()],
  );
for (let slot = 0; slot < 40; slot++) list(slot, ['everybody', `third-${slot % 3}`]);
list(3, ['alone']);
list(
  4,
  Array.from({ length: 70 }, (_, i) => `value-${i}`),
);
list(17_000, ['everybody', `far ${'v'.repeat(50)}`, endless('far')]);
list(3, []);
list(17_000, ['everybody']);
for (const slot of [0, 4, 17_000, 34_000]) listOne(slot, 'alone');
for (const value of ['other', endless('one'), 'everybody', `one ${'v'.repeat(50)}`])
  listOne(34_000, value);
for (let slot = 50; slot < 70; slot++) listOne(slot, 'full set');

// Slots: the block that batches cross in is the only memory they need once they are pinned.
for (let i = 0; i < PINS; i++)
  step(`pin ${i}`, (w) => {
    w.slots[i] = w.pins.pin(`pin-${i}`);
  });
step(`pin ${'p'.repeat(40)}`, (w) => w.pins.unpin(w.pins.pin('p'.repeat(40))));
const takeModel = (queue: ModelDelayingQueue, most: number): string[] => {
  const keys: string[] = [];
  while (keys.length < most && queue.len() > 0) keys.push(queue.tryGet() as string);
  return keys;
};
for (const count of [2, PINS]) {
  step(
    `addSlots ${count}`,
    (w) => [w.pins.addSlots(w.slots, count), w.pins.len()],
    (w) => {
      for (let i = 0; i < count; i++) w.model.pins.add(`pin-${i}`);
      return [undefined, w.model.pins.len()];
    },
  );
  step(
    `getSlots ${count}`,
    (w) => {
      const got = new Int32Array(count);
      return Array.from(got.subarray(0, w.pins.getSlots(got)), (slot) => w.pins.slotItem(slot));
    },
    (w) => takeModel(w.model.pins, count),
  );
  step(
    `doneSlots ${count}`,
    (w) => [w.pins.doneSlots(w.slots, count), ...w.pins.books().slice(1)],
    (w) => {
      for (let i = 0; i < count; i++) w.model.pins.done(`pin-${i}`);
      return [undefined, 0, 0, 0, 0, Number.POSITIVE_INFINITY];
    },
  );
}
step(
  'addAll of one',
  (w) => w.pins.addAll(['pin-0']),
  (w) => w.model.pins.add('pin-0'),
);
step(
  'getBatch',
  (w) => w.pins.getBatch(7),
  (w) => takeModel(w.model.pins, 7),
);
step(
  'doneAll',
  (w) => w.pins.doneAll(['pin-0']),
  (w) => w.model.pins.done('pin-0'),
);
step(
  'cancel',
  (w) => w.pins.cancel(endless('cancel')),
  () => false,
);
step('unpin all', (w) => {
  for (let i = 0; i < PINS; i++) w.pins.unpin(w.slots[i] as number);
});

// Levels come and go with the priorities that keys have; a level is reserved before a key is.
for (let i = 0; i < 300; i++) {
  const key = `ranked-${i}${i % 100 === 7 ? 'r'.repeat(40) : ''}`;
  const options = { priority: ((i * 37) % 90) - 40, after: i % 4 === 0 ? 1 + (i % 50) : 0 };
  step(
    `ranked ${i}`,
    (w) => w.ranked.addWithOpts(options, key),
    (w) => w.model.ranked.addWithOpts(options, key),
  );
  if (i % 30 !== 29) continue;
  step(
    `raise ${i}`,
    (w) => w.ranked.addWithOpts({ priority: 100 + i }, key),
    (w) => w.model.ranked.addWithOpts({ priority: 100 + i }, key),
  );
  step(
    `limit ${i}`,
    (w) => w.ranked.addWithOpts({ rateLimited: true, priority: 500 + i }, `limited-${i}`),
    (w) => w.model.ranked.addWithOpts({ rateLimited: true, priority: 500 + i }, `limited-${i}`),
  );
}
step(
  'time for those who wait with a priority',
  (w) => [w.clock.step(60), w.ranked.len()],
  (w) => {
    for (const queue of [w.model.plain, w.model.timed, w.model.requests]) queue.advance(60);
    w.model.ranked.advance(60);
    return [undefined, w.model.ranked.len()];
  },
);
step(
  'drain ranked',
  (w) => drain(w.ranked),
  (w) => {
    const keys: string[] = [];
    for (let key = w.model.ranked.next(); key !== undefined; key = w.model.ranked.next()) {
      w.model.ranked.get(() => {});
      w.model.ranked.done(key);
      keys.push(key);
    }
    return keys;
  },
);

const drainModel = (queue: ModelDelayingQueue): string[] => {
  const keys: string[] = [];
  for (let key = queue.tryGet(); key !== undefined; key = queue.tryGet()) {
    keys.push(key);
    queue.done(key);
  }
  return keys;
};
// Keys that are looked up by their text need the scratch, and no memory beyond that.
step(
  'drain plain',
  (w) => drain(w.plain),
  (w) => drainModel(w.model.plain),
);
step(
  'drain timed',
  (w) => drain(w.timed),
  (w) => drainModel(w.model.timed),
);
step(
  'drain requests',
  (w) => drain(w.requests).map(requestText),
  (w) => drainModel(w.model.requests),
);
