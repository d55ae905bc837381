/**
 * Warnings of the server: `Warning` headers of RFC 9110 as Kubernetes sends them (code 299, agent
 * "-"). apimachinery: pkg/util/net ParseWarningHeaders. A header that cannot be parsed is ignored:
 * a warning never fails a request.
 */

/** A warning for a request that succeeded, such as a deprecated version or an unknown field. */
export interface Warning {
  readonly text: string;
  /** The request, such as `PUT` and `/api/v1/namespaces/default/pods/web`. */
  readonly method: string;
  readonly path: string;
}

/** Matches `299 - "text"` with an optional date. A header may have several. */
const WARNING = /(\d{3}) (\S+) "((?:[^"\\]|\\.)*)"(?: "[^"]*")?/g;

/** The texts of code 299 in a header. Several headers may have been joined. */
export function warningsIn(header: string | null): string[] {
  if (header === null) return [];
  return [...header.matchAll(WARNING)]
    .filter(([, code]) => code === '299')
    .map(([, , , text = '']) => text.replace(/\\(.)/g, '$1'));
}
