/**
 * Warnings of the server: `Warning` headers, as RFC 9110 had them and as Kubernetes sends them
 * (code 299, agent "-"). client-go: apimachinery pkg/util/net ParseWarningHeaders. What cannot be
 * read is left out, for a warning never fails a request.
 */

/**
 * What the server remarked on a request that it carried out, such as a deprecated version or an
 * unknown field.
 */
export interface Warning {
  readonly text: string;
  /** The request, such as `PUT` and `/api/v1/namespaces/default/pods/web`. */
  readonly method: string;
  readonly path: string;
}

/** `299 - "text"`, any number of them, perhaps with a date; the text is a quoted string. */
const WARNING = /(\d{3}) (\S+) "((?:[^"\\]|\\.)*)"(?: "[^"]*")?/g;

/** The texts of code 299 in a header, of which several may have been joined. */
export function warningsIn(header: string | null): string[] {
  if (header === null) return [];
  return [...header.matchAll(WARNING)]
    .filter(([, code]) => code === '299')
    .map(([, , , text = '']) => text.replace(/\\(.)/g, '$1'));
}
