/**
 * Random objects of the schema of a CustomResourceDefinition, by the optional peer `fast-check`.
 * The generator follows the schema. Then the validation of the embedded API server checks the value
 * against alternatives, rules and list keys.
 */
import type { Arbitrary } from 'fast-check';
import { CapstanError } from '../base/errors.ts';
import { isObject, type Json, type JsonObject } from './server/json.ts';
import { evaluateOwnRules, evaluateRules } from './server/rules/evaluate.ts';
import { loadedCel } from './server/rules/library.ts';
import { duplicateItems } from './server/schema/list-keys.ts';
import {
  additional,
  isEmbedded,
  isIntOrString,
  keepsUnknown,
  type Schema,
  schemaAt,
} from './server/schema/structural.ts';
import { mapKeyOf, mapKeys, validateObject } from './server/schema/validate.ts';
import type { FieldError } from './server/status.ts';

type FastCheck = typeof import('fast-check');

/** After this many refused values in a row the schema is taken for one without valid values. */
const MOST_MISSES = 20_000;
/** The most items and members of a list and a map, unless the schema demands more. */
const MANY = 3;
/** About how many optional members of an object are present. */
const MEMBERS = 6;
/** Keywords that the generator may break, so that values are checked. */
const JUDGED: readonly string[] = [
  'anyOf',
  'oneOf',
  'allOf',
  'not',
  'pattern',
  'format',
  'multipleOf',
  'x-kubernetes-list-type',
  'x-kubernetes-validations',
];

/** Loads the peer. Rejects with CapstanError INVALID_ARGUMENT if it is not installed. */
export async function loadFastCheck(): Promise<FastCheck> {
  try {
    return await import('fast-check');
  } catch (cause) {
    throw new CapstanError(
      'INVALID_ARGUMENT',
      'roundTrips() needs the package fast-check, which makes random objects: npm install ' +
        '--save-dev fast-check',
      { cause },
    );
  }
}

/** The validation errors that an API server reports for a new value. */
export const problemsOf = (schema: Schema, value: Json): string[] =>
  [
    ...validateObject(schema, value, undefined),
    ...duplicateItems(schema, value),
    ...(loadedCel() === undefined ? [] : evaluateRules(schema, value, undefined)),
  ].map(({ field, message }) => `${field}: ${message}`);

/** Random objects of a kind, with metadata. */
export class RandomObjects {
  readonly #fc: FastCheck;
  readonly #values: Readonly<Record<string, readonly unknown[]>>;
  readonly usedPaths = new Set<string>();

  /** @param values by path, instead of what the schema would give */
  constructor(fc: FastCheck, values: Readonly<Record<string, readonly unknown[]>>) {
    this.#fc = fc;
    this.#values = values;
  }

  /** Objects without apiVersion and kind. Throws CapstanError INVALID_ARGUMENT as `of`. */
  objects(schema: Schema, namespaced: boolean): Arbitrary<JsonObject> {
    const {
      apiVersion: _,
      kind: __,
      metadata: ___,
      ...properties
    } = schemaAt(schema, 'properties') ?? {};
    const content = this.of({ ...schema, properties }, '') as Arbitrary<JsonObject>;
    return this.#fc
      .tuple(this.#metadata(namespaced), content)
      .map(([metadata, members]) => ({ metadata, ...members }));
  }

  #metadata(namespaced: boolean): Arbitrary<JsonObject> {
    const fc = this.#fc;
    const name = fc.stringMatching(/^[a-z][a-z0-9]{0,7}$/);
    const key = fc.stringMatching(/^([a-z]{1,5}\.example\/)?[a-z]{1,8}$/);
    const label = fc.stringMatching(/^[a-z0-9]{0,8}$/);
    const optional = <T>(of: Arbitrary<T>): Arbitrary<T | undefined> =>
      fc.option(of, { nil: undefined });
    return fc
      .record({
        name,
        namespace: namespaced ? name : fc.constant(undefined),
        uid: fc.uuid(),
        generation: fc.integer({ min: 1, max: 9 }),
        labels: optional(fc.dictionary(key, label, { minKeys: 1, maxKeys: MANY })),
        annotations: optional(fc.dictionary(key, fc.string(), { minKeys: 1, maxKeys: MANY })),
      })
      .map(present);
  }

  /**
   * Values of a schema at a path, as `defineCustomResource` writes paths. Generating one throws
   * CapstanError INVALID_ARGUMENT when none matches.
   */
  of(schema: Schema, path: string): Arbitrary<Json> {
    const given = this.#values[path];
    if (given !== undefined) {
      this.usedPaths.add(path);
      return this.#fc.constantFrom(...(given as readonly Json[]));
    }
    const plain = this.#alternatives(schema, path);
    const values = JUDGED.some((keyword) => schema[keyword] !== undefined)
      ? this.#judged(plain, schema, path)
      : plain;
    return schema.nullable === true && !this.#isEnum(schema)
      ? this.#fc.option(values, { nil: null, freq: 8 })
      : values;
  }

  #judged(values: Arbitrary<Json>, schema: Schema, path: string): Arbitrary<Json> {
    let misses = 0;
    const hasOwnRules = schema['x-kubernetes-validations'] !== undefined;
    const rulesOf = (value: Json): FieldError[] =>
      hasOwnRules && loadedCel() !== undefined ? evaluateOwnRules(schema, value, path === '') : [];
    // Parts of the value were judged when they were made.
    const problemOf = (value: Json): FieldError | undefined =>
      validateObject(schema, value, undefined)[0] ??
      duplicateItems(schema, value)[0] ??
      rulesOf(value)[0];
    return values.filter((value) => {
      const problem = problemOf(value);
      if (problem === undefined) {
        misses = 0;
        return true;
      }
      if (++misses < MOST_MISSES) return false;
      throw new CapstanError(
        'INVALID_ARGUMENT',
        `${path || 'the object'}: none of ${misses} random values matched the schema ` +
          `(${problem.message}): give some by options.values, such as ` +
          `{ ${JSON.stringify(path)}: [...] }`,
      );
    });
  }

  /** The schema narrowed by each of its allOf, and by one alternative of anyOf and oneOf. */
  #alternatives(schema: Schema, path: string): Arbitrary<Json> {
    if (isIntOrString(schema)) return this.#plain(schema, path);
    const { allOf, anyOf, oneOf, ...own } = schema;
    let all = [own as Schema];
    for (const each of schemasIn(allOf)) all = all.map((one) => narrowed(one, each));
    const any = schemasIn(anyOf);
    if (any.length > 0) all = all.flatMap((one) => any.map((each) => narrowed(one, each)));
    const one = schemasIn(oneOf);
    if (one.length > 0)
      all = all.flatMap((base) =>
        one.map((each) => withoutOthers(narrowed(base, each), each, one)),
      );
    // An alternative may itself have alternatives.
    const values = all.map((each) =>
      ['allOf', 'anyOf', 'oneOf'].some((keyword) => each[keyword] !== undefined)
        ? this.#alternatives(each, path)
        : this.#plain(each, path),
    );
    return values.length === 1 ? (values[0] as Arbitrary<Json>) : this.#fc.oneof(...values);
  }

  #isEnum = (schema: Schema): boolean => Array.isArray(schema.enum) && schema.enum.length > 0;

  #plain(schema: Schema, path: string): Arbitrary<Json> {
    const fc = this.#fc;
    if (this.#isEnum(schema)) return fc.constantFrom(...(schema.enum as readonly Json[]));
    if (isIntOrString(schema))
      return fc.oneof(this.#integer(schema), this.#string({ ...schema, format: undefined }));
    switch (schema.type) {
      case 'object':
        return this.#object(schema, path);
      case 'array':
        return this.#array(schema, path);
      case 'string':
        return this.#string(schema);
      case 'integer':
        return this.#integer(schema);
      case 'number':
        return this.#number(schema);
      case 'boolean':
        return fc.boolean();
      default:
        return this.#anyJson();
    }
  }

  /** What JSON keeps: no -0. */
  #anyJson(): Arbitrary<Json> {
    return this.#fc
      .jsonValue({ maxDepth: 2, depthSize: 'xsmall' })
      .map((value) => JSON.parse(JSON.stringify(value)) as Json);
  }

  #object(schema: Schema, path: string): Arbitrary<Json> {
    const fc = this.#fc;
    const properties = Object.entries(schemaAt(schema, 'properties') ?? {}).filter(
      (entry): entry is [string, Schema] => isObject(entry[1]),
    );
    const rest = additional(schema);
    const required = new Set(Array.isArray(schema.required) ? (schema.required as string[]) : []);
    const named: Record<string, Arbitrary<Json>> = {};
    for (const [name, property] of properties)
      named[name] = this.of(property, path === '' ? name : `${path}.${name}`);
    if (isEmbedded(schema)) {
      const resource = { apiVersion: 'v1', kind: 'ConfigMap' };
      for (const [member, text] of Object.entries(resource))
        if (named[member] === undefined) named[member] = fc.constant(text);
      named.metadata = this.#metadata(true);
      for (const member of ['apiVersion', 'kind', 'metadata']) required.add(member);
    }
    const members = this.#members(named, required, schema);
    if (isObject(rest) || rest === true) {
      const values = rest === true ? this.#anyJson() : this.of(rest, `${path}.*`);
      return this.#withMap(members, values, schema);
    }
    return keepsUnknown(schema) ? this.#withMap(members, this.#anyJson(), schema) : members;
  }

  #members(
    named: Readonly<Record<string, Arbitrary<Json>>>,
    required: ReadonlySet<string>,
    { minProperties, maxProperties }: Schema,
  ): Arbitrary<JsonObject> {
    const fc = this.#fc;
    const optional = Object.keys(named).filter((name) => !required.has(name));
    const must = Object.keys(named).length - optional.length;
    const chosen = (names: readonly string[]): Arbitrary<JsonObject> =>
      fc.record(Object.fromEntries(names.map((name) => [name, named[name] as Arbitrary<Json>])));
    const isCounted = typeof minProperties === 'number' || typeof maxProperties === 'number';
    if (isCounted && optional.length > 0) {
      const least = Math.max(0, (Number(minProperties) || 0) - must);
      const most = Math.min(optional.length, (Number(maxProperties ?? Infinity) || 0) - must);
      const range = { minLength: Math.min(least, optional.length), maxLength: Math.max(most, 0) };
      if (range.minLength <= range.maxLength)
        return fc
          .subarray(optional, range)
          .chain((names) =>
            chosen([...Object.keys(named).filter((n) => required.has(n)), ...names]),
          );
    }
    const share = Math.min(0.5, MEMBERS / Math.max(1, optional.length));
    const record: Record<string, Arbitrary<Json | undefined>> = {};
    for (const [name, values] of Object.entries(named))
      record[name] = required.has(name)
        ? values
        : fc.oneof(
            { withCrossShrink: true },
            { arbitrary: fc.constant(undefined), weight: Math.round((1 - share) * 100) },
            { arbitrary: values, weight: Math.round(share * 100) },
          );
    return fc.record(record).map(present);
  }

  #withMap(
    members: Arbitrary<JsonObject>,
    values: Arbitrary<Json>,
    { minProperties, maxProperties, ...schema }: Schema,
  ): Arbitrary<JsonObject> {
    const fc = this.#fc;
    const minKeys = Number(minProperties) || 0;
    const maxKeys = Math.min(Number(maxProperties ?? Infinity), Math.max(minKeys, MANY));
    const names = new Set(Object.keys(schemaAt(schema, 'properties') ?? {}));
    const key = fc
      .stringMatching(/^[a-z]{1,6}([.-][a-z]{1,4})?$/)
      .filter((name) => !names.has(name));
    return fc
      .tuple(members, fc.dictionary(key, values, { minKeys, maxKeys, noNullPrototype: true }))
      .map(([object, more]) => ({ ...more, ...object }));
  }

  #array(schema: Schema, path: string): Arbitrary<Json> {
    const items = schemaAt(schema, 'items');
    const values = items === undefined ? this.#anyJson() : this.of(items, `${path}[]`);
    const minLength = Number(schema.minItems) || 0;
    const maxLength = Math.min(Number(schema.maxItems ?? Infinity), Math.max(minLength, MANY));
    const keys = mapKeys(schema);
    if (keys === undefined && schema['x-kubernetes-list-type'] !== 'set')
      return this.#fc.array(values, { minLength, maxLength });
    const selector = (item: Json): string =>
      JSON.stringify(keys === undefined ? item : mapKeyOf(keys, item));
    return this.#fc.uniqueArray(values, { minLength, maxLength, selector });
  }

  #integer({ format, ...schema }: Schema): Arbitrary<Json> {
    const widest = format === 'int32' ? 2 ** 31 - 1 : Number.MAX_SAFE_INTEGER;
    const least = format === 'int32' ? -(2 ** 31) : Number.MIN_SAFE_INTEGER;
    const min = Math.max(least, Math.ceil(Number(schema.minimum ?? -Infinity)));
    const max = Math.min(widest, Math.floor(Number(schema.maximum ?? Infinity)));
    const low = schema.exclusiveMinimum === true && schema.minimum === min ? min + 1 : min;
    const high = schema.exclusiveMaximum === true && schema.maximum === max ? max - 1 : max;
    if (low > high) return this.#fc.constant(low);
    const step = schema.multipleOf;
    if (typeof step === 'number' && step > 0)
      return this.#fc
        .integer({ min: Math.ceil(low / step), max: Math.floor(high / step) })
        .map((times) => times * step);
    return this.#fc.oneof(
      this.#fc.integer({ min: low, max: high }),
      this.#fc.integer({
        min: Math.max(low, Math.min(high, 0)),
        max: Math.min(high, Math.max(low, 100)),
      }),
    );
  }

  #number(schema: Schema): Arbitrary<Json> {
    const step = schema.multipleOf;
    if (typeof step === 'number' && step > 0) return this.#integer(schema);
    const min = Number(schema.minimum ?? -1e9);
    const max = Math.max(min, Number(schema.maximum ?? Math.max(1e9, min)));
    return this.#fc
      .double({
        min,
        max,
        minExcluded: schema.exclusiveMinimum === true && min < max,
        maxExcluded: schema.exclusiveMaximum === true && min < max,
        noNaN: true,
      })
      .map((value) => (Object.is(value, -0) ? 0 : value));
  }

  #string({ pattern, format, minLength, maxLength }: Schema): Arbitrary<Json> {
    const fc = this.#fc;
    const known = typeof format === 'string' ? this.#formatted(format) : undefined;
    if (known !== undefined) return known;
    if (typeof pattern === 'string' && pattern !== '')
      try {
        return fc.stringMatching(new RegExp(pattern, 'u'), { size: 'xsmall' });
      } catch {
        // A syntax of RE2 alone, or one that the peer cannot generate: any text is judged.
      }
    const least = Number(minLength) || 0;
    const most = Math.min(Number(maxLength ?? Infinity), least + 8);
    const size = { minLength: least, maxLength: Math.max(least, most) };
    return fc.oneof(
      { weight: 4, arbitrary: fc.string(size) },
      { weight: 1, arbitrary: fc.string({ ...size, unit: 'binary' }) },
    );
  }

  #formatted(format: string): Arbitrary<Json> | undefined {
    const fc = this.#fc;
    const time = fc
      .date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true })
      .map((date) => date.toISOString());
    const hex = (length: number) => fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`));
    const of: Readonly<Record<string, () => Arbitrary<Json>>> = {
      bsonobjectid: () => hex(24),
      byte: () =>
        fc
          .uint8Array({ minLength: 1, maxLength: 9 })
          .map((bytes) => Buffer.from(bytes).toString('base64')),
      cidr: () => fc.tuple(fc.ipV4(), fc.nat(32)).map(([address, bits]) => `${address}/${bits}`),
      creditcard: () => fc.constant('4111111111111111'),
      date: () => time.map((text) => text.slice(0, 10)),
      datetime: () => time.map((text) => text.replace('.000', '')),
      duration: () => fc.nat(10_000).map((seconds) => `${seconds}s`),
      email: () => fc.stringMatching(/^[a-z]{1,8}@[a-z]{1,8}\.example$/),
      hexcolor: () => hex(6).map((digits) => `#${digits}`),
      hostname: () => fc.stringMatching(/^[a-z]{1,8}\.example$/),
      ipv4: () => fc.ipV4(),
      ipv6: () => fc.ipV6(),
      isbn: () => fc.constantFrom('9783161484100', '0306406152'),
      isbn10: () => fc.constant('0306406152'),
      isbn13: () => fc.constant('9783161484100'),
      k8slongname: () => fc.stringMatching(/^[a-z]{1,6}(\.[a-z]{1,6})?$/),
      k8sshortname: () => fc.stringMatching(/^[a-z]{1,6}(-[a-z]{1,6})?$/),
      mac: () => hex(12).map((digits) => digits.replaceAll(/..(?!$)/g, '$&:')),
      rgbcolor: () => fc.nat(255).map((level) => `rgb(${level},0,255)`),
      ssn: () => fc.constant('123-45-6789'),
      uri: () => fc.stringMatching(/^https:\/\/[a-z]{1,8}\.example\/[a-z]{0,8}$/),
      uuid: () => fc.uuid(),
      uuid3: () => fc.uuid({ version: 3 }),
      uuid4: () => fc.uuid({ version: 4 }),
      uuid5: () => fc.uuid({ version: 5 }),
    };
    return of[format.replaceAll('-', '')]?.();
  }
}

const schemasIn = (list: Json | undefined): Schema[] =>
  Array.isArray(list) ? list.filter(isObject) : [];

/** Without members that are undefined. */
const present = (members: Readonly<Record<string, Json | undefined>>): JsonObject =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));

/** Which of two bounds is the narrower one. */
const BOUNDS: Readonly<Record<string, (...values: number[]) => number>> = {
  minimum: Math.max,
  minLength: Math.max,
  minItems: Math.max,
  minProperties: Math.max,
  maximum: Math.min,
  maxLength: Math.min,
  maxItems: Math.min,
  maxProperties: Math.min,
};

/** A schema with the restrictions of an alternative, as far as a generator can follow them. */
function narrowed(schema: Schema, by: Schema): Schema {
  const result: Record<string, Json | undefined> = { ...schema };
  for (const [keyword, value] of Object.entries(by)) {
    const own = schema[keyword];
    const bound = BOUNDS[keyword];
    if (own === undefined) result[keyword] = value;
    else if (bound !== undefined) result[keyword] = bound(Number(own), Number(value));
    else if (keyword === 'required')
      result.required = [...new Set([...(own as string[]), ...(value as string[])])];
    else if (keyword === 'enum')
      result.enum = (own as readonly Json[]).filter((each) =>
        (value as readonly Json[]).includes(each),
      );
    else if (keyword === 'items' && isObject(own) && isObject(value))
      result.items = narrowed(own, value);
    else if (keyword === 'properties' && isObject(own) && isObject(value))
      result.properties = Object.fromEntries(
        Object.entries(own).map(([name, property]) => {
          const more = value[name];
          return [name, isObject(property) && isObject(more) ? narrowed(property, more) : property];
        }),
      );
    else if (['allOf', 'anyOf', 'oneOf'].includes(keyword))
      result[keyword] = [...schemasIn(own), ...schemasIn(value)];
  }
  return result as Schema;
}

/**
 * Without the members that only other alternatives of a oneOf demand: each of them alone would make
 * two alternatives match.
 */
function withoutOthers(schema: Schema, own: Schema, all: readonly Schema[]): Schema {
  const demanded = (of: Schema): string[] =>
    Array.isArray(of.required) && Object.keys(of).length === 1 ? (of.required as string[]) : [];
  const mine = new Set([
    ...demanded(own),
    ...(Array.isArray(schema.required) ? (schema.required as string[]) : []),
  ]);
  const others = all.flatMap((each) => {
    const names = demanded(each).filter((name) => !mine.has(name));
    return each !== own && names.length === 1 ? names : [];
  });
  const properties = schemaAt(schema, 'properties');
  if (others.length === 0 || properties === undefined) return schema;
  return {
    ...schema,
    properties: Object.fromEntries(
      Object.entries(properties).filter(([name]) => !others.includes(name)),
    ),
  };
}
