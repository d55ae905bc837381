/**
 * Types for merging: whether a map or list is atomic or merged, and by which keys. A type may be a
 * scalar, a list or a map; the value decides. structured-merge-diff:
 * schema/elements.go.
 */
import type { Json, JsonObject } from '../base/json-value.ts';

export type Scalar = 'string' | 'numeric' | 'boolean' | 'any';

export interface ListType {
  readonly items: () => Atom;
  /** Atomic, a set of scalars, or a map by these members of the items. */
  readonly merge: 'atomic' | 'set' | readonly string[];
}

export interface MapType {
  /** The named fields. */
  readonly field: (name: string) => Field | undefined;
  /** The type of other members; `undefined` if there are none. */
  readonly values: (() => Atom) | undefined;
  readonly atomic: boolean;
  /** The fields that Go writes for an empty struct. */
  readonly zero?: () => JsonObject;
}

export interface Atom {
  readonly scalar?: Scalar;
  readonly list?: ListType;
  readonly map?: MapType;
}

/** How a strategic merge patch changes a field. */
export interface PatchRule {
  /** Lists are merged; lists of objects by this member. */
  readonly mergeKey?: string;
  readonly merge: boolean;
  readonly replace: boolean;
  readonly retainKeys: boolean;
}

export interface Field {
  readonly type: () => Atom;
  /** The value of a list key for items without it. */
  readonly fallback?: Json;
  readonly patch?: PatchRule;
  /** The value that Go writes if the field is not set; `undefined` if Go omits it. */
  readonly zero?: () => Json;
  /** Go has a pointer, so that a zero value differs from nil. */
  readonly pointer?: true;
  /**
   * The code of the type in the table, or its name in a custom resource's schema; for messages.
   */
  readonly code: string;
}

/** Any JSON, atomic. */
export const atomicJson: Atom = {
  scalar: 'any',
  list: { items: () => atomicJson, merge: 'atomic' },
  map: { field: () => undefined, values: () => atomicJson, atomic: true },
};

/** Any JSON: maps are merged, lists are replaced. The type of fields without a schema. */
export const anyJson: Atom = {
  scalar: 'any',
  list: { items: () => atomicJson, merge: 'atomic' },
  map: { field: () => undefined, values: () => anyJson, atomic: false },
};

export const scalarOf = (scalar: Scalar): Atom => ({ scalar });

/** The type of a member of a map; `undefined` if the map does not have it. */
export const memberType = (map: MapType, name: string): Atom | undefined =>
  map.field(name)?.type() ?? map.values?.();
