/**
 * Random watch streams and lists as bytes: usual and unusual JSON, then damaged. The result depends
 * only on the random generator.
 */
import type { Random } from '../../helpers/random.ts';

const encoder = new TextEncoder();
export const EXPECTED = { apiVersion: 'v1', kind: 'Thing' };

const SPACES = ['', '', '', '', ' ', '\n', '\r\n', '\t', '  \n '];
const SEPARATORS = ['\n', '\n', '\n', '', '\r\n', '\n\n', ' ', '\t \n'];
const STRINGS = [
  ...[
    '',
    'a',
    'default',
    'true',
    '12',
    'é',
    '名前😀',
    '\u2028',
    '}{][',
    'a\\"b',
    'c\\\\',
    '\\n\\t\\/\\b',
    '\\u0041',
    '\\ud83d\\ude00',
  ],
  ...[
    '\\ud800',
    '\\u0000',
    '__proto__',
    'constructor',
    'k8s.io/initial-events-end',
    'x'.repeat(70),
    'metadata',
    'v1',
    'Thing',
  ],
];
const NUMBERS = [
  '0',
  '-0',
  '1',
  '12345678901234567890',
  '-1.5',
  '1e400',
  '2E+3',
  '0.1e-7',
  '9007199254740993',
  '1.0',
];
const LITERALS = ['true', 'false', 'null'];
/** Tokens that are invalid, or valid only in some places. */
const WRONG = [
  '01',
  '+1',
  '.5',
  '1.',
  "'a'",
  'NaN',
  'undefined',
  '{,}',
  '[1,]',
  '"a',
  '\\',
  '"\\x"',
  '"\\u12"',
  '"\n"',
  'tru',
  '//',
];

export class Documents {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Some frames, one after the other. */
  stream(): string {
    const random = this.#random;
    let text = random.chance(0.1) ? random.pick(SPACES) : '';
    for (let left = random.int(5); left >= 0; left--)
      text += this.#event() + random.pick(SEPARATORS);
    return text;
  }

  list(): string {
    const random = this.#random;
    const items = Array.from({ length: random.int(5) }, () => this.#object(random.chance(0.7)));
    const list = random.chance(0.03)
      ? random.pick(LITERALS)
      : `[${this.#space()}${items.join(`,${this.#space()}`)}${this.#space()}]`;
    const members: [string, string][] = [
      ['"kind"', '"ThingList"'],
      ['"apiVersion"', '"v1"'],
      ['"metadata"', this.#listMetadata()],
      ['"items"', list],
    ];
    if (random.chance(0.1)) members.push([this.#string(), this.#value(2)]);
    if (random.chance(0.05)) members.push(random.pick(members));
    return this.#space() + this.#members(this.#shuffled(members)) + this.#space();
  }

  /** The text as bytes, with none to three of them wrong. */
  damaged(text: string): Uint8Array {
    const random = this.#random;
    let bytes = encoder.encode(text);
    if (random.chance(0.35)) return bytes;
    for (let left = 1 + random.int(3); left > 0; left--) bytes = this.#damage(bytes);
    return bytes;
  }

  /** Random split positions for this many bytes. */
  cuts(length: number): number[] {
    const random = this.#random;
    if (length < 400 && random.chance(0.05)) return Array.from({ length }, (_, at) => at + 1);
    const cuts = Array.from({ length: random.int(6) }, () => random.int(length + 1));
    return [...cuts, length].sort((a, b) => a - b);
  }

  #damage(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
    const random = this.#random;
    const at = random.int(bytes.length + 1);
    const to = Math.min(at + 1 + random.int(random.chance(0.2) ? 40 : 4), bytes.length);
    const spliced = (middle: ArrayLike<number>, end = at): Uint8Array<ArrayBuffer> => {
      const result = new Uint8Array(at + middle.length + bytes.length - end);
      result.set(bytes.subarray(0, at));
      result.set(middle, at);
      result.set(bytes.subarray(end), at + middle.length);
      return result;
    };
    switch (random.int(9)) {
      case 0:
        return spliced([random.int(256)], Math.min(at + 1, bytes.length));
      case 1:
        return spliced([], to);
      case 2:
        return spliced([random.int(256)]);
      case 3:
        return spliced(encoder.encode(random.pick([...'{}[]":,\\ \n0-e.'])));
      case 4:
        return spliced(bytes.subarray(at, to));
      case 5:
        return spliced([], bytes.length);
      case 6:
        return spliced(encoder.encode(random.pick(WRONG)));
      case 7:
        // Invalid UTF-8: a lone continuation byte, an overlong form, a surrogate, a truncated
        // sequence; and a byte order mark.
        return spliced(
          random.pick([[0x80], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xe2, 0x82], [0xef, 0xbb, 0xbf]]),
        );
      default:
        return spliced([random.int(32)], Math.min(at + random.int(2), bytes.length));
    }
  }

  #event(): string {
    const random = this.#random;
    const type = random.pick([
      'ADDED',
      'ADDED',
      'MODIFIED',
      'MODIFIED',
      'DELETED',
      'BOOKMARK',
      'ERROR',
      'RENAMED',
      'ADD\\u0045D',
    ]);
    const object = type === 'ERROR' ? this.#status() : this.#object(true);
    const members: [string, string][] = [
      [
        random.chance(0.02) ? '"typ\\u0065"' : '"type"',
        random.chance(0.02) ? this.#value(1) : `"${type}"`,
      ],
      ['"object"', random.chance(0.02) ? this.#value(1) : object],
    ];
    if (random.chance(0.04)) members.push([this.#string(), this.#value(2)]);
    if (random.chance(0.03)) members.push(random.pick(members));
    return this.#members(random.chance(0.1) ? this.#shuffled(members) : members);
  }

  #status(): string {
    return this.#members([
      ['"kind"', this.#random.chance(0.9) ? '"Status"' : '"Statuses"'],
      ['"apiVersion"', '"v1"'],
      ['"metadata"', '{}'],
      ['"code"', this.#random.pick(NUMBERS)],
    ]);
  }

  #object(withKind: boolean): string {
    const random = this.#random;
    const members: [string, string][] = [];
    if (withKind) {
      members.push([
        '"kind"',
        random.chance(0.95) ? '"Thing"' : random.pick(['"Other"', 'null', '1', '"Thin\\u0067"']),
      ]);
      members.push([
        '"apiVersion"',
        random.chance(0.95) ? '"v1"' : random.pick(['"v2"', 'null', '{}']),
      ]);
    }
    members.push([
      random.chance(0.99) ? '"metadata"' : '"metad\\u0061ta"',
      random.chance(0.98) ? this.#metadata() : this.#value(1),
    ]);
    for (let left = random.int(3); left > 0; left--)
      members.push([random.chance(0.5) ? '"spec"' : this.#string(), this.#value(3)]);
    if (random.chance(0.05)) members.push(random.pick(members));
    return this.#members(random.chance(0.2) ? this.#shuffled(members) : members);
  }

  #metadata(): string {
    const random = this.#random;
    const members: [string, string][] = [
      ['"name"', random.chance(0.97) ? this.#string() : this.#value(1)],
    ];
    if (random.chance(0.8))
      members.push(['"namespace"', random.chance(0.95) ? this.#string() : this.#value(1)]);
    if (random.chance(0.9))
      members.push([
        '"resourceVersion"',
        random.chance(0.95) ? `"${random.int(1e6)}"` : this.#value(1),
      ]);
    if (random.chance(0.4)) members.push(['"managedFields"', this.#value(3)]);
    if (random.chance(0.3)) members.push(['"labels"', this.#value(2)]);
    if (random.chance(0.3)) members.push(['"annotations"', '{"k8s.io/initial-events-end":"true"}']);
    if (random.chance(0.1)) members.push([this.#string(), this.#value(2)]);
    if (random.chance(0.05)) members.push(random.pick(members));
    return this.#members(random.chance(0.3) ? this.#shuffled(members) : members);
  }

  #listMetadata(): string {
    const random = this.#random;
    if (random.chance(0.03)) return this.#value(1);
    const members: [string, string][] = [
      ['"resourceVersion"', random.chance(0.95) ? '"77"' : this.#value(1)],
    ];
    if (random.chance(0.5))
      members.push(['"continue"', random.chance(0.95) ? this.#string() : this.#value(1)]);
    return this.#members(this.#shuffled(members));
  }

  #value(depth: number): string {
    const random = this.#random;
    const kind = random.int(depth > 0 ? 6 : 3);
    if (kind === 0) return this.#string();
    if (kind === 1) return random.pick(NUMBERS);
    if (kind === 2) return random.pick(LITERALS);
    const count = random.int(4);
    if (kind < 5) {
      return this.#members(
        Array.from({ length: count }, () => [this.#string(), this.#value(depth - 1)]),
      );
    }
    const values = Array.from({ length: count }, () => this.#value(depth - 1));
    return `[${this.#space()}${values.join(`${this.#space()},`)}${this.#space()}]`;
  }

  #members(members: readonly (readonly [string, string])[]): string {
    const joined = members.map(
      ([name, value]) => `${name}${this.#space()}:${this.#space()}${value}`,
    );
    return `{${this.#space()}${joined.join(`,${this.#space()}`)}${this.#space()}}`;
  }

  #string(): string {
    return `"${this.#random.pick(STRINGS)}"`;
  }

  /** Mostly none, as servers write. */
  #space(): string {
    return this.#random.chance(0.9) ? '' : this.#random.pick(SPACES);
  }

  #shuffled<T>(list: readonly T[]): T[] {
    const result = [...list];
    for (let at = result.length - 1; at > 0; at--) {
      const other = this.#random.int(at + 1);
      [result[at], result[other]] = [result[other] as T, result[at] as T];
    }
    return result;
  }
}
