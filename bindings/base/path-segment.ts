/**
 * One segment of a request's path: no name or namespace leaves its place in it, whoever made it up.
 */
import { invalid } from './errors.ts';

/**
 * The text as a segment of a path. Refused is what means something else there; what else a name
 * must be is the server's to say. After apimachinery's api/validation/path IsValidPathSegmentName.
 *
 * @throws CapstanError INVALID_ARGUMENT
 */
export function pathSegment(what: string, text: unknown): string {
  // \p{Cs} is half a character, which no URL can say.
  if (typeof text !== 'string' || /^\.{0,2}$|[/%\p{Cs}]/u.test(text))
    throw invalid(what, 'a name without "/", "%" and half a surrogate pair', text);
  return encodeURIComponent(text);
}
