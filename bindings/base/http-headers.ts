/** Checks request headers. A header may be a token, so no value is ever shown. */
import { CapstanError } from './errors.ts';

/** RFC 9110, section 5.6.2. */
const TOKEN = /^[!#$%&'*+.^_`|~\dA-Za-z-]+$/;
/**
 * Each character is sent as one byte, and none but the tab is a control character. RFC 9110,
 * section 5.5.
 */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * Throws CapstanError INVALID_ARGUMENT for anything but an object, without showing it: a token may
 * have been passed instead of the options.
 */
export function requireUnshown(what: string, value: unknown): void {
  if (typeof value !== 'object' || value === null)
    throw wrong(what, `an object, got ${value === null ? 'null' : typeof value}`);
}

/**
 * A copy of the headers, names in lower case; empty for undefined.
 *
 * @param what such as `options.headers`, for the error
 * @throws CapstanError INVALID_ARGUMENT, without any value, and without a name that is none
 */
export const requireHeaders = (what: string, headers: unknown): Record<string, string> =>
  checkedHeaders(what, headers, false) as Record<string, string>;

/** As {@link requireHeaders}; a value may be an array of values too. */
export const requireHeaderLists = (
  what: string,
  headers: unknown,
): Record<string, string | string[]> => checkedHeaders(what, headers, true);

function checkedHeaders(
  what: string,
  headers: unknown,
  lists: boolean,
): Record<string, string | string[]> {
  const checked: Record<string, string | string[]> = {};
  if (headers === undefined) return checked;
  if (Object.prototype.toString.call(headers) !== '[object Object]')
    throw wrong(what, 'a plain object of names and values, not a list, Headers or text');
  Object.entries(headers as object).forEach(([name, value]: [string, unknown], i) => {
    if (!TOKEN.test(name))
      throw wrong(what, `names of headers, but the name at ${i} (not shown) is not one`);
    const values: unknown[] = lists && Array.isArray(value) ? [...value] : [value];
    for (const each of values) {
      if (typeof each !== 'string')
        throw wrong(what, `a string as ${JSON.stringify(name)}, got ${typeof each}`);
      if (!VALUE.test(each))
        throw wrong(
          what,
          `a value of ${JSON.stringify(name)} without line breaks, control characters and ` +
            'characters beyond U+00FF (it is not shown): trim what was read from a file',
        );
    }
    checked[name.toLowerCase()] = Array.isArray(value) ? (values as string[]) : (value as string);
  });
  return checked;
}

function wrong(what: string, expected: string): CapstanError {
  return new CapstanError('INVALID_ARGUMENT', `"${what}" expected ${expected}`);
}
