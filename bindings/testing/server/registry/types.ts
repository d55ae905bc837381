/**
 * The type of each kind's objects, cached: from the table for built-in kinds, from the schema for
 * custom ones.
 */

import type { Atom } from '../../../apimachinery/atoms.ts';
import { builtInType } from '../../../apimachinery/built-in.ts';
import type { JsonObject } from '../json.ts';
import { customType, type Schema } from '../schema/structural.ts';
import { apiVersionOf, type Kind } from './kinds.ts';

const customTypes = new WeakMap<object, Atom>();
const untyped = customType(undefined);

/** The type of a kind's objects. */
export const typeOf = (kind: Kind): Atom =>
  kind.builtIn
    ? (builtInType(apiVersionOf(kind), kind.kind) ?? untyped)
    : typeOfSchema(kind.schema);

/** The type of a kind's objects in another version; undefined: there is no such version. */
export function typeIn(kind: Kind, apiVersion: string): Atom | undefined {
  if (apiVersion === apiVersionOf(kind)) return typeOf(kind);
  return kind.definition?.schemas.has(apiVersion)
    ? typeOfSchema(kind.definition.schemas.get(apiVersion))
    : undefined;
}

function typeOfSchema(schema: Schema | undefined): Atom {
  if (schema === undefined) return untyped;
  let type = customTypes.get(schema);
  if (type === undefined) {
    type = customType(schema);
    customTypes.set(schema, type);
  }
  return type;
}

/**
 * An object with nothing set: Go writes structs, and members of built-in kinds without `omitempty`.
 */
export const zeroObject = (kind: Kind): JsonObject => typeOf(kind).map?.zero?.() ?? {};
