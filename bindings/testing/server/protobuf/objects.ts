/**
 * Objects in protobuf, as client-go's typed clients send built-in kinds, read into the JSON that
 * they would be otherwise: by the numbers in the table of types. apimachinery:
 * pkg/runtime/serializer/protobuf.
 */
import { type Json, type JsonObject, readJson, writeJson } from '../json.ts';
import { builtInTypeName, numberedMembers } from '../schema/built-in.ts';
import { fieldsIn, type WireValue } from './wire.ts';

/** `k8s` and a zero: what stands before every object. */
const PREFIX = Buffer.from([0x6b, 0x38, 0x73, 0x00]);

/** A member, or the members of a struct that Go embeds. */
type Numbered = Map<number, { label: string; code: string } | Numbered>;

const numbered = new Map<string, Numbered>();

/**
 * The text of the object as JSON. Throws an Error in the real server's words for what is none. Of a
 * kind that is not known it has apiVersion and kind alone.
 */
export function jsonOfProtobuf(body: Buffer): string {
  if (body.length === 0) throw new Error('empty data');
  if (!body.subarray(0, PREFIX.length).equals(PREFIX)) {
    const expected = `expected prefix [${[...PREFIX].join(' ')}]`;
    throw new Error(`provided data does not appear to be a protobuf message, ${expected}`);
  }
  if (body.length === PREFIX.length) throw new Error('empty body');
  const { type, raw } = unknownIn(body.subarray(PREFIX.length));
  const name = builtInTypeName(type.apiVersion, type.kind) ?? OF_EVERY_GROUP.get(type.kind);
  const members = name === undefined ? [] : Object.entries(messageOf(name, raw));
  return writeJson(Object.fromEntries([...Object.entries(type), ...members]));
}

/** Options, which clients send under the version of the kind that they are for. */
const OF_EVERY_GROUP = new Map([['DeleteOptions', 'DeleteOptions']]);

/** runtime.Unknown, the envelope: what the object is, and its bytes. */
function unknownIn(message: Buffer): { type: { apiVersion: string; kind: string }; raw: Buffer } {
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

/** Fields that are not known are passed over, as Go does. */
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
      found.set(label, [...list, ...itemsOf(within(code), value)]);
    } else if (code.startsWith('{')) {
      const [key, item] = entryOf(label, within(code), bytesOf(value));
      found.set(label, { ...(before as JsonObject | undefined), [key]: item });
    } else found.set(label, jsonOf(label, code, value));
  }
}

/** The code of the items of `[code|keys]` or `{code}`. */
const within = (code: string): string =>
  code.slice(1, Math.max(code.lastIndexOf('|'), 0) || -1).replace(/!$/, '');

/** Numbers may come several in one field, which is then of bytes. */
function itemsOf(code: string, value: WireValue): Json[] {
  if (!/^[ilb]$/.test(code) || typeof value === 'bigint') return [jsonOf('', code, value)];
  const packed = Buffer.concat([...varintsIn(value)]);
  return [...fieldsIn(packed)].map(([, item]) => jsonOf('', code, item));
}

/** Each as a field of its own, of number 1. */
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
  // A list as the value of a map is a message of its own.
  if (code.startsWith('[')) {
    return [...fieldsIn(bytesOf(value))].flatMap(([, item]) => itemsOf(within(code), item));
  }
  return messageOf(code, bytesOf(value));
}

/** The last field of this number in a message. */
function partOf(value: WireValue, wanted: number): WireValue | undefined {
  let found: WireValue | undefined;
  for (const [number, part] of fieldsIn(bytesOf(value))) if (number === wanted) found = part;
  return found;
}

/** JSON as bytes: runtime.RawExtension, FieldsV1 and JSON of apiextensions. */
function rawOf(value: WireValue): Json {
  const text = textOf(partOf(value, 1) ?? Buffer.alloc(0));
  return text === '' ? null : readJson(text);
}

/** Seconds and nanoseconds since 1970; of the zero time there is nothing. */
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

/** A schema, or in its place a list of schemas, of names, or whether anything is allowed. */
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
