/**
 * Draws docs/pictures/figures.svg, the chart of the README, from the tables of the benchmarks page:
 * `node scripts/draw-figures.ts`. A bar is the ratio of a row: our cost divided by that of the next
 * best.
 */
import { readFileSync, writeFileSync } from 'node:fs';

const ROOT = new URL('../', import.meta.url);

interface Bar {
  label: string;
  /** The peer of the ratio. */
  beside: string;
  /** The beginning of the row's line in the page, without the first bar. */
  row: string;
  /** The column that ends with the ratio, from the left. */
  column: number;
}

const BARS: readonly Bar[] = [
  { label: 'queue: add, get, done', beside: 'client-go', row: 'cycle-fresh | 100k', column: 5 },
  { label: 'queue: a burst of keys', beside: 'client-go', row: 'burst-fresh | 100k', column: 5 },
  { label: 'queue: delayed adds', beside: 'naive port', row: 'add-after | 100k', column: 5 },
  { label: 'rate limiter', beside: 'naive port', row: 'limiter | 100k', column: 5 },
  { label: 'store: add an object', beside: 'client-go', row: 'indexer-add ', column: 3 },
  {
    label: 'store: get in random order',
    beside: 'client-go',
    row: 'indexer-get-random',
    column: 3,
  },
  {
    label: 'informer: an event, warm',
    beside: 'client-node',
    row: 'watch over loopback',
    column: 3,
  },
  {
    label: 'controller: an event, warm',
    beside: 'client-node and a naive queue',
    row: 'controller on that watch',
    column: 3,
  },
  {
    label: 'controller: its first 50 000 events',
    beside: 'client-node and a naive queue',
    row: 'the same, of the first 50 000 events | 20.1',
    column: 3,
  },
  { label: 'memory of a Pod', beside: 'parsed objects', row: 'memory of 100 000 Pods', column: 3 },
  {
    label: 'memory of a fresh key',
    beside: 'naive port',
    row: 'fresh strings | 98 bytes',
    column: 1,
  },
];

/** The ratio of a bar, as the page has it. */
export function ratioOf(bar: Bar, page: string): number {
  const lines = page.split('\n').filter((line) => line.startsWith(`| ${bar.row}`));
  if (lines.length !== 1) throw new Error(`expected one row "${bar.row}", got ${lines.length}`);
  const cell = lines[0]?.split('|')[bar.column + 1] ?? '';
  const ratio = Number(/([\d.]+)\**\s*$/.exec(cell)?.[1]);
  if (!(ratio > 0)) throw new Error(`expected a ratio at the end of "${cell}"`);
  return ratio;
}

const WIDTH = 860;
const LEFT = 250; // where a bar begins
const UNIT = 260; // the width of 1
const STEP = 30;
const TOP = 70;

const STYLE = `text{font:13px system-ui,sans-serif;fill:#1a1d21}.t{font-weight:600;font-size:15px}
.c{font-size:12px;fill:#555d66}.e{text-anchor:end}.p{fill:#fff}.w{fill:#2f7d6b}.l{fill:#c2652a}
path{stroke:#6b7480;stroke-width:1;stroke-dasharray:4 3}
@media (prefers-color-scheme:dark){.p{fill:#16191d}text{fill:#e6e9ec}.c{fill:#a5adb6}
.w{fill:#4fae97}.l{fill:#e08a4f}}`;

export function chart(page: string): string {
  const height = TOP + BARS.length * STEP + 24;
  const title = 'Cost of Capstan beside that of the next best';
  const lines = BARS.flatMap((bar, i) => {
    const ratio = ratioOf(bar, page);
    const y = TOP + i * STEP;
    const width = Math.round(ratio * UNIT);
    const side = ratio > 1 ? 'l' : 'w';
    return [
      `<text class="e" x="${LEFT - 10}" y="${y + 15}">${bar.label}</text>`,
      `<rect class="${side}" x="${LEFT}" y="${y}" width="${width}" height="20" rx="3"/>`,
      `<text x="${LEFT + Math.max(width, UNIT) + 8}" y="${y + 15}">${ratio.toFixed(2)} ` +
        `<tspan class="c">× ${bar.beside}</tspan></text>`,
    ];
  });
  const one = LEFT + UNIT;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img">
<title>${title}</title>
<style>${STYLE}</style>
<rect class="p" width="${WIDTH}" height="${height}" rx="10"/>
<text class="t" x="20" y="30">${title}</text>
<text class="c" x="20" y="50">Left of the line Capstan is cheaper. Orange bars are losses.</text>
<path d="M${one} ${TOP - 8}V${height - 16}"/>
<text class="c" x="${one - 3}" y="${TOP - 12}">1</text>
${lines.join('\n')}
</svg>
`;
}

export const readPage = (): string =>
  readFileSync(new URL('docs/evidence/benchmarks.md', ROOT), 'utf8');

if (import.meta.main) writeFileSync(new URL('docs/pictures/figures.svg', ROOT), chart(readPage()));
