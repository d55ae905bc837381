/**
 * The types of Kubernetes' built-in kinds, read from the table on first use. A type is
 * `Name field@number:code …`, with its apiVersion before it if it is a kind, and `!` after its name
 * if it is atomic. The number is the field number in protobuf; it is a path (`1.2`) where Go embeds
 * a struct, which JSON does not show. Codes:
 *
 * - `s` string; `i` and `l` integers of 32 and 64 bits; `n` number; `b` boolean; `t` Time; `u`
 *   MicroTime; `q` quantity; `x` int-or-string; `y` bytes in base64; `*` any JSON
 * - `(Name)` any JSON for merging, in which objects are decoded as that type
 * - `{code}` a map; `[code]` an atomic list; `[code|]` a set; `[code|key,key]` a list by keys
 * - `Name` another type
 *
 * After a member's code:
 * - `!` the member is atomic
 * - `+` Go always writes the member, as its zero value if it is not set; `?` Go has a pointer to a
 *   scalar, and so keeps a zero value; without either a zero value is omitted; `?+` is written as
 *   null. A struct is behind a pointer unless it has `+`.
 * - `=X` the default of a list's key that an item does not have
 * - for strategic merge patches: `^` merge, `^key` merge by that key, `%` replace, `~` retain keys
 */
import type { Json, JsonObject } from '../base/json-value.ts';
import {
  type Atom,
  anyJson,
  atomicJson,
  type Field,
  type MapType,
  type PatchRule,
  type Scalar,
  scalarOf,
} from './atoms.ts';
import { TYPES } from './types-table.ts';

const SCALARS: Record<string, Scalar> = {
  ...{
    s: 'string',
    i: 'numeric',
    l: 'numeric',
    n: 'numeric',
    b: 'boolean',
    t: 'any',
    u: 'any',
  },
  ...{ q: 'any', x: 'any', y: 'string' },
};

interface Line {
  atomic: boolean;
  members: string;
}

let lines: Map<string, Line> | undefined;
const kinds = new Map<string, string>();
const types = new Map<string, Atom>();

function table(): Map<string, Line> {
  if (lines !== undefined) return lines;
  lines = new Map();
  for (const text of TYPES.split(';')) {
    const words = text.trim().split(/\s+/);
    const isKind = /^(.*\/)?v\d/.test(words[0] ?? '');
    const apiVersion = isKind ? words.shift() : undefined;
    const [full = '', ...members] = words;
    const name = full.replace('!', '');
    lines.set(name, { atomic: full.endsWith('!'), members: members.join(' ') });
    if (apiVersion !== undefined) kinds.set(`${apiVersion}/${name.split('.')[0]}`, name);
  }
  return lines;
}

/** The type of a built-in kind; `undefined` for other kinds. */
export function builtInType(apiVersion: string, kind: string): Atom | undefined {
  const name = builtInTypeName(apiVersion, kind);
  return name === undefined ? undefined : typeNamed(name);
}

/** The name of a built-in kind's type in the table. */
export function builtInTypeName(apiVersion: string, kind: string): string | undefined {
  table();
  return kinds.get(`${apiVersion}/${kind}`);
}

/** Whether the table has a type of this name. */
export const hasType = (name: string): boolean => table().has(name);

/** The type of a name in the table, such as `ObjectMeta`. */
export function typeNamed(name: string): Atom {
  const known = types.get(name);
  if (known !== undefined) return known;
  const line = table().get(name);
  if (line === undefined) throw new TypeError(`the table of built-in types has no ${name}`);
  const fields = new Map<string, Field>();
  const written: [name: string, zero: () => Json][] = [];
  for (const member of line.members.split(' ')) {
    if (member === '') continue;
    const { label, code } = partsOf(member);
    const field = fieldOf(code);
    fields.set(label, field);
    if (field.zero !== undefined) written.push([label, field.zero]);
  }
  let zero: JsonObject | undefined;
  const map: MapType = {
    field: (name) => fields.get(name),
    values: undefined,
    atomic: line.atomic,
    zero: () => {
      zero ??= Object.fromEntries(written.map(([name, of]) => [name, of()]));
      return zero;
    },
  };
  const type: Atom = { map };
  types.set(name, type);
  return type;
}

function partsOf(member: string): { label: string; number: string; code: string } {
  const colon = member.indexOf(':');
  const [label = '', number = ''] = member.slice(0, colon).split('@');
  return { label, number, code: member.slice(colon + 1) };
}

/** The members that a type has in protobuf, each with its code in the table. */
export function numberedMembers(type: string): { label: string; number: string; code: string }[] {
  const line = table().get(type);
  if (line === undefined) throw new TypeError(`the table of built-in types has no ${type}`);
  return line.members
    .split(' ')
    .map(partsOf)
    .filter(({ number }) => number !== '')
    .map(({ label, number, code }) => ({ label, number, code: fieldOf(code).code }));
}

const MEMBER = new RegExp(
  [
    /^(?<code>.*?)(?<atomic>!)?(?<pointer>\?)?(?<written>\+)?/,
    /(?<merge>\^(?<key>\w*))?(?<replace>%)?(?<retain>~)?(=(?<fallback>.*))?$/,
  ]
    .map(({ source }) => source)
    .join(''),
);

function fieldOf(text: string): Field {
  const {
    code = '',
    atomic,
    pointer,
    written,
    merge,
    key,
    replace,
    retain,
    fallback,
  } = MEMBER.exec(text)?.groups ?? {};
  let atom: Atom | undefined;
  const patch: PatchRule | undefined =
    merge === undefined && replace === undefined && retain === undefined
      ? undefined
      : {
          ...(key ? { mergeKey: key } : {}),
          merge: merge !== undefined,
          replace: replace !== undefined,
          retainKeys: retain !== undefined,
        };
  return {
    type: () => {
      atom ??= atomic === undefined ? atomOf(code) : asOne(atomOf(code));
      return atom;
    },
    code,
    ...(pointer === undefined ? {} : { pointer: true as const }),
    ...(written === undefined ? {} : { zero: () => (pointer === undefined ? zeroOf(code) : null) }),
    ...(fallback === undefined
      ? {}
      : { fallback: SCALARS[code] === 'numeric' ? Number(fallback) : fallback }),
    ...(patch === undefined ? {} : { patch }),
  };
}

const ZEROS: Record<string, Json> = { s: '', i: 0, l: 0, n: 0, b: false, q: '0', x: 0 };

/** The zero value of a type as Go writes it. */
export function zeroOf(code: string): Json {
  const isType = SCALARS[code] === undefined && !/^[*[{(]/.test(code);
  return isType ? (typeNamed(code).map?.zero?.() ?? {}) : (ZEROS[code] ?? null);
}

const asOne = (atom: Atom): Atom => ({ map: { ...(atom.map as MapType), atomic: true } });

/** The code of the items of a list, and the keys after the bar. */
function listOf(code: string): { item: string; keys: string | undefined } {
  const bar = code.lastIndexOf('|');
  const close = code.lastIndexOf(']');
  return {
    item: code.slice(1, bar > 0 ? bar : close),
    keys: bar > 0 ? code.slice(bar + 1, close) : undefined,
  };
}

/** The code of the items of a list, or of the values of a map; undefined for another code. */
export function innerCode(code: string): { code: string; list: boolean } | undefined {
  if (code.startsWith('{')) return { code: code.slice(1, -1), list: false };
  return code.startsWith('[') ? { code: listOf(code).item, list: true } : undefined;
}

function atomOf(code: string): Atom {
  // OpenAPI has no type for int-or-string, so an apply may have any value there.
  if (code === 'x') return anyJson;
  const scalar = SCALARS[code];
  if (scalar !== undefined) return scalarOf(scalar);
  if (code === '*' || code.startsWith('(')) return atomicJson;
  if (code.startsWith('{')) {
    const values = atomOf(code.slice(1, -1));
    return { map: { field: () => undefined, values: () => values, atomic: false } };
  }
  if (!code.startsWith('[')) return typeNamed(code);
  const { item, keys } = listOf(code);
  const merge = keys === undefined ? 'atomic' : keys === '' ? 'set' : keys.split(',');
  return { list: { items: () => atomOf(item), merge } };
}
