/**
 * What a run measured, and what is said about it: figures, ratios, the geometric mean and the
 * tables. A ratio is our time over the better peer's time in the same run, so below 1 we are
 * faster; losses are printed as plainly as wins.
 */

/**
 * One measured figure: nanoseconds per operation, the median of the repetitions, with their range.
 */
export interface Figure {
  peer: string;
  work: string;
  n: number;
  ns: number;
  min?: number;
  max?: number;
  /** Nanoseconds of CPU time per event; only where a process of its own was measured. */
  cpu?: number;
  cpuMin?: number;
  cpuMax?: number;
  /**
   * How many reconciles there were; only of controllers. A queue merges events that come while one
   * waits.
   */
  reconciles?: number;
}

export interface Ratio {
  ratio: number;
  /** The peer that the ratio is against: the fastest one that was measured. */
  against: string;
}

/** The figures that the geometric mean is over: fresh strings and requests, with many keys. */
export const MEAN_SET: readonly (readonly [work: string, n: number])[] = [
  ...['cycle-fresh', 'cycle-request', 'burst-fresh', 'burst-request', 'dedup-fresh'].flatMap(
    (work) =>
      [
        [work, 100_000],
        [work, 1_000_000],
      ] as const,
  ),
  ['add-after', 100_000],
  ['limiter', 100_000],
];

/**
 * The highest ratio that we want, for 1k, 100k and 1M keys; and the most ns a key for what no peer
 * has.
 */
const RATIO_GOALS: Record<string, readonly [number, number, number]> = {
  'cycle-same': [1.2, 1.2, 1.2],
  'cycle-fresh': [0.5, 0.8, 1],
  'cycle-request': [0.3, 0.6, 0.8],
  'burst-fresh': [0.9, 0.6, 0.4],
  'burst-request': [0.8, 0.4, 0.3],
  'dedup-fresh': [0.8, 0.9, 0.6],
  'add-after': [0.4, 0.2, 0.15],
  limiter: [0.6, 0.6, 0.6],
  'indexer-add': [0.5, 0.5, 0.5],
  'indexer-update-move': [0.5, 0.5, 0.5],
  'indexer-get': [1, 1, 1],
  'indexer-by-index': [0.5, 0.5, 0.5],
};
const NS_GOALS: Record<string, readonly [number, number, number]> = {
  'slot-cycle': [30, 30, 90],
  'slot-batch': [8, 8, 8],
};
const SIZES = [1_000, 100_000, 1_000_000];

/** The goal of a row as a figure, and whether it is one of ns. */
function goalOf(work: string, n: number): { goal: number; ns: boolean } | undefined {
  const ratio = RATIO_GOALS[work]?.[SIZES.indexOf(n)];
  const ns = NS_GOALS[work]?.[SIZES.indexOf(n)];
  if (ratio !== undefined) return { goal: ratio, ns: false };
  return ns === undefined ? undefined : { goal: ns, ns: true };
}

/** `≤ 0.5 met`, `≤ 8 ns MISSED`. */
function showGoal(row: readonly Figure[], ratio: number | undefined): string {
  const own = row.find((figure) => figure.peer === 'capstan');
  const wanted = own && goalOf(own.work, own.n);
  if (own === undefined || wanted === undefined) return '';
  const got = wanted.ns ? own.ns : ratio;
  if (got === undefined) return '';
  return `≤ ${wanted.goal}${wanted.ns ? ' ns' : ''} ${got <= wanted.goal ? 'met' : 'MISSED'}`;
}

/** Of an even number of values it is the upper one of the middle two, as in peers/. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted[sorted.length >> 1];
  if (middle === undefined) throw new RangeError('a median expected at least one value, got none');
  return middle;
}

export function summarize(
  peer: string,
  work: string,
  n: number,
  samples: readonly number[],
): Figure {
  return {
    peer,
    work,
    n,
    ns: median(samples),
    min: Math.min(...samples),
    max: Math.max(...samples),
  };
}

export function geometricMean(values: readonly number[]): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}

/**
 * Null readers and other floors are shown beside the peers, but no peer can be faster.
 */
const FLOORS = new Set(['null-reader']);
export const isPeer = (figure: Figure): boolean => !FLOORS.has(figure.peer);

/** The columns of the table, from left to right. */
const COLUMNS = ['capstan', 'naive', 'client-go', 'client-node', 'controller-runtime', ...FLOORS];

/**
 * Ours over the best of the others, for one work and one n; undefined where either side is missing.
 */
export function ratioOf(
  row: readonly Figure[],
  time: (figure: Figure) => number | undefined,
): Ratio | undefined {
  const own = row.find((figure) => figure.peer === 'capstan');
  const ours = own && time(own);
  let best: { peer: string; time: number } | undefined;
  for (const figure of row) {
    if (figure.peer === 'capstan' || !isPeer(figure)) continue;
    const theirs = time(figure);
    if (theirs !== undefined && (best === undefined || theirs < best.time))
      best = { peer: figure.peer, time: theirs };
  }
  return ours === undefined || best === undefined
    ? undefined
    : { ratio: ours / best.time, against: best.peer };
}

/**
 * Wall time where several peers work in one process; CPU where each has one, because there the
 * server sets the pace.
 */
export const cost = (figure: Figure): number => figure.cpu ?? figure.ns;

/** Rows of equal work and n, in the order in which they were first measured. */
export function rows(figures: readonly Figure[]): Figure[][] {
  return [...Map.groupBy(figures, (figure) => `${figure.work} ${figure.n}`).values()];
}

/** `1234567` as `1.23M`, `100000` as `100k`. */
export function showCount(n: number): string {
  if (n >= 1e6) return `${Number((n / 1e6).toPrecision(3))}M`;
  return n >= 1e3 ? `${Number((n / 1e3).toPrecision(3))}k` : String(n);
}

const digits = (ns: number): string => (ns < 100 ? ns.toFixed(1) : ns.toFixed(0));

function cell(figure: Figure | undefined): string {
  if (figure === undefined) return '-';
  const [min, max] =
    figure.cpu === undefined ? [figure.min, figure.max] : [figure.cpuMin, figure.cpuMax];
  const range = min === undefined || max === undefined ? '' : ` (${digits(min)}-${digits(max)})`;
  return `${digits(cost(figure))}${range}`;
}

/** Columns of equal width, the first to the left, the others to the right. */
export function layout(lines: readonly (readonly string[])[]): string {
  const widths =
    lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0))) ?? [];
  return lines
    .map((line) =>
      line
        .map((text, column) =>
          column === 0 ? text.padEnd(widths[column] ?? 0) : text.padStart(widths[column] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/**
 * One line per work and n: each peer's median and range in ns, and the ratio with the word for it.
 */
export function table(figures: readonly Figure[]): string {
  const peers = COLUMNS.filter((peer) => figures.some((figure) => figure.peer === peer));
  const lines = rows(figures).map((row) => {
    const result = ratioOf(row, cost);
    const verdict =
      result === undefined
        ? '-'
        : `${result.ratio.toFixed(2)} ${result.ratio <= 1 ? 'win' : 'LOSS'}`;
    return [
      `${row[0]?.work} ${showCount(row[0]?.n ?? 0)}`,
      ...peers.map((peer) => cell(row.find((figure) => figure.peer === peer))),
      verdict,
      result === undefined ? '' : `vs ${result.against}`,
      showGoal(row, result?.ratio),
    ];
  });
  return layout([['work n', ...peers, 'ratio', '', 'goal'], ...lines]);
}

/**
 * The geometric mean over the set, the worst of it, and what of it was not measured in this run.
 */
export function verdict(figures: readonly Figure[]): string {
  const measured: { name: string; ratio: number }[] = [];
  const missing: string[] = [];
  for (const [work, n] of MEAN_SET) {
    const name = `${work} ${showCount(n)}`;
    const result = ratioOf(
      figures.filter((figure) => figure.work === work && figure.n === n),
      cost,
    );
    if (result === undefined) missing.push(name);
    else measured.push({ name, ratio: result.ratio });
  }
  if (measured.length === 0)
    return 'geometric mean: nothing of its set (100k and 1M keys) was measured';
  const worst = measured.reduce((a, b) => (b.ratio > a.ratio ? b : a));
  const lines = [
    `geometric mean of ${measured.length} ratios: ` +
      `${geometricMean(measured.map((m) => m.ratio)).toFixed(3)} (goal 0.9)`,
    `worst of them: ${worst.name} ${worst.ratio.toFixed(2)} (goal 1.5)`,
  ];
  if (missing.length > 0) lines.push(`not measured: ${missing.join(', ')}`);
  return lines.join('\n');
}
