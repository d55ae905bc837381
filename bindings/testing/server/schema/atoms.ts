/**
 * Types as far as merging needs them: which maps and lists are one value (atomic) and which are
 * many, by what keys. A type may be of several shapes at once; the value then tells which.
 * structured-merge-diff: schema/elements.go.
 */
import type { Json, JsonObject } from '../json.ts';

export type Scalar = 'string' | 'numeric' | 'boolean' | 'any';

export interface ListType {
  readonly items: () => Atom;
  /** One value, a set of scalars, or a map by these members of the items. */
  readonly merge: 'atomic' | 'set' | readonly string[];
}

export interface MapType {
  /** The members that are known by name. */
  readonly field: (name: string) => Field | undefined;
  /** The type of all other members; undefined: there are none. */
  readonly values: (() => Atom) | undefined;
  readonly atomic: boolean;
  /** What Go writes of a struct that nothing was set in. */
  readonly zero?: () => JsonObject;
}

export interface Atom {
  readonly scalar?: Scalar;
  readonly list?: ListType;
  readonly map?: MapType;
}

/** How strategic merge patches treat a member. */
export interface PatchRule {
  /** Lists are merged, lists of objects by this member. */
  readonly mergeKey?: string;
  readonly merge: boolean;
  readonly replace: boolean;
  readonly retainKeys: boolean;
}

export interface Field {
  readonly type: () => Atom;
  /** What a key of a list is when an item leaves it out. */
  readonly fallback?: Json;
  readonly patch?: PatchRule;
  /** What Go writes where the member is not set; undefined: it leaves it out. */
  readonly zero?: () => Json;
  /** Go has a pointer to it, and so tells a zero value from none. */
  readonly pointer?: true;
  /** The type as the table has it, or as a custom resource's schema names it; for messages. */
  readonly code: string;
}

/** Any JSON, as one value. */
export const atomicJson: Atom = {
  scalar: 'any',
  list: { items: () => atomicJson, merge: 'atomic' },
  map: { field: () => undefined, values: () => atomicJson, atomic: true },
};

/** Any JSON: maps are merged, lists replaced. What fields without a schema are. */
export const anyJson: Atom = {
  scalar: 'any',
  list: { items: () => atomicJson, merge: 'atomic' },
  map: { field: () => undefined, values: () => anyJson, atomic: false },
};

export const scalarOf = (scalar: Scalar): Atom => ({ scalar });

/** The members of a map; lists and scalars have none. */
export const memberType = (map: MapType, name: string): Atom | undefined =>
  map.field(name)?.type() ?? map.values?.();
