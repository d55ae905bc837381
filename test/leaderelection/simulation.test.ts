/**
 * Simulated elections with faults: there are never two holders while clocks differ by no more than
 * was configured, and the same simulation finds two when they differ by more.
 * CAPSTAN_ELECTION_TERMS is the total number of terms.
 */
import { describe, expect, it } from 'vitest';
import { testSeed } from '../helpers/random.ts';
import { type SimulationOptions, simulate } from './simulation.ts';

const seed = testSeed();
const TERMS = Number(process.env.CAPSTAN_ELECTION_TERMS ?? 10_000);

interface Setting extends Omit<SimulationOptions, 'seed' | 'terms'> {
  readonly what: string;
}

const usual = { candidates: 3, leaseDuration: 15_000, renewDeadline: 10_000, retryPeriod: 2000 };
const short = { candidates: 4, leaseDuration: 3000, renewDeadline: 2000, retryPeriod: 500 };

const settings: readonly Setting[] = [
  { what: 'the defaults, clocks as different as they may be', ...usual, actualSkewRatio: 1.5 },
  { what: 'the defaults, clocks as they are', ...usual, actualSkewRatio: 1.0001 },
  { what: 'short leases', ...short, actualSkewRatio: 1.5 },
  { what: 'little to spare for clocks', ...usual, maxClockSkewRatio: 1.05, actualSkewRatio: 1.05 },
  {
    what: 'nothing to spare for clocks that agree',
    ...short,
    maxClockSkewRatio: 1,
    actualSkewRatio: 1,
  },
];

describe(`a simulated election (CAPSTAN_SEED=${seed})`, () => {
  it.each(settings)(
    'has one holder at a time: $what',
    async ({ what, ...setting }) => {
      const terms = Math.ceil(TERMS / settings.length);
      const result = await simulate({ seed, terms, ...setting });
      console.log(`election, seed ${seed}, ${what}: ${JSON.stringify(result)}`);
      expect(result.violations).toEqual([]);
      expect(result.terms).toBeGreaterThanOrEqual(terms);
      // It would prove nothing without faults.
      for (const count of [result.stalls, result.crashes, result.partitions, result.refused])
        expect(count).toBeGreaterThan(terms / 100);
      expect(result.reconciles).toBeGreaterThan(terms);
    },
    600_000,
  );

  const broken: readonly Setting[] = [
    { what: 'when clocks differ by more than was stated', ...usual, actualSkewRatio: 2.2 },
    {
      what: 'when nothing is spared for clocks that differ',
      ...usual,
      maxClockSkewRatio: 1,
      actualSkewRatio: 1.5,
    },
  ];
  it.each(broken)('finds two holders $what', async ({ what: _, ...setting }) => {
    const { violations } = await simulate({ seed, terms: 5000, ...setting });
    expect(violations.join()).toMatch(/hold the lease|holds the lease/);
  });
});
