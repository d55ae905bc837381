/**
 * The plan of a run: which works, with how many keys, how often, and the steady load. The address
 * may preset it (?works=cycle-same,limiter&n=1000&rounds=3&steady=100000&seconds=2); a value that
 * is not valid is reported, and the default is used.
 */
import type { SteadyShape } from './protocol.ts';

export interface Work {
  name: string;
  what: string;
  /** The unit of a rate. */
  unit: string;
}

/** The works of bench/peers/naive-ts/workloads.mjs, in their order. */
export const WORKS: readonly Work[] = [
  {
    name: 'cycle-same',
    what: 'Add a key, get it, finish it. The same string objects again and again.',
    unit: 'cycles',
  },
  {
    name: 'cycle-fresh',
    what: 'The same, each key concatenated anew, as an event handler does.',
    unit: 'cycles',
  },
  {
    name: 'cycle-request',
    what: 'The same with a new { namespace, name } object each time.',
    unit: 'cycles',
  },
  { name: 'burst-fresh', what: 'Add all keys to a new queue, then drain it.', unit: 'calls' },
  { name: 'burst-request', what: 'The burst, with { namespace, name } objects.', unit: 'calls' },
  { name: 'dedup-fresh', what: 'Add every key ten times over, then drain.', unit: 'calls' },
  {
    name: 'add-after',
    what: 'Add all keys with delays of up to a minute; let them all fire; drain.',
    unit: 'keys',
  },
  {
    name: 'limiter',
    what: 'Ask the exponential limiter for delays; forget every fourth.',
    unit: 'calls',
  },
];

export const SIZES = [1_000, 10_000, 100_000, 1_000_000] as const;
const MOST_SIZES = 8;
export const ROUNDS = [3, 5, 7, 15] as const;
export const LIVE = [10_000, 100_000, 1_000_000] as const;

/** Keys a second under the steady load. */
export const STEADY_RATE = 200_000;
/** Each peer has two turns under the steady load, A B A B. */
export const STEADY_TURNS = 2;
const STEADY_WARM_UP_MS = 500;

export interface Plan {
  works: string[];
  sizes: number[];
  rounds: number;
  /** Live keys under the steady load; 0: without it. */
  live: number;
  /** Measured seconds under the steady load, for each peer. */
  seconds: number;
}

export const DEFAULT_PLAN: Plan = {
  works: WORKS.map((work) => work.name),
  sizes: [1_000, 10_000, 100_000],
  rounds: 5,
  live: 100_000,
  seconds: 10,
};

/** One line of the tables: a work with a number of keys. */
export interface Item {
  work: string;
  n: number;
}

export function plannedItems(plan: Plan): Item[] {
  return plan.works.flatMap((work) => plan.sizes.map((n) => ({ work, n })));
}

export function steadyShape(plan: Plan): SteadyShape {
  return {
    live: plan.live,
    rate: STEADY_RATE,
    ms: (plan.seconds * 1000) / STEADY_TURNS,
    warmUpMs: Math.min(STEADY_WARM_UP_MS, plan.seconds * 100),
  };
}

/**
 * An estimate of the duration, from runs on a laptop: a round of one peer takes a fifth of a
 * second, a second with 10^6 keys.
 */
export function roughSeconds(plan: Plan): number {
  const rounds = plannedItems(plan).reduce(
    (sum, { n }) => sum + (n > 100_000 ? 1 : 0.22) * (plan.rounds + 1) * 2,
    0,
  );
  const steady =
    plan.live === 0 ? 0 : 2 * plan.seconds + 2 * STEADY_TURNS * (0.7 + plan.live / 500_000);
  return rounds + steady;
}

export interface Preset {
  plan: Plan;
  /** The parameters of the address that are not valid, a sentence each. */
  problems: string[];
}

function wholeNumber(text: string, min: number, max: number): number | undefined {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  return value >= min && value <= max ? value : undefined;
}

/**
 * The plan of the query of an address. Parameters that are absent or not valid have their defaults.
 */
export function planOf(query: string): Preset {
  const plan = { ...DEFAULT_PLAN };
  const problems: string[] = [];
  const refuse = (name: string, expected: string, got: string): void =>
    void problems.push(`“${name}” in the address expected ${expected}, got “${got.slice(0, 60)}”.`);
  const number = (name: string, min: number, max: number, use: (value: number) => void): void => {
    const text = parameters.get(name);
    if (text === null) return;
    const value = wholeNumber(text, min, max);
    if (value === undefined) refuse(name, `a whole number from ${min} to ${max}`, text);
    else use(value);
  };
  const parameters = new URLSearchParams(query);

  const works = parameters.get('works');
  if (works !== null) {
    const asked = works.split(',');
    if (asked.every((name) => WORKS.some((work) => work.name === name))) {
      plan.works = DEFAULT_PLAN.works.filter((name) => asked.includes(name));
    } else refuse('works', `names from ${DEFAULT_PLAN.works.join(', ')}`, works);
  }
  const sizes = parameters.get('n');
  if (sizes !== null) {
    const asked = sizes.split(',').map((text) => wholeNumber(text, 1, 2_000_000));
    if (asked.length <= MOST_SIZES && asked.every((n) => n !== undefined))
      plan.sizes = [...new Set(asked)].sort((a, b) => a - b);
    else refuse('n', `at most ${MOST_SIZES} whole numbers from 1 to 2000000`, sizes);
  }
  number('rounds', 1, 99, (value) => {
    plan.rounds = value;
  });
  number('steady', 0, 2_000_000, (value) => {
    plan.live = value;
  });
  number('seconds', 1, 600, (value) => {
    plan.seconds = value;
  });
  return { plan, problems };
}
