/**
 * Random JSON texts of objects as an API server might send them, and as it would not: every escape and every form of a number,
 * members twice and in unusual order, names that mean something to JavaScript, deep nesting, bytes that are no UTF-8. Texts and
 * not values, because what is tested is the way from one to the other.
 */
import type { Random } from '../random.ts';

const NUMBERS =
  '0 -0 1 -1 42 1.5 -2.25 1.0 100 1e3 1E+3 1e-7 0e0 -0.0 0.1 9007199254740993 -9007199254740993 123456789012345678901234567890 1e400 -1e400 1e-400 4.9e-324 2.2250738585072014e-308 1.7976931348623157e308 0.30000000000000004'.split(
    ' ',
  );
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
  ...['\\"', '\\\\', '\\/', '\\b', '\\f', '\\n', '\\r', '\\t', '\\u0041', '\\u00e9', '\\u0000', '\\u2028', '\\u001F'],
  ...['\\ud83d\\ude00', '\\uD83D\\uDE00', '\\ud800', '\\udc00', '\\ud800\\ud800', '\\udc00\\ud800', '\\uffff'],
];
/** Integer-like names come first in JavaScript's order, up to 2^32 - 2; `__proto__` is an own member of what JSON.parse gives. */
const NAMES = [
  ...['a', 'b', 'c', 'spec', 'name', 'é', '', ' ', '\\u0061', '\\"', 'a b', '😀', '\\ud800'],
  ...['__proto__', 'constructor', 'prototype', 'toString', 'valueOf', 'hasOwnProperty', 'toJSON', 'then', 'length'],
  ...['0', '1', '2', '10', '01', '-1', '1.5', '1e3', '4294967294', '4294967295', '9007199254740993'],
];
const SPACE = ['', '', '', '', ' ', '\t', '\r\n', '\n', '  \n '];

export class Documents {
  readonly random: Random;

  constructor(random: Random) {
    this.random = random;
  }

  /** The text of an object with `metadata.name`, of about so many members. */
  object(members: number, options: { name?: string; version?: string; depth?: number } = {}): string {
    const { name = 'n', version = '7', depth = 4 } = options;
    const own: string[] = [this.#member('metadata', this.#metadata(name, version, members))];
    if (this.random.chance(0.5)) own.push(this.#member('kind', '"ConfigMap"'));
    if (this.random.chance(0.5)) own.push(this.#member('apiVersion', '"v1"'));
    for (let i = 0; i < members; i++) own.push(this.#member(this.#name(), this.value(depth)));
    for (const part of ['spec', 'status', 'data']) {
      if (this.random.chance(0.3)) own.push(this.#member(part, this.value(depth)));
    }
    this.#shuffle(own);
    // Of members with one name the last counts, so that what must be right has to stand behind what is not.
    if (this.random.chance(0.2)) own.unshift(this.#member('metadata', this.value(2)));
    if (this.random.chance(0.1)) own.unshift(this.#member('kind', '"Secret"'), this.#member('kind', '"ConfigMap"'));
    return this.#braces(own);
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
      const elements = Array.from({ length: count }, () => this.#space() + this.value(depth - 1) + this.#space());
      return `[${elements.join(',')}]`;
    }
    return this.#braces(Array.from({ length: count }, () => this.#member(this.#name(), this.value(depth - 1))));
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

  /** One byte changed, added or taken away: mostly no JSON any more, sometimes no UTF-8. */
  mutated(bytes: Uint8Array): Uint8Array {
    const at = this.random.int(bytes.length);
    const byte = this.random.chance(0.5)
      ? this.random.int(256)
      : this.random.pick([...'{}[]",:\\0e.-+tfn u\n'].map(code));
    const kind = this.random.int(3);
    const middle = kind === 0 ? [] : [byte];
    return new Uint8Array([...bytes.subarray(0, at), ...middle, ...bytes.subarray(kind === 2 ? at : at + 1)]);
  }

  #metadata(name: string, version: string, members: number): string {
    const own = [this.#member('name', JSON.stringify(name)), this.#member('resourceVersion', JSON.stringify(version))];
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
