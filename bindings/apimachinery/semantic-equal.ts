/**
 * Compares values as Kubernetes does: `1000m` equals `1`, and an absent list equals an empty one.
 * The types of the built-in kinds say how to compare a field. apimachinery: pkg/api/equality,
 * third_party/forked/golang/reflect.
 */
import { CapstanError, invalid, requireObject } from '../base/errors.ts';
import { isJsonObject, ownMember, sameJson } from '../base/json-value.ts';
import { namesOf, requireNames } from '../base/names.ts';
import { groupVersion, type Resource } from '../base/resource.ts';
import type { Field } from './atoms.ts';
import { builtInTypeName, hasType, innerCode, typeNamed } from './built-in.ts';
import { quantityOf } from './quantity.ts';

/** Options of {@link semanticEqual} and {@link deepDerivative}. */
export interface SemanticOptions {
  /**
   * The type of the values: a resource, or a type of the built-in kinds such as `PodSpec`,
   * `Container`, `ObjectMeta` or `Quantity`. Default: the kind of both objects.
   */
  readonly type?: Resource<never, string> | string | undefined;
  /**
   * The types of parts of a custom resource, by path: `{ 'spec.template':
   * 'PodTemplateSpec', 'spec.pools.*.size': 'Quantity' }`. `*` stands for each item or member.
   */
  readonly types?: Readonly<Record<string, string>> | undefined;
}

const NAMES = namesOf<SemanticOptions>()({ type: 1, types: 1 });

/**
 * Whether two objects, or parts of objects, are semantically equal. In a built-in kind quantities
 * are compared as numbers, and times as moments. An absent or null field equals an empty list or
 * map, and also 0, false, "" and a struct without fields, unless Go has a pointer there:
 * `replicas: 0` is not an absent `replicas`, and `emptyDir: {}` is not an absent `emptyDir`.
 *
 * In a custom resource these rules hold for `metadata` and for the parts in `types`. Other parts
 * are compared as JSON; there only an empty list equals an absent one. `kind` and `apiVersion` are
 * compared if both objects have them, because items of lists have none. apimachinery:
 * equality.Semantic.DeepEqual.
 *
 * @throws CapstanError INVALID_ARGUMENT for an unknown type
 * @example
 * const of = (cpu: string) => ({ containers: [{ name: 'a', resources: { limits: { cpu } } }] });
 * console.log(semanticEqual(of('1000m'), of('1'), { type: 'PodSpec' })); // true
 */
export function semanticEqual(a: unknown, b: unknown, options: SemanticOptions = {}): boolean {
  requireNames('options', options, 'option of semanticEqual()', NAMES);
  return compare(a, b, options, false);
}

/**
 * Whether `b` has all values that `a` sets. It compares as {@link semanticEqual}, but ignores a
 * field that is absent, null, "" or an empty list or map in `a`. A list of `b` may have more items
 * at its end. Use it to compare a wanted object with one in which the API server has set defaults.
 * A 0 or false in `a` is compared. An absent one is not; Go compares it if the field is not a
 * pointer. apimachinery: equality.Semantic.DeepDerivative.
 *
 * @throws CapstanError INVALID_ARGUMENT for an unknown type
 * @example
 * const wanted = { replicas: 2 };
 * const found = { replicas: 2, revisionHistoryLimit: 10 };
 * console.log(deepDerivative(wanted, found, { type: 'DeploymentSpec' })); // true
 */
export function deepDerivative(a: unknown, b: unknown, options: SemanticOptions = {}): boolean {
  requireNames('options', options, 'option of deepDerivative()', NAMES);
  return compare(a, b, options, true);
}

/** Types of parts of a value, by the rest of their paths. */
type Parts = readonly (readonly [path: readonly string[], code: string])[];

function compare(a: unknown, b: unknown, options: SemanticOptions, derivative: boolean): boolean {
  const comparison = new Comparison(derivative);
  const code = codeOf(a, b, options.type);
  if (code !== undefined) {
    if (options.types !== undefined)
      throw invalid('options.types', 'none for a built-in type, which is known', options.types);
    return comparison.same(code, false, a, b);
  }
  return comparison.plain(a, b, partsOf(a, options.types));
}

function codeOf(a: unknown, b: unknown, type: SemanticOptions['type']): string | undefined {
  if (typeof type === 'string') return requireType('options.type', type);
  if (type !== undefined) {
    requireObject('options.type', type);
    return builtInTypeName(groupVersion(type), type.kind);
  }
  const { apiVersion, kind } = (isJsonObject(a) ? a : {}) as Record<string, unknown>;
  const other = (isJsonObject(b) ? b : {}) as Record<string, unknown>;
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') return undefined;
  if (other.apiVersion !== apiVersion || other.kind !== kind) return undefined;
  return builtInTypeName(apiVersion, kind);
}

function partsOf(a: unknown, types: SemanticOptions['types']): Parts {
  if (types !== undefined) requireObject('options.types', types);
  const given = Object.entries(types ?? {}).map(
    ([path, code]) => [path.split('.'), requireType(`options.types["${path}"]`, code)] as const,
  );
  const isObject = isJsonObject(ownMember(a, 'metadata'));
  return isObject ? [...given, [['metadata'], 'ObjectMeta']] : given;
}

const SCALARS: Readonly<Record<string, string>> = { Quantity: 'q', Time: 't', MicroTime: 'u' };

function requireType(name: string, type: unknown): string {
  const code = typeof type === 'string' ? (ownMember(SCALARS, type) ?? type) : '';
  if (Object.values(SCALARS).includes(code) || hasType(code)) return code;
  throw new CapstanError(
    'INVALID_ARGUMENT',
    `"${name}" expected a type of the built-in kinds, such as "PodSpec", or "Quantity", "Time" ` +
      `or "MicroTime", got ${JSON.stringify(type)}`,
  );
}

const isStruct = (code: string): boolean => !/^([a-z*]$|[[{(])/.test(code);
/** A struct in Go that is not an object in JSON. */
const isOpaque = (code: string): boolean => /^[qtux]$/.test(code);

/** Whether Go has a pointer, so that an absent value differs from the zero value. */
const isPointer = ({ code, pointer, zero }: Field): boolean =>
  pointer === true || (zero === undefined && (isStruct(code) || isOpaque(code) || code === '*'));

class Comparison {
  readonly #derivative: boolean;

  constructor(derivative: boolean) {
    this.#derivative = derivative;
  }

  /** @param pointer whether absent differs from the zero value */
  same(code: string, pointer: boolean, left: unknown, right: unknown): boolean {
    const [a, b] = [jsonOf(left), jsonOf(right)];
    if (a === undefined && b === undefined) return true;
    const inner = innerCode(code);
    const isMap = inner !== undefined && !inner.list;
    if (this.#derivative && isUnset(a, isMap) && !(a === '' && pointer && b === undefined))
      return true;
    if (a === undefined || b === undefined) return !pointer && isZero(code, a ?? b);
    if (inner !== undefined)
      return inner.list
        ? this.#list(a, b, (x, y) => this.same(inner.code, false, x, y))
        : this.#map(a, b, (_, x, y) => this.same(inner.code, false, x, y));
    if (code === 'q') return sameQuantity(a, b);
    if (code === 't' || code === 'u') return sameTime(a, b);
    if (isStruct(code)) return this.#struct(code, a, b);
    return this.plain(a, b, []);
  }

  /** Values without a type. */
  plain(left: unknown, right: unknown, parts: Parts): boolean {
    const here = parts.find(([path]) => path.length === 0);
    if (here !== undefined) return this.same(here[1], true, left, right);
    const [a, b] = [jsonOf(left), jsonOf(right)];
    if (this.#derivative && isUnset(a, false)) return true;
    if (a === undefined || b === undefined) return isEmptyList(a ?? b) || a === b;
    if (Array.isArray(a) && Array.isArray(b)) {
      const below = partsBelow(parts, undefined);
      return this.#list(a, b, (x, y) => this.plain(x, y, below));
    }
    if (!isJsonObject(a) || !isJsonObject(b)) return sameJson(a, b);
    const isRoot = parts.some(([path]) => path.length === 1 && path[0] === 'metadata');
    return this.#members(a, b, (name, x, y) =>
      isRoot && isTypeName(name) && (x === undefined || y === undefined)
        ? true
        : this.plain(x, y, partsBelow(parts, name)),
    );
  }

  #struct(code: string, a: unknown, b: unknown): boolean {
    if (!isJsonObject(a) || !isJsonObject(b)) return sameJson(a, b);
    const { map } = typeNamed(code);
    const isKind = map?.field('kind') !== undefined && map.field('metadata') !== undefined;
    return this.#members(a, b, (name, x, y) => {
      if (isKind && isTypeName(name) && (x === undefined || y === undefined)) return true;
      const field = map?.field(name);
      return field === undefined
        ? this.plain(x, y, [])
        : this.same(field.code, isPointer(field), x, y);
    });
  }

  #list(a: unknown, b: unknown, same: (x: unknown, y: unknown) => boolean): boolean {
    if (!Array.isArray(a) || !Array.isArray(b)) return sameJson(a, b);
    const long = this.#derivative ? a.length <= b.length : a.length === b.length;
    return long && a.every((item, at) => same(item, b[at]));
  }

  /** A member of a map that the other map lacks counts, whatever it is. */
  #map(a: unknown, b: unknown, same: (name: string, x: unknown, y: unknown) => boolean): boolean {
    if (!isJsonObject(a) || !isJsonObject(b)) return sameJson(a, b);
    const names = Object.keys(a);
    if (!this.#derivative && names.length !== Object.keys(b).length) return false;
    return names.every((name) => Object.hasOwn(b, name) && same(name, a[name], b[name]));
  }

  #members(
    a: Record<string, unknown>,
    b: Record<string, unknown>,
    same: (name: string, x: unknown, y: unknown) => boolean,
  ): boolean {
    const names = this.#derivative
      ? Object.keys(a)
      : new Set([...Object.keys(a), ...Object.keys(b)]);
    return [...names].every((name) => same(name, ownMember(a, name), ownMember(b, name)));
  }
}

const isTypeName = (name: string): boolean => name === 'apiVersion' || name === 'kind';

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

/** The value as JSON has it. Null is absent. */
function jsonOf(value: unknown): unknown {
  if (value === null || value === undefined) return undefined;
  const { toJSON } = value as { toJSON?: unknown };
  return typeof toJSON === 'function' ? toJSON.call(value) : value;
}

const isEmptyMap = (value: unknown): boolean =>
  isJsonObject(value) && Object.keys(value).length === 0;

/** @param isMap whether Go has a map; a struct without fields may be behind a pointer */
function isUnset(value: unknown, isMap: boolean): boolean {
  if (value === undefined || value === '' || isEmptyList(value)) return true;
  return isMap && isEmptyMap(value);
}

/** Whether a value is the zero value in Go. */
function isZero(code: string, value: unknown): boolean {
  const inner = innerCode(code);
  if (inner !== undefined) return inner.list ? isEmptyList(value) : isEmptyMap(value);
  if (code === 'q') return quantityOf(value)?.isZero() ?? false;
  if (isStruct(code)) return new Comparison(false).same(code, true, value, {});
  return value === '' || value === 0 || value === false;
}

function sameQuantity(a: unknown, b: unknown): boolean {
  const [left, right] = [quantityOf(a), quantityOf(b)];
  return left === undefined || right === undefined ? sameJson(a, b) : left.equal(right);
}

const TIME =
  /^(?<seconds>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(?<fraction>\d+))?(?<zone>Z|[+-]\d\d:\d\d)$/;

function sameTime(a: unknown, b: unknown): boolean {
  const [left, right] = [momentOf(a), momentOf(b)];
  return left === undefined || right === undefined ? sameJson(a, b) : left === right;
}

/** Milliseconds of the whole second, and the digits of its fraction. */
function momentOf(value: unknown): string | undefined {
  const found = typeof value === 'string' ? TIME.exec(value)?.groups : undefined;
  if (found === undefined) return undefined;
  const fraction = (found.fraction ?? '').replace(/0+$/, '');
  return `${Date.parse(`${found.seconds}${found.zone}`)} ${fraction}`;
}

/** @param name undefined: an item of a list */
function partsBelow(parts: Parts, name: string | undefined): Parts {
  return parts.flatMap(([[first, ...rest], code]) =>
    first === '*' || (first === name && name !== undefined) ? [[rest, code] as const] : [],
  );
}
