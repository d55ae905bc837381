/** A store of bytes beside a model: see byte-store-play.ts. */
import { test } from 'vitest';
import { Random, testSeed } from '../random.ts';
import { BytePlay } from './byte-store-play.ts';

test('random work on a store of bytes ends as in a model of plain JSON, and what was handed out never changes', () => {
  const seed = testSeed();
  console.log(`test/cache/bytes-random.test.ts: CAPSTAN_SEED=${seed}`);
  const random = new Random(seed);
  for (let round = 0; round < 20; round++) {
    const play = new BytePlay(random);
    for (let i = 0; i < 300; i++) play.step();
    play.finish();
  }
});
