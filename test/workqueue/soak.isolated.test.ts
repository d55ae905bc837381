/**
 * A short form of the soak bench/queue/soak-run.ts, over each way to find keys: a million keys
 * that each come once, ten thousand of them live. `npm run soak` is the long form.
 */
import { afterEach, describe, expect, test } from 'vitest';
import { type SoakReport, soak } from '../../bench/queue/soak-run.ts';
import { sharedCore } from '../../bindings/wasm/core.ts';
import { HASHINGS, setHashing } from '../../bindings/wasm/hashes.ts';
import { collectGarbage } from '../helpers/garbage-collection.ts';

function run(cycles: number, live: number): Promise<SoakReport> {
  return soak({
    cycles,
    live,
    pages: () => sharedCore().exports.memoryPages(),
    collect: collectGarbage,
  });
}

afterEach(() => setHashing(undefined));

describe.each(HASHINGS)('new keys all the time, keys by %s', (hashing) => {
  test('no key is lost or repeated, and memory is bounded by the live keys', {
    timeout: 120_000,
  }, async () => {
    setHashing(hashing);
    const { problems, early, late, handedOut } = await run(1_000_000, 10_000);
    expect(problems).toEqual([]);
    expect(late.pages).toBe(early.pages);
    expect(handedOut).toBeGreaterThan(1_010_000); // one in 64 comes twice
  });
});

test('a queue that loses keys, repeats one or keeps memory is detected', async () => {
  const { DelayingQueue } = await import('capstan/workqueue');
  const { add, done } = DelayingQueue.prototype;
  let calls = 0;
  const every = 20_011;
  const broken: Record<string, () => void> = {
    'lost|ready': () => {
      DelayingQueue.prototype.add = function (item) {
        if (++calls % every !== 0) add.call(this, item);
      };
    },
    'still in processing|lost|pages|heap': () => {
      DelayingQueue.prototype.done = function (item) {
        if (++calls % every !== 0) done.call(this, item);
      };
    },
    'handed out': () => {
      DelayingQueue.prototype.add = function (item) {
        add.call(this, item);
        if (++calls % every === 0)
          (this as InstanceType<typeof DelayingQueue>).addAfter(item as string, 40);
      };
    },
  };
  for (const [found, sabotage] of Object.entries(broken)) {
    sabotage();
    try {
      const { problems } = await run(200_000, 2_000);
      expect(problems.join('\n')).toMatch(new RegExp(found));
    } finally {
      DelayingQueue.prototype.add = add;
      DelayingQueue.prototype.done = done;
    }
  }
});
