/**
 * Prints the progress of the run: on a terminal a few lines that are redrawn in place, elsewhere
 * and with NO_COLOR one line every few seconds.
 */
import type { Measurements } from './measurements.ts';

export interface Output {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
}

/** The state that the caller provides. */
export interface Scene {
  phase: string;
  /** The progress of the phase, 0 to 1; `undefined` if it has no known end. */
  done: number | undefined;
  objects: number;
  faults: ReadonlyMap<string, number>;
}

const BARS = ' ▁▂▃▄▅▆▇█';
const WIDTH = 78;
const REDRAW_MS = 200;
/** Seconds between two lines where nothing can be redrawn. */
const LINE_SECONDS = 3;

export class Progress {
  readonly #out: Output;
  readonly #redraws: boolean;
  readonly #measurements: Measurements;
  readonly #scene: () => Scene;
  readonly #start = performance.now();
  readonly #history: number[] = [];
  #timer: NodeJS.Timeout | undefined;
  #second = 0;
  #last = { at: 0, adds: 0, reconciles: 0 };
  #rates = { adds: 0, reconciles: 0, p50: 0, p99: 0 };
  #drawn = 0;

  constructor(out: Output, measurements: Measurements, scene: () => Scene) {
    this.#out = out;
    this.#redraws = out.isTTY === true && !process.env.NO_COLOR;
    this.#measurements = measurements;
    this.#scene = scene;
  }

  start(): void {
    if (this.#redraws) this.#out.write('\n');
    else this.#out.write(`${heading()}\n`);
    this.#timer = setInterval(() => this.#tick(), REDRAW_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#sample(); // includes the last part of a second
    if (this.#redraws) this.#draw();
  }

  #tick(): void {
    const elapsed = Math.floor((performance.now() - this.#start) / 1000);
    const isDue = elapsed >= this.#second + (this.#redraws ? 1 : LINE_SECONDS);
    if (isDue) {
      this.#second = elapsed;
      this.#sample();
    }
    if (this.#redraws) this.#draw();
    else if (isDue) this.#out.write(`${this.#row()}\n`);
  }

  #sample(): void {
    const { adds, reconciles } = this.#measurements;
    const at = performance.now() - this.#start;
    const seconds = Math.max((at - this.#last.at) / 1000, 0.001);
    const recent = this.#measurements.takeRecent();
    this.#rates = {
      adds: (adds - this.#last.adds) / seconds,
      reconciles: (reconciles - this.#last.reconciles) / seconds,
      p50: recent.percentile(0.5),
      p99: recent.percentile(0.99),
    };
    this.#last = { at, adds, reconciles };
    this.#history.push(this.#rates.reconciles);
  }

  #row(): string {
    const { depth, retries } = this.#measurements;
    const { phase, objects, faults } = this.#scene();
    const { adds, reconciles, p50, p99 } = this.#rates;
    const cells = [
      `${this.#second} s`,
      whole(objects),
      whole(depth),
      whole(adds),
      whole(reconciles),
      whole(retries),
    ];
    const numbers = cells.map((cell, i) => cell.padStart(COLUMNS[i]?.length ?? 0)).join('  ');
    const latency = `${milliseconds(p50)} / ${milliseconds(p99)}`.padStart(LATENCY.length);
    return `  ${numbers}  ${latency}  ${whole(sum(faults)).padStart('faults'.length)}  ${phase}`;
  }

  #draw(): void {
    const { depth, retries, running } = this.#measurements;
    const { phase, done, objects, faults } = this.#scene();
    const { adds, reconciles, p50, p99 } = this.#rates;
    const elapsed = ((performance.now() - this.#start) / 1000).toFixed(1);
    const lines = [
      `  ${label(phase)}${bar(done)} ${elapsed.padStart(6)} s   ${whole(objects)} Websites`,
      `  ${label('queue')}${whole(depth)} waiting`.padEnd(30) +
        `${whole(adds)} adds/s`.padEnd(16) +
        `${whole(retries)} retries`,
      `  ${label('reconcile')}${`${whole(reconciles)}/s`.padEnd(10)} ` +
        `${sparkline(this.#history, 30)}  ${running} running`,
      `  ${label('wait')}from the event to its reconcile: p50 ` +
        `${milliseconds(p50)}   p99 ${milliseconds(p99)}`,
      `  ${label('faults')}${whole(sum(faults))} so far${latest(faults)}`,
    ];
    const width = Math.min(this.#out.columns ?? WIDTH, 120) - 1;
    const up = this.#drawn > 0 ? `\x1b[${this.#drawn}A` : '';
    this.#out.write(
      up +
        lines
          .map((line) => `\x1b[2K${line.length > width ? `${line.slice(0, width - 1)}…` : line}\n`)
          .join(''),
    );
    this.#drawn = lines.length;
  }
}

const COLUMNS = ['time ', 'Websites', 'queued', 'adds/s', 'reconciles/s', 'retries'];
const LATENCY = 'wait in queue p50 / p99';
const heading = () => `  ${COLUMNS.join('  ')}  ${LATENCY}  faults`;
const label = (text: string) => text.padEnd(12);
const sum = (counts: ReadonlyMap<string, number>) =>
  [...counts.values()].reduce((a, b) => a + b, 0);

function latest(faults: ReadonlyMap<string, number>): string {
  return faults.size === 0
    ? ''
    : `: ${[...faults].map(([name, count]) => `${count} × ${name}`).join(', ')}`;
}

function bar(done: number | undefined): string {
  const size = 24;
  if (done === undefined) return ' '.repeat(size);
  const full = Math.round(Math.min(Math.max(done, 0), 1) * size);
  return '█'.repeat(full) + '░'.repeat(size - full);
}

function sparkline(values: readonly number[], size: number): string {
  const shown = values.slice(-size);
  const most = Math.max(...shown, 1);
  return shown.map((value) => BARS[Math.round((value / most) * (BARS.length - 1))]).join('');
}

const numbers = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

export const whole = (value: number): string => numbers.format(value);

/** A duration with three significant digits; a dash for 0, which means "none". */
export function milliseconds(ms: number): string {
  if (ms === 0) return '-';
  if (ms < 0.01) return '<0.01 ms';
  if (ms >= 10_000) return `${(ms / 1000).toFixed(1)} s`;
  const digits = ms >= 100 ? 0 : ms >= 10 ? 1 : 2;
  return `${ms.toFixed(digits)} ms`;
}
