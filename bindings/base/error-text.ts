/**
 * Name and text of whatever was thrown. That may be anything, and what it is asked for may throw or
 * be no text: nothing here throws, and all of it is text.
 */
import { CapstanError, isError, show } from './errors.ts';

const NO_TEXT = 'something that has no text';

/** `TypeError`, `CapstanError TIMEOUT`; of what is no error its type. */
export function nameOfError(error: unknown): string {
  try {
    if (!isError(error)) return typeof error;
    const name = String(error.name);
    return error instanceof CapstanError ? `${name} ${error.code}` : name;
  } catch {
    return 'Error';
  }
}

/** An error's message; of anything else, and of a message that is none, what it looks like. */
export function textOfError(error: unknown): string {
  try {
    if (!isError(error)) return String(error);
    const message: unknown = error.message;
    return typeof message === 'string' ? message : show(message);
  } catch {
    return NO_TEXT;
  }
}

/**
 * How much of a text is kept where it is cut after so many characters: half a secret would no
 * longer look like one (manager/page/redact.ts), so the word at the cut goes with what follows it.
 */
export function wordsEnd(text: string, most: number): number {
  if (text.length <= most) return text.length;
  let end = most;
  while (end > 0 && !/\s/.test(text.charAt(end - 1))) end--;
  return end;
}

/**
 * A text of its own: what is cut out of a longer one, also where it is joined with others, keeps
 * all of that one in V8.
 */
export function ownText(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string;
}
