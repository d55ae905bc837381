/**
 * Sets of fields, as in `metadata.managedFields` (FieldsV1): a tree of path elements, each of which
 * may be a member of the set. Elements are in their wire form: `f:name` a member, `k:{"name":"a"}`
 * an item of a list by its keys, `v:"a"` an item of a set. Sets are immutable: every operation
 * makes a new one. structured-merge-diff: fieldpath/set.go, serialize.go.
 */

import { type Atom, memberType } from '../../../apimachinery/atoms.ts';
import { isObject, type Json, type JsonObject, readJson, writeJson } from '../json.ts';

interface Node {
  /** The element itself is in the set. */
  readonly member: boolean;
  readonly below: FieldSet;
}

export type PathElements = readonly string[];

export class FieldSet {
  readonly #nodes: ReadonlyMap<string, Node>;
  /** Encoded once: most writes do not change most sets. */
  #encoded: JsonObject | undefined;

  constructor(nodes: ReadonlyMap<string, Node>) {
    this.#nodes = nodes;
  }

  /**
   * Not a static field: TypeScript 7.0.2 compiles one that is an instance of its own class to code
   * that fails.
   */
  static get empty(): FieldSet {
    return EMPTY;
  }

  static of(paths: Iterable<PathElements>): FieldSet {
    const builder = new Builder();
    for (const path of paths) builder.insert(path);
    return builder.build();
  }

  get size(): number {
    return this.#nodes.size;
  }

  has(element: string): boolean {
    return this.#nodes.get(element)?.member ?? false;
  }

  hasPath(path: PathElements): boolean {
    const [element, ...rest] = path;
    if (element === undefined) return false;
    return rest.length === 0 ? this.has(element) : this.below(element).hasPath(rest);
  }

  below(element: string): FieldSet {
    return this.#nodes.get(element)?.below ?? FieldSet.empty;
  }

  union(other: FieldSet): FieldSet {
    if (other.size === 0) return this;
    if (this.size === 0) return other;
    return this.#combine(other, (mine, others) => mine || others, true);
  }

  intersection(other: FieldSet): FieldSet {
    if (this.size === 0 || other.size === 0) return FieldSet.empty;
    return this.#combine(other, (mine, others) => mine && others, false);
  }

  difference(other: FieldSet): FieldSet {
    if (this.size === 0 || other.size === 0) return this;
    return this.#combine(
      other,
      (mine, others) => mine && !others,
      false,
      (mine, others) => mine.difference(others),
    );
  }

  /** Removes the other set's fields and everything below them. */
  withoutTrees(other: FieldSet): FieldSet {
    if (this.size === 0 || other.size === 0) return this;
    const nodes = new Map<string, Node>();
    for (const [element, { member, below }] of this.#nodes) {
      if (other.has(element)) continue;
      keep(nodes, element, { member, below: below.withoutTrees(other.below(element)) });
    }
    return new FieldSet(nodes);
  }

  /** Keeps only what starts with this element. */
  only(element: string): FieldSet {
    const node = this.#nodes.get(element);
    return new FieldSet(node === undefined ? new Map() : new Map([[element, node]]));
  }

  /** Adds the members of structs above the fields of the set, which sets omit. */
  withNamedFields(type: Atom | undefined): FieldSet {
    const nodes = new Map<string, Node>();
    for (const [element, { member, below }] of this.#nodes) {
      const field = element.startsWith('f:') ? element.slice(2) : undefined;
      const named = field !== undefined && below.size > 0 && type?.map?.field(field) !== undefined;
      const child = childType(type, element);
      nodes.set(element, { member: member || named, below: below.withNamedFields(child) });
    }
    return new FieldSet(nodes);
  }

  /**
   * The set in a changed schema: the owner of fields of a list or map that has become atomic owns
   * the list or map as a whole. structured-merge-diff: typed/reconcile_schema.go.
   */
  reconciledWith(type: Atom | undefined): FieldSet {
    if (type === undefined || this.size === 0) return this;
    const nodes = new Map<string, Node>();
    let isSame = true;
    for (const [element, node] of this.#nodes) {
      const child = childType(type, element);
      const isWhole = node.below.size > 0 && isAtomic(child);
      const below = isWhole ? FieldSet.empty : node.below.reconciledWith(child);
      nodes.set(element, { member: node.member || isWhole, below });
      isSame &&= below === node.below;
    }
    return isSame ? this : new FieldSet(nodes);
  }

  /** All paths; at each level those that end there come first. */
  *paths(prefix: PathElements = []): Generator<PathElements> {
    const sorted = [...this.#nodes].sort(([a], [b]) => compareElements(a, b));
    for (const [element, { member }] of sorted) if (member) yield [...prefix, element];
    for (const [element, { below }] of sorted) yield* below.paths([...prefix, element]);
  }

  toFieldsV1(): JsonObject {
    if (this.#encoded !== undefined) return this.#encoded;
    const sorted = [...this.#nodes].sort(([a], [b]) => compareElements(a, b));
    this.#encoded = Object.fromEntries(
      sorted.map(([element, { member, below }]) => [
        element,
        member && below.size > 0 ? { '.': {}, ...below.toFieldsV1() } : below.toFieldsV1(),
      ]),
    );
    return this.#encoded;
  }

  /** Throws a TypeError for an invalid set. */
  static fromFieldsV1(fields: Json | undefined): FieldSet {
    if (fields === undefined || fields === null) return FieldSet.empty;
    if (!isObject(fields)) throw new TypeError('fieldsV1 is no object');
    const nodes = new Map<string, Node>();
    for (const [name, children] of Object.entries(fields)) {
      if (name === '.') continue;
      if (!isObject(children)) throw new TypeError(`${name}: no object`);
      const below = FieldSet.fromFieldsV1(children);
      const element = canonical(name);
      // An unknown kind of element; the real server drops these too.
      if (element !== undefined)
        nodes.set(element, { member: below.size === 0 || Object.hasOwn(children, '.'), below });
    }
    return new FieldSet(nodes);
  }

  #combine(
    other: FieldSet,
    member: (mine: boolean, others: boolean) => boolean,
    both: boolean,
    below: (mine: FieldSet, others: FieldSet) => FieldSet = (mine, others) =>
      both ? mine.union(others) : mine.intersection(others),
  ): FieldSet {
    const nodes = new Map<string, Node>();
    for (const [element, mine] of this.#nodes) {
      const others = other.#nodes.get(element);
      keep(nodes, element, {
        member: member(mine.member, others?.member ?? false),
        below: below(mine.below, others?.below ?? FieldSet.empty),
      });
    }
    if (both)
      for (const [element, node] of other.#nodes) if (!nodes.has(element)) nodes.set(element, node);
    return new FieldSet(nodes);
  }
}

const EMPTY = new FieldSet(new Map());

/** The type of what an element names. */
function childType(type: Atom | undefined, element: string): Atom | undefined {
  if (!element.startsWith('f:')) return type?.list?.items();
  return type?.map && memberType(type.map, element.slice(2));
}

/** A type of several shapes is a map first, then a scalar: schema/elements.go. */
function isAtomic(type: Atom | undefined): boolean {
  if (type?.map !== undefined) return type.map.atomic;
  return type?.scalar === undefined && type?.list?.merge === 'atomic';
}

function keep(nodes: Map<string, Node>, element: string, node: Node): void {
  if (node.member || node.below.size > 0) nodes.set(element, node);
}

/** Collects paths and builds their set. */
export class Builder {
  readonly #nodes = new Map<string, { member: boolean; below: Builder }>();

  insert(path: PathElements): void {
    const [element, ...rest] = path;
    if (element === undefined) return;
    let node = this.#nodes.get(element);
    if (node === undefined) {
      node = { member: false, below: new Builder() };
      this.#nodes.set(element, node);
    }
    if (rest.length === 0) node.member = true;
    else node.below.insert(rest);
  }

  build(): FieldSet {
    const nodes = new Map<string, Node>();
    for (const [element, { member, below }] of this.#nodes)
      nodes.set(element, { member, below: below.build() });
    return new FieldSet(nodes);
  }
}

export const member = (name: string): string => `f:${name}`;
export const item = (value: Json): string => `v:${writeJson(value)}`;
/** The element of keys, in alphabetical order. */
export const keyElement = (keys: readonly (readonly [string, Json])[]): string =>
  `k:${writeJson(Object.fromEntries([...keys].sort(([a], [b]) => (a < b ? -1 : 1))))}`;

/** An element in the form in which this server writes it. */
function canonical(element: string): string | undefined {
  const rest = element.slice(2);
  switch (element.slice(0, 2)) {
    case 'f:':
    case 'i:':
      return element;
    case 'v:':
      return item(readJson(rest));
    case 'k:':
      return keyElement(Object.entries(readJson(rest) as Record<string, Json>));
    default:
      return undefined;
  }
}

const ORDER = 'fkvi';

function compareElements(a: string, b: string): number {
  const order = ORDER.indexOf(a.charAt(0)) - ORDER.indexOf(b.charAt(0));
  return order !== 0 ? order : a < b ? -1 : a > b ? 1 : 0;
}

/** `.spec.containers[name="a"].image` */
export function pathText(path: PathElements): string {
  return path.map(elementText).join('');
}

function elementText(element: string): string {
  const rest = element.slice(2);
  switch (element.charAt(0)) {
    case 'f':
      return `.${rest}`;
    case 'v':
      return `[=${rest}]`;
    case 'k':
      return `[${Object.entries(readJson(rest) as Record<string, Json>)
        .map(([key, value]) => `${key}=${writeJson(value)}`)
        .join(',')}]`;
    default:
      return `[${rest}]`;
  }
}
