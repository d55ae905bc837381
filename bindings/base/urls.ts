/** Parts of URLs: the address of a server, which may contain a user and password, and segments. */
import { CapstanError, invalid, show } from './errors.ts';

export interface ServerURL {
  /** The URL without user, password, query and fragment. */
  readonly url: URL;
  /** The Authorization header; undefined if the address has no user and password. */
  readonly authorization: string | undefined;
}

/**
 * Parses an http or https URL. User and password become Basic authorization, as in Go's net/http.
 * No error contains the password.
 *
 * @param what such as `server`, for the error
 * @throws CapstanError INVALID_ARGUMENT
 */
export function serverURL(what: string, server: unknown): ServerURL {
  const url = typeof server === 'string' && URL.canParse(server) ? new URL(server) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw wrong(what, 'an http or https URL such as "https://10.0.0.1:6443"', server);
  if (url.search !== '' || url.hash !== '')
    throw wrong(what, 'a URL without "?" and "#" (%3F and %23 in a password)', server);
  const authorization = basicOf(what, url);
  url.username = '';
  url.password = '';
  return { url, authorization };
}

/**
 * `Basic …` for a URL's user and password; `undefined` if it has none.
 *
 * @throws CapstanError INVALID_ARGUMENT
 */
export function basicOf(what: string, { username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined;
  let user: string;
  let secret: string;
  try {
    user = decodeURIComponent(username);
    secret = decodeURIComponent(password);
  } catch {
    throw wrong(what, 'a user and password with "%" as %25', undefined);
  }
  // RFC 7617, section 2: the first colon ends the name.
  if (user.includes(':')) throw wrong(what, 'a user without ":"', undefined);
  const bytes = new TextEncoder().encode(`${user}:${secret}`);
  return `Basic ${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))}`;
}

function wrong(what: string, expected: string, got: unknown): CapstanError {
  const shown = got === undefined ? '' : `, got ${show(typeof got === 'string' ? bare(got) : got)}`;
  return new CapstanError('INVALID_ARGUMENT', `"${what}" expected ${expected}${shown}`);
}

/** Whether the host of a URL is this machine by its name or address. */
export function isOnThisMachine({ hostname }: Pick<URL, 'hostname'>): boolean {
  return /^((.+\.)?localhost\.?|127(\.\d+){3}|\[::1\]|\[::ffff:7f[\da-f]{2}:.+\])$/.test(hostname);
}

/** The part of a text that may be shown if it is a URL. */
function bare(text: string): string {
  const at = text.lastIndexOf('@');
  return (at < 0 ? text : `…${text.slice(at)}`).replace(/[?#].*$/s, '');
}

/**
 * The text as a path segment. Rejects only what has another meaning in a path; the server checks
 * the rest. apimachinery: api/validation/path IsValidPathSegmentName.
 *
 * @throws CapstanError INVALID_ARGUMENT
 */
export function pathSegment(what: string, text: unknown): string {
  // \p{Cs} is half of a surrogate pair, which no URL can express.
  if (typeof text !== 'string' || /^\.{0,2}$|[/%\p{Cs}]/u.test(text))
    throw invalid(
      what,
      'a name, not "", "." or "..", without "/", "%" and half a surrogate pair',
      text,
    );
  return encodeURIComponent(text);
}
