/**
 * Errors for a text that is not JSON. It may be a part of a Secret, so neither the message nor the
 * cause quotes data; V8's error would.
 */
import { CapstanError, isError, show } from './errors.ts';
import { isJsonObject } from './json-value.ts';

const SHOWN = 60;

/** Matches a proxy's page or words: never JSON, a part of it, or base64. */
const PROSE = /^\s*<[!a-z]|^[^"{}[\]\\=]*$/i;
const LONG_WORD = /[^\s<>]{20}/;

/** `{what} is not JSON: …`, code DECODE. */
export function notJson(what: string, text: string, error: unknown): CapstanError {
  return new CapstanError('DECODE', `${what} is not JSON: ${excerpt(text)}`, {
    cause: unquoted(error),
  });
}

/**
 * A short description: words and pages are shown, of other texts the length and the beginning, of
 * other values the type.
 */
export function excerpt(value: unknown): string {
  if (typeof value !== 'string') return show(value);
  const start = value.slice(0, SHOWN);
  if (PROSE.test(start) && /\s/.test(start) && !LONG_WORD.test(start)) return show(value);
  const [first = ''] = value.trimStart();
  const begin = '{["'.includes(first) && first !== '' ? ` that begin with ${first}` : '';
  return `${value.length} characters${begin} (not shown)`;
}

/** The result of `parse`. Throws CapstanError DECODE if the text is not JSON. */
export function fromJson(
  what: string,
  text: string,
  parse: (text: string) => unknown = JSON.parse,
): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw notJson(what, text, error);
  }
}

/** The same for an answer that must be an object. */
export function objectFromJson(
  what: string,
  text: string,
  parse?: (text: string) => unknown,
): Record<string, unknown> {
  const value = fromJson(`${what}: the answer`, text, parse);
  if (isJsonObject(value)) return value;
  throw new CapstanError('DECODE', `${what}: expected a JSON object, got ${excerpt(value)}`);
}

/** The error of JSON.parse without its quotes. */
function unquoted(error: unknown): unknown {
  if (!isError(error)) return undefined;
  const [, at] = /at position (\d+)/.exec(error.message) ?? [];
  const [begin = ''] = /^(?:JSON Parse error: )?[A-Za-z ]*/.exec(error.message) ?? [];
  return new SyntaxError(at === undefined ? begin.trim() : `no JSON at position ${at}`);
}
