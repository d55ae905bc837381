/**
 * Memory that ends, everywhere it can: a script uses every structure of the core, and the k-th block that it asks for is refused, for
 * every k. The call that met the refusal either throws OUT_OF_MEMORY and has changed nothing, or never needed the block; then memory
 * is there again, and the rest of the script ends as it does in the model.
 *
 * Pages are not enough for that: most requests are served from blocks that were freed, or from what is left of a page. So the core
 * counts requests for blocks (`memoryGrant`), whichever way they are served.
 */
import {
  CapstanError,
  DelayingQueue,
  FakeClock,
  ItemExponentialFailureRateLimiter,
  PrometheusProvider,
  type QueueOptions,
  type QueueOrder,
  type Request,
  requestKey,
} from 'capstan/workqueue';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Core, sharedCore } from '../bindings/core.ts';
import { IndexMap } from '../bindings/index-map.ts';
import { type KeyMode, setKeyMode } from '../bindings/keys.ts';
import { ModelDelayingQueue, ModelExponential, ModelIndexMap } from './reference.ts';
import { drain } from './workqueue/helpers.ts';

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
    const { x } = this.core;
    const h = this.handle;
    return [x.keysUsed(h), x.queueLen(h), x.queueDepth(h), x.queueProcessing(h), x.delayWaiting(h), x.delayNext(h)];
  }
}

class Stack implements QueueOrder<string> {
  readonly #items: string[] = [];
  touch(): void {}
  push(item: string): void {
    this.#items.push(item);
  }
  len(): number {
    return this.#items.length;
  }
  pop(): string {
    return this.#items.pop() as string;
  }
}

/** Everything that the script works on, beside its model. */
class World {
  readonly core: Core;
  readonly clock = new FakeClock();
  readonly provider = new PrometheusProvider();
  plain!: ProbeQueue;
  timed!: ProbeQueue;
  requests!: ProbeQueue<Request>;
  stack!: ProbeQueue;
  pins!: ProbeQueue;
  slots = new Int32Array(PINS);
  limiter!: ItemExponentialFailureRateLimiter;
  requestLimiter!: ItemExponentialFailureRateLimiter<Request>;
  index!: IndexMap;
  readonly model = {
    plain: new ModelDelayingQueue(),
    timed: new ModelDelayingQueue(),
    requests: new ModelDelayingQueue(),
    pins: new ModelDelayingQueue(),
    limiter: new ModelExponential(5, 1_000),
    requestLimiter: new ModelExponential(5, 1_000),
    index: new ModelIndexMap(),
  };

  constructor() {
    sharedCore().trapped(new WebAssembly.RuntimeError('given up, so that the next world has an instance of its own'));
    this.core = sharedCore();
  }

  queue<T>(options: QueueOptions<T>): ProbeQueue<T> {
    return new ProbeQueue<T>({ clock: this.clock, ...options });
  }

  /** All that can be seen from outside and in the core's books. Asks for no memory. */
  state(): unknown {
    return {
      queues: [this.plain, this.timed, this.requests, this.stack, this.pins].map((queue) => queue?.books()),
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
      this.limiter,
      this.requestLimiter,
      this.index,
    ])
      each.dispose();
  }
}

/** A step of the script. What both answer must be equal. */
interface Step {
  name: string;
  real(world: World): unknown;
  model(world: World): unknown;
}

const script: Step[] = [];
const step = (name: string, real: Step['real'], model: Step['model'] = () => undefined): void => {
  script.push({ name, real, model });
};

/** A step that makes a part of the world. */
const make = <K extends keyof World>(name: K, one: (world: World) => World[K]): void =>
  step(`new ${name}`, (w) => {
    w[name] = one(w);
  });
make('plain', (w) => w.queue({}));
make('timed', (w) => w.queue({ name: 'timed', metricsProvider: w.provider }));
make('requests', (w) => w.queue({ key: requestKey }));
make('stack', (w) => w.queue({ queue: new Stack() }));
make('pins', (w) => w.queue({ times: true }));
make('limiter', () => new ItemExponentialFailureRateLimiter(5, 1_000));
make('requestLimiter', () => new ItemExponentialFailureRateLimiter(5, 1_000, { key: requestKey }));
make('index', (w) => new IndexMap(w.core));

const add = (key: string): void =>
  step(
    `add ${key.slice(0, 20)}`,
    (w) => [w.plain.add(key), w.plain.len()],
    (w) => [w.model.plain.add(key), w.model.plain.len()],
  );
for (const key of ['a', 'wide ☃', `long ${'k'.repeat(40)}`, `long and wide ☃ ${'k'.repeat(40)}`, endless('plain'), 'a'])
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
for (const key of ['a', 'b', `long ${'s'.repeat(40)}`]) step(`stack ${key}`, (w) => w.stack.add(key));
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
  const request = { namespace: `ns-${i % 7}`, name: `name-${i}${i % 200 === 0 ? endless('') : ''}` };
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
for (let slot = 0; slot < 40; slot++) list(slot, ['everybody', `third-${slot % 3}`]);
list(3, ['alone']);
list(
  4,
  Array.from({ length: 70 }, (_, i) => `value-${i}`),
);
list(17_000, ['everybody', `far ${'v'.repeat(50)}`, endless('far')]);
list(3, []);
list(17_000, ['everybody']);

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

function play(world: World, { name, real, model }: Step): void {
  const got = real(world);
  const wanted = model(world);
  if (got !== wanted) expect(got, name).toEqual(wanted); // millions of calls: `expect` alone would take most of the time
}

/** The error of a step that is refused memory, undefined when it ran. Any other error is a failure. */
function refusal(world: World, { name, real }: Step): { answered: unknown } | undefined {
  try {
    return { answered: real(world) };
  } catch (error) {
    expect(error, name).toBeInstanceOf(CapstanError);
    expect((error as CapstanError).code, name).toBe('OUT_OF_MEMORY');
    return undefined;
  }
}

/** How many blocks each step of the script asks for. */
function requestsOfSteps(): number[] {
  const world = new World();
  const plenty = 1_000_000;
  const counts = script.map((each) => {
    world.core.x.memoryGrant(plenty);
    play(world, each);
    return plenty - world.core.x.memoryGrant(-1);
  });
  world.dispose();
  return counts;
}

/** How many table headers fit in the memory that there is: when all was given back, as many as before. */
function room(core: Core): number {
  const tables: number[] = [];
  core.x.memoryLimit(core.x.memoryPages());
  for (let table = core.x.keysNew(); table !== 0; table = core.x.keysNew()) tables.push(table);
  for (const table of tables) core.x.keysFree(table);
  core.x.memoryLimit(65_536);
  return tables.length;
}

describe.each<KeyMode>(['wasm', 'js'])('out of memory at each request for a block, keys in %s', (mode) => {
  beforeEach(() => setKeyMode(mode));
  afterEach(() => setKeyMode(undefined));

  test('is a typed error, changes nothing, and the rest of the script ends as in the model', {
    timeout: 120_000,
  }, () => {
    requestsOfSteps(); // one idle queue per class is made at first: not counted
    const counts = requestsOfSteps();
    const refused = new Map<string, number>();
    let total = 0;
    for (const [at, count] of counts.entries()) {
      for (let granted = 0; granted < count; granted++) {
        total++;
        const world = new World();
        const { x } = world.core;
        const one = script[at] as Step;
        for (const { real, model } of script.slice(0, at)) {
          real(world);
          model(world);
        }
        const before = world.state();
        x.memoryGrant(granted);
        const ran = refusal(world, one);
        if (ran === undefined) {
          const what = one.name.replace(/\d+/g, 'n');
          refused.set(what, (refused.get(what) ?? 0) + 1);
          expect(world.state(), `${one.name}, block ${granted} refused`).toEqual(before);
          x.memoryGrant(0);
          expect(refusal(world, one), `${one.name}, refused again`).toBeUndefined();
          expect(world.state(), `${one.name}, refused again`).toEqual(before);
          x.memoryGrant(-1);
          play(world, one);
        } else {
          x.memoryGrant(-1);
          expect(ran.answered, `${one.name} without block ${granted}`).toEqual(one.model(world));
        }
        for (const each of script.slice(at + 1)) play(world, each);
        expect([world.plain, world.timed, world.requests, world.pins].map((queue) => queue.books()[0])).toEqual([
          0, 0, 0, 0,
        ]);
        world.dispose();
      }
    }
    console.log(
      `test/core-memory.test.ts (${mode}): ${total} blocks refused; calls that met it: ${[...refused].map(([what, n]) => `${what} ${n}`).join(', ')}`,
    );
    expect(total).toBeGreaterThan(100);
  });

  test('leaks nothing: when all is given back, there is as much room after a hundred refusals of each block as after one', () => {
    const counts = requestsOfSteps();
    const roomAfter = (times: number): number => {
      const world = new World();
      for (const [at, one] of script.entries()) {
        let done = false;
        for (let granted = 0; granted < (counts[at] as number) && !done; granted++) {
          for (let time = 0; time < times && !done; time++) {
            world.core.x.memoryGrant(granted);
            done = refusal(world, one) !== undefined;
            world.core.x.memoryGrant(-1);
          }
        }
        if (!done) one.real(world);
      }
      world.dispose();
      return room(world.core);
    };
    expect(roomAfter(100)).toBe(roomAfter(1));
  });
});
