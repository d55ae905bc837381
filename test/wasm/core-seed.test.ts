/**
 * The secret seed of the hash, and hosts that refuse random numbers for a while.
 *
 * Cloudflare's workerd throws for random numbers outside of handlers, so `const queue = new
 * WorkQueue()` at the top of a worker's module threw an error of the host's, and the worker did not
 * start.
 */
import { RateLimitingQueue, type Request, requestKey, WorkQueue } from 'capstan/workqueue';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CacheCore } from '../../bindings/wasm/cache-core.ts';
import { Core, sharedCore } from '../../bindings/wasm/core.ts';
import { IndexMap } from '../../bindings/wasm/index-map.ts';
import { setKeyMode } from '../../bindings/wasm/key-mode.ts';
import { exportsCalled } from '../helpers/workqueue/exports-called.ts';
import { drain } from '../helpers/workqueue/queue-items.ts';

/** Runs in a host that gives no random numbers. */
function withoutRandom<R>(run: () => R): R {
  Object.defineProperty(crypto, 'getRandomValues', {
    configurable: true,
    value: () => {
      throw new Error('not within global scope');
    },
  });
  try {
    return run();
  } finally {
    Reflect.deleteProperty(crypto, 'getRandomValues');
  }
}

/** Takes the shared instance away, as a trap does: the next one is made anew. */
function dropShared(): void {
  sharedCore().trapped(new WebAssembly.RuntimeError('unreachable'));
}

describe('without random numbers', () => {
  beforeEach(() => {
    setKeyMode('wasm');
    dropShared();
  });
  afterEach(() => setKeyMode(undefined));

  test('a queue works', () => {
    const [texts, requests] = withoutRandom(() => [
      new RateLimitingQueue(),
      new WorkQueue<Request>({ key: requestKey }),
    ]);
    texts.add('a');
    texts.addRateLimited('b');
    texts.forget('b');
    requests.add({ namespace: 'n', name: 'a' });
    expect(drain(texts)).toEqual(['a']);
    expect(drain(requests)).toEqual([{ namespace: 'n', name: 'a' }]);
    texts.dispose();
    requests.dispose();
  });

  test('an index works, and one made later on the same instance as well', () => {
    const core = withoutRandom(() => new CacheCore());
    const names = exportsCalled(core, () => {
      const index = new IndexMap(core);
      index.set(3, ['a', 'b']);
      expect([...index.slots('b')]).toEqual([3]);
      index.dispose();
    });
    expect(names).not.toContain('keysIntern');
  });

  test('queues made later in the same instance work, too', () => {
    const early = withoutRandom(() => new WorkQueue());
    const core = sharedCore();
    const late = new WorkQueue();
    late.add('a');
    expect(drain(late)).toEqual(['a']);
    early.add('b');
    expect(drain(early)).toEqual(['b']);
    expect(sharedCore()).toBe(core);
  });

  test('each instance is seeded once, with a seed of its own', () => {
    const given: Int32Array[] = [];
    const { getRandomValues } = crypto;
    Object.defineProperty(crypto, 'getRandomValues', {
      configurable: true,
      value: (into: Int32Array<ArrayBuffer>) => {
        getRandomValues.call(crypto, into);
        given.push(into.slice());
        return into;
      },
    });
    try {
      const first = new Core();
      first.seed();
      expect(first.seeded).toBe(true);
      new Core();
    } finally {
      Reflect.deleteProperty(crypto, 'getRandomValues');
    }
    expect(given).toHaveLength(2);
    expect([...(given[0] ?? [])]).not.toEqual([...(given[1] ?? [])]);
  });
});
