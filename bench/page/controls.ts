/**
 * The form, in which a reader chooses workloads, numbers of keys and the steady load. It also shows
 * numbers that only an address can set.
 */
import { showCount } from '../measure/figures.ts';
import { byId, html } from './dom.ts';
import { showSeconds } from './format.ts';
import { LIVE, type Plan, ROUNDS, roughSeconds, SIZES, WORKS } from './plan.ts';

const SECONDS = [5, 10, 30, 60] as const;

function chips(
  fieldset: HTMLElement,
  name: string,
  values: readonly { value: string; text: string; on: boolean }[],
) {
  const legend = fieldset.querySelector('legend') as HTMLLegendElement;
  const labels = values.map(({ value, text, on }) => {
    const box = html('input', { class: 'chip-box', type: 'checkbox', name, value });
    box.checked = on;
    return html('label', { class: 'chip' }, box, html('span', {}, text));
  });
  fieldset.replaceChildren(legend, html('div', { class: 'chips' }, ...labels));
}

function options(
  select: HTMLSelectElement,
  values: readonly number[],
  now: number,
  show: (value: number) => string,
) {
  const all = [...new Set([...values, now])].sort((a, b) => a - b);
  select.replaceChildren(...all.map((value) => html('option', { value }, show(value))));
  select.value = String(now);
}

export class Controls {
  readonly #form = byId('controls', HTMLFormElement);
  readonly #rounds = byId('rounds', HTMLSelectElement);
  readonly #live = byId('live', HTMLSelectElement);
  readonly #seconds = byId('seconds', HTMLSelectElement);
  readonly #start = byId('start', HTMLButtonElement);
  readonly #stop = byId('stop', HTMLButtonElement);
  readonly #bar = byId('bar', HTMLProgressElement);
  readonly #status = byId('status', HTMLElement);
  /** For screen readers: the beginning and the end, not every round. */
  readonly #announcement = byId('announcement', HTMLElement);

  constructor(on: { change(plan: Plan): void; start(plan: Plan): void; stop(): void }) {
    this.#form.addEventListener('change', () => on.change(this.plan()));
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      if (!this.#start.disabled) on.start(this.plan());
    });
    this.#stop.addEventListener('click', () => on.stop());
  }

  show(plan: Plan): void {
    const works = WORKS.map(({ name }) => ({
      value: name,
      text: name,
      on: plan.works.includes(name),
    }));
    chips(byId('works', HTMLFieldSetElement), 'work', works);
    const sizes = [...new Set([...SIZES, ...plan.sizes])].sort((a, b) => a - b);
    const sizeChips = sizes.map((n) => ({
      value: String(n),
      text: showCount(n),
      on: plan.sizes.includes(n),
    }));
    chips(byId('sizes', HTMLFieldSetElement), 'size', sizeChips);
    options(this.#rounds, ROUNDS, plan.rounds, String);
    options(this.#live, [0, ...LIVE], plan.live, (n) =>
      n === 0 ? 'nothing (off)' : `${showCount(n)} live keys`,
    );
    options(this.#seconds, SECONDS, plan.seconds, (seconds) => `${seconds} s each`);
  }

  plan(): Plan {
    const form = new FormData(this.#form);
    return {
      works: form.getAll('work').map(String),
      sizes: form.getAll('size').map(Number),
      rounds: Number(this.#rounds.value),
      live: Number(this.#live.value),
      seconds: Number(this.#seconds.value),
    };
  }

  /** Shows that a run can begin, and how long it will take. */
  ready(plan: Plan, text?: string): void {
    const nothing = (plan.works.length === 0 || plan.sizes.length === 0) && plan.live === 0;
    this.#bar.value = 0;
    this.#setRunning(false, nothing);
    this.#status.textContent = nothing
      ? 'Nothing is chosen: take a workload and a number of keys, or the steady load.'
      : `${text === undefined ? 'Ready' : text}. This choice takes about ` +
        `${showSeconds(roughSeconds(plan))}.`;
  }

  running(): void {
    this.#setRunning(true, false);
    this.progress(0, 'Starting');
    this.#announcement.textContent = 'Measuring';
    this.#stop.focus(); // the button that had the focus is disabled now
  }

  progress(part: number, text: string): void {
    this.#bar.value = part;
    this.#status.textContent = text;
  }

  ended(part: number, text: string): void {
    const focused = document.activeElement === this.#stop;
    this.#setRunning(false, false);
    this.progress(part, text);
    this.#announcement.textContent = text;
    if (focused) this.#start.focus();
  }

  #setRunning(running: boolean, nothing: boolean): void {
    for (const fieldset of this.#form.querySelectorAll('fieldset')) fieldset.disabled = running;
    this.#start.disabled = running || nothing;
    this.#stop.disabled = !running;
  }
}
