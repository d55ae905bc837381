/**
 * Translates patterns and formats for the API server. Its regular expressions are Go's (RE2), which
 * match in linear time and have no lookaround and no back-references; it knows a fixed set of
 * formats. k8s.io/apiextensions-apiserver: pkg/apiserver/validation/formats.go.
 */

/**
 * The formats that the server checks. Others are not sent, because it ignores them. Neither are
 * `duration`, which is "1h30m" to the server and "PT1H30M" in JSON Schema, and `hostname`, of which
 * it refuses `web-1`, `a.b` and `10.0.0.1` (1.36.3).
 */
const FORMATS = new Set([
  ...[
    'bsonobjectid',
    'uri',
    'email',
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

/** The server's name of a format; undefined if it has none. */
export function serverFormat(format: string): string | undefined {
  if (format === 'base64') return 'byte';
  return FORMATS.has(format) ? format : undefined;
}

/**
 * The tokens of a JavaScript pattern: an escape, a class, the beginning of a group, a repetition,
 * or a character.
 */
const PIECES =
  /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[pP]\{[^}]*\}|k<[^>]*>|c[A-Za-z]|[\s\S])|\[\^?(?:\\[\s\S]|[^\]\\])*\]|\(\?(?:<?[=!]|<[A-Za-z]\w*>|[a-z-]*:)|\{\d+(?:,\d*)?\}|[\s\S]/g;
const ESCAPES =
  /\\(?:u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[pP]\{[^}]*\}|c[A-Za-z]|[\s\S])/g;

/** Unicode properties that both know, by their names in RE2. */
const PROPERTY = /^\\([pP])\{(?:(?:Script|sc|General_Category|gc)=(\w+)|([A-Z][a-z]?))\}$/;

/** Escapes of letters with the same meaning in both. */
const SAME = /^\\(?:[dDsSwWbBfnrtv0]|x[0-9a-fA-F]{2}|[^A-Za-z0-9])$/;

/**
 * The characters of JavaScript's `\s`; RE2's has no `\v` and only ASCII. It ends in a class,
 * because `[\s-z]` is not a range.
 */
const SPACE = '\\x{feff}\\v\\p{Z}\\s';

/**
 * In JavaScript `[[:a]` has three characters, and `[a-\d]` has `a`, `-` and digits. RE2 reads
 * `[:alpha:]` and has no such range.
 */
const IN_CLASS = new RegExp(`${ESCAPES.source}|\\[|-(?=\\\\[dDwWsSpP])`, 'g');

/** Go's limit for nested repetitions, multiplied. */
const MOST_REPETITIONS = 1000;

/**
 * The feature of a pattern that RE2 does not have; undefined if RE2 accepts the pattern, as far as
 * can be seen.
 */
export function notInRE2(pattern: string): string | undefined {
  const pieces = pattern.match(PIECES) ?? [];
  for (const piece of pieces) {
    if (/^\(\?<?[=!]/.test(piece)) return 'lookahead or lookbehind';
    if (/^\(\?[a-z-]*s/.test(piece)) return 'the flag s';
    if (piece === '[]') return 'a class of no characters';
    const isClass = piece.length > 1 && piece.startsWith('[');
    const escapes = isClass ? (piece.match(ESCAPES) ?? []) : piece.startsWith('\\') ? [piece] : [];
    // A class with both contains all characters.
    if (isClass && escapes.includes('\\S') && !escapes.includes('\\s'))
      return 'the escape \\S in a class';
    for (const escaped of escapes) {
      if (/^\\u\{?0*[dD][89a-fA-F][0-9a-fA-F]{2}\}?$/.test(escaped))
        return `half a character, ${escaped}`;
      if (/^\\[1-9k]/.test(escaped)) return isClass ? `the escape ${escaped}` : 'a back-reference';
      if (
        /^\\[pP]/.test(escaped)
          ? !PROPERTY.test(escaped)
          : !/^\\[uc]./.test(escaped) && !SAME.test(escaped)
      )
        return /^\\[pP]/.test(escaped) ? `the property ${escaped}` : `the escape ${escaped}`;
    }
  }
  return repetitions(pieces) > MOST_REPETITIONS ? 'more than 1000 repetitions' : undefined;
}

/** The largest number of repetitions, multiplied over nested groups. */
function repetitions(pieces: readonly string[]): number {
  const outer: number[] = [];
  let most = 1;
  let last = 1;
  for (const piece of pieces) {
    if (piece.startsWith('(')) {
      outer.push(most);
      most = 1;
      continue;
    }
    const [, least, upTo] = /^\{(\d+)(?:,(\d*))?\}$/.exec(piece) ?? [];
    if (piece === ')') {
      last = most;
      most = outer.pop() ?? 1;
    } else last = least === undefined ? 1 : last * Math.max(Number(least), Number(upTo ?? 0), 1);
    most = Math.max(most, last);
  }
  return most;
}

/** Translates a pattern to RE2. */
export function toRE2(pattern: string): string {
  return pattern.replaceAll(PIECES, (piece) => {
    if (piece === '[^]') return '(?s:.)';
    if (piece === '.') return '[^\\n\\r\\x{2028}\\x{2029}]';
    if (/^\\s$/i.test(piece)) return `[${piece === '\\S' ? '^' : ''}${SPACE}]`;
    if (piece.length > 1 && piece.startsWith('[')) {
      const plain = (part: string): string => {
        if (part === '\\b') return '\\x08';
        if (part === '\\s') return SPACE;
        return part.length === 1 ? `\\${part}` : inRE2(part);
      };
      return `[${piece.slice(1).replaceAll(IN_CLASS, plain)}`;
    }
    return piece.startsWith('\\') ? inRE2(piece) : piece.replace(/^\(\?<(?=[A-Za-z])/, '(?P<');
  });
}

function inRE2(escaped: string): string {
  if (escaped === '\\/') return '/';
  const [, code] = /^\\u\{?([0-9a-fA-F]+)\}?$/.exec(escaped) ?? [];
  if (code !== undefined) return `\\x{${code}}`;
  if (/^(?:\\u.{4}){2}$/.test(escaped))
    return `\\x{${(JSON.parse(`"${escaped}"`) as string).codePointAt(0)?.toString(16)}}`;
  const [, letter] = /^\\c([A-Za-z])$/.exec(escaped) ?? [];
  if (letter !== undefined) return `\\x{${(letter.charCodeAt(0) % 32).toString(16)}}`;
  const [, sign, named, short] = PROPERTY.exec(escaped) ?? [];
  return sign === undefined ? escaped : `\\${sign}{${named ?? short}}`;
}
