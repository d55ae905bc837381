/**
 * The last place for an error that no caller can receive (a handler that threw, a worker that
 * died): it is reported, never swallowed, and never stops the machinery. client-go:
 * k8s.io/apimachinery/pkg/util/runtime.HandleError.
 */
import { requireFunction } from './errors.ts';
import { explained } from './shared-object.ts';

/** `what` says which part met the error, such as `"informer handler"`. */
export type ErrorHandler = (error: unknown, what: string) => void;

const toConsole: ErrorHandler = (error, what) => console.error(`capstan: ${what}:`, error);

let current: ErrorHandler = toConsole;

/**
 * Replaces the hook (by default `console.error`) and returns the one that was there before;
 * `undefined` restores the default.
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

/**
 * Calls a user's function that is told of something: what it throws, or rejects with, is reported,
 * and nobody waits for it.
 *
 * @param untold reports what the function should have been told, first
 */
export function tell(call: () => unknown, what: string, untold?: () => unknown): void {
  const report = (error: unknown): void => {
    untold?.();
    handleError(error, what);
  };
  try {
    whenRejected(call(), report);
  } catch (error) {
    report(error);
  }
}

/**
 * Reports an error through the hook. A hook that throws, or rejects, is itself reported on the
 * console: this never throws.
 */
export function handleError(thrown: unknown, what: string): void {
  const error = explained(thrown);
  const failed = (second: unknown): void => {
    toConsole(error, what);
    toConsole(second, 'error handler');
  };
  try {
    whenRejected(current(error, what), failed);
  } catch (second) {
    failed(second);
  }
}

/** Of a function whose answer nobody waits for: a promise that it gives may be rejected. */
export function reportRejection(answer: unknown, what: string): void {
  whenRejected(answer, (error) => handleError(error, what));
}

function whenRejected(answer: unknown, report: (error: unknown) => void): void {
  if (typeof answer === 'object' && answer !== null && 'then' in answer)
    Promise.resolve(answer).catch(report);
}
