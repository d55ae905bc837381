/** Limits reports of repeated problems: the first at once, then one a minute at most. */
import type { Clock } from './clock.ts';

const SAY_AGAIN_MS = 60_000;

export class Seldom {
  readonly #clock: Clock;
  /** By subject: the time of the last report, and how many were suppressed since. */
  readonly #said = new Map<string, { readonly at: number; more: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param tell gets a text to append: how many reports were suppressed */
  say(what: string, tell: (more: string) => void): void {
    const at = this.#clock.now();
    const last = this.#said.get(what);
    if (last !== undefined && at - last.at < SAY_AGAIN_MS) {
      last.more++;
      return;
    }
    this.#said.set(what, { at, more: 0 });
    const more = last?.more ?? 0;
    tell(more === 0 ? '' : `, and ${more} times since it was reported last`);
  }
}
