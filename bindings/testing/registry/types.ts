/** The type of each kind's objects, made once: from the table for built-in kinds, from their schema for custom ones. */
import type { JsonObject } from '../json.ts';
import type { Atom } from '../schema/atoms.ts';
import { builtInType } from '../schema/built-in.ts';
import { customType } from '../schema/structural.ts';
import { apiVersionOf, type Kind } from './kinds.ts';

const customTypes = new WeakMap<object, Atom>();
const untyped = customType(undefined);

/** The type of a kind's objects. */
export function typeOf(kind: Kind): Atom {
  if (kind.builtIn) return builtInType(apiVersionOf(kind), kind.kind) ?? untyped;
  if (kind.schema === undefined) return untyped;
  let type = customTypes.get(kind.schema);
  if (type === undefined) {
    type = customType(kind.schema);
    customTypes.set(kind.schema, type);
  }
  return type;
}

/** What an object of the kind has where nothing was set: Go writes members of built-in kinds that are not `omitempty`, and structs. */
export const zeroObject = (kind: Kind): JsonObject => typeOf(kind).map?.zero?.() ?? {};
