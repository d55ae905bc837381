/** The result of `capstan bench` as text: what was measured, a table, and who wins. */

import {
  type PeerFigures,
  type Rounds,
  showNanoseconds,
  showNumber,
  showWait,
  verdictOn,
} from './bench-figures.ts';
import type { BenchOptions } from './bench-options.ts';

export interface BenchResult {
  readonly keys: number;
  readonly options: BenchOptions;
  readonly figures: readonly PeerFigures[];
  readonly node: string;
  readonly platform: string;
}

/** What was measured, a sentence each. */
export function workloadLines({ keys, options, node, platform }: BenchResult): string[] {
  const { rate, workers, service, exponential, duplicates, delayed, delay } = options;
  const percent = (share: number): string => `${Number((share * 100).toFixed(1))} %`;
  const repeated =
    duplicates === 0
      ? 'no repeated adds'
      : `${percent(duplicates)} of the adds repeat a recent one`;
  const waiting = delayed === 0 ? 'no delays' : `${percent(delayed)} delayed by up to ${delay} ms`;
  const lines = [
    `${showNumber(keys)} keys, ${repeated}, ${waiting}, seed ${options.seed}`,
    `cost: ${showNumber(options.adds)} adds a round, in groups of ${workers}, as fast as one ` +
      'thread can',
  ];
  if (rate !== undefined) {
    const held =
      service === 0
        ? 'which finish a key at once'
        : `which hold a key for ${service} ms${exponential ? ' on average (exponential)' : ''}`;
    lines.push(
      `waits: ${showNumber(rate)} adds a second for ${options.duration} s, ${workers} workers, ` +
        held,
    );
    const most = service === 0 ? Number.POSITIVE_INFINITY : (workers * 1000) / service;
    if (most < rate)
      lines.push(
        `note: the workers finish at most ${showNumber(most)} keys a second, so the waits may be ` +
          'those of a queue that grows',
      );
  }
  lines.push(`Node ${node}, ${platform}, ${options.rounds} rounds for each queue, in turns`);
  return lines;
}

/** The heads of the columns, and a row of texts for each queue. */
export function cellsOf(figures: readonly PeerFigures[]): string[][] {
  const paced = figures.some(({ p50 }) => p50 !== undefined);
  const cell = (rounds: Rounds | undefined, show: (value: number) => string): string =>
    rounds === undefined ? '-' : `${show(rounds.median)} (${show(rounds.min)}–${show(rounds.max)})`;
  const waits = paced ? ['wait p50, ms', 'wait p99, ms'] : [];
  return [
    ['queue', 'ns per call', 'adds per second', ...waits],
    ...figures.map(({ name, ns, adds, p50, p99 }) => [
      name,
      cell(ns, showNanoseconds),
      cell(adds, showNumber),
      ...(paced ? [cell(p50, showWait), cell(p99, showWait)] : []),
    ]),
  ];
}

/** One sentence for each other queue. */
export function verdictLines([own, ...others]: readonly PeerFigures[]): string[] {
  return own === undefined ? [] : others.map((other) => verdictOn(own, other));
}

export function tableOf(result: BenchResult): string {
  const rows = cellsOf(result.figures);
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  const lines = rows.map((row) =>
    row
      .map((text, i) => (i === 0 ? text.padEnd(widths[i] ?? 0) : text.padStart(widths[i] ?? 0)))
      .join('   ')
      .trimEnd(),
  );
  return [
    ...workloadLines(result),
    '',
    ...lines,
    '',
    'Each figure is the median of the rounds (smallest–largest).',
    'A call is an add, a get or a done.',
    'Checked: every added key was handed out, and none to two workers at once.',
    '',
    ...verdictLines(result.figures),
    '',
  ].join('\n');
}
