/**
 * bindings/wasm/core.ts and the memory of assembly/: what happens at the limits. Memory that cannot
 * grow is a typed error with nothing changed; a trap poisons its instance and no other; memory
 * follows the live keys, not the keys ever seen.
 */
import { initCacheCore } from 'capstan/cache';
import {
  CapstanError,
  DelayingQueue,
  FakeClock,
  ItemExponentialFailureRateLimiter,
  initCore,
  PrometheusProvider,
  type Request,
  requestKey,
  WorkQueue,
} from 'capstan/workqueue';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Core, sharedCore } from '../../bindings/wasm/core.ts';
import { HASHINGS, setHashing } from '../../bindings/wasm/hashes.ts';
import { expectError, expectRejection, invalidArgument } from '../helpers/expect-error.ts';
import { isCollected } from '../helpers/garbage-collection.ts';
import { settle } from '../helpers/promise-state.ts';
import { Random, testSeed } from '../helpers/random.ts';
import { drain } from '../helpers/workqueue/queue-items.ts';
import { ModelDelayingQueue } from '../helpers/workqueue/queue-model.ts';

const MAX_PAGES = 65_536;

/** Runs while the shared instance cannot grow beyond the pages it has. */
function withoutGrowth<R>(run: () => R): R {
  const core = sharedCore();
  core.exports.memoryLimit(core.exports.memoryPages());
  try {
    return run();
  } finally {
    core.exports.memoryLimit(MAX_PAGES);
  }
}

function codeOf(run: () => unknown): string | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    if (error instanceof CapstanError) return error.code;
    throw error;
  }
}

describe.each(HASHINGS)('out of memory, keys by %s', (hashing) => {
  beforeEach(() => setHashing(hashing));
  afterEach(() => setHashing(undefined));

  test('add fails with OUT_OF_MEMORY and changes nothing; with memory it works again', () => {
    const queue = new WorkQueue();
    const added: string[] = [];
    const refused = withoutGrowth(() => {
      for (let i = 0; ; i++) {
        const key = `key-${i}-${'x'.repeat(60)}`;
        const code = codeOf(() => queue.add(key));
        if (code !== undefined) {
          expect(code).toBe('OUT_OF_MEMORY');
          return key;
        }
        added.push(key);
      }
    });
    expect(added.length).toBeGreaterThan(0);
    expect(queue.len()).toBe(added.length);
    expect(withoutGrowth(() => codeOf(() => queue.add(refused)))).toBe('OUT_OF_MEMORY');
    queue.add(added[0] as string);
    expect(queue.len()).toBe(added.length);
    queue.add(refused);
    expect(drain(queue)).toEqual([...added, refused]);
    queue.dispose();
  });

  test('addAfter, requests, limiters and new queues fail likewise', () => {
    const clock = new FakeClock();
    const delaying = new DelayingQueue<Request>({ clock, key: requestKey });
    const limiter = new ItemExponentialFailureRateLimiter(1, 1_000);
    const hog = new WorkQueue();
    let waiting = 0;
    let failing = 0;
    withoutGrowth(() => {
      while (codeOf(() => hog.add(`hog-${hog.len()}`)) === undefined);
      const name = 'n'.repeat(5_000);
      while (
        codeOf(() => delaying.addAfter({ namespace: `ns-${waiting}`, name }, 10)) === undefined
      )
        waiting++;
      expect(codeOf(() => delaying.addAfter({ namespace: `ns-${waiting}`, name }, 10))).toBe(
        'OUT_OF_MEMORY',
      );
      while (codeOf(() => limiter.when(`key-${failing}-${name}`)) === undefined) failing++;
      expect(codeOf(() => limiter.when(`key-${failing}-${name}`))).toBe('OUT_OF_MEMORY');
      const queues: WorkQueue[] = [];
      const makeAll = () => {
        for (;;) queues.push(new WorkQueue());
      };
      expect(codeOf(makeAll)).toBe('OUT_OF_MEMORY');
      for (const queue of queues) queue.dispose();
    });
    clock.step(10);
    expect(drain(delaying)).toHaveLength(waiting);
    expect(limiter.numRequeues(`key-${failing}-${'n'.repeat(5_000)}`)).toBe(0);
    expect(drain(hog).length).toBeGreaterThan(0);
    for (const queue of [delaying, hog]) queue.dispose();
  });

  test('done, tryGet and the firing of delays need no memory', () => {
    const clock = new FakeClock();
    const queue = new DelayingQueue({ clock });
    for (let i = 0; i < 5_000; i++) queue.addAfter(`delayed-${i}`, i % 50);
    const hog = new WorkQueue();
    withoutGrowth(() => {
      while (codeOf(() => hog.add(`hog-${hog.len()}`)) === undefined);
      clock.step(50);
      for (let i = 0; i < 5_000; i++) {
        const key = queue.tryGet() as string;
        queue.add(key);
        queue.done(key);
      }
      expect(drain(queue)).toHaveLength(5_000);
    });
    queue.dispose();
    hog.dispose();
  });

  test('a queue that is refused memory at random moments still agrees with the model', () => {
    const seed = testSeed();
    console.log(`test/wasm/core.test.ts (${hashing}): CAPSTAN_SEED=${seed}`);
    const random = new Random(seed);
    const clock = new FakeClock();
    const queue = new DelayingQueue({ clock });
    const model = new ModelDelayingQueue();
    const keys = Array.from(
      { length: 3_000 },
      (_, i) => `${i}-${'k'.repeat(random.chance(0.2) ? random.int(20_000) : random.int(60))}`,
    );
    const processing: string[] = [];
    let refusals = 0;
    /** What was refused must not have happened, so the model does it only when it was not. */
    const attempt = (real: () => void, expected: () => void) => {
      const code = codeOf(real);
      if (code === undefined) expected();
      else {
        expect(code).toBe('OUT_OF_MEMORY');
        refusals++;
      }
    };
    const core = sharedCore();
    for (let i = 0; i < 40_000; i++) {
      // Blocks come a few at a time; between them whatever needs one is refused.
      if (i % 500 === 0) core.exports.memoryGrant(random.chance(0.3) ? 1 + random.int(2) : 0);
      const key = random.pick(keys);
      const roll = random.int(10);
      if (roll < 4)
        attempt(
          () => queue.add(key),
          () => model.add(key),
        );
      else if (roll < 6) {
        const ms = random.int(200);
        attempt(
          () => queue.addAfter(key, ms),
          () => model.addAfter(key, ms),
        );
      } else if (roll < 8) {
        const got = queue.tryGet();
        expect(got).toBe(model.tryGet());
        if (got !== undefined) processing.push(got);
      } else if (roll < 9 && processing.length > 0) {
        const done = processing.splice(random.int(processing.length), 1)[0] as string;
        queue.done(done);
        model.done(done);
      } else {
        const ms = random.int(20);
        clock.step(ms);
        model.advance(ms);
      }
      expect(queue.len(), `seed ${seed}, operation ${i}`).toBe(model.len());
    }
    core.exports.memoryGrant(-1);
    expect(refusals).toBeGreaterThan(10);
    queue.dispose();
  });
});

describe('delays that end without memory to sort them in', () => {
  test('still come out in the order of their times', () => {
    const clock = new FakeClock();
    const queue = new DelayingQueue({ clock });
    const keys = Array.from({ length: 5_000 }, (_, i) => `key-${i}`);
    keys.forEach((key, i) => {
      queue.addAfter(key, 1 + ((i * 7919) % 5_000));
    });
    const core = sharedCore();
    core.exports.memoryLimit(core.exports.memoryPages());
    const hog = new WorkQueue();
    for (let i = 0; codeOf(() => hog.add(`hog-${i}-${'x'.repeat(60_000)}`)) === undefined; i++);
    for (let i = 0; codeOf(() => hog.add(`hog-${i}`)) === undefined; i++);
    clock.step(5_000);
    core.exports.memoryLimit(MAX_PAGES);
    const order = keys
      .map((key, i) => ({ key, at: (i * 7919) % 5_000 }))
      .sort((a, b) => a.at - b.at);
    expect(drain(queue)).toEqual(order.map(({ key }) => key));
    queue.dispose();
  });
});

describe('a trap', () => {
  /** Makes the next call of an export trap, as a bug in the core would. */
  function sabotage(
    core: Core,
    name: 'queueAddHash' | 'queueGet' | 'queueLen' | 'queueDoneSlot',
    error: Error,
  ): void {
    const trap = () => {
      throw error;
    };
    core.exports = { ...core.exports, [name]: trap };
  }

  test('of the real module is a WebAssembly.RuntimeError, and poisons the instance', () => {
    const core = new Core();
    let cause: unknown;
    try {
      core.exports.queueGet(0xfffffff0, 0);
    } catch (error) {
      cause = error;
    }
    expect(cause).toBeInstanceOf(WebAssembly.RuntimeError);
    const first = core.trapped(cause);
    expect(first).toBeInstanceOf(CapstanError);
    expect((first as CapstanError).code).toBe('POISONED');
    expect((first as CapstanError).cause).toBe(cause);
    expectError(() => core.exports.memoryPages(), 'POISONED');
  });

  test.each([
    ['a trap', () => new WebAssembly.RuntimeError('unreachable')],
    ['a stack overflow', () => new RangeError('Maximum call stack size exceeded')],
  ])(
    '%s in a call of a queue is a typed error, and so is every later call',
    async (_name, makeError) => {
      const queue = new WorkQueue();
      queue.add('a');
      const error = makeError();
      sabotage(sharedCore(), 'queueAddHash', error);
      const poisoned = expectError(() => queue.add('b'), 'POISONED', /bug/);
      expect(poisoned.cause).toBe(error);
      for (const use of [
        () => queue.add('c'),
        () => queue.tryGet(),
        () => queue.len(),
        () => queue.done('a'),
      ]) {
        expectError(use, 'POISONED');
      }
      await expectRejection(queue.get(), 'POISONED');
      await expectRejection(queue.shutDownWithDrain(), 'POISONED');
    },
  );

  test('calls that wait for a queue of the instance reject, whichever queue trapped', async () => {
    const queue = new WorkQueue();
    const draining = new WorkQueue();
    draining.add('a');
    draining.tryGet();
    const waits = [queue.get(), queue.get(), draining.shutDownWithDrain()];
    const other = new WorkQueue();
    sabotage(sharedCore(), 'queueAddHash', new WebAssembly.RuntimeError('unreachable'));
    expectError(() => other.add('b'), 'POISONED');
    for (const wait of waits) await expectRejection(wait, 'POISONED');
  });

  test('the metrics of other instances are still there', () => {
    const metricsProvider = new PrometheusProvider();
    const lost = new WorkQueue({ name: 'lost', metricsProvider });
    sabotage(sharedCore(), 'queueAddHash', new WebAssembly.RuntimeError('unreachable'));
    expectError(() => lost.add('a'), 'POISONED');
    const queue = new WorkQueue({ name: 'alive', metricsProvider });
    queue.add('a');
    expect(metricsProvider.text()).toContain('workqueue_depth{name="alive"} 1');
    expect(metricsProvider.text()).not.toContain('lost');
  });

  test('a poisoned queue can be disposed of, and then says so', () => {
    const queue = new WorkQueue();
    queue.add('a');
    sabotage(sharedCore(), 'queueAddHash', new WebAssembly.RuntimeError('unreachable'));
    expectError(() => queue.add('b'), 'POISONED');
    queue.dispose();
    queue.dispose();
    expectError(() => queue.add('b'), 'DISPOSED');
  });

  test('new queues get another instance, and queues of other instances go on', () => {
    const other = new Core();
    const old = new WorkQueue();
    sabotage(sharedCore(), 'queueAddHash', new WebAssembly.RuntimeError('unreachable'));
    expectError(() => old.add('a'), 'POISONED');
    const queue = new WorkQueue();
    queue.add('a');
    expect(drain(queue)).toEqual(['a']);
    expect(other.exports.memoryPages()).toBeGreaterThan(0);
    expectError(() => old.len(), 'POISONED');
  });

  test('a user function that throws is no trap: the instance stays', () => {
    const core = sharedCore();
    const problem = new Error('user');
    const queue = new WorkQueue<object>({
      key: () => {
        throw problem;
      },
    });
    expect(() => queue.add({})).toThrow();
    expect(sharedCore()).toBe(core);
    new WorkQueue().add('a');
  });
});

describe.each(HASHINGS)('memory follows the live keys, keys by %s', (hashing) => {
  beforeEach(() => setHashing(hashing));
  afterEach(() => setHashing(undefined));

  const pages = () => sharedCore().exports.memoryPages();

  test('a million distinct keys through one queue: the pages stay flat', () => {
    const queue = new WorkQueue();
    const cycle = (from: number, to: number) => {
      for (let i = from; i < to; i++) {
        queue.add(`team-${i % 200}/web-frontend-of-some-length-${i}`);
        queue.done(queue.tryGet() as string);
      }
    };
    cycle(0, 10_000);
    const before = pages();
    cycle(10_000, 1_000_000);
    expect(pages()).toBe(before);
    queue.dispose();
  });

  test('fresh requests, delays, failures and long keys: the pages stay flat', () => {
    const clock = new FakeClock();
    const queue = new DelayingQueue<Request>({ clock, key: requestKey });
    const limiter = new ItemExponentialFailureRateLimiter<Request>(5, 1_000, { key: requestKey });
    const churn = (rounds: number, tag: string) => {
      for (let round = 0; round < rounds; round++) {
        for (let i = 0; i < 200; i++) {
          const request = { namespace: `ns-${i}`, name: `${tag}-${round}-${'x'.repeat(i * 20)}` };
          limiter.when(request);
          queue.addAfter(request, 1 + (i % 7));
          queue.addAfter(request, 1);
          limiter.forget(request);
        }
        clock.step(10);
        expect(drain(queue)).toHaveLength(200);
      }
    };
    churn(5, 'warm');
    const before = pages();
    churn(100, 'churn');
    expect(pages()).toBe(before);
    queue.dispose();
  });

  test('waits that are moved earlier again and again do not pile up', () => {
    const clock = new FakeClock();
    const queue = new DelayingQueue({ clock });
    const move = (rounds: number) => {
      for (let i = 0; i < rounds; i++) {
        for (let ms = 60; ms > 0; ms--) queue.addAfter(`key-${i % 10}`, ms);
        if (i % 10 === 9) {
          clock.step(1);
          drain(queue);
        }
      }
    };
    move(100);
    const before = pages();
    move(10_000);
    expect(pages()).toBe(before);
    queue.dispose();
  });

  test('ten thousand queues made and disposed of, full: the pages stay flat', () => {
    const one = (i: number) => {
      const queue = new WorkQueue();
      for (let k = 0; k < 300; k++) queue.add(`queue-${i}-key-${k}-${'x'.repeat(k)}`);
      queue.dispose();
    };
    for (let i = 0; i < 20; i++) one(i);
    const before = pages();
    for (let i = 0; i < 1_000; i++) one(i);
    expect(pages()).toBe(before);
  });

  test('queues that are collected without dispose give their memory back', async () => {
    const one = async (i: number) => {
      const ref = (() => {
        const queue = new WorkQueue();
        for (let k = 0; k < 2_000; k++) queue.add(`queue-${i}-key-${k}`);
        return new WeakRef(queue);
      })();
      expect(await isCollected(ref)).toBe(true);
    };
    for (let i = 0; i < 5; i++) await one(i);
    const before = pages();
    for (let i = 0; i < 30; i++) await one(i);
    // the registry's callbacks may lag by a queue or two
    expect(pages()).toBeLessThanOrEqual(before + 8);
  });

  test('the metrics of a collected queue keep its counts when its memory is reused', async () => {
    // The provider holds a source that reads the core. It must not read memory that belongs to
    // another queue by now.
    const metricsProvider = new PrometheusProvider();
    const ref = (() => {
      const queue = new WorkQueue({ name: 'forgotten', metricsProvider });
      for (let k = 0; k < 500; k++) queue.add(`key-${k}`);
      for (let k = 0; k < 100; k++) queue.tryGet();
      return new WeakRef(queue);
    })();
    expect(metricsProvider.text()).toContain('workqueue_adds_total{name="forgotten"} 500');
    expect(await isCollected(ref)).toBe(true);
    const others = Array.from({ length: 20 }, () => new WorkQueue());
    for (const other of others) for (let k = 0; k < 500; k++) other.add(`other-${k}`);
    const isThere = () => metricsProvider.text().includes('workqueue_depth');
    // the registry's callback is a task
    for (let turn = 0; turn < 50 && isThere(); turn++) await settle();
    expect(isThere()).toBe(false);
    expect(metricsProvider.text()).toContain('workqueue_adds_total{name="forgotten"} 500\n');
    expect(metricsProvider.text()).toContain(
      'workqueue_queue_duration_seconds_count{name="forgotten"} 100\n',
    );
    for (const other of others) other.dispose();
  });
});

test('half a million live keys, whose hashes collide: none merges, and each is found again', () => {
  // 30 bits of hash are kept with a key: among so many some hundred pairs agree in them, and only
  // the comparison tells them apart.
  const queue = new WorkQueue();
  const count = 500_000;
  const key = (i: number) =>
    i % 2 === 0 ? `team/web-${i}` : `a-namespace-of-some-length/web-frontend-canary-${i}`;
  for (let i = 0; i < count; i++) queue.add(key(i));
  expect(queue.len()).toBe(count);
  for (let i = 0; i < count; i++) queue.add(key(i));
  expect(queue.len()).toBe(count);
  queue.dispose();
});

describe('initCore', () => {
  test('refuses a module after first use, and what is no module; without one it only loads', () => {
    initCore({});
    initCore({});
    expectError(() => initCore({ module: invalidArgument({}) }), 'INVALID_ARGUMENT', /module/);
    const empty = new WebAssembly.Module(new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]));
    expectError(() => initCore({ module: empty }), 'INVALID_ARGUMENT', /core\.wasm/);
  });

  // The module was ignored.
  test('refuses a module in place of its options, and an unknown option', () => {
    const empty = new WebAssembly.Module(new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]));
    for (const init of [initCore, initCacheCore]) {
      expectError(() => init(invalidArgument(empty)), 'INVALID_ARGUMENT', /such as { module }/);
      expectError(
        () => init(invalidArgument({ modul: empty })),
        'INVALID_ARGUMENT',
        /did you mean "module"/,
      );
    }
  });
});
