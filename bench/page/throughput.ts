/**
 * The chart of the workloads: a table whose bars are drawn and whose figures are text, so that it
 * can be read without the bars. All rows are drawn before a run begins, so that nothing moves when
 * figures come.
 */
import { showCount } from '../measure/figures.ts';
import { html, svg } from './dom.ts';
import { showNs, showRate, showRatio } from './format.ts';
import { type Item, WORKS, type Work } from './plan.ts';
import { PAGE_PEERS, type PagePeerName } from './protocol.ts';
import { overlaps, pageRatio, type ResultSpread, type Row } from './result.ts';
import { body, type Column, cell, resultTable, row, rowHead } from './table.ts';

const keyOf = ({ work, n }: Item): string => `${work} ${n}`;
const rateOf = (ns: number): number => 1e9 / ns;

/** The end of the scale of ratios; a ratio beyond it gets an arrow. */
const MOST_TIMES = 8;

/**
 * The place of a ratio on the scale: 0 if the naive port is far ahead, 50 if both are equal, 100 if
 * we are far ahead.
 */
function placeOf(ratio: number): number {
  const doublings = Math.max(-1, Math.min(1, -Math.log2(ratio) / Math.log2(MOST_TIMES)));
  return 50 + 50 * doublings;
}

interface Cells {
  line: HTMLElement;
  bars: SVGSVGElement;
  times: HTMLElement;
  balance: SVGSVGElement;
  verdict: HTMLElement;
}

export class ThroughputChart {
  readonly #container: HTMLElement;
  readonly #cells = new Map<string, Cells>();
  readonly #rows = new Map<string, Row>();

  constructor(container: HTMLElement) {
    this.#container = container;
  }

  /** An empty chart of these lines. */
  lay(items: readonly Item[]): void {
    this.#cells.clear();
    this.#rows.clear();
    if (items.length === 0) {
      this.#container.replaceChildren(html('p', { class: 'soft' }, 'No workload is chosen.'));
      return;
    }
    const bodies = WORKS.map((work) => ({
      work,
      own: items.filter((item) => item.work === work.name),
    }))
      .filter(({ own }) => own.length > 0)
      .map(({ work, own }) =>
        body(titleOf(work), ...own.map((item, i) => this.#line(item, i === own.length - 1))),
      );
    this.#container.replaceChildren(resultTable('Throughput of both peers', columns(), ...bodies));
  }

  show(row: Row): void {
    this.#rows.set(keyOf(row), row);
    const ofWork = [...this.#rows.values()].filter((each) => each.work === row.work);
    const scale = Math.max(
      ...ofWork.flatMap((each) => PAGE_PEERS.map((peer) => rateOf(each[peer].min))),
    );
    for (const each of ofWork) this.#draw(each, scale);
  }

  /** Shows which line is being measured. */
  mark(item: Item | undefined): void {
    for (const { line } of this.#cells.values()) line.removeAttribute('aria-current');
    if (item) this.#cells.get(keyOf(item))?.line.setAttribute('aria-current', 'step');
  }

  #line(item: Item, last: boolean): HTMLElement {
    const end = last ? ' last' : '';
    const cells = {
      bars: svg('svg', { class: 'bars', 'aria-hidden': 'true' }),
      times: cell(
        `cell cell-times${end}`,
        ...PAGE_PEERS.map(() => html('span', { class: 'time' }, '–')),
      ),
      balance: svg('svg', { class: 'balance', 'aria-hidden': 'true' }, ...balanceGrid()),
      verdict: cell(`cell cell-verdict${end}`, html('span', { class: 'verdict' }, '–')),
    };
    const line = row(
      'line',
      rowHead(`cell cell-keys${end}`, showCount(item.n), html('span', { class: 'soft' }, ' keys')),
      cell(`cell${end}`, cells.bars),
      cells.times,
      cell(`cell cell-balance${end}`, cells.balance),
      cells.verdict,
    );
    line.dataset.row = keyOf(item);
    this.#cells.set(keyOf(item), { line, ...cells });
    return line;
  }

  #draw(row: Row, scale: number): void {
    const cells = this.#cells.get(keyOf(row));
    if (cells === undefined) return;
    cells.bars.replaceChildren(...PAGE_PEERS.flatMap((peer, i) => bar(peer, row[peer], scale, i)));
    cells.times.replaceChildren(...PAGE_PEERS.map((peer) => timeOf(peer, row)));
    const ratio = pageRatio(row);
    const near = overlaps(row);
    cells.balance.replaceChildren(...balanceGrid(), ...balanceBar(ratio, near));
    cells.verdict.replaceChildren(
      html(
        'span',
        { class: `verdict ${near ? 'noise' : ratio < 1 ? 'win' : 'loss'}` },
        near ? 'no winner' : showRatio(ratio),
      ),
      html(
        'span',
        { class: 'verdict-ratio' },
        near ? `${ratio.toFixed(2)}, overlaps` : `ratio ${ratio.toFixed(2)}`,
      ),
    );
  }
}

function columns(): Column[] {
  const sides = html(
    'span',
    { class: 'sides' },
    html('span', { class: 'ink-naive' }, 'naive ahead'),
    html('span', { class: 'ink-capstan' }, 'Capstan ahead'),
  );
  return [
    { text: 'Keys', class: 'column-keys' },
    { text: 'Operations a second' },
    { text: 'Median, and time of one', class: 'column-times right' },
    { text: sides, class: 'column-balance' },
    { text: 'Capstan is', class: 'column-verdict right' },
  ];
}

function titleOf({ name, what, unit }: Work): HTMLElement {
  const text = html('span', {}, `${what} Counted in ${unit}.`);
  const head = html(
    'th',
    { class: 'work', scope: 'rowgroup', role: 'rowheader', colspan: 5 },
    html('b', { class: 'work-name' }, name),
    ' ',
    text,
  );
  return row('work-head', head);
}

function timeOf(peer: PagePeerName, row: Row): HTMLElement {
  const { ns, min, max } = row[peer];
  return html(
    'span',
    { class: 'time', title: `${showNs(min)} to ${showNs(max)} in ${row.rounds} rounds` },
    html('span', { class: 'unseen' }, `${peer} `),
    html('b', {}, showRate(rateOf(ns))),
    ' ',
    html('span', { class: 'time-each' }, showNs(ns)),
  );
}

const percent = (value: number): string => `${value.toFixed(2)}%`;

function bar(
  peer: PagePeerName,
  { ns, min, max }: ResultSpread,
  scale: number,
  line: number,
): SVGElement[] {
  const at = (time: number): string => percent((rateOf(time) / scale) * 100);
  const y = 3 + line * 18;
  const whisker = (from: number, to: number, y1: number, y2: number): SVGElement =>
    svg('line', { class: 'whisker', x1: at(from), x2: at(to), y1, y2 });
  return [
    svg('rect', { class: `fill-${peer}`, x: 0, y, width: at(ns), height: 13, rx: 1.5 }),
    whisker(max, min, y + 6.5, y + 6.5),
    whisker(max, max, y + 3.5, y + 9.5),
    whisker(min, min, y + 3.5, y + 9.5),
  ];
}

/** Lines at 4× and 2× on both sides, and the one in the middle. */
function balanceGrid(): SVGElement[] {
  return [4, 2, 1, 1 / 2, 1 / 4].map((ratio) => {
    const x = percent(placeOf(ratio));
    return svg('line', { class: ratio === 1 ? 'even' : 'grid', x1: x, x2: x, y1: 0, y2: '100%' });
  });
}

function balanceBar(ratio: number, near: boolean): SVGElement[] {
  const place = placeOf(ratio);
  const drawn: SVGElement[] = [
    svg('rect', {
      class: `balance-bar fill-${ratio < 1 ? 'capstan' : 'naive'}${near ? ' fill-near' : ''}`,
      x: percent(Math.min(place, 50)),
      width: percent(Math.max(Math.abs(place - 50), 0.6)),
      y: 10.5,
      height: 16,
    }),
  ];
  if (ratio < 1 / MOST_TIMES)
    drawn.push(svg('text', { class: 'beyond', x: '98%', y: 24, 'text-anchor': 'end' }, '»'));
  if (ratio > MOST_TIMES) drawn.push(svg('text', { class: 'beyond', x: '2%', y: 24 }, '«'));
  return drawn;
}
