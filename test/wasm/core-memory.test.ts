/**
 * Memory that ends, everywhere it can: a script uses every structure of the core, and the k-th
 * block that it asks for is refused, for every k. The call that met the refusal either throws
 * OUT_OF_MEMORY and has changed nothing, or never needed the block; then memory is there again, and
 * the rest of the script ends as it does in the model.
 *
 * Pages are not enough for that: most requests are served from blocks that were freed, or from what
 * is left of a page. So the core counts requests for blocks (`memoryGrant`), whichever way they are
 * served.
 */
import { CapstanError } from 'capstan/workqueue';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { CacheCore } from '../../bindings/wasm/cache-core.ts';
import { Core } from '../../bindings/wasm/core.ts';
import { HASHINGS, setHashing } from '../../bindings/wasm/hashes.ts';
import { setKeyMode } from '../../bindings/wasm/key-mode.ts';
import { type MemoryStep, MemoryWorld, script } from './memory-script.ts';

function play(world: MemoryWorld, { name, real, model }: MemoryStep): void {
  const got = real(world);
  const wanted = model(world);
  // millions of calls: `expect` at each would take most of the time
  if (got !== wanted) expect(got, name).toEqual(wanted);
}

/**
 * The error of a step that is refused memory, undefined when it ran. Any other error is a failure.
 */
function refusal(
  world: MemoryWorld,
  { name, real }: MemoryStep,
): { answered: unknown } | undefined {
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
  const world = new MemoryWorld();
  const plenty = 1_000_000;
  const counts = script.map((each) => {
    world.grant(plenty);
    play(world, each);
    return world.grant(-1, plenty);
  });
  world.dispose();
  return counts;
}

/**
 * How many table headers fit in the memory that there is: when all was given back, as many as
 * before.
 */
function room(core: Core | CacheCore): number {
  const tables: number[] = [];
  core.exports.memoryLimit(core.exports.memoryPages());
  for (let table = core.exports.keysNew(); table !== 0; table = core.exports.keysNew())
    tables.push(table);
  for (const table of tables) core.exports.keysFree(table);
  core.exports.memoryLimit(65_536);
  return tables.length;
}

describe.each(HASHINGS)(
  'out of memory at each request for a block, keys of queues by %s',
  (hashing) => {
    beforeEach(() => {
      setHashing(hashing);
      setKeyMode(hashing === 'sample' ? 'wasm' : 'js'); // of caches
    });
    afterEach(() => {
      setHashing(undefined);
      setKeyMode(undefined);
    });

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
          const world = new MemoryWorld();
          const one = script[at] as MemoryStep;
          for (const { real, model } of script.slice(0, at)) {
            real(world);
            model(world);
          }
          const before = world.state();
          world.grant(granted);
          const ran = refusal(world, one);
          if (ran === undefined) {
            const what = one.name.replace(/\d+/g, 'n');
            refused.set(what, (refused.get(what) ?? 0) + 1);
            expect(world.state(), `${one.name}, block ${granted} refused`).toEqual(before);
            world.grant(0);
            expect(refusal(world, one), `${one.name}, refused again`).toBeUndefined();
            expect(world.state(), `${one.name}, refused again`).toEqual(before);
            world.grant(-1);
            play(world, one);
          } else {
            world.grant(-1);
            expect(ran.answered, `${one.name} without block ${granted}`).toEqual(one.model(world));
          }
          for (const each of script.slice(at + 1)) play(world, each);
          expect(
            [world.plain, world.timed, world.requests, world.pins].map((queue) => queue.books()[0]),
          ).toEqual([0, 0, 0, 0]);
          world.dispose();
        }
      }
      console.log(
        `test/wasm/core-memory.test.ts (${hashing}): ${total} blocks refused; calls that met it:`,
        [...refused].map(([what, n]) => `${what} ${n}`).join(', '),
      );
      expect(total).toBeGreaterThan(100);
    });

    test('leaks nothing: a hundred refusals of each block leave as much room as one', () => {
      const counts = requestsOfSteps();
      const roomAfter = (times: number): number => {
        const world = new MemoryWorld();
        for (const [at, one] of script.entries()) {
          let done = false;
          for (let granted = 0; granted < (counts[at] as number) && !done; granted++) {
            for (let time = 0; time < times && !done; time++) {
              world.grant(granted);
              done = refusal(world, one) !== undefined;
              world.grant(-1);
            }
          }
          if (!done) one.real(world);
        }
        world.dispose();
        return room(world.core) + room(world.cache);
      };
      expect(roomAfter(100)).toBe(roomAfter(1));
    });
  },
);

// What is left is counted in table headers, which fit into the block that was left as into any
// other.
test('the block for batches is given back when a larger one takes its place', () => {
  const after = (...counts: number[]): number => {
    const core = new Core();
    for (const count of counts) expect(core.exports.slotsBlock(count)).toBeGreaterThan(0);
    return room(core);
  };
  expect(after(1_000, 10, 5_000)).toBe(after(5_000));
});
