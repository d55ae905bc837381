/** A store of bytes beside a model, with indices of every sort: see random-work.ts. */
import { expect, test } from 'vitest';
import { Random, testSeed } from '../../helpers/random.ts';
import { BytePlay, INDICES } from './random-work.ts';

const seed = testSeed();
console.log(`test/cache/bytes/random.test.ts: CAPSTAN_SEED=${seed}`);

test.each(Object.entries(INDICES))(
  'random work on a store of bytes indexed by %s ends as in a model of plain JSON',
  (name, indices) => {
    const random = new Random(seed);
    const seen = { short: 0, changes: 0, proofs: 0, names: 0 };
    for (let round = 0; round < 30; round++) {
      const play = new BytePlay(random, indices);
      for (let i = 0; i < 400; i++) play.step();
      play.finish();
      for (const each of ['short', 'changes', 'proofs', 'names'] as const)
        seen[each] += play.seen[each];
    }
    console.log(`${name}: ${JSON.stringify(seen)}`);
    expect(seen.changes).toBeGreaterThan(100);
    expect(seen.proofs).toBeGreaterThan(100);
    expect(seen.names).toBeGreaterThan(100);
    // Of the others it is so until the index is added that needs the long way.
    if (!indices.some((name) => ['mine', 'data', 'version'].includes(name)))
      expect(seen.short).toBeGreaterThan(20);
  },
);
