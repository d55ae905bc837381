/**
 * The owners of an object's fields, from write to write: what each kind's type is, which fields a
 * path can write, and what `metadata.managedFields` of the written object says. The bookkeeping
 * itself is in apply/.
 */
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
import { type Json, type JsonObject, objectAt, sameJson, stringAt, without } from '../json.ts';
import { ApiError, badRequest } from '../status.ts';
import { apiVersionOf, isSigningRequest, type Kind } from './kinds.ts';
import { valueAt, withoutValueAt } from './paths.ts';
import { typeIn, typeOf, zeroObject } from './types.ts';

/** Who writes, as the request says. */
export interface FieldManager {
  manager: string;
  now: string;
}

/**
 * What an object is before it has anything. Built-in kinds write members that are not set, and
 * those are nobody's.
 */
function nothing(kind: Kind): JsonObject {
  return { apiVersion: apiVersionOf(kind), kind: kind.kind, ...zeroObject(kind) };
}

/** What of the status of a CertificateSigningRequest these do not change; others change nothing. */
const NOT_SIGNED: Readonly<Record<string, readonly string[]>> = {
  status: ['conditions'],
  approval: ['certificate'],
};

/** What writes through a path cannot change: the kinds' GetResetFields. */
function filterOf(kind: Kind, subresource: string): Filter {
  if (subresource === 'scale') return (fields) => fields;
  if (isSigningRequest(kind))
    return excludeFields(pathOf('spec'), pathOf('status', ...(NOT_SIGNED[subresource] ?? [])));
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

/**
 * What of the metadata a write to `/status` of a built-in kind does not change; `*`: nothing of it.
 */
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
  // Who writes a scale is not told when: the real server keeps no time for these.
  now: subresource === 'scale' ? undefined : by.now,
  filter: filterOf(kind, subresource),
});

/** A scale leaves out replicas that are none: nobody owns them by it. */
function inScale(kind: Kind, object: JsonObject, subresource: string): JsonObject {
  const path = kind.scale?.specReplicas ?? '';
  const isNone = subresource === 'scale' && valueAt(object, path) === 0;
  return isNone ? withoutValueAt(object, path) : object;
}

const managedFieldsOf = (object: JsonObject): Json | undefined =>
  objectAt(object, 'metadata').managedFields;

/** The `managedFields` of what an update or a creation makes; undefined: there are none. */
export function ownersAfter(
  kind: Kind,
  live: JsonObject | undefined,
  next: JsonObject,
  subresource: string,
  by: FieldManager,
): Json | undefined {
  const managers = managersFor(kind, live, next, subresource !== '');
  // Who took all owners away wants none, until somebody applies.
  if (live !== undefined && managers.size === 0) return undefined;
  // Of what its type does not describe nobody owns anything.
  if (!isTyped(kind, next) || (live !== undefined && !isTyped(kind, live))) return undefined;
  try {
    const owners = ownUpdate(
      typeOf(kind),
      live === undefined ? nothing(kind) : inScale(kind, live, subresource),
      inScale(kind, next, subresource),
      managers,
      writerOf(kind, subresource, by),
    );
    return owners.size === 0 ? undefined : encodeManagers(owners);
  } catch (error) {
    // An update is never refused for its owners: there are none then.
    if (error instanceof NotConvertible) return undefined;
    throw error;
  }
}

/** Of a custom kind without a schema any member is right. */
const isTyped = (kind: Kind, object: JsonObject): boolean =>
  (!kind.builtIn && kind.schema === undefined) ||
  typeError(typeOf(kind), object, [], true) === undefined;

/** A client may send managers of its own with an object; what it gets wrong does not count. */
function managersFor(
  kind: Kind,
  live: JsonObject | undefined,
  next: JsonObject,
  liveOnly: boolean,
): Managers {
  const had = decodeManagers(live === undefined ? undefined : managedFieldsOf(live)) ?? new Map();
  if (liveOnly) return had;
  const given = managedFieldsOf(next);
  // What was read is mostly sent back as it was.
  if (live !== undefined && sameJson(given, managedFieldsOf(live))) return had;
  if (isOwnershipReset(given, kind.builtIn)) return new Map();
  const sent = decodeManagers(given);
  return sent === undefined || sent.size === 0 ? had : sent;
}

export interface AppliedObject {
  object: JsonObject;
  /** false: the object is as it was, and gets no defaults either. */
  changed: boolean;
  /**
   * Its metadata has empty lists or maps: those of custom objects are stored, and only not shown.
   */
  hollow: boolean;
  managedFields: Json | undefined;
}

/**
 * Applies a configuration to an object, or to none. Throws a 400 or 500 for what cannot be applied,
 * and a 409 for conflicts.
 */
export function applied(
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
    managers = ownUpdate(type, nothing(kind), live, managers, {
      ...writer,
      manager: 'before-first-apply',
    }) as typeof managers;
  }
  const takesOver = writer.manager === LAST_APPLIED_MANAGER;
  const allowed =
    takesOver && live ? fieldsOfLastApplied(type, live, writer.apiVersion) : undefined;
  const wrong = live === undefined ? undefined : typeError(type, live, [], true);
  if (wrong !== undefined) throw notTyped(kind, live, wrong);
  const result = ownApply(type, live ?? nothing(kind), config, managers, writer, force, allowed);
  const managedFields = result.managers.size === 0 ? undefined : encodeManagers(result.managers);
  const made = result.object ?? live ?? nothing(kind);
  const object = takesOver ? withLastApplied(made, config) : made;
  const empty = (value: Json | undefined): boolean =>
    typeof value === 'object' && Object.keys(value ?? {}).length === 0;
  return {
    object: readApplied(kind, object),
    changed: result.object !== undefined || object !== made,
    hollow: !kind.builtIn && Object.values(objectAt(object, 'metadata')).some(empty),
    managedFields,
  };
}

function notTyped(kind: Kind, live: JsonObject | undefined, why: string): ApiError {
  const { namespace = '', name } = objectAt(live ?? {}, 'metadata');
  const what = `${String(namespace)}/${String(name)}; ${groupVersionOf(kind)}, Kind=${kind.kind}`;
  return new ApiError(500, `failed to create typed live object (${what}): ${why}`);
}

/** The words of the real server, which reads what an applied configuration led to. */
function readApplied(kind: Kind, object: JsonObject): JsonObject {
  try {
    return readFields(kind, object, undefined, true).object;
  } catch (error) {
    if (!(error instanceof FieldTypeError)) throw error;
    const { namespace, name } = objectAt(object, 'metadata');
    const [what, as] = [`${namespace ?? ''}/${name}`, `${groupVersionOf(kind)}, Kind=${kind.kind}`];
    throw new ApiError(
      500,
      `failed to convert new object (${what}; ${as}) to proper version: unable to convert unstructured object to ${as}: error decoding from json: ${error.message}`,
    );
  }
}

/** As Go shows a group and version: `apps/v1`, `/v1`. */
const groupVersionOf = ({ group, version }: Kind): string => `${group}/${version}`;

/** Throws for a configuration that is of another kind, or not of its kind's type. */
export function checkConfiguration(kind: Kind, config: JsonObject): void {
  const [group, version] = splitVersion(config);
  const name = typeof config.kind === 'string' ? config.kind : '';
  if (group !== kind.group || version !== kind.version || name !== kind.kind) {
    throw badRequest(`invalid object type: ${group}/${version}, Kind=${name}`);
  }
  const metadata = objectAt(config, 'metadata');
  if (metadata.managedFields !== undefined && metadata.managedFields !== null) {
    throw badRequest('metadata.managedFields must be nil');
  }
  const what = `${stringAt(metadata, 'namespace')}/${stringAt(metadata, 'name')}; ${group}/${version}, Kind=${name}`;
  requireTyped(typeOf(kind), config, what);
}

function splitVersion(object: JsonObject): [group: string, version: string] {
  const apiVersion = typeof object.apiVersion === 'string' ? object.apiVersion : '';
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? ['', apiVersion] : [apiVersion.slice(0, slash), apiVersion.slice(slash + 1)];
}

/** The object with these managers in place of those it has. */
export function withOwners(object: JsonObject, managedFields: Json | undefined): JsonObject {
  const metadata = without(objectAt(object, 'metadata'), 'managedFields');
  return {
    ...object,
    metadata: managedFields === undefined ? metadata : { ...metadata, managedFields },
  };
}

/** The same but for when managers wrote: that alone is no change. */
export function sameObject(next: JsonObject, old: JsonObject): boolean {
  if (!sameButTimes(managedFieldsOf(next), managedFieldsOf(old))) return false;
  return sameJson(withOwners(next, undefined), withOwners(old, undefined));
}

/** The same but for metadata and status. */
export const sameSpec = (a: JsonObject, b: JsonObject): boolean =>
  sameJson(without(a, 'metadata', 'status'), without(b, 'metadata', 'status'));
