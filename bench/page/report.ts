/** A result as text: Markdown for issues and chats, JSON for programs. */
import { showCount } from '../measure/figures.ts';
import { showBytes, showMs, showNs, showRate, showRatio, three } from './format.ts';
import {
  type Environment,
  outcomeOfMean,
  overlaps,
  PERCENTILES,
  pageRatio,
  pageVerdict,
  type Result,
  type Row,
  type Steady,
  type Verdict,
} from './result.ts';

export const PERCENTILE_NAMES = PERCENTILES.map((share) =>
  share === 1 ? 'longest' : `p${share * 100}`,
);

/**
 * Removes the characters of Markdown from a text of the environment. It comes from the browser or
 * from a link, and must not change the page into which it is pasted.
 */
const plain = (text: string): string => text.replace(/[|<>[\]`*_\\\n\r]/g, ' ');

function environmentLine(e: Environment): string {
  const keys = e.keyTable === 'wasm' ? 'keys hashed in Wasm' : 'keys hashed in JS';
  return [
    `capstan ${plain(e.version)} (core ${showBytes(e.coreBytes)}, ${keys})`,
    plain(e.browser),
    plain(e.platform),
    `${e.threads} threads`,
    `clock steps of ${showMs(e.resolutionMs)}`,
    ...(e.hidden ? ['the page was in the background for a while'] : []),
  ].join('; ');
}

/** "Capstan wins: 1.90× faster (1.60× faster to 2.10× faster over the rounds)", without a dot. */
function winnerLine({ mean }: Verdict): string {
  const range = `${showRatio(mean.high)} to ${showRatio(mean.low)} over the rounds`;
  switch (outcomeOfMean(mean)) {
    case 'win':
      return `Capstan wins: ${showRatio(mean.ratio)} (${range})`;
    case 'loss':
      return `The naive port wins: Capstan is ${showRatio(mean.ratio)} (${range})`;
    case 'noise':
      return `No winner: the difference is within the noise (${range})`;
  }
}

/** "Faster in 20 of 24, slower in 3, within the noise in 1." */
export function countsLine({ wins, losses, near }: Verdict): string {
  const noise = near === 0 ? '' : `, within the noise in ${near}`;
  return `Faster in ${wins} of ${wins + losses + near}, slower in ${losses}${noise}.`;
}

/** The winner and the counts, as sentences. */
export function verdictLine(rows: readonly Row[]): string {
  const verdict = pageVerdict(rows);
  return verdict === undefined ? '' : `${winnerLine(verdict)}. ${countsLine(verdict)}`;
}

function steadyLines({ live, rate, seconds, capstan, naive }: Steady): string[] {
  const line = (
    name: string,
    ours: number,
    theirs: number,
    show: (value: number) => string,
  ): string =>
    `| ${name} | ${show(ours)} | ${show(theirs)} | ` +
    `${theirs > 0 ? (ours / theirs).toFixed(2) : '–'} |`;
  return [
    '',
    `Steady load of ${showRate(rate)} on ${showCount(live)} live keys, ${three(seconds)} s each:`,
    '',
    '| | capstan | naive | ratio |',
    '|---|---|---|---|',
    ...PERCENTILE_NAMES.map((name, i) =>
      line(`latency, ${name}`, capstan.latencies[i] ?? 0, naive.latencies[i] ?? 0, showMs),
    ),
    line('event-loop delay, p99.9', capstan.delays[3] ?? 0, naive.delays[3] ?? 0, showMs),
    line('longest pause', capstan.longest, naive.longest, showMs),
    line('stalls above 1 ms', capstan.stalls, naive.stalls, String),
    line('time in them', capstan.stalledMs, naive.stalledMs, showMs),
    line('mean cycle', capstan.cycleNs, naive.cycleNs, showNs),
    line('rate held', capstan.rate, naive.rate, showRate),
  ];
}

export function markdownOf(result: Result): string {
  const time = (row: Row, peer: 'capstan' | 'naive'): string =>
    `${three(row[peer].ns)} (${three(row[peer].min)}–${three(row[peer].max)})`;
  const lines = [
    `**Capstan's work queue beside a naive port, in a browser**, ` +
      `${new Date(result.at).toISOString().slice(0, 10)}`,
    '',
    `${environmentLine(result.environment)}${result.stopped ? '; stopped early' : ''}`,
  ];
  if (result.rows.length > 0) {
    lines.push(
      '',
      `${verdictLine(result.rows)} ns per operation, median (min–max); ratio below 1: capstan ` +
        'is faster.',
      '',
      '| work | keys | capstan | naive | ratio | |',
      '|---|---|---|---|---|---|',
      ...result.rows.map(
        (row) =>
          `| ${row.work} | ${showCount(row.n)} | ${time(row, 'capstan')} | ` +
          `${time(row, 'naive')} | ${pageRatio(row).toFixed(2)} | ` +
          `${showRatio(pageRatio(row))}${overlaps(row) ? ', ranges overlap' : ''} |`,
      ),
    );
  }
  if (result.steady !== undefined) lines.push(...steadyLines(result.steady));
  return `${lines.join('\n')}\n`;
}

export function jsonOf(result: Result): string {
  const { at, ...rest } = result;
  const units = {
    rows: 'ns per operation',
    steady: 'ms; cycleNs in ns; rates per second',
    pauses: 'longest per 50 ms',
  };
  const whole = {
    format: 'capstan-bench-page',
    formatVersion: 1,
    at: new Date(at).toISOString(),
    units,
    ...rest,
  };
  return `${JSON.stringify(whole, undefined, 2)}\n`;
}
