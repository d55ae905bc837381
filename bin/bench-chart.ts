/** The result of `capstan bench` as an SVG, and as a page that needs no other file. */
import {
  outcomeOfRounds,
  type PeerFigures,
  type Rounds,
  showNanoseconds,
  showWait,
} from './bench-figures.ts';
import { type BenchResult, cellsOf, verdictLines, workloadLines } from './bench-table.ts';

const WIDTH = 640;
const LEFT = 120;
const RIGHT = 90;
const BAR = 18;
const ROW = 34;
const HEAD = 40;

/** Colors as variables, so that the page and the file follow the reader's light or dark mode. */
const COLORS = `
:root { --ground: #fff; --ink: #17191d; --soft: #5a616b; --line: #dedbd3;
  --own: #0a5bb5; --other: #b8500a; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #14181d; --ink: #e8eaed; --soft: #9ba4af; --line: #333b45;
    --own: #5cb0ff; --other: #ff9a42; }
}`;

const CHART = `
.bench text { font: 13px system-ui, sans-serif; fill: var(--ink); }
.bench .title { font-weight: 600; }
.bench .soft { fill: var(--soft); }
.bench .own { fill: var(--own); }
.bench .other { fill: var(--other); }
.bench .range { stroke: var(--ink); stroke-width: 1.5; }
.bench .ground { fill: var(--ground); }`;

interface Panel {
  readonly title: string;
  readonly of: (figures: PeerFigures) => Rounds | undefined;
  readonly show: (value: number) => string;
}

const PANELS: readonly Panel[] = [
  {
    title: 'Cost of a call, ns: shorter is faster',
    of: ({ ns }) => ns,
    show: showNanoseconds,
  },
  { title: 'Median wait of a key, ms', of: ({ p50 }) => p50, show: showWait },
  { title: '99th percentile of the waits, ms', of: ({ p99 }) => p99, show: showWait },
];

/** A chart with a background of its own, as a file. */
export function benchChartOf(result: BenchResult): string {
  return `${svgOf(result, `<style>${COLORS}${CHART}</style>`)}\n`;
}

function svgOf({ figures }: BenchResult, style: string): string {
  const parts: string[] = [];
  let y = 8;
  for (const { title, of, show } of PANELS) {
    if (figures.every((one) => of(one) === undefined)) continue;
    const most = Math.max(...figures.map((one) => of(one)?.max ?? 0), Number.MIN_VALUE);
    const x = (value: number): string =>
      (LEFT + (value / most) * (WIDTH - LEFT - RIGHT)).toFixed(1);
    parts.push(`<text class="title" x="8" y="${y + 18}">${escaped(title)}</text>`);
    y += HEAD;
    for (const [i, one] of figures.entries()) {
      const rounds = of(one);
      if (rounds === undefined) continue;
      const middle = y + BAR / 2;
      parts.push(
        `<text x="8" y="${middle + 4}">${escaped(shortened(one.name))}</text>`,
        `<rect class="${i === 0 ? 'own' : 'other'}" x="${LEFT}" y="${y}" height="${BAR}" ` +
          `width="${(Number(x(rounds.median)) - LEFT).toFixed(1)}"/>`,
        `<line class="range" x1="${x(rounds.min)}" x2="${x(rounds.max)}" y1="${middle}" ` +
          `y2="${middle}"/>`,
        `<text x="${Number(x(rounds.max)) + 8}" y="${middle + 4}">${show(rounds.median)}</text>`,
      );
      y += ROW;
    }
    y += 6;
  }
  for (const note of [
    'Bar: the median of the rounds.',
    'Line: from the smallest to the largest.',
  ]) {
    parts.push(`<text class="soft" x="8" y="${y + 12}">${note}</text>`);
    y += 24;
  }
  return [
    `<svg class="bench" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" role="img"`,
    `  aria-label="${escaped(verdictLines(figures).join(' '))}">${style}`,
    `<rect class="ground" width="${WIDTH}" height="${y}"/>`,
    ...parts,
    '</svg>',
  ].join('\n');
}

/** The page as one file, without scripts and without fonts or pictures from other addresses. */
export function benchPageOf(result: BenchResult): string {
  const { figures } = result;
  const [own, ...others] = figures;
  const verdicts = verdictLines(figures).map((line, i) => {
    const other = others[i];
    const outcome =
      own === undefined || other === undefined ? 'noise' : outcomeOfRounds(own.ns, other.ns);
    return `<p class="verdict ${outcome}">${escaped(line)}</p>`;
  });
  const [head = [], ...rows] = cellsOf(figures);
  const cells = (row: readonly string[], tag: string): string =>
    `<tr>${row.map((text) => `<${tag}>${escaped(text)}</${tag}>`).join('')}</tr>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>capstan bench</title>
<style>${COLORS}${CHART}
body { max-width: 46rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; background: var(--ground);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.4rem; }
svg { width: 100%; height: auto; }
.verdict { margin: 0.5rem 0; padding-left: 0.8rem; border-left: 4px solid var(--soft);
  font-weight: 600; }
.verdict.win { border-color: var(--own); }
.verdict.loss { border-color: var(--other); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.35rem 0.9rem 0.35rem 0; border-bottom: 1px solid var(--line);
  text-align: left; white-space: nowrap; }
li, .note { color: var(--soft); font-size: 0.9rem; }
@media (max-width: 520px) { .bench text { font-size: 19px; } }
</style>
</head>
<body>
<h1>A workload on several queues</h1>
${verdicts.join('\n')}
${svgOf(result, '')}
<div class="scroll"><table>
<thead>${cells(head, 'th')}</thead>
<tbody>
${rows.map((row) => cells(row, 'td')).join('\n')}
</tbody>
</table></div>
<p class="note">Each figure is the median of the rounds, with the smallest and the largest. Every
added key was handed out, and none to two workers at once.</p>
<ul>
${workloadLines(result)
  .map((line) => `<li>${escaped(line)}</li>`)
  .join('\n')}
</ul>
</body>
</html>
`;
}

const shortened = (name: string): string => (name.length > 15 ? `${name.slice(0, 14)}…` : name);

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
