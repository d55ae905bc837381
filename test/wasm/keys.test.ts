/**
 * bindings/wasm/keys.ts, and assembly/keys.ts for caches: texts and pairs of all lengths that are
 * read in different ways, with one and two bytes a UTF-16 unit.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Request, requestKey } from '../../bindings/base/request.ts';
import { CacheCore } from '../../bindings/wasm/cache-core.ts';
import { Core, NO_MEMORY, ORDER_LISTED } from '../../bindings/wasm/core.ts';
import { HASHINGS, setHashing } from '../../bindings/wasm/hashes.ts';
import { type KeyTable, keyTable } from '../../bindings/wasm/keys.ts';

// no, one and several words of eight bytes, with and without a rest; kept in the record and outside
const LONGEST = 41;

/** A key of each length, and all that differ from it in one unit. */
function neighbours(length: number, units: string): string[] {
  const base = Array.from({ length }, (_, i) => units[i % units.length] as string).join('');
  const others = Array.from(
    base,
    (unit, i) => base.slice(0, i) + (unit === '~' ? '!' : '~') + base.slice(i + 1),
  );
  return [base, ...others];
}

const narrow = 'abcdefghijklm';
const wide = 'a\u0161b\u0162c\u0163'; // agrees with a narrow key in its low bytes

function allDiffer<T>(table: KeyTable<T>, items: readonly T[]): void {
  const slots = items.map((item) => table.intern(item));
  expect(new Set(slots).size).toBe(items.length);
  expect(items.map((item) => table.find(item))).toEqual(slots);
}

describe.each(HASHINGS)('keys by %s', (hashing) => {
  beforeEach(() => setHashing(hashing));
  afterEach(() => setHashing(undefined));

  test.each([
    ['one byte a unit', narrow],
    ['two bytes', wide],
  ])('texts that differ in one unit, or in length, are different keys: %s', (_name, units) => {
    const core = new Core();
    const table = keyTable<string>(core, core.exports.keysNew(), undefined);
    const texts = Array.from({ length: LONGEST + 1 }, (_, length) =>
      neighbours(length, units),
    ).flat();
    allDiffer(table, texts);
  });

  test.each([
    ['one byte a unit', narrow],
    ['two bytes', wide],
  ])(
    'pairs that differ in one unit, or in where the first part ends, are different keys: %s',
    (_name, units) => {
      const core = new Core();
      const table = keyTable<Request>(core, core.exports.keysNew(), requestKey);
      const pairs: Request[] = [];
      for (let length = 0; length <= LONGEST; length += 3) {
        for (const text of neighbours(length, units)) {
          for (let split = 0; split <= length; split++)
            pairs.push({ namespace: text.slice(0, split), name: text.slice(split) });
        }
      }
      allDiffer(table, pairs);
    },
  );
});

describe('in the memory of the core', () => {
  const ofAllLengths = (units: string): string[] =>
    Array.from({ length: LONGEST + 1 }, (_, length) => neighbours(length, units)).flat();

  /** Where the state and the key of a slot lie: assembly/record.ts. */
  function recordOf(core: CacheCore, handle: number, slot: number): { state: number; key: number } {
    const words = core.words();
    const directory = words[handle / 4 + 2] as number;
    const chunk = words[directory / 4 + (slot >> 8)] as number;
    return { state: chunk + (slot & 0xff) * 8, key: chunk + 2048 + (slot & 0xff) * 56 };
  }

  test('texts of a cache are kept unit by unit, in one byte each where all fit', () => {
    const core = new CacheCore();
    const handle = core.exports.keysNew();
    for (const [units, size] of [
      [narrow, 1],
      [wide, 2],
    ] as const) {
      for (const text of ofAllLengths(units)) {
        if (text.length * size > 40) continue; // longer ones are not in the record
        const bytes = [...text].some((unit) => unit > '\u00ff') ? 2 : 1;
        const { key: at } = recordOf(core, handle, core.exports.keysIntern(handle, text));
        const view = new DataView(core.words().buffer, at + 16);
        const read = Array.from(text, (_, i) =>
          bytes === 1 ? view.getUint8(i) : view.getUint16(2 * i, true),
        );
        expect(String.fromCharCode(...read)).toBe(text);
        expect(core.exports.keysFind(handle, text)).toBe(core.exports.keysIntern(handle, text));
      }
    }
  });

  test('texts of all lengths that differ in one unit have different hashes', () => {
    const core = new CacheCore();
    const { exports: x } = core;
    const handle = x.keysNew();
    const texts = ofAllLengths(narrow);
    const hashes = texts.map(
      (text) => core.words()[recordOf(core, handle, x.keysIntern(handle, text)).state / 4],
    );
    // there are 2^32 hashes, so two are seldom equal by chance
    expect(new Set(hashes).size).toBeGreaterThanOrEqual(texts.length - 2);
  });

  // Two tables take turns, so that a block that is handed out twice, or is too short, damages the
  // other table. Each allocation is refused once. The directories of chunks and of times, the
  // buckets and the ring grow several times.
  test.each([false, true])(
    'a refused allocation changes nothing, and the call works later, with times: %s',
    (timed) => {
      const { exports: x } = new Core();
      /** Repeats the call until memory is granted, and returns its result. */
      const insist = (call: () => number, refused: number): number => {
        for (let granted = 0; ; granted++) {
          x.memoryGrant(granted);
          const answer = call();
          x.memoryGrant(-1);
          if (answer !== refused) return answer;
        }
      };
      const hashOf = (queue: number, i: number): number =>
        Math.imul(queue + i, 0x9e3779b1) & 0x3fffffff;
      let pages = 0;
      for (let round = 0; round < 3; round++) {
        const queues = [0, 1].map(() => insist(() => x.queueNew(timed, ORDER_LISTED), 0));
        const count = 20_000;
        for (let i = 0; i < count; i++) {
          for (const queue of queues) {
            if (insist(() => x.queueAddHash(queue, hashOf(queue, i), i), NO_MEMORY) !== i)
              expect.fail(`key ${i} has another slot`);
          }
        }
        for (const queue of queues) {
          for (let i = 0; i < count; i++) {
            if (x.keysFindHash(queue, hashOf(queue, i)) !== i) expect.fail(`key ${i} is lost`);
            if (timed && x.slotAdded(queue, i) !== i) expect.fail(`the time of key ${i} is lost`);
            if (x.queueGet(queue, i) !== i) expect.fail(`key ${i} is not next`);
          }
          x.queueFree(queue);
        }
        if (round > 1) expect(x.memoryPages()).toBe(pages);
        pages = x.memoryPages();
      }
    },
  );
});
