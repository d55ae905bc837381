/**
 * A clock whose time can pass without firing timers, as for a stalled process; they fire when it
 * continues.
 */
import { FakeClock } from 'capstan/workqueue';

export class StoppableClock extends FakeClock {
  #stopped = 0;
  readonly #due = new Map<object, { at: number; run: () => void; timer: unknown }>();

  override now(): number {
    return super.now() + this.#stopped;
  }

  override setTimer(run: () => void, ms: number): unknown {
    const handle = {};
    const fire = (): void => {
      this.#due.delete(handle);
      run();
    };
    this.#due.set(handle, { at: this.now() + ms, run: fire, timer: super.setTimer(fire, ms) });
    return handle;
  }

  override clearTimer(handle: unknown): void {
    super.clearTimer(this.#due.get(handle as object)?.timer);
    this.#due.delete(handle as object);
  }

  stopFor(ms: number): void {
    this.#stopped += ms;
    for (const entry of this.#due.values()) {
      super.clearTimer(entry.timer);
      entry.timer = super.setTimer(entry.run, entry.at - this.now());
    }
  }
}
