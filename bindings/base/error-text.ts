/**
 * Names and texts of thrown values. A thrown value may be anything, and its members may throw or be
 * no text: nothing here throws, and all results are text.
 */
import { CapstanError, isError, show } from './errors.ts';

const NO_TEXT = 'something that has no text';

/** `TypeError`, `CapstanError TIMEOUT`; for a value that is not an error its type. */
export function nameOfError(error: unknown): string {
  try {
    if (!isError(error)) return typeof error;
    const name = String(error.name);
    return error instanceof CapstanError ? `${name} ${error.code}` : name;
  } catch {
    return 'Error';
  }
}

/** An error's message. For another value, or a message that is not a text, a description. */
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
 * The length at which to cut a text after at most so many characters: before the word at the cut,
 * because half a secret no longer looks like one (manager/page/redact.ts).
 */
export function wordsEnd(text: string, most: number): number {
  if (text.length <= most) return text.length;
  let end = most;
  while (end > 0 && !/\s/.test(text.charAt(end - 1))) end--;
  return end;
}

/**
 * A text of a server without credentials of the Authorization header: proxies and debug pages echo
 * what they were sent. A plain word stays, as in "Basic authentication".
 */
export function withoutCredentials(text: string): string {
  return text.replace(
    /\b(Bearer|Basic)(\s+|%20)(?=[\w.~+/-]*[\dA-Z_.~+/]|[\w.~+/-]{20})[\w.~+/-]{6,}=*/g,
    '$1$2(hidden)',
  );
}

/**
 * A copy of a text that shares no memory with it. In V8 a slice, and a string joined from slices,
 * keeps the whole original text in memory.
 */
export function ownText(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string;
}
