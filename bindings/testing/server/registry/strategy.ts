/**
 * What the server changes in an object before it is stored: which members the client may set, what
 * the server sets, and what it refuses. apiserver: pkg/registry/rest (BeforeCreate, BeforeUpdate)
 * and the kinds' strategies. The rules for built-in kinds are in ../validation.
 */

import { validateDefinition } from '../definitions/check.ts';
import {
  goText,
  isObject,
  type Json,
  type JsonObject,
  memberObject,
  sameJson,
  stringAt,
  without,
} from '../json.ts';
import { evaluateRules, hasRules, uncheckedRules } from '../rules/evaluate.ts';
import { loadedCel } from '../rules/library.ts';
import { pruneAndDefault } from '../schema/defaults.ts';
import { withKindDefaults } from '../schema/kind-defaults.ts';
import { duplicateItems } from '../schema/list-keys.ts';
import type { Schema } from '../schema/structural.ts';
import { validateObject } from '../schema/validate.ts';
import { type FieldError, fieldInvalid, invalidObject, type Subject } from '../status.ts';
import { validateBuiltIn } from '../validation/index.ts';
import { type Admission, withKeptFields, withServerFields } from './admission.ts';
import { autoscalerToV1, autoscalerToV2, isOldAutoscaler } from './autoscaling-conversion.ts';
import { isDefinition, withStoredVersion } from './definitions.ts';
import { embeddedErrors, withReadMetadata } from './embedded-resources.ts';
import { pathNames } from './json-paths.ts';
import { apiVersionOf, type Kind, splitApiVersion } from './kinds.ts';
import { checksMetadata, createErrors, updateErrors, validateName } from './metadata.ts';
import { KEPT_BY_STATUS } from './owners.ts';
import { metadataOf } from './store.ts';
import { zeroObject } from './types.ts';

/** The subject of errors about a resource: `configmaps "a" not found`. */
export const ofResource = (kind: Kind, name: string): Subject => ({
  group: kind.group,
  // The real server has no store for these.
  what: kind.plural === 'componentstatuses' ? 'componentstatus' : kind.plural,
  name,
});

/** The subject of errors about a kind: `ConfigMap "a" is invalid`. */
export const ofKind = (kind: Kind, name: string): Subject => ({
  group: kind.group,
  what: kind.kind,
  name,
});

/** The subject by the internal kind, which Events of both groups share. */
export const ofOwnKind = (kind: Kind, name: string): Subject => {
  const subject = ofKind(kind, name);
  return kind.builtIn && kind.kind === 'Event' ? { ...subject, group: '' } : subject;
};

/**
 * Throws for a custom object whose kind, or after a patch version, is not that of its resource.
 * Checked after the name.
 */
export function requireKind(kind: Kind, object: JsonObject, name: string): void {
  if (!kind.known || kind.builtIn) return;
  const wanted: JsonObject = { kind: kind.kind, apiVersion: apiVersionOf(kind) };
  const wrong = Object.entries(wanted).filter(([member, value]) => object[member] !== value);
  refuse(
    {
      group: splitApiVersion(stringAt(object, 'apiVersion')).group,
      what: stringAt(object, 'kind'),
      name,
    },
    wrong.map(([member, value]) => fieldInvalid(member, object[member], `must be ${value}`)),
  );
}

/**
 * Orders the members as the real server writes them: built-in kinds start with kind, custom ones
 * with apiVersion.
 */
export function assemble(kind: Kind, metadata: JsonObject, rest: JsonObject): JsonObject {
  const head: JsonObject = kind.builtIn
    ? { kind: kind.kind, apiVersion: apiVersionOf(kind) }
    : { apiVersion: apiVersionOf(kind), kind: kind.kind };
  return { ...head, metadata, ...without(rest, 'apiVersion', 'kind', 'metadata') };
}

/** The initial status of a built-in kind, beside its zero values. */
const FIRST_STATUS: Record<string, JsonObject> = {
  pods: { phase: 'Pending' },
  namespaces: { phase: 'Active' },
  persistentvolumes: { phase: 'Pending' },
  persistentvolumeclaims: { phase: 'Pending' },
};

/** Whether a create drops the status that the client sends. Nodes register with theirs. */
const ownsStatus = (kind: Kind): boolean =>
  kind.status && !(kind.builtIn && kind.plural === 'nodes');

/** apiserver: rest.WipeObjectMetaSystemFields. Only a POST cannot create an object as deleted. */
export const asPosted = (object: JsonObject): JsonObject => ({
  ...object,
  metadata: without(metadataOf(object), 'deletionTimestamp', 'deletionGracePeriodSeconds'),
});

/** The object in its first stored state, without the version. Throws 422 if it is invalid. */
export function forCreate(kind: Kind, object: JsonObject, set: Admission): JsonObject {
  const given = metadataOf(object);
  const members: Record<string, Json | undefined> = {
    name: set.name,
    generateName: given.generateName,
    namespace: given.namespace,
    uid: set.uid,
    resourceVersion: '',
    // Kinds without generations keep the one that the client sends.
    generation: kind.generation === 'none' ? given.generation : 1,
    creationTimestamp: set.now,
    deletionTimestamp: given.deletionTimestamp,
    deletionGracePeriodSeconds: given.deletionGracePeriodSeconds,
    labels: labelsOf(kind, given, set.name),
    annotations: given.annotations,
    ownerReferences: distinct(given.ownerReferences),
    finalizers: given.finalizers,
    managedFields: given.managedFields,
  };
  const metadata = compact(members);
  let rest: JsonObject = object;
  if (ownsStatus(kind)) {
    rest = without(object, 'status');
    const status = memberObject(memberObject(kind.schema ?? {}, 'properties'), 'status');
    if (kind.schema !== undefined && status.default !== undefined)
      rest = pruneAndDefault(kind.schema, rest, true);
    if (kind.builtIn) {
      rest = {
        ...rest,
        status: { ...memberObject(zeroObject(kind), 'status'), ...FIRST_STATUS[kind.plural] },
      };
    }
  }
  const made = withServerFields(kind, assemble(kind, metadata, rest), set);
  const own = validateKind(kind, made, undefined);
  const subject = ofOwnKind(kind, set.name);
  if (!checksMetadata(kind)) refuse(subject, own);
  const [first, others] = aheadOfName(kind, own);
  refuse(subject, [
    ...first,
    ...validateName(kind, made),
    ...createErrors(kind, metadataOf(made)),
    ...others,
  ]);
  return made;
}

/** For Events the errors of the legacy rules come first. */
function aheadOfName(kind: Kind, own: FieldError[]): [first: FieldError[], rest: FieldError[]] {
  const isFirst = ({ field }: FieldError): boolean =>
    kind.group === 'events.k8s.io' && field.startsWith('involvedObject');
  return [own.filter(isFirst), own.filter((error) => !isFirst(error))];
}

/**
 * The result of an update or patch of the object itself; it keeps the old version until it is
 * stored.
 */
export function forUpdate(kind: Kind, object: JsonObject, old: JsonObject): JsonObject {
  const was = metadataOf(old);
  const metadata = carryOver(metadataOf(object), was);
  // With a status subresource, the old status is kept.
  const kept = [
    ...(kind.status ? ['status'] : []),
    ...(kind.builtIn ? (KEPT_BY_UPDATE[kind.plural] ?? []) : []),
  ].map((member) => [member, old[member]]);
  const sent = compactTop({ ...object, ...Object.fromEntries(kept) });
  const rest = withKeptFields(kind, { ...sent, metadata }, old);
  const whole = assemble(kind, withGeneration(kind, metadataOf(rest), was, rest, old), rest);
  const made = isDefinition(kind) ? withStoredVersion(whole) : whole;
  refuse(ofOwnKind(kind, stringAt(was, 'name')), [
    ...updateErrors(kind, metadata, was, 'object'),
    ...validateKind(kind, made, old),
  ]);
  return made;
}

/**
 * The result of a write to `/status`: the status changes and, for built-in kinds, the metadata that
 * the kind allows.
 */
export function forStatusUpdate(
  kind: Kind,
  object: JsonObject,
  old: JsonObject,
  part: 'status' | 'approval' = 'status',
): JsonObject {
  const { status } = object;
  const was = metadataOf(old);
  const { managedFields } = metadataOf(object);
  const metadata = kind.builtIn
    ? statusMetadata(kind, metadataOf(object), was)
    : compact({ ...was, managedFields });
  const made = assemble(kind, metadata, {
    ...without(old, 'status'),
    ...(status === undefined || status === null ? {} : { status }),
  });
  const found = kind.builtIn
    ? [...updateErrors(kind, metadata, was, 'status'), ...validateBuiltIn(kind, made, old, part)]
    : validateStatus(kind, made, old);
  refuse(ofOwnKind(kind, stringAt(was, 'name')), found);
  return made;
}

function statusMetadata(kind: Kind, given: JsonObject, was: JsonObject): JsonObject {
  const kept = KEPT_BY_STATUS[kind.plural] ?? [];
  const { managedFields } = given;
  if (kept.includes('*')) return compact({ ...was, managedFields });
  const carried = carryOver(given, was);
  return compact({ ...carried, ...Object.fromEntries(kept.map((name) => [name, was[name]])) });
}

/**
 * Metadata that a client may omit in an update is taken from the old object. What must not change
 * is checked afterwards.
 */
function carryOver(given: JsonObject, was: JsonObject): JsonObject {
  return compact({
    name: given.name ?? was.name,
    generateName: given.generateName,
    namespace: given.namespace ?? was.namespace,
    uid: given.uid ?? was.uid,
    resourceVersion: was.resourceVersion,
    generation: was.generation,
    creationTimestamp: was.creationTimestamp,
    deletionTimestamp: was.deletionTimestamp ?? given.deletionTimestamp,
    deletionGracePeriodSeconds: given.deletionGracePeriodSeconds ?? was.deletionGracePeriodSeconds,
    labels: given.labels,
    annotations: given.annotations,
    ownerReferences: distinct(given.ownerReferences),
    finalizers: given.finalizers,
    managedFields: given.managedFields,
  });
}

/** Members of built-in kinds that an update does not change. */
const KEPT_BY_UPDATE: Readonly<Record<string, readonly string[]>> = {
  certificatesigningrequests: ['spec'],
  namespaces: ['spec'],
};

const compactTop = (members: Record<string, Json | undefined>): JsonObject =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));

/** Metadata whose change increments the generation of these built-in kinds too. */
const COUNTED: Readonly<Record<string, string>> = {
  deployments: 'annotations',
  endpointslices: 'labels',
};

function withGeneration(
  kind: Kind,
  metadata: JsonObject,
  was: JsonObject,
  now: JsonObject,
  old: JsonObject,
): JsonObject {
  // CSIDrivers have no generation until their spec changes.
  if (kind.builtIn && kind.plural === 'csidrivers' && !sameJson(now.spec, old.spec))
    return { ...metadata, generation: Number(was.generation ?? 0) + 1 };
  const counts = kind.generation === 'spec' || kind.generation === 'all';
  if (!counts || typeof was.generation !== 'number') return metadata;
  const apart = kind.status
    ? ['apiVersion', 'kind', 'metadata', 'status']
    : ['apiVersion', 'kind', 'metadata'];
  const same =
    kind.generation === 'spec' && (now.spec !== undefined || old.spec !== undefined)
      ? sameJson(now.spec, old.spec)
      : sameJson(without(now, ...apart), without(old, ...apart));
  const counted = kind.builtIn ? COUNTED[kind.plural] : undefined;
  const sameMetadata = counted === undefined || sameJson(metadata[counted], was[counted]);
  return same && sameMetadata ? metadata : { ...metadata, generation: was.generation + 1 };
}

/** Increments the generation of the old object. */
export function withNextGeneration(object: JsonObject, old: JsonObject): JsonObject {
  const generation = Number(metadataOf(old).generation ?? 0) + 1;
  return { ...object, metadata: { ...metadataOf(object), generation } };
}

/** Without duplicate entries. */
const distinct = (owners: Json | undefined): Json | undefined =>
  Array.isArray(owners)
    ? owners.filter((each, at) => !owners.slice(0, at).some((other) => sameJson(other, each)))
    : owners;

/** Drops members that are undefined, null or empty lists and maps, and keeps the order. */
function compact(members: Record<string, Json | undefined>): JsonObject {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => {
      if (value === undefined || value === null) return false;
      return typeof value !== 'object' || Object.keys(value).length > 0;
    }),
  );
}

function refuse(subject: Subject, errors: FieldError[]): void {
  if (errors.length > 0) throw invalidObject(subject, errors);
}

/**
 * What a kind changes in a decoded object, before the fields get owners: the type of a Secret and
 * its stringData, the name label of a Namespace, the defaults and pruning of a custom object.
 *
 * @param applied the object is the result of an apply, and was not decoded
 */
export function prepare(kind: Kind, given: JsonObject, applied = false): JsonObject {
  if (!kind.builtIn)
    return kind.schema === undefined
      ? given
      : pruneAndDefault(
          kind.schema,
          applied ? given : (withReadMetadata(kind.schema, given) as JsonObject),
          applied,
        );
  const filled = withKindDefaults(kind, given);
  const object = isOldAutoscaler(kind) ? autoscalerToV1(autoscalerToV2(filled)) : filled;
  const metadata = metadataOf(object);
  const labels = labelsOf(kind, metadata, stringAt(metadata, 'name'));
  if (labels !== metadata.labels) return { ...object, metadata: { ...metadata, labels } };
  if (kind.group !== '' || kind.plural !== 'secrets') return object;
  const text = memberObject(object, 'stringData');
  const data = memberObject(object, 'data');
  const encoded = Object.entries(text).map(([key, value]): [string, Json] => [
    key,
    Buffer.from(typeof value === 'string' ? value : '', 'utf8').toString('base64'),
  ]);
  const merged = Object.fromEntries([...Object.entries(data), ...encoded]);
  return {
    ...without(object, 'stringData', 'data', 'type'),
    ...(Object.keys(merged).length > 0 ? { data: merged } : {}),
    type: stringAt(object, 'type') || 'Opaque',
  };
}

/** The name label of a Namespace. For a generated name the label has no owner. */
function labelsOf(kind: Kind, metadata: JsonObject, name: string): Json | undefined {
  if (kind.plural !== 'namespaces' || kind.group !== '' || name === '') return metadata.labels;
  return { ...memberObject(metadata, 'labels'), 'kubernetes.io/metadata.name': name };
}

function validateKind(kind: Kind, object: JsonObject, old: JsonObject | undefined): FieldError[] {
  if (!kind.builtIn)
    return kind.schema === undefined ? [] : validateCustom(kind, kind.schema, object, old);
  if (isDefinition(kind)) return validateDefinition(object, old);
  return validateBuiltIn(kind, object, old);
}

function validateCustom(
  kind: Kind,
  schema: Schema,
  object: JsonObject,
  old: JsonObject | undefined,
): FieldError[] {
  const errors = [
    ...validateObject(schema, object, old),
    ...scaleErrors(kind, object, 'specReplicas'),
    ...embeddedErrors(schema, object),
    ...newDuplicates(schema, object, old),
  ];
  return withRules(schema, object, old, errors);
}

/** Duplicate items, unless the old object had some too (ratcheting). */
function newDuplicates(
  schema: Schema,
  object: JsonObject,
  old: JsonObject | undefined,
): FieldError[] {
  if (old !== undefined && duplicateItems(schema, old).length > 0) return [];
  return duplicateItems(schema, object);
}

/** Adds the errors of CEL rules, if the object is valid enough to evaluate them. */
function withRules(
  schema: Schema,
  object: Json,
  old: Json | undefined,
  errors: readonly FieldError[],
): FieldError[] {
  if (!hasRules(schema) || loadedCel() === undefined) return [...errors];
  const blocked = uncheckedRules(errors);
  return [...errors, ...(blocked.length > 0 ? blocked : evaluateRules(schema, object, old))];
}

/**
 * The errors of a write to `/status`, where the real server validates the status as if it were the
 * object.
 */
function validateStatus(kind: Kind, object: JsonObject, old: JsonObject): FieldError[] {
  if (kind.schema === undefined) return [];
  const errors = validateObject(kind.schema, object, old).map((error) => ({
    ...error,
    message: error.message.replace(': status.', ': '),
  }));
  const found = [
    ...errors,
    ...scaleErrors(kind, object, 'statusReplicas'),
    ...newDuplicates(kind.schema, object, old),
  ];
  return withRules(kind.schema, object, old, found);
}

/** With a scale subresource, the replicas must be a number that is not negative. */
function scaleErrors(
  kind: Kind,
  object: JsonObject,
  which: 'specReplicas' | 'statusReplicas',
): FieldError[] {
  if (kind.scale === undefined) return [];
  const path = kind.scale[which];
  const field = which === 'specReplicas' ? '.spec.replicas' : '.status.replicas';
  const inaccessible = (value: Json, wanted: string): FieldError[] => {
    const why =
      `${path} accessor error: ${goText(value)} is of the type ${goType(value)}, ` +
      `expected ${wanted}`;
    return [fieldInvalid(field, 0, why)];
  };
  let value: Json | undefined = object;
  for (const name of pathNames(path)) {
    if (value === undefined || value === null) return [];
    if (!isObject(value)) return inaccessible(value, 'map[string]interface{}');
    value = value[name];
  }
  if (value === undefined || value === null) return [];
  if (typeof value !== 'number' || !Number.isInteger(value)) return inaccessible(value, 'int64');
  return value < 0 ? [fieldInvalid(field, value, 'should be a non-negative integer')] : [];
}

function goType(value: Json): string {
  if (Array.isArray(value)) return '[]interface {}';
  if (isObject(value)) return 'map[string]interface {}';
  return typeof value === 'number' ? 'float64' : typeof value === 'boolean' ? 'bool' : typeof value;
}
