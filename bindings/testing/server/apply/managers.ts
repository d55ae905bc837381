/**
 * Who owns which fields: `metadata.managedFields` read, changed by a write, and written again. A
 * manager is known by its name, the operation, the subresource and, unless it applies, the version
 * it wrote in. apimachinery: pkg/util/managedfields/internal.
 */
import { isObject, type Json, type JsonObject, sameJson } from '../json.ts';
import { FieldSet } from './field-set.ts';

/** A manager's fields. */
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

/**
 * What stored lists say, as they were written: objects are never mutated, so that a list means the
 * same for as long as it lives.
 */
const decoded = new WeakMap<object, Managers>();

/** undefined for what is no list of managers. */
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
 * `[{}]` asks that nobody owns anything, and `[]` of a built-in kind: a custom object is read as if
 * it had no such list.
 */
export function isOwnershipReset(managedFields: Json | undefined, builtIn: boolean): boolean {
  if (!Array.isArray(managedFields)) return false;
  return managedFields.length === 0
    ? builtIn
    : managedFields.length === 1 && sameJson(managedFields[0], {});
}

/** Who applied comes first, then by time and name. */
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

/** The same but for the times. */
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
 * Merges the oldest updaters of a version into one, `ancient-changes`, until there are no more than
 * ten.
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

/** `"kubectl" using v1`, as conflicts name a manager. */
export function managerText(entry: ManagedEntry): string {
  const name = JSON.stringify(entry.manager);
  const where =
    entry.subresource === ''
      ? name
      : `${name} with subresource ${JSON.stringify(entry.subresource)}`;
  return entry.operation === 'Apply' ? where : `${where} using ${entry.apiVersion}`;
}
