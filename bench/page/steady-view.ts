/**
 * The charts of the steady load: a strip of pauses for each peer, both on one scale, and a row for
 * each percentile, with a dot for each peer on a logarithmic axis and the figures as text.
 */
import { html, svg } from './dom.ts';
import { showMs, showNs, showRate, showRatio, showTime } from './format.ts';
import { STEADY_TURNS } from './plan.ts';
import { PAGE_PEERS, type PagePeerName, STALL_MS } from './protocol.ts';
import { PERCENTILE_NAMES } from './report.ts';
import { bucketMsOf, type SteadySide } from './result.ts';
import { body, type Column, cell, resultTable, row, rowHead } from './table.ts';

/** The ends of the logarithmic scales, in milliseconds. Values beyond them are drawn at the end. */
const STRIP = { from: 0.1, to: 1000 };
const DOTS = { from: 0.01, to: 1000 };
const FRAME_MS = 1000 / 60;

interface Scale {
  from: number;
  to: number;
}

/** 0 to 100 */
const placeOf = (ms: number, { from, to }: Scale): number =>
  Math.max(0, Math.min(100, (Math.log(Math.max(ms, 1e-9) / from) / Math.log(to / from)) * 100));

const percent = (value: number): string => `${value.toFixed(2)}%`;

interface Line {
  name: string;
  value(side: SteadySide): number;
  /** Times have a dot; other figures are text only. */
  kind: 'time' | 'count' | 'total' | 'cycle' | 'rate';
}

const LINES: readonly Line[] = [
  ...PERCENTILE_NAMES.map(
    (name, i): Line => ({
      name: `Latency, ${name}`,
      value: (side) => side.latencies[i] ?? 0,
      kind: 'time',
    }),
  ),
  { name: 'Event-loop delay, p99.9', value: (side) => side.delays[3] ?? 0, kind: 'time' },
  { name: 'Longest pause', value: (side) => side.longest, kind: 'time' },
  { name: `Pauses over ${STALL_MS} ms`, value: (side) => side.stalls, kind: 'count' },
  { name: 'Time in them', value: (side) => side.stalledMs, kind: 'total' },
  { name: 'Mean time of a cycle', value: (side) => side.cycleNs, kind: 'cycle' },
  { name: 'Rate held', value: (side) => side.rate, kind: 'rate' },
];

function showValue(kind: Line['kind'], value: number, resolutionMs: number): string {
  switch (kind) {
    case 'time':
      return showTime(value, resolutionMs);
    case 'count':
      return value.toLocaleString('en');
    case 'total':
      return value === 0 ? '0 ms' : showMs(value);
    case 'cycle':
      return showNs(value);
    case 'rate':
      return showRate(value);
  }
}

const WORDS: Record<Line['kind'], [less: string, more: string]> = {
  time: ['shorter', 'longer'],
  count: ['fewer', 'more'],
  total: ['less', 'more'],
  cycle: ['faster', 'slower'],
  rate: ['less', 'more'],
};

/**
 * Compares our figure with the other one; a dash if the difference is below the clock's resolution,
 * or there is nothing to compare.
 */
function compare(
  kind: Line['kind'],
  ours: number,
  theirs: number,
  resolutionMs: number,
): { text: string; win?: boolean } {
  if (kind === 'time' && Math.max(ours, theirs) < resolutionMs) return { text: '–' };
  const floor = kind === 'time' ? resolutionMs : kind === 'count' ? 1 : 1e-9;
  if (ours === 0 && theirs === 0) return { text: 'even' };
  if (kind === 'total' && (ours === 0 || theirs === 0))
    return { text: ours === 0 ? 'none' : 'more', win: ours === 0 };
  const ratio = Math.max(ours, floor) / Math.max(theirs, floor);
  const text = showRatio(ratio);
  if (text === 'even') return { text };
  const [less, more] = WORDS[kind];
  return {
    text: text.replace('faster', less).replace('slower', more),
    win: kind === 'rate' ? ratio > 1 : ratio < 1,
  };
}

interface Cells {
  dots: SVGSVGElement | undefined;
  values: Record<PagePeerName, HTMLElement>;
  verdict: HTMLElement;
}

export class SteadyChart {
  readonly #container: HTMLElement;
  readonly #strips = new Map<PagePeerName, { plot: SVGSVGElement; note: HTMLElement }>();
  #cells: Cells[] = [];
  #buckets = 1;

  constructor(container: HTMLElement) {
    this.#container = container;
  }

  /** Empty charts for this many measured seconds a peer. */
  lay(seconds: number): void {
    this.#strips.clear();
    this.#buckets = Math.max(1, Math.round((seconds * 1000) / bucketMsOf(seconds)));
    const strips = PAGE_PEERS.map((peer) => this.#strip(peer, seconds));
    this.#cells = LINES.map(({ kind }) => ({
      dots:
        kind === 'time'
          ? svg('svg', { class: 'dots', 'aria-hidden': 'true' }, ...dotGrid())
          : undefined,
      values: { capstan: html('span', {}, '–'), naive: html('span', {}, '–') },
      verdict: html('span', { class: 'verdict' }, '–'),
    }));
    const rows = LINES.map(({ name }, i) => {
      const { dots, values, verdict } = this.#cells[i] as Cells;
      return row(
        'percentile',
        rowHead('percentile-cell percentile-wide', name),
        cell('percentile-cell percentile-wide', ...(dots ? [dots] : [])),
        ...PAGE_PEERS.map((peer) =>
          cell(
            'percentile-cell value',
            html('i', { class: `narrow swatch swatch-${peer}` }),
            values[peer],
          ),
        ),
        cell('percentile-cell', verdict),
      );
    });
    const percentiles = resultTable(
      'Latencies and pauses of both peers',
      dotColumns(),
      body(...rows),
    );
    this.#container.replaceChildren(html('div', { class: 'strips' }, ...strips), percentiles);
  }

  show(sides: Readonly<Record<PagePeerName, SteadySide>>, resolutionMs: number): void {
    for (const peer of PAGE_PEERS) this.#drawStrip(peer, sides[peer]);
    const { capstan, naive } = sides;
    // the clock cannot measure shorter times
    const drawn = (ms: number): number => Math.max(ms, resolutionMs);
    LINES.forEach(({ value, kind }, i) => {
      const cells = this.#cells[i];
      if (cells === undefined) return;
      const [ours, theirs] = [value(capstan), value(naive)];
      const known = { capstan: capstan.rate > 0, naive: naive.rate > 0 };
      for (const peer of PAGE_PEERS) {
        cells.values[peer].textContent = known[peer]
          ? showValue(kind, value(sides[peer]), resolutionMs)
          : '–';
      }
      const both = known.capstan && known.naive;
      const verdict = both ? compare(kind, ours, theirs, resolutionMs) : { text: '–' };
      cells.verdict.textContent = verdict.text;
      const outcome = verdict.win === undefined ? '' : verdict.win ? 'win' : 'loss';
      cells.verdict.className = `verdict ${outcome}`;
      cells.dots?.replaceChildren(
        ...dotGrid(),
        ...dots(known.capstan ? drawn(ours) : undefined, known.naive ? drawn(theirs) : undefined),
      );
    });
  }

  #strip(peer: PagePeerName, seconds: number): HTMLElement {
    const plot = svg('svg', { class: 'strip', preserveAspectRatio: 'none', 'aria-hidden': 'true' });
    const note = html('span', { class: 'soft' }, '–');
    this.#strips.set(peer, { plot, note });
    const name = html(
      'b',
      { class: `ink-${peer}` },
      html('i', { class: `swatch swatch-${peer}` }),
      peer === 'capstan' ? 'Capstan' : 'Naive port',
    );
    const ticks = [0.1, 1, 10, 100].map((ms) => tick(ms, `${ms} ms`));
    const frame = html('div', { class: 'frame' }, ...ticks, plot, tick(FRAME_MS));
    const axis = html(
      'div',
      { class: 'seconds', 'aria-hidden': 'true' },
      html('span', {}, '0 s'),
      html('span', {}, `${seconds / STEADY_TURNS} s: second turn`),
      html('span', {}, `${seconds} s`),
    );
    const title = html('figcaption', { class: 'strip-title' }, name, note);
    return html('figure', { class: 'strip-figure', 'data-strip': peer }, title, frame, axis);
  }

  #drawStrip(peer: PagePeerName, side: SteadySide): void {
    const strip = this.#strips.get(peer);
    if (strip === undefined) return;
    const { plot, note } = strip;
    plot.setAttribute('viewBox', `0 0 ${this.#buckets} 100`);
    const path = side.pauses
      .map((ms, i) => `M${i} 100V${(100 - Math.max(placeOf(ms, STRIP), 1)).toFixed(1)}h.85V100z`)
      .join('');
    const half = this.#buckets / STEADY_TURNS;
    plot.replaceChildren(
      svg('path', { class: `strip-${peer}`, d: path }),
      svg('line', { class: 'turn', x1: half, x2: half, y1: 0, y2: 100 }),
    );
    note.textContent =
      side.pauses.length === 0
        ? '–'
        : `longest ${showMs(side.longest)}; ${side.stalls.toLocaleString('en')} over ` +
          `${STALL_MS} ms`;
  }
}

const DOT_TICKS = [0.01, 0.1, 1, 10, 100, 1000];

function dotGrid(): SVGElement[] {
  return DOT_TICKS.map((ms) => {
    const x = percent(placeOf(ms, DOTS));
    return svg('line', { class: 'grid', x1: x, x2: x, y1: 0, y2: '100%' });
  });
}

function dots(ours: number | undefined, theirs: number | undefined): SVGElement[] {
  const marks: SVGElement[] = [];
  const [a, b] = [percent(placeOf(ours ?? 0, DOTS)), percent(placeOf(theirs ?? 0, DOTS))];
  if (ours !== undefined && theirs !== undefined)
    marks.push(svg('line', { class: 'link', x1: a, x2: b, y1: 13, y2: 13 }));
  if (theirs !== undefined) marks.push(svg('circle', { class: 'dot-naive', cx: b, cy: 13, r: 5 }));
  if (ours !== undefined) marks.push(svg('circle', { class: 'dot-capstan', cx: a, cy: 13, r: 5 }));
  return marks;
}

function dotColumns(): Column[] {
  const ticks = DOT_TICKS.slice(0, -1).map((ms) => {
    const mark = html('span', { class: 'dot-tick' }, ms < 1 ? `${ms * 1000} µs` : `${ms} ms`);
    mark.style.left = percent(placeOf(ms, DOTS));
    return mark;
  });
  return [
    { text: html('span', { class: 'unseen' }, 'Figure'), class: 'column-figure' },
    { text: html('span', { class: 'dot-ticks' }, ...ticks) },
    { text: html('span', { class: 'ink-capstan' }, 'Capstan'), class: 'column-value right' },
    { text: html('span', { class: 'ink-naive' }, 'Naive port'), class: 'column-value right' },
    { text: 'Capstan is', class: 'column-verdict right' },
  ];
}

/** A line across a strip, with its label in the gutter; dashed without one. */
function tick(ms: number, text?: string): HTMLElement {
  const label = text === undefined ? [] : [html('span', { class: 'tick-label' }, text)];
  const line = html(
    'div',
    { class: label.length > 0 ? 'tick' : 'tick tick-dashed', 'aria-hidden': 'true' },
    ...label,
  );
  line.style.bottom = percent(placeOf(ms, STRIP));
  return line;
}
