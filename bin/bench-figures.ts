/** Medians and spreads, and which queue wins by them, if any. */

/** The rounds of one figure. */
export interface Rounds {
  readonly count: number;
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export interface PeerFigures {
  readonly name: string;
  /** Nanoseconds per call of the queue. */
  readonly ns: Rounds;
  /** Cycles of add, get and done per second. */
  readonly adds: Rounds;
  /** Milliseconds from when an add was due until a worker got the key. */
  readonly p50: Rounds | undefined;
  readonly p99: Rounds | undefined;
}

export function roundsOf(values: readonly number[]): Rounds {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (i: number): number => sorted[i] ?? Number.NaN;
  const [low, high] = [at((sorted.length - 1) >> 1), at(sorted.length >> 1)];
  return { count: values.length, median: (low + high) / 2, min: at(0), max: at(sorted.length - 1) };
}

/** The quantile of sorted values by nearest rank; 0 if there are no values. */
export function shareOf(sorted: Float64Array, share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

/**
 * Which one is lower, and so better, in every round. `few`: one round has no spread to judge by.
 */
export function outcomeOfRounds(own: Rounds, other: Rounds): 'win' | 'loss' | 'noise' | 'few' {
  if (own.count < 2 || other.count < 2) return 'few';
  if (own.max < other.min) return 'win';
  return own.min > other.max ? 'loss' : 'noise';
}

/**
 * Sentences that compare Capstan with another queue: the cost of the calls, then the waits. If the
 * rounds of both overlap, the difference may be chance, and the sentence says so.
 */
export function verdictOn(own: PeerFigures, other: PeerFigures): string {
  const cost = compared(own.ns, other.ns, other.name, 'the cost of the calls', [
    'faster',
    'slower',
  ]);
  if (own.p99 === undefined || other.p99 === undefined) return cost;
  const what = 'the 99th percentile of the waits';
  return `${cost} ${compared(own.p99, other.p99, other.name, what, ['shorter', 'longer'])}`;
}

function compared(
  own: Rounds,
  other: Rounds,
  name: string,
  what: string,
  [better, worse]: readonly [better: string, worse: string],
): string {
  const [low, high] = [own.median, other.median].sort((a, b) => a - b) as [number, number];
  const times = `${(high / low).toFixed(2)} times`;
  const subject = `${what[0]?.toUpperCase()}${what.slice(1)}`;
  switch (outcomeOfRounds(own, other)) {
    case 'win':
      return `${subject}: capstan wins against ${name}, ${times} ${better}.`;
    case 'loss':
      return `${subject}: ${name} wins, capstan is ${times} ${worse}.`;
    case 'noise':
      return (
        `${subject}: no winner between capstan and ${name}; the medians are ${times} apart, and ` +
        'the rounds of both overlap.'
      );
    case 'few':
      return `${subject}: one round is too few to tell capstan from ${name}.`;
  }
}

const grouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

export const showNumber = (value: number): string => grouped.format(value);
export const showNanoseconds = (ns: number): string => (ns < 100 ? ns.toFixed(1) : showNumber(ns));
export function showWait(ms: number): string {
  return ms < 0.1 ? ms.toFixed(4) : ms < 10 ? ms.toFixed(2) : ms.toFixed(1);
}
