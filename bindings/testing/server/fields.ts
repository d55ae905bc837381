/**
 * Reads the fields of an object by the type of its kind: unknown fields are dropped and reported,
 * values of another type are refused, duplicate fields are reported. apiserver:
 * pkg/runtime/serializer/json (strict decoding), apiextensions-apiserver schemaCoercing.
 */

import { type Atom, type Field, memberType } from '../../apimachinery/atoms.ts';
import { typeNamed, zeroOf } from '../../apimachinery/built-in.ts';
import { readTwice } from './duplicates.ts';
import { isObject, type Json, type JsonObject, memberObject } from './json.ts';
import { withReadMetadata } from './registry/embedded-resources.ts';
import type { Kind } from './registry/kinds.ts';
import { typeOf } from './registry/types.ts';
import { canonicalBase64 } from './schema/bytes.ts';
import { prune } from './schema/defaults.ts';
import { canonicalQuantity } from './schema/quantity.ts';
import { readTime, TimeError } from './times.ts';

export interface ReadFields {
  object: JsonObject;
  /** `unknown field "spec.x"`, in the order of the real server. */
  problems: string[];
}

/** A value that is not of its field's type; the message is that of Go's decoder. */
export class FieldTypeError extends Error {
  /** The message when the value does not come from JSON, but from a strategic merge. */
  readonly converting: string;

  constructor(message: string, converting = message) {
    super(message);
    this.converting = converting;
  }
}

/** apimachinery: pkg/runtime/converter.go fromUnstructured. */
function conversionError(value: Json, goType: string): string {
  const given = Array.isArray(value)
    ? 'slice'
    : isObject(value)
      ? 'map'
      : typeof value === 'boolean'
        ? 'bool'
        : typeof value === 'string'
          ? 'string'
          : Number.isInteger(Number(value))
            ? 'int64'
            : 'float64';
  if (goType.startsWith('map[')) return `cannot restore map from ${given}`;
  if (goType.startsWith('[]')) return `cannot restore slice from ${given}`;
  if (goType.includes('.')) return `cannot restore struct from: ${given}`;
  const converts =
    (given === 'int64' && goType === 'string') || (given === 'float64' && goType.startsWith('int'));
  return converts ? `cannot convert ${given} to ${goType}` : `unrecognized type: ${goType}`;
}

/** sigs.k8s.io/json: the decoder of Go structs keeps at most so many strict errors. */
const MOST_PROBLEMS = 100;

/**
 * @param text the object as it was sent, to find duplicate fields; undefined: do not look for them
 * @param converted the object is the result of a merge, not of decoding JSON
 */
export function readFields(
  kind: Kind,
  given: JsonObject,
  text: string | undefined,
  converted = false,
): ReadFields {
  const unknown: string[] = [];
  const type = kind.builtIn ? typeOf(kind) : undefined;
  const duplicates = text === undefined ? undefined : readTwice(text, given, type);
  const object = duplicates === undefined ? given : (duplicates.value as JsonObject);
  const read = kind.builtIn ? readBuiltIn(kind, object, unknown, converted) : object;
  if (!kind.builtIn) findUnknown(kind, object, unknown);
  const problems = [
    ...(duplicates?.problems ?? []),
    ...unknown.map((path) => `unknown field ${JSON.stringify(path)}`),
  ];
  return { object: read, problems: kind.builtIn ? problems.slice(0, MOST_PROBLEMS) : problems };
}

/**
 * Reports the unknown fields of a custom object: those of its metadata, then by name, then those of
 * the metadata of embedded resources. They are dropped when the object is stored.
 */
function findUnknown(kind: Kind, object: JsonObject, unknown: string[]): void {
  const metadata = typeNamed('ObjectMeta').map;
  for (const name of Object.keys(memberObject(object, 'metadata'))) {
    if (metadata?.field(name) === undefined) unknown.push(`metadata.${name}`);
  }
  if (kind.schema === undefined) return;
  const found: string[] = [];
  prune(kind.schema, object, true, (path) => found.push(path));
  const embedded: string[] = [];
  withReadMetadata(kind.schema, object, (path) => embedded.push(path));
  unknown.push(...found.sort(), ...embedded.sort());
}

function readBuiltIn(
  kind: Kind,
  object: JsonObject,
  unknown: string[],
  converted: boolean,
): JsonObject {
  const walk: Walk = { unknown, struct: kind.kind, converted };
  return readStruct(typeOf(kind), object, '', '', walk) as JsonObject;
}

/** Members in which empty lists or maps were left out. */
const membersWithEmpty = new WeakSet<object>();

/**
 * Kinds whose strategy compares this member by `reflect.DeepEqual`, in which an empty list differs
 * from nil: each write of an empty one increments the generation. kubernetes:
 * pkg/registry/networking/networkpolicy, pkg/registry/admissionregistration.
 */
const COMPARED_DEEPLY: Readonly<Record<string, string>> = {
  networkpolicies: 'spec',
  mutatingwebhookconfigurations: 'webhooks',
  validatingwebhookconfigurations: 'webhooks',
};

/** Whether a write increments the generation, although the stored object stays the same. */
export function incrementsGeneration({ builtIn, plural }: Kind, read: JsonObject): boolean {
  const member =
    builtIn && Object.hasOwn(COMPARED_DEEPLY, plural)
      ? read[COMPARED_DEEPLY[plural] as string]
      : null;
  return typeof member === 'object' && member !== null && membersWithEmpty.has(member);
}

interface Walk {
  unknown: string[];
  converted: boolean;
  /** An empty list or map was left out. */
  emptied?: boolean;
  /** The Go type that has the field. */
  struct: string;
}

/**
 * @param path with indices, for unknown fields
 * @param names without indices, for values of a wrong type
 */
function readStruct(type: Atom, value: JsonObject, path: string, names: string, walk: Walk): Json {
  const members: [string, Json | undefined][] = [];
  for (const [name, member] of Object.entries(value)) {
    const at = path === '' ? name : `${path}.${name}`;
    const field = type.map?.field(name);
    if (field === undefined) {
      walk.unknown.push(at);
      continue;
    }
    // Go reads null as a missing field.
    if (member === undefined || member === null) continue;
    // registry/metadata.ts reads the members of metadata, with its own messages.
    const whole = at === 'metadata' && isObject(member);
    if (whole) for (const inner of Object.keys(member)) reportUnknown(field, inner, at, walk);
    const read = whole
      ? withKnownMembers(field, member, at, walk)
      : readField(field, member, at, names === '' ? name : `${names}.${name}`, walk);
    if (!isUnset(field, read) || isKeptEmpty(walk, name)) members.push([name, read]);
    else if (typeof read === 'object') walk.emptied = true;
    if (path !== '' || walk.emptied !== true) continue;
    if (typeof read === 'object' && read !== null) membersWithEmpty.add(read);
    walk.emptied = false;
  }
  return { ...type.map?.zero?.(), ...Object.fromEntries(members) };
}

/** Whether Go does not keep the value: empty lists and maps, and zero values without a pointer. */
function isUnset(field: Field, value: Json): boolean {
  if (field.zero !== undefined) return false;
  if (typeof value === 'object') return isEmptyCollection(field, value);
  return (
    field.pointer === undefined &&
    OMITTED_WHEN_ZERO.includes(field.code) &&
    (value === '' || value === 0 || value === false)
  );
}

/**
 * Here defaults and validation distinguish an empty list from nil. autoscaling/v2: defaults.go
 * copyHPAScalingRules.
 */
const isKeptEmpty = ({ struct }: Walk, name: string): boolean =>
  struct === 'HPAScalingRules' && name === 'policies';

function isEmptyCollection(field: Field, value: Json): boolean {
  if (/^[*(]/.test(field.code)) return false; // bytes to Go
  if (Array.isArray(value)) return value.length === 0;
  return (
    isObject(value) && field.type().map?.values !== undefined && Object.keys(value).length === 0
  );
}

/**
 * The object as the real server reads it from its store, which keeps no empty lists: only
 * managedFields show that one was sent.
 */
export const asReadBack = (kind: Kind, object: JsonObject): JsonObject =>
  kind.builtIn ? (storedValue(typeOf(kind), object) as JsonObject) : object;

function storedValue({ list, map }: Atom, value: Json): Json {
  if (Array.isArray(value))
    return list === undefined ? value : value.map((item: Json) => storedValue(list.items(), item));
  if (!isObject(value) || map === undefined) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const field = map.field(name);
      const type = memberType(map, name);
      if (member === undefined || type === undefined) return [name, member];
      return [
        name,
        field !== undefined && isEmptyCollection(field, member) ? null : storedValue(type, member),
      ];
    }),
  );
}

/**
 * Codes of scalars that Go omits when they are zero. It has pointers for the others, or always
 * writes them.
 */
const OMITTED_WHEN_ZERO: readonly string[] = ['s', 'i', 'l', 'n', 'b', 'y'];

/**
 * The metadata without unknown members of owner references and managedFields, which are reported.
 */
function withKnownMembers(
  field: Field,
  metadata: JsonObject,
  path: string,
  walk: Walk,
): JsonObject {
  const lists = ['ownerReferences', 'managedFields'].flatMap((name): [string, Json][] => {
    const list = metadata[name];
    const items = field.type().map?.field(name)?.type().list?.items();
    if (!Array.isArray(list) || items === undefined) return [];
    const known = (item: Json, at: number): Json => {
      if (!isObject(item)) return item;
      const members = Object.entries(item).filter(([member]) => {
        const has = items.map?.field(member) !== undefined;
        if (!has) walk.unknown.push(`${path}.${name}[${at}].${member}`);
        return has;
      });
      return Object.fromEntries(members);
    };
    return [[name, list.map(known)]];
  });
  return lists.length === 0 ? metadata : { ...metadata, ...Object.fromEntries(lists) };
}

function reportUnknown(field: Field, name: string, path: string, walk: Walk): void {
  if (field.type().map?.field(name) === undefined) walk.unknown.push(`${path}.${name}`);
}

const readField = (field: Field, value: Json, path: string, names: string, walk: Walk): Json =>
  readValue(field.code, field.type(), value, path, names, walk);

/** Go's types by the codes of the table. Codes that are missing accept any JSON. */
const GO_TYPES: Record<string, string> = {
  s: 'string',
  t: 'string',
  u: 'string',
  i: 'int32',
  l: 'int64',
  n: 'float64',
  b: 'bool',
};

function readValue(
  code: string,
  type: Atom,
  value: Json,
  path: string,
  names: string,
  walk: Walk,
): Json {
  // null in a list or a map. The store returns null bytes as empty bytes.
  if (value === null) return code === 'y' ? '' : zeroOf(code);
  if (code === '*') return value;
  if (code.startsWith('(')) return readCustomDecoded(code.slice(1, -1), value, path, names, walk);
  const fail = (goType: string): Error =>
    new FieldTypeError(
      `json: cannot unmarshal ${jsonType(value)} into Go struct field ${walk.struct}.${names} ` +
        `of type ${goType}`,
      conversionError(value, goType),
    );
  if (code === 'q') return quantityOf(value);
  if (code === 'x') {
    if (typeof value === 'string' || isInteger(value, 'i')) return value;
    throw fail('int32');
  }
  if (type.list !== undefined) {
    const item = code.slice(1, code.search(/[|\]]/));
    if (!Array.isArray(value)) throw fail(goTypeOf(code));
    const items = type.list.items();
    return value.map((child: Json, at) =>
      readValue(item, items, child, `${path}[${at}]`, names, walk),
    );
  }
  if (type.map !== undefined) {
    if (!isObject(value)) throw fail(goTypeOf(code));
    if (type.map.values === undefined) {
      const outer = walk.struct;
      walk.struct = code.split('.')[0] ?? code;
      const read = readStruct(type, value, path, names, walk);
      walk.struct = outer;
      return read;
    }
    const values = type.map.values();
    const inner = code.slice(1, code.lastIndexOf('}'));
    return Object.fromEntries(
      Object.entries(value).map(([name, child]) => [
        name,
        child === undefined
          ? child
          : readValue(inner, values, child, `${path}.${name}`, names, walk),
      ]),
    );
  }
  if (code === 'y') {
    if (typeof value === 'string') return bytesOf(value);
    if (!Array.isArray(value)) throw fail('[]uint8');
    return Buffer.from(value.map((item: Json) => byteOf(item, fail))).toString('base64');
  }
  const wanted = GO_TYPES[code];
  if (wanted === undefined) return value;
  const given = typeof value === 'bigint' ? 'number' : typeof value;
  const expected = wanted === 'string' ? 'string' : wanted === 'bool' ? 'boolean' : 'number';
  if (given !== expected) throw fail(wanted);
  // Go truncates an integer to the bits of its field when it converts, and refuses it when it
  // decodes.
  if (code === 'i' && walk.converted && isInteger(value, 'l'))
    return Number(BigInt.asIntN(32, BigInt(value as number | bigint)));
  if ((code === 'i' || code === 'l') && !isInteger(value, code)) {
    throw new FieldTypeError(
      `json: cannot unmarshal number ${String(value)} into Go struct field ` +
        `${walk.struct}.${names} of type ${wanted}`,
    );
  }
  return code === 't' || code === 'u' ? timeOf(value as string, code === 'u') : value;
}

/**
 * Whether a value is an integer of 32 or 64 bits. Those that JavaScript would round are BigInts.
 */
const isInteger = (value: Json, code: 'i' | 'l'): boolean =>
  (code === 'l' && typeof value === 'bigint') ||
  (Number.isSafeInteger(value) &&
    (code === 'l' || Math.trunc(Number(value)) === (Number(value) | 0)));

function byteOf(value: Json, fail: (goType: string) => Error): number {
  if (value === null) return 0;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > 255)
    throw fail('uint8');
  return value;
}

/** apiextensions: JSONSchemaPropsOrBool. The other two such types accept any value. */
const OR_BOOL = /\.additional(Properties|Items)$/;

/**
 * Reads a type with its own UnmarshalJSON, which reports no unknown fields: one of the
 * struct, a list of it, or another value.
 */
function readCustomDecoded(
  name: string,
  value: Json,
  path: string,
  names: string,
  walk: Walk,
): Json {
  if (OR_BOOL.test(path) && !isObject(value) && typeof value !== 'boolean')
    throw new FieldTypeError('boolean or JSON schema expected');
  if (Array.isArray(value))
    return value.map((item: Json) => readCustomDecoded(name, item, path, names, walk));
  if (!isObject(value)) return value;
  return readValue(name, typeNamed(name), value, path, names, { ...walk, unknown: [] });
}

const ABOUT_QUANTITY = '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$';

function quantityOf(value: Json): Json {
  // Go trims spaces around a quantity.
  const text = ['string', 'number', 'bigint'].includes(typeof value) ? String(value).trim() : '';
  const canonical = canonicalQuantity(text);
  if (canonical !== undefined) return canonical;
  throw new FieldTypeError(
    new RegExp(ABOUT_QUANTITY).test(text)
      ? "unable to parse quantity's suffix"
      : `quantities must match the regular expression '${ABOUT_QUANTITY}'`,
  );
}

function bytesOf(text: string): string {
  const read = canonicalBase64(text);
  if (typeof read === 'string') return read;
  throw new FieldTypeError(`illegal base64 data at input byte ${read}`);
}

function timeOf(text: string, micro: boolean): string {
  try {
    return readTime(text, micro);
  } catch (error) {
    throw error instanceof TimeError ? new FieldTypeError(error.message) : error;
  }
}

function goTypeOf(code: string): string {
  if (code.startsWith('{')) return `map[string]${goTypeOf(code.slice(1, code.lastIndexOf('}')))}`;
  if (code.startsWith('[')) return `[]${goTypeOf(code.slice(1, code.search(/[|\]]/)))}`;
  return GO_TYPES[code] ?? `v1.${code.split('.')[0]}`;
}

const jsonType = (value: Json): string =>
  Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;
