/**
 * Migration from `kubectl apply` to `kubectl apply --server-side`: the last-applied annotation says
 * which fields the user owned, so that they do not conflict with the manager `kubectl`, and it is
 * kept up to date. apimachinery: pkg/util/managedfields/internal/lastapplied*.go.
 */

import type { Atom } from '../../../apimachinery/atoms.ts';
import {
  isObject,
  type Json,
  type JsonObject,
  memberObject,
  readJson,
  without,
  writeJson,
} from '../json.ts';
import { FieldSet } from './field-set.ts';
import { compare, fieldsOf } from './typed.ts';

const ANNOTATION = 'kubectl.kubernetes.io/last-applied-configuration';

/** The only manager for which this is done. */
export const LAST_APPLIED_MANAGER = 'kubectl';

const lastApplied = (object: JsonObject): Json | undefined =>
  memberObject(memberObject(object, 'metadata'), 'annotations')[ANNOTATION];

/** The fields that `kubectl apply` set and that still have its values. */
export function fieldsOfLastApplied(type: Atom, live: JsonObject, apiVersion: string): FieldSet {
  const text = lastApplied(live);
  if (typeof text !== 'string' || text === '') return FieldSet.empty;
  let applied: Json;
  try {
    applied = readJson(text);
  } catch {
    return FieldSet.empty;
  }
  if (!isObject(applied) || applied.apiVersion !== apiVersion) return FieldSet.empty;
  const { added, modified, removed } = compare(type, applied, live);
  return fieldsOf(type, applied).difference(modified).difference(added).difference(removed);
}

/** The object with the annotation, if it has one, set to the applied configuration. */
export function withLastApplied(object: JsonObject, config: JsonObject): JsonObject {
  const had = lastApplied(object);
  if (typeof had !== 'string' || had === '') return object;
  const metadata = memberObject(config, 'metadata');
  const { annotations } = metadata;
  const bare = isObject(annotations)
    ? { ...metadata, annotations: without(annotations, ANNOTATION) }
    : metadata;
  const text = `${writeJson(sorted({ ...config, metadata: bare }))}\n`;
  const own = memberObject(object, 'metadata');
  return {
    ...object,
    metadata: { ...own, annotations: { ...memberObject(own, 'annotations'), [ANNOTATION]: text } },
  };
}

/** Sorts members by name, as Go writes a map. */
function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, sorted(value[name] as Json)]));
}
