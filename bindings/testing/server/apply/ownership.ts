/**
 * Field ownership: what a write changes in managedFields, and the object that results from an
 * apply. The rules:
 * - The manager that changes a field becomes its only owner; a removed field has no owner.
 * - An applier owns the fields that it applies, together with the other managers of the same value;
 *   another value is a conflict.
 * - Fields that a manager applied before and does not apply now are removed, unless another manager
 *   owns them.
 *
 * apimachinery: pkg/util/managedfields/internal; structured-merge-diff: merge/update.go.
 */

import type { Atom } from '../../../apimachinery/atoms.ts';
import { isObject, type Json, type JsonObject, sameJson, without } from '../json.ts';
import { ApiError, type StatusCause } from '../status.ts';
import { FieldSet, member, type PathElements, pathText } from './field-set.ts';
import {
  capUpdaters,
  identifier,
  type ManagedEntry,
  type Managers,
  managerText,
} from './managers.ts';
import { merge } from './merge.ts';
import { compare, fieldsOf, remove, typeError } from './typed.ts';

/** Removes the fields that a write by this path cannot change, and so cannot own. */
export type Filter = (fields: FieldSet) => FieldSet;

export interface FieldWriter {
  manager: string;
  apiVersion: string;
  /** The type of the object in that API version; undefined: there is no such version. */
  typeIn: (apiVersion: string) => Atom | undefined;
  /** '' for the object itself. */
  subresource: string;
  now: string | undefined;
  filter: Filter;
}

const path = (...names: string[]): PathElements => names.map(member);

/** Fields that the server sets, or that come from the path: apimachinery stripmeta.go. */
const STRIPPED = FieldSet.of([
  path('apiVersion'),
  path('kind'),
  path('metadata'),
  ...[
    'name',
    'namespace',
    'creationTimestamp',
    'selfLink',
    'uid',
    'generation',
    'managedFields',
    'resourceVersion',
  ].map((name) => path('metadata', name)),
]);

/** Removes these members of the object and everything below them. */
export const excludeFields = (...paths: PathElements[]): Filter => {
  const excluded = FieldSet.of(paths);
  return (fields) => fields.withoutTrees(excluded);
};

export const onlyFields =
  (name: string): Filter =>
  (fields) =>
    fields.only(member(name));

export const pathOf = path;

/** The object without managedFields, for comparison. */
const withoutManagers = (object: JsonObject): JsonObject => {
  const { metadata } = object;
  return isObject(metadata) ? { ...object, metadata: without(metadata, 'managedFields') } : object;
};

/** The managers after an update from `live` to `next`. */
export function ownUpdate(
  type: Atom,
  live: JsonObject,
  next: JsonObject,
  managers: Managers,
  writer: FieldWriter,
): Managers {
  const entry = {
    manager: writer.manager,
    operation: 'Update',
    apiVersion: writer.apiVersion,
    subresource: writer.subresource,
  } as const;
  const owners = reconciled(managers, writer);
  const { remaining, changed } = resolveOwners(type, live, next, owners, undefined, writer);
  const id = identifier(entry);
  const gained = changed.difference(STRIPPED);
  if (gained.size > 0) {
    const before = remaining.get(id)?.fields ?? FieldSet.empty;
    remaining.set(id, { ...entry, fields: gained.union(before), time: writer.now });
  }
  return capUpdaters(remaining);
}

/** The entries in the types of now: a definition may have changed since they were written. */
function reconciled(managers: Managers, { typeIn }: FieldWriter): Map<string, ManagedEntry> {
  const owners = new Map<string, ManagedEntry>();
  for (const [id, entry] of managers)
    owners.set(id, { ...entry, fields: entry.fields.reconciledWith(typeIn(entry.apiVersion)) });
  return owners;
}

/**
 * The object has a field that does not exist in the API version of a manager's entry: an apply gets
 * 500.
 */
export class NotConvertible extends ApiError {
  constructor(what: string, why: string) {
    super(500, `failed to ${what}: ${why}`);
  }
}

/** The remaining fields of the other managers, the conflicts, and the changes. */
function resolveOwners(
  type: Atom,
  live: Json,
  next: Json,
  managers: Managers,
  self: string | undefined,
  { filter, apiVersion, typeIn }: FieldWriter,
): {
  remaining: Map<string, ManagedEntry>;
  conflicts: Map<ManagedEntry, FieldSet>;
  changed: FieldSet;
} {
  const [before, after] = [
    withoutManagers(live as JsonObject),
    withoutManagers(next as JsonObject),
  ];
  const own = changesOf(type, before, after, filter);
  // The entries of an API version are compared by the types of that version.
  const byVersion = new Map([[apiVersion, own]]);
  const changesIn = (version: string, versionType: Atom): Changes => {
    const known = byVersion.get(version);
    if (known !== undefined) return known;
    requireConvertible('convert old object', versionType, before);
    requireConvertible('convert new object', versionType, after);
    const changes = changesOf(versionType, before, after, filter);
    byVersion.set(version, changes);
    return changes;
  };
  const remaining = new Map<string, ManagedEntry>();
  const conflicts = new Map<ManagedEntry, FieldSet>();
  for (const [id, entry] of managers) {
    if (id === self) {
      remaining.set(id, entry);
      continue;
    }
    // Entries of an API version that does not exist are dropped.
    const entryType = typeIn(entry.apiVersion);
    if (entryType === undefined) continue;
    const { changed, removed } = changesIn(entry.apiVersion, entryType);
    const conflict = entry.fields.intersection(changed);
    if (conflict.size > 0) conflicts.set(entry, conflict);
    const fields = entry.fields.difference(conflict).difference(removed);
    if (fields.size > 0) remaining.set(id, { ...entry, fields });
  }
  return { remaining, conflicts, changed: own.changed };
}

interface Changes {
  changed: FieldSet;
  removed: FieldSet;
}

function changesOf(type: Atom, before: Json, after: Json, filter: Filter): Changes {
  const { added, modified, removed } = compare(type, before, after);
  return { changed: filter(added.union(modified)), removed: filter(removed) };
}

function requireConvertible(what: string, type: Atom | undefined, object: JsonObject): void {
  const wrong = type === undefined ? undefined : typeError(type, object);
  if (wrong !== undefined) throw new NotConvertible(what, wrong);
}

export interface ApplyOutcome {
  /** undefined: the object is unchanged. */
  object: JsonObject | undefined;
  managers: Managers;
}

/**
 * Applies a configuration. Throws a 409 for fields that other managers own with another value,
 * unless `force` is set.
 */
export function ownApply(
  type: Atom,
  live: JsonObject,
  config: JsonObject,
  managers: Managers,
  writer: FieldWriter,
  force: boolean,
  /** Fields that never conflict. */
  allowed: FieldSet = FieldSet.empty,
): ApplyOutcome {
  const entry = {
    manager: writer.manager,
    operation: 'Apply',
    apiVersion: writer.apiVersion,
    subresource: writer.subresource,
  } as const;
  const id = identifier(entry);
  const owners = reconciled(managers, writer);
  const last = owners.get(id);
  const before = withoutManagers(live);
  const fields = writer.filter(fieldsOf(type, config));
  owners.set(id, { ...entry, fields, time: last?.time });
  const merged = merge(type, before, config) as JsonObject;
  const next = last === undefined ? merged : prune(type, merged, owners, last.fields, writer);
  const { remaining, conflicts } = resolveOwners(type, before, next, owners, id, writer);
  for (const [entry, conflict] of conflicts) {
    const contested = conflict.difference(allowed);
    if (contested.size === 0) conflicts.delete(entry);
    else conflicts.set(entry, contested);
  }
  if (conflicts.size > 0 && !force) throw applyConflict(conflicts);
  const same = sameJson(before, next);
  const owned = fields.difference(STRIPPED);
  if (owned.size === 0) remaining.delete(id);
  else remaining.set(id, { ...entry, fields: owned, time: same ? last?.time : writer.now });
  return { object: same ? undefined : next, managers: remaining };
}

/**
 * Removes fields that the manager applied last and does not apply now, if no other manager owns
 * them.
 */
function prune(
  type: Atom,
  merged: JsonObject,
  owners: Managers,
  last: FieldSet,
  writer: FieldWriter,
): JsonObject {
  let pruned = remove(type, merged, last.withNamedFields(type)) ?? {};
  /** Adds back what the managers of an API version own, by the types of that version. */
  const addBack = (versionType: Atom, version: string): void => {
    const withNames = (set: FieldSet): FieldSet => set.withNamedFields(versionType);
    let owned = FieldSet.empty;
    for (const { fields, apiVersion } of owners.values())
      if (apiVersion === version) owned = owned.union(fields);
    const kept = withNames(fieldsOf(versionType, pruned)).union(withNames(owned));
    const all = withNames(fieldsOf(versionType, merged));
    pruned = remove(versionType, merged, all.difference(kept)) ?? {};
  };
  addBack(type, writer.apiVersion);
  const others = new Set([...owners.values()].map(({ apiVersion }) => apiVersion));
  others.delete(writer.apiVersion);
  for (const version of others) {
    const versionType = writer.typeIn(version);
    if (versionType === undefined) continue;
    const what =
      'prune fields: failed add back owned items: failed to convert merged object at ' +
      `version ${version}`;
    requireConvertible(what, versionType, merged);
    addBack(versionType, version);
  }
  const withNames = (set: FieldSet): FieldSet => set.withNamedFields(type);
  const all = withNames(fieldsOf(type, merged));
  // Fields without an owner stay: only fields that this manager had applied are removed.
  const removed = all.difference(withNames(fieldsOf(type, pruned))).intersection(withNames(last));
  return (remove(type, merged, removed) ?? {}) as JsonObject;
}

/** Throws a 500, as the real server does, for a configuration that is not of its type. */
export function requireTyped(type: Atom, config: JsonObject, what: string): void {
  const wrong = typeError(type, config);
  if (wrong !== undefined)
    throw new ApiError(500, `failed to create typed patch object (${what}): ${wrong}`);
}

function applyConflict(conflicts: Map<ManagedEntry, FieldSet>): ApiError {
  const sorted = [...conflicts].sort(([a], [b]) => (managerText(a) < managerText(b) ? -1 : 1));
  const causes: StatusCause[] = sorted.flatMap(([entry, fields]) =>
    [...fields.paths()].map((at) => ({
      reason: 'FieldManagerConflict',
      message: `conflict with ${managerText(entry)}`,
      field: pathText(at),
    })),
  );
  const [only] = causes;
  const message =
    causes.length === 1
      ? `Apply failed with 1 conflict: ${only?.message}: ${only?.field}`
      : `Apply failed with ${causes.length} conflicts: ${sorted
          .map(([entry, fields]) =>
            [
              `conflicts with ${managerText(entry)}:`,
              ...[...fields.paths()].map((at) => `- ${pathText(at)}`),
            ].join('\n'),
          )
          .join('\n')}`;
  return new ApiError(409, message, { reason: 'Conflict', details: { causes } });
}
