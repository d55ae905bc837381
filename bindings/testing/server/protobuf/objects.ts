/**
 * Decodes objects in protobuf, which client-go's typed clients send for built-in kinds, to JSON, by
 * the field numbers in the table of types. apimachinery: pkg/runtime/serializer/protobuf.
 */

import { builtInTypeName, numberedMembers } from '../../../apimachinery/built-in.ts';
import { type Json, type JsonObject, readJson, writeJson } from '../json.ts';
import { fieldsIn, type WireValue } from './wire.ts';

/** The prefix of every object: `k8s` and a zero. */
const PREFIX = Buffer.from([0x6b, 0x38, 0x73, 0x00]);

/** A member, or the members of an embedded struct. */
type Numbered = Map<number, { label: string; code: string } | Numbered>;

const numbered = new Map<string, Numbered>();

/**
 * The object as JSON text; of an unknown kind only apiVersion and kind. Throws an Error with the
 * real server's message for an invalid body.
 */
export function jsonOfProtobuf(body: Buffer): string {
  if (body.length === 0) throw new Error('empty data');
  if (!body.subarray(0, PREFIX.length).equals(PREFIX)) {
    const expected = `expected prefix [${[...PREFIX].join(' ')}]`;
    throw new Error(`provided data does not appear to be a protobuf message, ${expected}`);
  }
  if (body.length === PREFIX.length) throw new Error('empty body');
  const { type, raw } = readUnknown(body.subarray(PREFIX.length));
  const name = builtInTypeName(type.apiVersion, type.kind) ?? OF_EVERY_GROUP.get(type.kind);
  const members = name === undefined ? [] : Object.entries(messageOf(name, raw));
  return writeJson(Object.fromEntries([...Object.entries(type), ...members]));
}

/** Types that clients send in the API version of the kind to which they apply. */
const OF_EVERY_GROUP = new Map([['DeleteOptions', 'DeleteOptions']]);

/** runtime.Unknown, the envelope: apiVersion and kind of the object, and its bytes. */
function readUnknown(message: Buffer): { type: { apiVersion: string; kind: string }; raw: Buffer } {
  const type = { apiVersion: '', kind: '' };
  let raw: Buffer = Buffer.alloc(0);
  for (const [number, value] of fieldsIn(message)) {
    if (number === 2) raw = bytesOf(value);
    if (number !== 1) continue;
    for (const [at, text] of fieldsIn(bytesOf(value))) {
      if (at === 1) type.apiVersion = textOf(text);
      if (at === 2) type.kind = textOf(text);
    }
  }
  return { type, raw };
}

function membersOf(type: string): Numbered {
  let members = numbered.get(type);
  if (members !== undefined) return members;
  members = new Map();
  for (const { label, number, code } of numberedMembers(type)) {
    const path = number.split('.').map(Number);
    const last = path.pop() as number;
    let within: Numbered = members;
    for (const step of path) {
      const struct: Numbered = (within.get(step) as Numbered | undefined) ?? new Map();
      within.set(step, struct);
      within = struct;
    }
    within.set(last, { label, code });
  }
  numbered.set(type, members);
  return members;
}

function messageOf(type: string, message: Buffer): JsonObject {
  const found = new Map<string, Json>();
  readMembers(membersOf(type), message, found);
  return Object.fromEntries(found);
}

/** Unknown fields are skipped, as in Go. */
function readMembers(members: Numbered, message: Buffer, found: Map<string, Json>): void {
  for (const [number, value] of fieldsIn(message)) {
    const member = members.get(number);
    if (member === undefined) continue;
    if (member instanceof Map) {
      readMembers(member, bytesOf(value), found);
      continue;
    }
    const { label, code } = member;
    const before = found.get(label);
    if (code.startsWith('[')) {
      const list = Array.isArray(before) ? (before as readonly Json[]) : [];
      found.set(label, [...list, ...itemsOf(itemCode(code), value)]);
    } else if (code.startsWith('{')) {
      const [key, item] = entryOf(label, itemCode(code), bytesOf(value));
      found.set(label, { ...(before as JsonObject | undefined), [key]: item });
    } else found.set(label, jsonOf(label, code, value));
  }
}

/** The code of the items in `[code|keys]` or `{code}`. */
const itemCode = (code: string): string =>
  code.slice(1, Math.max(code.lastIndexOf('|'), 0) || -1).replace(/!$/, '');

/** The values of a field; numbers may be packed into one field of bytes. */
function itemsOf(code: string, value: WireValue): Json[] {
  if (!/^[ilb]$/.test(code) || typeof value === 'bigint') return [jsonOf('', code, value)];
  const packed = Buffer.concat([...varintsIn(value)]);
  return [...fieldsIn(packed)].map(([, item]) => jsonOf('', code, item));
}

/** Yields each packed number as a field with number 1. */
function* varintsIn(packed: Buffer): Generator<Buffer> {
  for (let start = 0, at = 0; at < packed.length; at++) {
    if ((packed[at] as number) >= 0x80) continue;
    yield Buffer.from([0x08]);
    yield packed.subarray(start, at + 1);
    start = at + 1;
  }
}

function entryOf(label: string, code: string, message: Buffer): [key: string, value: Json] {
  let key = '';
  let value: WireValue | undefined;
  for (const [number, part] of fieldsIn(message)) {
    if (number === 1) key = textOf(part);
    if (number === 2) value = part;
  }
  return [key, value === undefined ? '' : jsonOf(label, code, value)];
}

const bytesOf = (value: WireValue): Buffer => {
  if (typeof value === 'bigint') throw new Error('proto: wrong wireType = 0');
  return value;
};

const textOf = (value: WireValue): string => bytesOf(value).toString('utf8');

function integerOf(value: WireValue): number | bigint {
  if (typeof value !== 'bigint') throw new Error('proto: wrong wireType = 2');
  const integer = BigInt.asIntN(64, value);
  return Number.isSafeInteger(Number(integer)) ? Number(integer) : integer;
}

function jsonOf(label: string, code: string, value: WireValue): Json {
  switch (code) {
    case 's':
      return textOf(value);
    case 'i':
    case 'l':
      return integerOf(value);
    case 'b':
      return integerOf(value) !== 0;
    case 'n':
      return bytesOf(value).readDoubleLE();
    case 'y':
      return bytesOf(value).toString('base64');
    case 'q':
      return textOf(partOf(value, 1) ?? Buffer.alloc(0));
    case 't':
    case 'u':
      return timeOf(value, code === 'u');
    case 'x': {
      const isText = integerOf(partOf(value, 1) ?? 0n) === 1;
      return isText
        ? textOf(partOf(value, 3) ?? Buffer.alloc(0))
        : integerOf(partOf(value, 2) ?? 0n);
    }
    case '*':
      return rawOf(value);
    case '(JSONSchemaProps)':
      return schemaOr(label, value);
  }
  // A list in a map is wrapped in a message.
  if (code.startsWith('[')) {
    return [...fieldsIn(bytesOf(value))].flatMap(([, item]) => itemsOf(itemCode(code), item));
  }
  return messageOf(code, bytesOf(value));
}

/** The last field of this number in a message. */
function partOf(value: WireValue, wanted: number): WireValue | undefined {
  let found: WireValue | undefined;
  for (const [number, part] of fieldsIn(bytesOf(value))) if (number === wanted) found = part;
  return found;
}

/** Bytes that are JSON: runtime.RawExtension, FieldsV1, and JSON of apiextensions. */
function rawOf(value: WireValue): Json {
  const text = textOf(partOf(value, 1) ?? Buffer.alloc(0));
  return text === '' ? null : readJson(text);
}

/** Seconds and nanoseconds since 1970; the zero time has no fields. */
function timeOf(value: WireValue, micro: boolean): Json {
  const seconds = partOf(value, 1);
  const nanos = partOf(value, 2);
  if (seconds === undefined && nanos === undefined) return null;
  const whole = Number(integerOf(seconds ?? 0n));
  const fraction = Math.floor(Number(integerOf(nanos ?? 0n)) / 1000);
  if (whole === 0 && fraction === 0) return null;
  const date = new Date(whole * 1000);
  if (Number.isNaN(date.getTime())) throw new Error('proto: time out of range');
  const text = date.toISOString().slice(0, 'YYYY-MM-DDThh:mm:ss'.length);
  return `${text}${micro ? `.${String(fraction).padStart(6, '0')}` : ''}Z`;
}

/** A schema, a list of schemas, a list of names, or a boolean that allows anything. */
function schemaOr(label: string, value: WireValue): Json {
  const fields = [...fieldsIn(bytesOf(value))];
  const schemas = (number: number): JsonObject[] =>
    fields
      .filter(([each]) => each === number)
      .map(([, schema]) => messageOf('JSONSchemaProps', bytesOf(schema)));
  if (label.startsWith('additional')) {
    const [schema] = schemas(2);
    return schema ?? fields.some(([number, allows]) => number === 1 && integerOf(allows) !== 0);
  }
  const [schema] = schemas(1);
  if (schema !== undefined) return schema;
  return label === 'dependencies'
    ? fields.filter(([number]) => number === 2).map(([, name]) => textOf(name))
    : schemas(2);
}
