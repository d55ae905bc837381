/**
 * The figures of a run, and the ratios, the geometric mean and the tables that are made of them. A
 * ratio is our time divided by the faster peer's time in the same run: below 1 we are faster.
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
   * The number of reconciles, for controllers only. A queue merges events of a request that already
   * waits.
   */
  reconciles?: number;
}

export interface Ratio {
  ratio: number;
  /** The peer that the ratio is against: the fastest one that was measured. */
  against: string;
}

/** The works of the geometric mean: fresh strings and requests, with many keys. */
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
 * The goals for 1k, 100k and 1M keys: the highest ratio, and for works that no peer has, the most
 * ns a key.
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

/** The goal of a row, and whether it is in ns. */
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
 * Readers that do nothing with the bytes. They are shown beside the peers as a lower limit, and are
 * not compared.
 */
const FLOORS = new Set(['null-reader']);
export const isPeer = (figure: Figure): boolean => !FLOORS.has(figure.peer);

/** The columns of the table, from left to right. */
const COLUMNS = ['capstan', 'naive', 'client-go', 'client-node', 'controller-runtime', ...FLOORS];

/**
 * Our time divided by that of the fastest peer, for one work and one n; undefined if either is
 * missing.
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
 * Wall time if the peers run in one process. CPU time if each has a process of its own, because a
 * server then sets the pace.
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

/** One line per work and n: each peer's median and range in ns, the ratio, and `win` or `LOSS`. */
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
 * The geometric mean of the ratios in `MEAN_SET`, the highest of them, and those that were not
 * measured.
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
