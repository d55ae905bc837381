/**
 * Finds duplicate members in a JSON text, and decodes them as Go does: the second value is merged
 * into a struct, map or list that was decoded from the first one. sigs.k8s.io/json:
 * internal/golang/encoding/json/decode.go.
 */

import { type Atom, type Field, memberType } from '../../apimachinery/atoms.ts';
import { isObject, type Json, readJson, writeJson } from './json.ts';

export interface ReadTwice {
  value: Json;
  /** `duplicate field "spec.x"` for each of them. */
  problems: string[];
}

/**
 * Returns undefined if there are no duplicates.
 *
 * @param value the result of `JSON.parse`
 * @param type of the value; undefined: a later member replaces an earlier one
 */
export function readTwice(text: string, value: Json, type?: Atom): ReadTwice | undefined {
  // Fast path: most clients send exactly the text that writing the value gives, which has none.
  if (writeJson(value).length === text.length) return undefined;
  const found = new Set<string>();
  const read = new Scanner(text, (path) => found.add(path)).value('', type);
  const problems = [...found].map((path) => `duplicate field ${JSON.stringify(path)}`);
  return problems.length === 0 ? undefined : { value: read, problems };
}

/** `duplicate field "spec.x"` for each duplicate member. */
export const duplicateFields = (text: string, value: Json): string[] =>
  readTwice(text, value)?.problems ?? [];

function merged(
  type: Atom | undefined,
  field: Field | undefined,
  before: Json | undefined,
  value: Json,
): Json {
  if (before === undefined) return value;
  // UnmarshalJSON of such a type replaces the value.
  if (field !== undefined && WHOLE.test(field.code)) return value;
  // Go ignores null for a field that is not a pointer, map or list.
  const isPlain = field?.pointer === undefined && type?.list === undefined;
  if (value === null && isPlain && (type?.map === undefined || field?.zero !== undefined))
    return before;
  if (isObject(before) && isObject(value) && type?.map !== undefined) {
    const { map } = type;
    const members = new Map(Object.entries(before));
    for (const [name, member] of Object.entries(value)) {
      if (member === undefined) continue;
      const had = map.values === undefined ? members.get(name) : undefined;
      members.set(name, merged(memberType(map, name), map.field(name), had, member));
    }
    return Object.fromEntries(members);
  }
  if (Array.isArray(before) && Array.isArray(value) && type?.list !== undefined) {
    const items = type.list.items();
    return value.map((item: Json, at) => merged(items, undefined, before[at] as Json, item));
  }
  return value;
}

/** Codes of RawExtension, JSON, FieldsV1 and schema-or-other types (scripts/derive-types.ts). */
const OPAQUE = /^[[{]?[*(]/;
/** The same, without lists and maps of them. */
const WHOLE = /^[*(]/;

/** A scanner of valid JSON. */
class Scanner {
  readonly #text: string;
  readonly #onDuplicate: (path: string) => void;
  #at = 0;
  /** Inside a type with its own UnmarshalJSON, which reports no duplicates. */
  #isOpaque = false;

  constructor(text: string, onDuplicate: (path: string) => void) {
    this.#text = text;
    this.#onDuplicate = onDuplicate;
  }

  value(path: string, type: Atom | undefined): Json {
    switch (this.#next()) {
      case '{':
        return this.#members(path, type);
      case '[':
        return this.#items(path, type);
      case '"':
        return JSON.parse(this.#string()) as string;
      default: {
        const from = this.#at;
        while (this.#at < this.#text.length && !/[,\]}\s]/.test(this.#text.charAt(this.#at)))
          this.#at++;
        return readJson(this.#text.slice(from, this.#at));
      }
    }
  }

  #members(path: string, type: Atom | undefined): Json {
    const members = new Map<string, Json>();
    this.#at++;
    while (this.#next() !== '}') {
      const name = JSON.parse(this.#string()) as string;
      const at = path === '' ? name : `${path}.${name}`;
      const of = type?.map === undefined ? undefined : memberType(type.map, name);
      const isMap = type?.map?.values !== undefined;
      const before = type?.map === undefined || isMap ? undefined : members.get(name);
      const field = type?.map?.field(name);
      if (members.has(name) && !this.#isOpaque) this.#onDuplicate(at);
      this.#next();
      this.#at++;
      const wasOpaque = this.#isOpaque;
      this.#isOpaque ||= field !== undefined && OPAQUE.test(field.code);
      members.set(name, merged(of, field, before, this.value(at, of)));
      this.#isOpaque = wasOpaque;
      if (this.#next() === ',') this.#at++;
    }
    this.#at++;
    return Object.fromEntries(members);
  }

  #items(path: string, type: Atom | undefined): Json {
    const items: Json[] = [];
    this.#at++;
    for (let at = 0; this.#next() !== ']'; at++) {
      items.push(this.value(`${path}[${at}]`, type?.list?.items()));
      if (this.#next() === ',') this.#at++;
    }
    this.#at++;
    return items;
  }

  #string(): string {
    const from = this.#at++;
    while (this.#text.charAt(this.#at) !== '"')
      this.#at += this.#text.charAt(this.#at) === '\\' ? 2 : 1;
    this.#at++;
    return this.#text.slice(from, this.#at);
  }

  /** Skips white space and returns the next character. */
  #next(): string {
    while (/\s/.test(this.#text.charAt(this.#at))) this.#at++;
    return this.#text.charAt(this.#at);
  }
}
