/**
 * Random JSON texts of objects, usual and unusual ones: all escapes and forms of numbers, repeated
 * members, any order, names that are special in JavaScript, deep nesting, bytes that are not UTF-8.
 * Texts rather than values, because the tests are about decoding.
 */
import type { Random } from '../../helpers/random.ts';

const NUMBERS = [
  ...'0 -0 1 -1 42 1.5 -2.25 1.0 100 1e3 1E+3 1e-7 0e0 -0.0 0.1 9007199254740993'.split(' '),
  ...'-9007199254740993 123456789012345678901234567890 1e400 -1e400 1e-400 4.9e-324'.split(' '),
  ...'2.2250738585072014e-308 1.7976931348623157e308 0.30000000000000004'.split(' '),
];
const PIECES = [
  ...[
    'a',
    'bc',
    'name',
    ' ',
    '0',
    '/',
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    'é',
    'ß',
    '😀',
    '\u2028',
    '\u007f',
    '\u00a0',
    '\ufeff',
  ],
  ...[
    '\\"',
    '\\\\',
    '\\/',
    '\\b',
    '\\f',
    '\\n',
    '\\r',
    '\\t',
    '\\u0041',
    '\\u00e9',
    '\\u0000',
    '\\u2028',
    '\\u001F',
  ],
  ...[
    '\\ud83d\\ude00',
    '\\uD83D\\uDE00',
    '\\ud800',
    '\\udc00',
    '\\ud800\\ud800',
    '\\udc00\\ud800',
    '\\uffff',
  ],
];
/**
 * Integer-like names come first in JavaScript's order, up to 2^32 - 2; `__proto__` is an own member
 * of what JSON.parse gives.
 */
const NAMES = [
  ...['a', 'b', 'c', 'spec', 'name', 'é', '', ' ', '\\u0061', '\\"', 'a b', '😀', '\\ud800'],
  ...[
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'valueOf',
    'hasOwnProperty',
    'toJSON',
    'then',
    'length',
  ],
  ...[
    '0',
    '1',
    '2',
    '10',
    '01',
    '-1',
    '1.5',
    '1e3',
    '4294967294',
    '4294967295',
    '9007199254740993',
  ],
];
/** Ordinary and unusual names, but none that JavaScript orders or treats in a special way. */
const PLAIN_NAMES = [
  ...[
    '',
    ' ',
    '{',
    '}',
    '[]',
    ':',
    ',',
    "'",
    '/',
    '\u007f',
    '0',
    '1',
    '01',
    '10',
    '2',
    '-1',
    '1.5',
    '4294967294',
    '4294967295',
  ],
  ...[
    'constructor',
    'toString',
    'valueOf',
    'hasOwnProperty',
    'toJSON',
    'then',
    'length',
    '__proto',
    '__defineGetter__',
  ],
  ...[
    'name',
    'spec',
    'metadata',
    'kind',
    'apiVersion',
    'a',
    'abcdefg',
    'abcdefgh',
    'abcdefghi',
    'n'.repeat(40),
  ],
  ...['é', '😀', '\u2028', '\ufeff', '日本語'],
];
const SPACE = ['', '', '', '', ' ', '\t', '\r\n', '\n', '  \n '];
const BEYOND_ASCII = /[^\0-\x7f]/g;

export class RandomDocuments {
  readonly random: Random;

  constructor(random: Random) {
    this.random = random;
  }

  /** The text of an object with `metadata.name`, of about so many members. */
  object(
    members: number,
    options: { name?: string; version?: string; depth?: number } = {},
  ): string {
    const { name = 'n', version = '7', depth = 4 } = options;
    const own: string[] = [this.#member('metadata', this.#metadata(name, version, members))];
    if (this.random.chance(0.5)) own.push(this.#member('kind', '"ConfigMap"'));
    if (this.random.chance(0.5)) own.push(this.#member('apiVersion', '"v1"'));
    for (let i = 0; i < members; i++) own.push(this.#member(this.#name(), this.value(depth)));
    for (const part of ['spec', 'status', 'data']) {
      if (!this.random.chance(0.3)) continue;
      // Small, for tests that try every split of a document.
      const isLarge = members > 3 && depth > 3 && this.random.chance(0.3);
      own.push(
        this.#member(part, isLarge ? this.large(200 + this.random.int(600)) : this.value(depth)),
      );
    }
    this.#shuffle(own);
    // Of members with one name the last counts, so the required ones come last.
    if (this.random.chance(0.2)) own.unshift(this.#member('metadata', this.value(2)));
    if (this.random.chance(0.1))
      own.unshift(this.#member('kind', '"Secret"'), this.#member('kind', '"ConfigMap"'));
    return this.#braces(own);
  }

  /**
   * The text of an object of at least so many bytes, large enough to be decoded in parts: strings
   * and numbers of every form, brackets and quotes and runs of backslashes in strings, white space
   * between any two tokens.
   *
   * @param odd allow any names, also repeated, escaped, or `__proto__`
   */
  large(
    least: number,
    options: {
      members?: number;
      odd?: boolean;
      ascii?: boolean;
      depth?: number;
      name?: string;
    } = {},
  ): string {
    const { random } = this;
    const {
      members = 1 + random.int(12),
      odd = random.chance(0.2),
      ascii = random.chance(0.5),
      depth = 3,
    } = options;
    const escaped = (text: string): string =>
      ascii
        ? text.replace(
            BEYOND_ASCII,
            (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
          )
        : text;
    const names = new Set<string>(options.name === undefined ? [] : [options.name]);
    while (names.size < members) {
      const name = random.pick(PLAIN_NAMES);
      if (!ascii || name.search(BEYOND_ASCII) < 0)
        names.add(names.has(name) ? `${name}${names.size}` : name);
    }
    const own = Array.from(names, (name) => [
      odd && random.chance(0.3) ? this.#name() : name,
      this.value(depth),
    ]);
    this.#shuffle(own);
    const length = own.reduce(
      (sum, [name, value]) => sum + String(name).length + String(value).length + 4,
      0,
    );
    const padded = random.pick(own) as string[];
    if (length < least) padded[1] = this.#long(least - length + String(padded[1]).length);
    return this.#braces(
      own.map(([name, value]) => this.#member(escaped(name as string), escaped(value as string))),
    );
  }

  /** A value of at least so many bytes. */
  #long(least: number): string {
    const { random } = this;
    const parts: string[] = [];
    let length = 0;
    if (random.chance(0.5)) {
      for (; length < least; length += (parts.at(-1) as string).length) {
        const slashes = '\\\\'.repeat(random.int(random.chance(0.1) ? 70 : 3));
        parts.push(
          this.string().slice(1, -1) + slashes + random.pick(['', 'x', '\\"', '}', '\\"]}', '[{']),
        );
      }
      return `"${parts.join('')}"`;
    }
    for (; length < least; length += (parts.at(-1) as string).length) {
      parts.push(this.#space() + this.value(3) + this.#space());
    }
    return random.chance(0.5)
      ? `[${parts.join(',')}]`
      : this.#braces(parts.map((part, i) => this.#member(`m${i}`, part)));
  }

  /** A watch event around an object's text; its members may stand in any order too. */
  event(type: string, object: string): string {
    const members = [this.#member('type', JSON.stringify(type)), this.#member('object', object)];
    if (this.random.chance(0.1)) members.push(this.#member('more', this.value(2)));
    if (this.random.chance(0.3)) this.#shuffle(members);
    if (this.random.chance(0.1)) members.unshift(this.#member('object', this.value(2)));
    return this.#braces(members);
  }

  /** A list around the texts of objects. */
  list(objects: readonly string[], version: string): string {
    const items = `[${objects.map((object) => this.#space() + object + this.#space()).join(',')}]`;
    const members = [
      this.#member('kind', '"ConfigMapList"'),
      this.#member('metadata', `{"resourceVersion":"${version}"}`),
      this.#member('items', items),
    ];
    if (this.random.chance(0.5)) this.#shuffle(members);
    return this.#braces(members);
  }

  value(depth: number): string {
    const kind = this.random.int(depth > 0 ? 8 : 5);
    if (kind === 0) return this.random.pick(NUMBERS);
    if (kind === 1 || kind === 2) return this.string();
    if (kind === 3) return this.random.pick(['true', 'false', 'null']);
    if (kind === 4) return this.random.pick(['{}', '[]', '""', '[[]]', '{"":{}}', '0']);
    const count = this.random.int(4);
    if (kind === 5) {
      const elements = Array.from(
        { length: count },
        () => this.#space() + this.value(depth - 1) + this.#space(),
      );
      return `[${elements.join(',')}]`;
    }
    return this.#braces(
      Array.from({ length: count }, () => this.#member(this.#name(), this.value(depth - 1))),
    );
  }

  string(): string {
    const length = this.random.chance(0.1) ? this.random.int(40) : this.random.int(5);
    return `"${Array.from({ length }, () => this.random.pick(PIECES)).join('')}"`;
  }

  /** Levels of arrays and objects in turn. */
  nested(levels: number): string {
    const open = Array.from({ length: levels }, (_, i) => (i % 2 === 0 ? '[' : '{"a":'));
    const close = Array.from({ length: levels }, (_, i) => (i % 2 === 0 ? ']' : '}')).reverse();
    return `${open.join('')}1${close.join('')}`;
  }

  /** Changes, adds or removes one byte; the result is mostly not JSON, sometimes not UTF-8. */
  mutated(bytes: Uint8Array): Uint8Array {
    const at = this.random.int(bytes.length);
    const byte = this.random.chance(0.5)
      ? this.random.int(256)
      : this.random.pick([...'{}[]",:\\0e.-+tfn u\n'].map(code));
    const kind = this.random.int(3);
    const middle = kind === 0 ? [] : [byte];
    return new Uint8Array([
      ...bytes.subarray(0, at),
      ...middle,
      ...bytes.subarray(kind === 2 ? at : at + 1),
    ]);
  }

  #metadata(name: string, version: string, members: number): string {
    const own = [
      this.#member('name', JSON.stringify(name)),
      this.#member('resourceVersion', JSON.stringify(version)),
    ];
    if (this.random.chance(0.7)) own.push(this.#member('namespace', '"default"'));
    if (this.random.chance(0.3)) own.push(this.#member('labels', '{"a":"b","\\u0061b":"c"}'));
    if (this.random.chance(0.2)) own.push(this.#member('generation', this.random.pick(NUMBERS)));
    for (let i = this.random.int(members + 1); i > 0; i--) {
      const other = this.#name();
      if (other !== 'name') own.push(this.#member(other, this.value(2)));
    }
    this.#shuffle(own);
    if (this.random.chance(0.2)) own.unshift(this.#member('name', this.value(1)));
    return this.#braces(own);
  }

  #name(): string {
    return this.random.pick(NAMES);
  }

  #member(name: string, value: string): string {
    return `${this.#space()}"${name}"${this.#space()}:${this.#space()}${value}${this.#space()}`;
  }

  #braces(members: readonly string[]): string {
    return `{${members.join(',') || this.#space()}}`;
  }

  #space(): string {
    return this.random.pick(SPACE);
  }

  #shuffle(list: unknown[]): void {
    for (let i = list.length - 1; i > 0; i--) {
      const j = this.random.int(i + 1);
      [list[i], list[j]] = [list[j], list[i]];
    }
  }
}

const code = (character: string): number => character.charCodeAt(0);
