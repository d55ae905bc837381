/**
 * The chart of the workloads: a table whose bars are drawn and whose figures are text, so that it can be read without the
 * bars. All rows stand there before a run begins; figures fill them in, and nothing moves.
 */
import { showCount } from '../figures.ts';
import { html, svg } from './dom.ts';
import { showNs, showRate, showRatio } from './format.ts';
import { type Item, WORKS } from './plan.ts';
import { PEERS } from './protocol.ts';
import { overlaps, type Row, ratioOf, type Spread } from './result.ts';

const keyOf = ({ work, n }: Item): string => `${work} ${n}`;
const rateOf = (ns: number): number => 1e9 / ns;

/** The scale of the ratios ends here; what is beyond gets an arrow. */
const MOST_TIMES = 8;

/** Where a ratio stands: 0 the naive port far ahead, 50 even, 100 we far ahead. */
function placeOf(ratio: number): number {
  const doublings = Math.max(-1, Math.min(1, -Math.log2(ratio) / Math.log2(MOST_TIMES)));
  return 50 + 50 * doublings;
}

interface Cells {
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
      this.#container.replaceChildren(html('p', { class: 'empty' }, 'No workload was measured.'));
      return;
    }
    const table = html('table', { class: 'works', role: 'table', 'aria-label': 'Throughput of both peers' }, head());
    for (const { name, what, unit } of WORKS) {
      const own = items.filter((item) => item.work === name);
      if (own.length === 0) continue;
      const title = html('th', { scope: 'rowgroup', colspan: 5, role: 'rowheader' }, html('b', {}, name), ' ', what);
      table.append(
        html(
          'tbody',
          { role: 'rowgroup' },
          html('tr', { class: 'work', role: 'row' }, title),
          ...own.map((item) => this.#line(item, unit)),
        ),
      );
    }
    this.#container.replaceChildren(table);
  }

  show(row: Row): void {
    this.#rows.set(keyOf(row), row);
    const scale = Math.max(
      ...[...this.#rows.values()]
        .filter((each) => each.work === row.work)
        .flatMap((each) => [rateOf(each.capstan.min), rateOf(each.naive.min)]),
    );
    for (const each of this.#rows.values()) if (each.work === row.work) this.#draw(each, scale);
  }

  #line(item: Item, unit: string): HTMLElement {
    const cells: Cells = {
      bars: svg('svg', { class: 'bars', 'aria-hidden': 'true' }),
      times: html('td', { class: 'times', role: 'cell' }, ...PEERS.map((peer) => html('span', { class: peer }, '–'))),
      balance: svg('svg', { class: 'balance', 'aria-hidden': 'true' }, ...balanceGrid()),
      verdict: html('td', { class: 'verdict', role: 'cell' }, '–'),
    };
    this.#cells.set(keyOf(item), cells);
    return html(
      'tr',
      { role: 'row', 'data-row': keyOf(item), 'data-unit': unit },
      html('th', { scope: 'row', role: 'rowheader', class: 'keys' }, showCount(item.n), html('small', {}, ' keys')),
      html('td', { class: 'chart', role: 'cell' }, cells.bars),
      cells.times,
      html('td', { class: 'chart', role: 'cell' }, cells.balance),
      cells.verdict,
    );
  }

  #draw(row: Row, scale: number): void {
    const cells = this.#cells.get(keyOf(row));
    if (cells === undefined) return;
    cells.bars.replaceChildren(...PEERS.flatMap((peer, i) => bar(peer, row[peer], scale, i)));
    cells.times.replaceChildren(
      ...PEERS.map((peer) =>
        html(
          'span',
          { class: peer, title: `${showNs(row[peer].min)} to ${showNs(row[peer].max)} in ${row.rounds} rounds` },
          html('span', { class: 'hidden-title' }, `${peer} `),
          html('b', {}, showRate(rateOf(row[peer].ns))),
          ' ',
          html('small', {}, showNs(row[peer].ns)),
        ),
      ),
    );
    const ratio = ratioOf(row);
    const near = overlaps(row);
    cells.balance.replaceChildren(...balanceGrid(), ...balanceBar(ratio, near));
    cells.verdict.className = `verdict ${ratio < 1 ? 'win' : 'loss'}`;
    cells.verdict.replaceChildren(
      html('b', {}, showRatio(ratio)),
      html('small', {}, near ? `${ratio.toFixed(2)}, overlaps` : `ratio ${ratio.toFixed(2)}`),
    );
  }
}

function head(): HTMLElement {
  const column = (text: string | HTMLElement, name = ''): HTMLElement =>
    html('th', { scope: 'col', role: 'columnheader', class: name }, text);
  const sides = html(
    'span',
    { class: 'sides' },
    html('span', { class: 'naive' }, 'naive ahead'),
    html('span', { class: 'capstan' }, 'Capstan ahead'),
  );
  return html(
    'thead',
    { role: 'rowgroup' },
    html(
      'tr',
      { role: 'row' },
      column('Keys'),
      column('Operations a second'),
      column('Median rate, time of one', 'right'),
      column(sides),
      column('Capstan is', 'right'),
    ),
  );
}

const percent = (value: number): string => `${value.toFixed(2)}%`;

function bar(peer: string, { ns, min, max }: Spread, scale: number, line: number): SVGElement[] {
  const at = (time: number): string => percent((rateOf(time) / scale) * 100);
  const y = 3 + line * 18;
  return [
    svg('rect', { class: `bar ${peer}`, x: 0, y, width: at(ns), height: 13, rx: 1.5 }),
    svg('line', { class: 'whisker', x1: at(max), x2: at(min), y1: y + 6.5, y2: y + 6.5 }),
    svg('line', { class: 'whisker', x1: at(max), x2: at(max), y1: y + 3.5, y2: y + 9.5 }),
    svg('line', { class: 'whisker', x1: at(min), x2: at(min), y1: y + 3.5, y2: y + 9.5 }),
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
  const kind = `bar ${ratio < 1 ? 'capstan' : 'naive'}${near ? ' near' : ''}`;
  const shape = {
    x: percent(Math.min(place, 50)),
    width: percent(Math.max(Math.abs(place - 50), 0.6)),
    y: 10,
    height: 16,
  };
  const beyond = ratio < 1 / MOST_TIMES || ratio > MOST_TIMES;
  const drawn: SVGElement[] = [svg('rect', { class: kind, ...shape })];
  if (beyond) {
    const anchor = ratio < 1 ? { x: '98%', 'text-anchor': 'end' } : { x: '2%', 'text-anchor': 'start' };
    drawn.push(svg('text', { class: 'beyond', y: 23, ...anchor }, ratio < 1 ? '»' : '«'));
  }
  return drawn;
}
