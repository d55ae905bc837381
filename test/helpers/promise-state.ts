/** Whether a promise has settled, without waiting for time; it runs on every runtime. */
import { FakeClock } from 'capstan/workqueue';

/** Resolves when nothing can run without time passing. */
export const settle = (): Promise<void> => new FakeClock().settle();

/** What a promise has done so far. */
export interface TrackedPromise<T> {
  state: 'pending' | 'fulfilled' | 'rejected';
  value: T | undefined;
  error: unknown;
}

export function track<T>(promise: Promise<T>): TrackedPromise<T> {
  const tracked: TrackedPromise<T> = { state: 'pending', value: undefined, error: undefined };
  promise.then(
    (value) => Object.assign(tracked, { state: 'fulfilled', value }),
    (error: unknown) => Object.assign(tracked, { state: 'rejected', error }),
  );
  return tracked;
}
