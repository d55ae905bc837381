/**
 * The `metadata.managedFields` of an object after each write: the type of each kind, and which
 * fields a path can write. The field sets themselves are in apply/.
 */
import { FieldSet } from '../apply/field-set.ts';
import {
  fieldsOfLastApplied,
  LAST_APPLIED_MANAGER,
  withLastApplied,
} from '../apply/last-applied.ts';
import {
  decodeManagers,
  encodeManagers,
  isOwnershipReset,
  type Managers,
  sameButTimes,
} from '../apply/managers.ts';
import {
  excludeFields,
  type FieldWriter,
  type Filter,
  NotConvertible,
  onlyFields,
  ownApply,
  ownUpdate,
  pathOf,
  requireTyped,
} from '../apply/ownership.ts';
import { typeError } from '../apply/typed.ts';
import { FieldTypeError, readFields } from '../fields.ts';
import { type Json, type JsonObject, memberObject, sameJson, stringAt, without } from '../json.ts';
import { ApiError, badRequest } from '../status.ts';
import { valueAt, withoutValueAt } from './json-paths.ts';
import { apiVersionOf, isSigningRequest, type Kind } from './kinds.ts';
import { typeIn, typeOf, zeroObject } from './types.ts';

/** The manager and time of a write. */
export interface FieldManager {
  manager: string;
  now: string;
}

/**
 * The object before its create. Built-in kinds write members that are not set, which have no owner.
 */
function emptyObject(kind: Kind): JsonObject {
  return { apiVersion: apiVersionOf(kind), kind: kind.kind, ...zeroObject(kind) };
}

/** What signers and approvers cannot change in the status of a CertificateSigningRequest. */
const STATUS_RESET_FIELDS: Readonly<Record<string, readonly string[]>> = {
  status: ['conditions'],
  approval: ['certificate'],
};

/** The fields that writes through a path cannot change: GetResetFields of the kinds' strategies. */
function filterOf(kind: Kind, subresource: string): Filter {
  if (subresource === 'scale') return (fields) => fields;
  if (isSigningRequest(kind))
    return excludeFields(
      pathOf('spec'),
      pathOf('status', ...(STATUS_RESET_FIELDS[subresource] ?? [])),
    );
  if (subresource === '') return kind.status ? excludeFields(pathOf('status')) : (fields) => fields;
  if (!kind.builtIn) return onlyFields('status');
  if (subresource === 'finalize') return excludeFields(pathOf('status'));
  if (subresource !== 'status') return (fields) => fields;
  const kept = KEPT_BY_STATUS[kind.plural] ?? [];
  return excludeFields(
    pathOf('spec'),
    ...kept.map((name) => (name === '*' ? pathOf('metadata') : pathOf('metadata', name))),
  );
}

/** Metadata that a write to `/status` of a built-in kind does not change; `*`: all of it. */
export const KEPT_BY_STATUS: Readonly<Record<string, readonly string[]>> = {
  pods: ['deletionTimestamp', 'ownerReferences'],
  deployments: ['labels'],
  ...Object.fromEntries(
    [
      ...['apiservices', 'customresourcedefinitions', 'flowschemas', 'prioritylevelconfigurations'],
      ...['resourceclaims', 'servicecidrs', 'validatingadmissionpolicies', 'volumeattachments'],
    ].map((plural) => [plural, ['*']]),
  ),
};

const writerOf = (kind: Kind, subresource: string, by: FieldManager): FieldWriter => ({
  manager: by.manager || 'unknown',
  apiVersion: apiVersionOf(kind),
  typeIn: (apiVersion) => typeIn(kind, apiVersion),
  subresource,
  // The real server records no time for writes to a scale.
  now: subresource === 'scale' ? undefined : by.now,
  filter: filterOf(kind, subresource),
});

/** A scale omits replicas that are zero, so that they get no owner. */
function inScale(kind: Kind, object: JsonObject, subresource: string): JsonObject {
  const path = kind.scale?.specReplicas ?? '';
  const isNone = subresource === 'scale' && valueAt(object, path) === 0;
  return isNone ? withoutValueAt(object, path) : object;
}

function hasOwner(managers: Managers, path: string): boolean {
  const field = FieldSet.of([pathOf(...path.split('.').filter((name) => name !== ''))]);
  return [...managers.values()].some(({ fields }) => fields.intersection(field).size > 0);
}

const managedFieldsOf = (object: JsonObject): Json | undefined =>
  memberObject(object, 'metadata').managedFields;

/** The `managedFields` after an update or create; undefined: there are none. */
export function ownersAfter(
  kind: Kind,
  live: JsonObject | undefined,
  next: JsonObject,
  subresource: string,
  by: FieldManager,
): Json | undefined {
  const managers = managersFor(kind, live, next, subresource !== '');
  // A client that removed all managers gets none, until the next apply.
  if (live !== undefined && managers.size === 0) return undefined;
  // A scale has only the managers that own replicas.
  if (subresource === 'scale' && !hasOwner(managers, kind.scale?.specReplicas ?? ''))
    return encodeManagers(managers);
  // Fields that the type does not describe have no owner.
  if (!isTyped(kind, next) || (live !== undefined && !isTyped(kind, live))) return undefined;
  try {
    const owners = ownUpdate(
      typeOf(kind),
      live === undefined ? emptyObject(kind) : inScale(kind, live, subresource),
      inScale(kind, next, subresource),
      managers,
      writerOf(kind, subresource, by),
    );
    return owners.size === 0 ? undefined : encodeManagers(owners);
  } catch (error) {
    // An update never fails because of managedFields. They are dropped instead.
    if (error instanceof NotConvertible) return undefined;
    throw error;
  }
}

/** Without a schema, any member of a custom kind is valid. */
const isTyped = (kind: Kind, object: JsonObject): boolean =>
  (!kind.builtIn && kind.schema === undefined) ||
  typeError(typeOf(kind), object, [], true) === undefined;

/** The managers that a client sent with an object. Invalid ones are ignored. */
function managersFor(
  kind: Kind,
  live: JsonObject | undefined,
  next: JsonObject,
  liveOnly: boolean,
): Managers {
  const had = decodeManagers(live === undefined ? undefined : managedFieldsOf(live)) ?? new Map();
  if (liveOnly) return had;
  const given = managedFieldsOf(next);
  // Clients mostly send back the managers that they have read.
  if (live !== undefined && sameJson(given, managedFieldsOf(live))) return had;
  if (isOwnershipReset(given, kind.builtIn)) return new Map();
  const sent = decodeManagers(given);
  return sent === undefined || sent.size === 0 ? had : sent;
}

export interface AppliedObject {
  object: JsonObject;
  /** false: nothing changed, and no defaults are added. */
  changed: boolean;
  /** The metadata has empty lists or maps. For custom objects they are stored, but not returned. */
  hollow: boolean;
  managedFields: Json | undefined;
}

/**
 * Applies a configuration to an object, or to none. Throws 400 or 500 if it cannot be applied, and
 * 409 on conflicts.
 */
export function applyConfiguration(
  kind: Kind,
  live: JsonObject | undefined,
  config: JsonObject,
  subresource: string,
  by: FieldManager,
  force: boolean,
): AppliedObject {
  const type = typeOf(kind);
  const writer = writerOf(kind, subresource, by);
  let managers =
    live === undefined ? new Map() : (decodeManagers(managedFieldsOf(live)) ?? new Map());
  if (live !== undefined && managers.size === 0) {
    managers = ownUpdate(type, emptyObject(kind), live, managers, {
      ...writer,
      manager: 'before-first-apply',
    }) as typeof managers;
  }
  const takesOver = writer.manager === LAST_APPLIED_MANAGER;
  const allowed =
    takesOver && live ? fieldsOfLastApplied(type, live, writer.apiVersion) : undefined;
  const wrong = live === undefined ? undefined : typeError(type, live, [], true);
  if (wrong !== undefined) throw notTyped(kind, live, wrong);
  const result = ownApply(
    type,
    live ?? emptyObject(kind),
    config,
    managers,
    writer,
    force,
    allowed,
  );
  const managedFields = result.managers.size === 0 ? undefined : encodeManagers(result.managers);
  const made = result.object ?? live ?? emptyObject(kind);
  const object = takesOver ? withLastApplied(made, config) : made;
  const empty = (value: Json | undefined): boolean =>
    typeof value === 'object' && Object.keys(value ?? {}).length === 0;
  return {
    object: readApplied(kind, object),
    changed: result.object !== undefined || object !== made,
    hollow: !kind.builtIn && Object.values(memberObject(object, 'metadata')).some(empty),
    managedFields,
  };
}

function notTyped(kind: Kind, live: JsonObject | undefined, why: string): ApiError {
  const { namespace = '', name } = memberObject(live ?? {}, 'metadata');
  const what = `${String(namespace)}/${String(name)}; ${groupVersionOf(kind)}, Kind=${kind.kind}`;
  return new ApiError(500, `failed to create typed live object (${what}): ${why}`);
}

/** The error text of the real server, which decodes the result of an apply. */
function readApplied(kind: Kind, object: JsonObject): JsonObject {
  try {
    return readFields(kind, object, undefined, true).object;
  } catch (error) {
    if (!(error instanceof FieldTypeError)) throw error;
    const { namespace, name } = memberObject(object, 'metadata');
    const [what, as] = [`${namespace ?? ''}/${name}`, `${groupVersionOf(kind)}, Kind=${kind.kind}`];
    throw new ApiError(
      500,
      `failed to convert new object (${what}; ${as}) to proper version: unable to ` +
        `convert unstructured object to ${as}: error decoding from json: ${error.message}`,
    );
  }
}

/** Group and version as Go prints them: `apps/v1`, `/v1`. */
const groupVersionOf = ({ group, version }: Kind): string => `${group}/${version}`;

/** Throws if the configuration has another kind, or does not match the type of its kind. */
export function checkConfiguration(kind: Kind, config: JsonObject): void {
  const [group, version] = splitVersion(config);
  const name = typeof config.kind === 'string' ? config.kind : '';
  if (group !== kind.group || version !== kind.version || name !== kind.kind) {
    throw badRequest(`invalid object type: ${group}/${version}, Kind=${name}`);
  }
  const metadata = memberObject(config, 'metadata');
  if (metadata.managedFields !== undefined && metadata.managedFields !== null) {
    throw badRequest('metadata.managedFields must be nil');
  }
  const what =
    `${stringAt(metadata, 'namespace')}/${stringAt(metadata, 'name')}; ` +
    `${group}/${version}, Kind=${name}`;
  requireTyped(typeOf(kind), config, what);
}

function splitVersion(object: JsonObject): [group: string, version: string] {
  const apiVersion = typeof object.apiVersion === 'string' ? object.apiVersion : '';
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? ['', apiVersion] : [apiVersion.slice(0, slash), apiVersion.slice(slash + 1)];
}

/** Replaces the managedFields of the object. */
export function withOwners(object: JsonObject, managedFields: Json | undefined): JsonObject {
  const metadata = without(memberObject(object, 'metadata'), 'managedFields');
  return {
    ...object,
    metadata: managedFields === undefined ? metadata : { ...metadata, managedFields },
  };
}

/** Equal but for the times in managedFields, which alone are no change. */
export function sameObject(next: JsonObject, old: JsonObject): boolean {
  if (!sameButTimes(managedFieldsOf(next), managedFieldsOf(old))) return false;
  return sameJson(withOwners(next, undefined), withOwners(old, undefined));
}

/** Equal but for metadata and status. */
export const sameSpec = (a: JsonObject, b: JsonObject): boolean =>
  sameJson(without(a, 'metadata', 'status'), without(b, 'metadata', 'status'));
