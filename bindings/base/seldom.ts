/** Reports of what may fail at each event: the first at once, then one a minute at most. */
import type { Clock } from './clock.ts';

const SAY_AGAIN_MS = 60_000;

export class Seldom {
  readonly #clock: Clock;
  /** By what it is about: when it was said last, and how often it has not been said since. */
  readonly #said = new Map<string, { readonly at: number; more: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param tell is given what to add to the message: how often it has happened unsaid */
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
