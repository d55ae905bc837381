/** FNV-1a and sets of ranges of hashes, against definitions of their own. */
import { fnv1a64 } from 'capstan/cache';
import { describe, expect, test } from 'vitest';
import { type HashRange, HashRanges } from '../../../bindings/cache/rest/hash-ranges.ts';
import { expectError } from '../../helpers/expect-error.ts';
import { Random, testSeed } from '../../helpers/random.ts';

const namespaced = { namespaced: true };
const END = 2n ** 64n;
const seed = testSeed();
console.log(`hash ranges: CAPSTAN_SEED=${seed}`);

describe('fnv1a64', () => {
  test('gives the hashes of hash/fnv of Go', () => {
    // go: h := fnv.New64a(); h.Write([]byte(text)); fmt.Printf("%x", h.Sum64())
    expect(['', 'a', 'foobar', 'ü'].map((text) => fnv1a64(text).toString(16))).toEqual([
      'cbf29ce484222325',
      'af63dc4c8601ec8c',
      '85944171f73967e8',
      'ac20a07b71807ea',
    ]);
  });

  test('is the definition on random texts', () => {
    const random = new Random(seed);
    for (let i = 0; i < 2000; i++) {
      const text = Array.from({ length: random.int(30) }, () =>
        String.fromCodePoint(random.int(random.pick([0x80, 0x800, 0xd800]))),
      ).join('');
      let hash = 0xcbf29ce484222325n;
      for (const byte of new TextEncoder().encode(text))
        hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) % END;
      expect(fnv1a64(text), JSON.stringify(text)).toBe(hash);
    }
  });
});

describe('ranges', () => {
  test('are sets: union, intersection, minus and equality agree with membership', () => {
    const random = new Random(seed);
    const one = (): HashRange[] =>
      Array.from({ length: random.int(5) }, () => {
        const from = random.int(20);
        return { from: BigInt(from), to: BigInt(from + 1 + random.int(6)) };
      });
    for (let i = 0; i < 1000; i++) {
      const a = HashRanges.of('a', one(), namespaced);
      const b = HashRanges.of('b', one(), namespaced);
      const of = (ranges: HashRanges): boolean[] =>
        Array.from({ length: 30 }, (_, hash) => ranges.has(BigInt(hash)));
      const [inA, inB] = [of(a), of(b)];
      expect(of(a.union(b))).toEqual(inA.map((is, at) => is || inB[at]));
      expect(of(a.intersection(b))).toEqual(inA.map((is, at) => is && inB[at]));
      expect(of(a.minus(b))).toEqual(inA.map((is, at) => is && !inB[at]));
      expect(a.equals(b)).toBe(inA.join() === inB.join());
    }
  });

  test('that touch are one; the selector has the digits that a server compares', () => {
    const ranges = HashRanges.of(
      'ranges',
      [
        { from: 2n ** 63n, to: END },
        { from: 10n, to: 255n },
        { from: 255n, to: 256n },
      ],
      namespaced,
    );
    expect(ranges.selector()).toBe(
      "shardRange(object.metadata.namespace,'0x000000000000000a','0x0000000000000100') || " +
        "shardRange(object.metadata.namespace,'0x8000000000000000','0x10000000000000000')",
    );
  });

  test('are of the namespace, or of the name of a cluster-scoped object', () => {
    const hash = fnv1a64('team-1');
    const range = [{ from: hash, to: hash + 1n }];
    const byNamespace = HashRanges.of('ranges', range, namespaced);
    expect(['team-1/x', 'x/team-1', 'team-1'].map((key) => byNamespace.hasKey(key))).toEqual([
      true,
      false,
      false,
    ]);
    const byName = HashRanges.of('ranges', range, { namespaced: false });
    expect(byName.hasKey('team-1')).toBe(true);
    expect(byName.hasObject({ metadata: { name: 'team-2' } })).toBe(false);
  });

  test.each([
    [[{ from: 1, to: 2 }]],
    [[{ from: 2n, to: 2n }]],
    [[{ from: -1n, to: 2n }]],
    [[{ from: 0n, to: END + 1n }]],
    ['all'],
    [Array.from({ length: 65 }, (_, i) => ({ from: BigInt(2 * i), to: BigInt(2 * i + 1) }))],
  ])('that are none are refused: %s', (ranges) => {
    expectError(() => HashRanges.of('ranges', ranges as never, namespaced), 'INVALID_ARGUMENT');
  });
});
