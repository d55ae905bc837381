/**
 * Escapes a segment of a request's path, so that no name or namespace can change the path around
 * it.
 */
import { invalid } from './errors.ts';

/**
 * The text as a path segment. Rejects only what has another meaning in a path; the server checks
 * the rest. apimachinery: api/validation/path IsValidPathSegmentName.
 *
 * @throws CapstanError INVALID_ARGUMENT
 */
export function pathSegment(what: string, text: unknown): string {
  // \p{Cs} is half of a surrogate pair, which no URL can express.
  if (typeof text !== 'string' || /^\.{0,2}$|[/%\p{Cs}]/u.test(text))
    throw invalid(what, 'a name without "/", "%" and half a surrogate pair', text);
  return encodeURIComponent(text);
}
