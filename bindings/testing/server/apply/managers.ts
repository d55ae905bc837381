/**
 * Field managers: reads `metadata.managedFields`, changes it by a write, and writes it. An entry is
 * identified by the manager's name, operation, subresource and, except for Apply, API version.
 * apimachinery: pkg/util/managedfields/internal.
 */
import { isObject, type Json, type JsonObject, sameJson } from '../json.ts';
import { FieldSet } from './field-set.ts';

/** The fields of a manager. */
export interface ManagedEntry {
  manager: string;
  operation: 'Apply' | 'Update';
  apiVersion: string;
  subresource: string;
  time: string | undefined;
  fields: FieldSet;
}

export type Managers = ReadonlyMap<string, ManagedEntry>;

export const identifier = (entry: Omit<ManagedEntry, 'time' | 'fields'>): string =>
  JSON.stringify([
    entry.manager,
    entry.operation,
    entry.operation === 'Apply' ? '' : entry.apiVersion,
    entry.subresource,
  ]);

/** The decoded form of stored lists. Objects are never mutated, so that it stays valid. */
const decoded = new WeakMap<object, Managers>();

/** undefined for an invalid list. */
export function decodeManagers(managedFields: Json | undefined): Managers | undefined {
  if (!Array.isArray(managedFields)) return new Map();
  const known = decoded.get(managedFields);
  if (known !== undefined) return known;
  const managers = decode(managedFields);
  if (managers !== undefined) decoded.set(managedFields, managers);
  return managers;
}

function decode(managedFields: readonly Json[]): Managers | undefined {
  const managers = new Map<string, ManagedEntry>();
  for (const raw of managedFields) {
    if (!isObject(raw)) return undefined;
    const {
      manager = '',
      operation,
      apiVersion,
      fieldsType,
      fieldsV1,
      subresource = '',
      time,
    } = raw;
    if (operation !== 'Apply' && operation !== 'Update') return undefined;
    if (typeof manager !== 'string' || typeof subresource !== 'string') return undefined;
    if (typeof apiVersion !== 'string' || apiVersion === '' || fieldsType !== 'FieldsV1')
      return undefined;
    try {
      const fields = FieldSet.fromFieldsV1(fieldsV1);
      const entry = { manager, operation, apiVersion, subresource, fields } as const;
      managers.set(identifier(entry), {
        ...entry,
        time: typeof time === 'string' ? time : undefined,
      });
    } catch {
      return undefined;
    }
  }
  return managers;
}

/**
 * `[{}]` removes all managers, and so does `[]` for a built-in kind; for a custom kind `[]` counts
 * as a missing list.
 */
export function isOwnershipReset(managedFields: Json | undefined, builtIn: boolean): boolean {
  if (!Array.isArray(managedFields)) return false;
  return managedFields.length === 0
    ? builtIn
    : managedFields.length === 1 && sameJson(managedFields[0], {});
}

/** Apply entries come first, then by time and name. */
export function encodeManagers(managers: Managers): readonly JsonObject[] {
  const list = [...managers.values()].sort(compareEntries).map((entry) => ({
    ...(entry.manager === '' ? {} : { manager: entry.manager }),
    operation: entry.operation,
    apiVersion: entry.apiVersion,
    ...(entry.time === undefined ? {} : { time: entry.time }),
    fieldsType: 'FieldsV1',
    fieldsV1: entry.fields.toFieldsV1(),
    ...(entry.subresource === '' ? {} : { subresource: entry.subresource }),
  }));
  decoded.set(list, managers);
  return list;
}

function compareEntries(a: ManagedEntry, b: ManagedEntry): number {
  return (
    compareText(a.operation, b.operation) ||
    compareText(a.time ?? '', b.time ?? '') ||
    compareText(a.manager, b.manager) ||
    compareText(a.apiVersion, b.apiVersion) ||
    compareText(a.subresource, b.subresource)
  );
}

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Compares entries without their times. */
export function sameButTimes(a: Json | undefined, b: Json | undefined): boolean {
  const timeless = (list: Json | undefined): Json =>
    Array.isArray(list)
      ? (list as readonly Json[]).map((entry) =>
          isObject(entry) ? { ...entry, time: undefined } : entry,
        )
      : (list ?? null);
  return sameJson(timeless(a), timeless(b));
}

/** apimachinery: DefaultMaxUpdateManagers. */
const MOST_UPDATERS = 10;

/**
 * Merges the oldest Update entries of an API version into one, `ancient-changes`, until there are
 * at most ten.
 */
export function capUpdaters(managers: Managers): Managers {
  const updaters = [...managers]
    .filter(([, { operation }]) => operation === 'Update')
    .sort(
      ([a, left], [b, right]) =>
        compareText(left.time ?? '', right.time ?? '') || compareText(a, b),
    );
  if (updaters.length <= MOST_UPDATERS) return managers;
  const capped = new Map(managers);
  const first = new Map<string, string>();
  let count = updaters.length;
  for (const [id, entry] of updaters) {
    if (count <= MOST_UPDATERS) break;
    const { apiVersion } = entry;
    const bucket = {
      manager: 'ancient-changes',
      operation: 'Update',
      apiVersion,
      subresource: '',
    } as const;
    const bucketId = identifier(bucket);
    const firstId = first.get(apiVersion);
    if (firstId === undefined) {
      first.set(apiVersion, id);
      continue;
    }
    let gathered = capped.get(bucketId);
    if (gathered === undefined) {
      gathered = capped.get(firstId) as ManagedEntry;
      capped.delete(firstId);
    }
    capped.delete(id);
    count--;
    capped.set(bucketId, {
      ...bucket,
      time: entry.time,
      fields: entry.fields.union(gathered.fields),
    });
  }
  return capped;
}

/** A manager as in the message of a conflict: `"kubectl" using v1`. */
export function managerText(entry: ManagedEntry): string {
  const name = JSON.stringify(entry.manager);
  const where =
    entry.subresource === ''
      ? name
      : `${name} with subresource ${JSON.stringify(entry.subresource)}`;
  return entry.operation === 'Apply' ? where : `${where} using ${entry.apiVersion}`;
}
