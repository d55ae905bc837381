/**
 * Lines for a console: time, level and message; and an error as one line, with its stack below.
 * Used by the console logger and by the default hook of `setErrorHandler`. Nothing here throws,
 * whatever the values are.
 */
import { nameOfError, textOfError } from './error-text.ts';
import { isError } from './errors.ts';

/** Longer texts are cut. */
const MOST_CHARS = 2000;
/** How many errors of a chain of causes are shown. */
const MOST_ERRORS = 5;
const MOST_FRAMES = 30;
/** How many texts {@link FirstTimes} remembers. */
const MOST_SUBJECTS = 1024;

/** `2026-01-05T08:00:00.000Z ERROR the message`. @param wallMs milliseconds since 1970 */
export function consoleLine(wallMs: number, level: string, message: string): string {
  const time = orElse(() => new Date(wallMs).toISOString(), String(wallMs));
  return `${time} ${level.toUpperCase().padEnd(5)} ${oneLine(message)}`;
}

/** An error as one line: class, code and message, then those of its causes. */
export function errorAsLine(error: unknown): string {
  return chain(error).map(named).join('; cause: ');
}

/** The frames of an error and of its causes, indented, with a line feed before each line. */
export function stackBelow(error: unknown): string {
  return chain(error)
    .map((each) => framesOf(each).map((frame) => `\n    ${frame}`))
    .flatMap((frames, i) => (i > 0 && frames.length > 0 ? ['\n  cause:', ...frames] : frames))
    .join('');
}

/** `TypeError ERR_INVALID_URL: Invalid URL`; a value that is no error as its text. */
function named(error: unknown): string {
  const text = oneLine(textOfError(error));
  if (!orElse(() => isError(error), false)) return text;
  const name = nameOfError(error);
  const code = orElse(() => (error as { code?: unknown }).code, undefined); // Node's errors, too
  const isNew = typeof code === 'string' && !`${name} ${text}`.includes(code);
  return `${name}${isNew ? ` ${code}` : ''}: ${text}`;
}

/** An error and its causes, which may be circular; of an AggregateError the first one. */
function chain(error: unknown): unknown[] {
  const errors = new Set<unknown>();
  for (let each = error; errors.size < MOST_ERRORS && !errors.has(each); ) {
    errors.add(each);
    const cause = orElse(() => {
      const { cause, errors = [] } = each as { cause?: unknown; errors?: readonly unknown[] };
      return isError(each) ? (cause ?? errors[0]) : undefined;
    }, undefined);
    if (cause === undefined) break;
    each = cause;
  }
  return [...errors];
}

/** V8 begins a stack with name and message, other engines with the first frame. */
function framesOf(error: unknown): string[] {
  const stack = orElse(() => String((error as Error).stack), '');
  return stack
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => /^at |@/.test(line))
    .slice(0, MOST_FRAMES);
}

/** A text without line breaks, of a bounded length. */
export function oneLine(text: string): string {
  const line = text.replace(/\s*[\r\n\u2028\u2029]+\s*/g, ' ');
  return line.length <= MOST_CHARS ? line : `${line.slice(0, MOST_CHARS)}…`;
}

/** What `read` returns; if it throws, such as for a revoked Proxy, `other`. */
export function orElse<T>(read: () => T, other: T): T {
  try {
    return read();
  } catch {
    return other;
  }
}

/** Remembers the last 1024 texts, and answers whether a text is new. */
export class FirstTimes {
  readonly #seen = new Set<string>();

  isFirst(what: string): boolean {
    const isNew = !this.#seen.delete(what);
    this.#seen.add(what); // now it is the newest
    const [oldest = ''] = this.#seen.size > MOST_SUBJECTS ? this.#seen : [];
    this.#seen.delete(oldest);
    return isNew;
  }
}
