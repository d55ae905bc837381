/** Ten thousand damaged inputs for each decoder; `npm run fuzz` tries a million. */
import { describe, expect, test } from 'vitest';
import { testSeed } from '../random.ts';
import { fuzz } from './fuzz/fuzz.ts';
import { subjects } from './fuzz/subjects.ts';

const INPUTS = 10_000;

describe.each(subjects.map((subject) => [subject.name, subject] as const))('of the decoder by %s', (_, subject) => {
  test('every frame before the first bad byte comes out, and the bad one is an error', () => {
    const seed = testSeed();
    console.log(`decoder fuzz, ${subject.name}: CAPSTAN_SEED=${seed}`);
    const report = fuzz(subject, { seed, inputs: INPUTS });
    // The inputs are worth something: most streams have whole frames, and a good part of all is damaged.
    expect(report.frames).toBeGreaterThan(INPUTS / 2);
    expect(report.pages).toBeGreaterThan(INPUTS / 20);
    expect(report.errors).toBeGreaterThan(INPUTS / 10);
  });
});
