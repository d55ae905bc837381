/**
 * Reports errors that no caller can receive (a handler that threw, a worker that died). They are
 * never swallowed and never stop anything. client-go:
 * k8s.io/apimachinery/pkg/util/runtime.HandleError.
 */
import { type Clock, systemWallNow } from './clock.ts';
import { consoleLine, errorAsLine, FirstTimes, stackBelow } from './console-line.ts';
import { requireFunction } from './errors.ts';
import { explained } from './shared-object.ts';

/** `what` names the part that met the error, such as `"informer handler"`. */
export type ErrorHandler = (error: unknown, what: string) => void;

let reported: FirstTimes | undefined;

/**
 * Writes one line, and the stack when this part fails for the first time.
 *
 * @param more follows `what` in the line
 */
function toConsole(error: unknown, what: string, more = ''): void {
  reported ??= new FirstTimes();
  const line = consoleLine(systemWallNow(), 'error', `capstan: ${what}${more}`);
  const stack = reported.isFirst(what) ? stackBelow(error) : '';
  console.error(`${line}: ${errorAsLine(error)}${stack}`);
}

let current: ErrorHandler = toConsole;

/**
 * Replaces the hook and returns the previous one. `undefined` restores the default, which writes
 * one line to `console.error`, and the stack when `what` fails for the first time.
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
 * Calls a user's function and ignores its result. An error or rejection is reported; a promise is
 * not awaited.
 *
 * @param beforeReport called before the error is reported, to report what the call was for
 */
export function tell(call: () => unknown, what: string, beforeReport?: () => unknown): void {
  const report = (error: unknown): void => {
    beforeReport?.();
    handleError(error, what);
  };
  try {
    whenRejected(call(), report);
  } catch (error) {
    report(error);
  }
}

/**
 * Reports an error through the hook. Never throws: if the hook throws or rejects, both errors go to
 * the console.
 *
 * @param more text that only the default hook writes, after `what`, such as the attempt
 */
export function handleError(thrown: unknown, what: string, more?: string): void {
  const error = explained(thrown);
  const failed = (second: unknown): void => {
    toConsole(error, what);
    toConsole(second, 'error handler');
  };
  try {
    const answer: unknown =
      current === toConsole ? toConsole(error, what, more) : current(error, what);
    whenRejected(answer, failed);
  } catch (second) {
    failed(second);
  }
}

/** Reports the rejection of a promise that is not awaited. */
export function reportRejection(answer: unknown, what: string): void {
  whenRejected(answer, (error) => handleError(error, what));
}

function whenRejected(answer: unknown, report: (error: unknown) => void): void {
  if (typeof answer === 'object' && answer !== null && 'then' in answer)
    Promise.resolve(answer).catch(report);
}

/** The least time between two reports of one subject. */
const SAY_AGAIN_MS = 60_000;

/** Reports a subject at most once a minute, and counts the reports that it suppresses. */
export class Seldom {
  readonly #clock: Clock;
  /** By subject: the time of the last report, and how many were suppressed since. */
  readonly #said = new Map<string, { readonly at: number; more: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Calls `tell`, unless this subject was reported within the last minute.
   *
   * @param tell gets a text to append: how many reports were suppressed
   */
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
