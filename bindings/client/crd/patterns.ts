/**
 * Patterns and formats on their way to the API server: its regular expressions are Go's (RE2), which match in linear time and so have
 * neither lookaround nor back-references, and it knows a certain set of formats. k8s.io/apiextensions-apiserver: pkg/apiserver/validation/formats.go.
 */

/**
 * The formats that the server checks. A format of another name is not sent, as the server takes no notice of it; nor is `duration`, which
 * means "1h30m" to it, and "PT1H30M" to JSON Schema.
 */
const FORMATS = new Set([
  ...[
    'bsonobjectid',
    'uri',
    'email',
    'hostname',
    'ipv4',
    'ipv6',
    'cidr',
    'mac',
    'uuid',
    'uuid3',
    'uuid4',
    'uuid5',
    'isbn',
  ],
  ...[
    'isbn10',
    'isbn13',
    'creditcard',
    'ssn',
    'hexcolor',
    'rgbcolor',
    'byte',
    'password',
    'date',
    'date-time',
    'datetime',
  ],
  ...['int32', 'int64', 'float', 'double'],
]);

/** The server's name of a format, or undefined where it has none. */
export function serverFormat(format: string): string | undefined {
  if (format === 'base64') return 'byte';
  return FORMATS.has(format) ? format : undefined;
}

/** What JavaScript has and RE2 has not; undefined for a pattern that RE2 takes, as far as can be told without it. */
export function notInRE2(pattern: string): string | undefined {
  // Escaped characters go first, so that `\(?=` is no lookahead.
  const bare = pattern.replaceAll(/\\[^1-9k]/g, '');
  if (/\(\?<?[=!]/.test(bare)) return 'lookahead or lookbehind';
  if (/\\[1-9k]/.test(bare.replaceAll(/\[[^\]]*\]/g, ''))) return 'a back-reference';
  for (const [, least = '0', , most = '0'] of bare.matchAll(/\{(\d+)(,(\d*))?\}/g))
    if (Math.max(Number(least), Number(most)) > 1000) return 'more than 1000 repetitions';
  return undefined;
}

/** The same pattern in RE2's words. */
export function toRE2(pattern: string): string {
  return pattern
    .replaceAll(/\\u\{([0-9a-fA-F]+)\}/g, '\\x{$1}')
    .replaceAll(/\\u([0-9a-fA-F]{4})/g, '\\x{$1}')
    .replaceAll('\\/', '/')
    .replaceAll(/\(\?<([A-Za-z]\w*)>/g, '(?P<$1>');
}
