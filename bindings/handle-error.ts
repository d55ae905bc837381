/**
 * The last place for an error that no caller can receive (a handler that threw, a worker that died): it is reported,
 * never swallowed, and never stops the machinery. client-go: k8s.io/apimachinery/pkg/util/runtime.HandleError.
 */
import { requireFunction } from './errors.ts';

/** `what` says which part met the error, such as `"informer handler"`. */
export type ErrorHandler = (error: unknown, what: string) => void;

const toConsole: ErrorHandler = (error, what) => console.error(`capstan: ${what}:`, error);

let current: ErrorHandler = toConsole;

/**
 * Replaces the hook (by default `console.error`) and returns the one that was there before; `undefined` restores the default.
 *
 * @example
 * setErrorHandler((error, what) => logger.error({ err: error }, what));
 */
export function setErrorHandler(handler: ErrorHandler | undefined): ErrorHandler {
  if (handler !== undefined) requireFunction('handler', handler);
  const previous = current;
  current = handler ?? toConsole;
  return previous;
}

/** Calls a user's function that is told of something: what it throws, or rejects with, is reported, and nobody waits for it. */
export function tell(call: () => unknown, what: string): void {
  try {
    const answer = call();
    if (typeof answer === 'object' && answer !== null && 'then' in answer)
      Promise.resolve(answer).catch((error: unknown) => handleError(error, what));
  } catch (error) {
    handleError(error, what);
  }
}

/** Reports an error through the hook. A hook that throws is itself reported on the console: this never throws. */
export function handleError(error: unknown, what: string): void {
  try {
    current(error, what);
  } catch (second) {
    toConsole(error, what);
    toConsole(second, 'error handler');
  }
}
