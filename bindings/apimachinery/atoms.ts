/**
 * Types for merging: which maps and lists are atomic, and which are merged, by what keys. A type
 * may have several shapes; the value decides between them. structured-merge-diff:
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
  /** The members with a name in the type. */
  readonly field: (name: string) => Field | undefined;
  /** The type of other members; undefined: there are none. */
  readonly values: (() => Atom) | undefined;
  readonly atomic: boolean;
  /** The members that Go writes for an empty struct. */
  readonly zero?: () => JsonObject;
}

export interface Atom {
  readonly scalar?: Scalar;
  readonly list?: ListType;
  readonly map?: MapType;
}

/** How a strategic merge patch treats a member. */
export interface PatchRule {
  /** Lists are merged; lists of objects by this member. */
  readonly mergeKey?: string;
  readonly merge: boolean;
  readonly replace: boolean;
  readonly retainKeys: boolean;
}

export interface Field {
  readonly type: () => Atom;
  /** The default of a list's key in an item without it. */
  readonly fallback?: Json;
  readonly patch?: PatchRule;
  /** The value that Go writes if the member is not set; undefined: Go omits it. */
  readonly zero?: () => Json;
  /** Go has a pointer to it, and so distinguishes a zero value from nil. */
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

/** The type of a map's member; undefined: the map does not have it. */
export const memberType = (map: MapType, name: string): Atom | undefined =>
  map.field(name)?.type() ?? map.values?.();
