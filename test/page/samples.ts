/** Results for tests of the page: fixed ones and random ones. */

import { WORKS } from '../../bench/page/plan.ts';
import { PERCENTILES, type Result, type Row, type SteadySide } from '../../bench/page/result.ts';
import type { Random } from '../helpers/random.ts';

export function rowOf(work: string, n: number, ours: number, theirs: number): Row {
  const around = (ns: number) => ({ ns, min: (ns * 9) / 10, max: (ns * 11) / 10 });
  return { work, n, rounds: 5, capstan: around(ours), naive: around(theirs) };
}

function sideOf(longest: number): SteadySide {
  return {
    rate: 200_000,
    cycleNs: 250,
    latencies: [0.05, 0.1, 0.4, 2, longest],
    delays: [0.01, 0.02, 0.1, 1.5, longest],
    longest,
    stalls: 12,
    stalledMs: 34,
    pauses: [0.1, 0.2, longest, 0.1],
  };
}

/** A win, a loss, and a steady load. */
export function resultOf(changes: Partial<Result> = {}): Result {
  return {
    at: Date.UTC(2026, 4, 6, 7, 8, 9),
    stopped: false,
    environment: {
      version: '0.1.0',
      coreBytes: 16_000,
      browser: 'Testbrowser 12',
      platform: 'Testos',
      threads: 8,
      keyTable: 'wasm',
      resolutionMs: 0.005,
      isolated: true,
      hidden: false,
    },
    rows: [rowOf('cycle-fresh', 100_000, 100, 300), rowOf('limiter', 1_000, 120, 60)],
    steady: { live: 100_000, rate: 200_000, seconds: 10, capstan: sideOf(8), naive: sideOf(80) },
    ...changes,
  };
}

/** A random result that a run could give. */
export function randomResult(random: Random): Result {
  const time = (): number => 10 ** (random.next() * 5);
  const spread = () => {
    const [min, ns, max] = [time(), time(), time()].sort((a, b) => a - b) as [
      number,
      number,
      number,
    ];
    return { ns, min, max };
  };
  const side = (): SteadySide => ({
    rate: time(),
    cycleNs: time(),
    latencies: PERCENTILES.map(time),
    delays: PERCENTILES.map(time),
    longest: time(),
    stalls: random.int(1000),
    stalledMs: time(),
    pauses: Array.from({ length: random.int(200) }, time),
  });
  const rows = WORKS.flatMap(({ name }) =>
    [1_000, 10_000, 100_000].map(
      (n): Row => ({
        work: name,
        n,
        rounds: 1 + random.int(9),
        capstan: spread(),
        naive: spread(),
      }),
    ),
  );
  const steady = {
    live: 1 + random.int(1e6),
    rate: 200_000,
    seconds: 1 + random.int(60),
    capstan: side(),
    naive: side(),
  };
  return resultOf({
    stopped: random.chance(0.5),
    rows: rows.filter(() => random.chance(0.7)),
    steady: random.chance(0.7) ? steady : undefined,
  });
}
