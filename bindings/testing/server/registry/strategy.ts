/**
 * What the server makes of an object that is to be stored: which members the client may set, what
 * the server sets itself, and what is refused. apiserver: pkg/registry/rest (BeforeCreate,
 * BeforeUpdate) and the kinds' strategies.
 *
 * What built-in kinds are validated for is in ../validation.
 */

import { validateDefinition } from '../definitions/check.ts';
import {
  goText,
  isObject,
  type Json,
  type JsonObject,
  objectAt,
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
import { type Admission, admitted, admittedChange } from './admission.ts';
import { autoscalerAsShown, autoscalerAsStored, isOldAutoscaler } from './autoscaling-forms.ts';
import { isDefinition, withStoredVersion } from './definitions.ts';
import { embeddedErrors, withReadMetadata } from './embedded.ts';
import { apiVersionOf, type Kind, splitApiVersion } from './kinds.ts';
import { checksMetadata, createErrors, updateErrors, validateName } from './metadata.ts';
import { KEPT_BY_STATUS } from './owners.ts';
import { pathNames } from './paths.ts';
import { metadataOf } from './store.ts';
import { zeroObject } from './types.ts';

/** The subject of errors that speak of a resource: `configmaps "a" not found`. */
export const ofResource = (kind: Kind, name: string): Subject => ({
  group: kind.group,
  // The real server has no store for these.
  what: kind.plural === 'componentstatuses' ? 'componentstatus' : kind.plural,
  name,
});

/** The subject of errors that speak of a kind: `ConfigMap "a" is invalid`. */
export const ofKind = (kind: Kind, name: string): Subject => ({
  group: kind.group,
  what: kind.kind,
  name,
});

/** The subject by the server's own kinds: Events of both groups are of one. */
export const ofOwnKind = (kind: Kind, name: string): Subject => {
  const subject = ofKind(kind, name);
  return kind.builtIn && kind.kind === 'Event' ? { ...subject, group: '' } : subject;
};

/**
 * A custom object of another kind than its resource's, or by a patch of another version; said after
 * the object's name is known.
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
 * The members in the order in which the real server writes them: built-in kinds start with kind,
 * custom ones with apiVersion.
 */
export function assemble(kind: Kind, metadata: JsonObject, rest: JsonObject): JsonObject {
  const head: JsonObject = kind.builtIn
    ? { kind: kind.kind, apiVersion: apiVersionOf(kind) }
    : { apiVersion: apiVersionOf(kind), kind: kind.kind };
  return { ...head, metadata, ...without(rest, 'apiVersion', 'kind', 'metadata') };
}

/** What the status of a built-in kind starts with beside its zero values. */
const FIRST_STATUS: Record<string, JsonObject> = {
  pods: { phase: 'Pending' },
  namespaces: { phase: 'Active' },
  persistentvolumes: { phase: 'Pending' },
  persistentvolumeclaims: { phase: 'Pending' },
};

/**
 * Which of the kind's objects lose the status that a client creates them with. Nodes register
 * themselves with theirs.
 */
const ownsStatus = (kind: Kind): boolean =>
  kind.status && !(kind.builtIn && kind.plural === 'nodes');

/** apiserver: rest.WipeObjectMetaSystemFields. Only what is posted cannot be created as deleted. */
export const asPosted = (object: JsonObject): JsonObject => ({
  ...object,
  metadata: without(metadataOf(object), 'deletionTimestamp', 'deletionGracePeriodSeconds'),
});

/**
 * The object as it is stored first, its metadata complete but for the version. Throws 422 for what
 * is refused.
 */
export function forCreate(kind: Kind, object: JsonObject, set: Admission): JsonObject {
  const given = metadataOf(object);
  const members: Record<string, Json | undefined> = {
    name: set.name,
    generateName: given.generateName,
    namespace: given.namespace,
    uid: set.uid,
    resourceVersion: '',
    // Kinds that do not count generations keep what the client sends.
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
    const status = objectAt(objectAt(kind.schema ?? {}, 'properties'), 'status');
    if (kind.schema !== undefined && status.default !== undefined)
      rest = pruneAndDefault(kind.schema, rest, true);
    if (kind.builtIn) {
      rest = {
        ...rest,
        status: { ...objectAt(zeroObject(kind), 'status'), ...FIRST_STATUS[kind.plural] },
      };
    }
  }
  const made = admitted(kind, assemble(kind, metadata, rest), set);
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

/** What is wrong with Events is told by the rules for old ones first. */
function aheadOfName(kind: Kind, own: FieldError[]): [first: FieldError[], rest: FieldError[]] {
  const isFirst = ({ field }: FieldError): boolean =>
    kind.group === 'events.k8s.io' && field.startsWith('involvedObject');
  return [own.filter(isFirst), own.filter((error) => !isFirst(error))];
}

/**
 * The object an update or a patch of the main resource leads to; the version is the old one's until
 * it is stored.
 */
export function forUpdate(kind: Kind, object: JsonObject, old: JsonObject): JsonObject {
  const was = metadataOf(old);
  const metadata = carryOver(metadataOf(object), was);
  // A status that is the server's own is kept whatever the client sends.
  const kept = [
    ...(kind.status ? ['status'] : []),
    ...(kind.builtIn ? (KEPT_BY_UPDATE[kind.plural] ?? []) : []),
  ].map((member) => [member, old[member]]);
  const sent = compactTop({ ...object, ...Object.fromEntries(kept) });
  const rest = admittedChange(kind, { ...sent, metadata }, old);
  const whole = assemble(kind, withGeneration(kind, metadataOf(rest), was, rest, old), rest);
  const made = isDefinition(kind) ? withStoredVersion(whole) : whole;
  refuse(ofOwnKind(kind, stringAt(was, 'name')), [
    ...updateErrors(kind, metadata, was, 'object'),
    ...validateKind(kind, made, old),
  ]);
  return made;
}

/**
 * A write to `/status`: the status changes, and of built-in kinds what the kind lets change of the
 * metadata.
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
 * What a client may leave out of an update is taken from the object; what it cannot change is
 * checked afterwards.
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

/** What an update of these built-in kinds does not change. */
const KEPT_BY_UPDATE: Readonly<Record<string, readonly string[]>> = {
  certificatesigningrequests: ['spec'],
  namespaces: ['spec'],
};

const compactTop = (members: Record<string, Json | undefined>): JsonObject =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));

/** What of their metadata counts as a generation of these built-in kinds too. */
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
  // These have no generation until their spec changes.
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

/** With the generation after that of the object before. */
export function withNextGeneration(object: JsonObject, old: JsonObject): JsonObject {
  const generation = Number(metadataOf(old).generation ?? 0) + 1;
  return { ...object, metadata: { ...metadataOf(object), generation } };
}

/** The owners, each once. */
const distinct = (owners: Json | undefined): Json | undefined =>
  Array.isArray(owners)
    ? owners.filter((each, at) => !owners.slice(0, at).some((other) => sameJson(other, each)))
    : owners;

/** Without members that are undefined or empty lists and maps, in the order given. */
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
 * What a kind makes of an object as it is read, before anybody comes to own its fields: a Secret
 * has a type and its stringData in data, a Namespace its name as a label, a custom object the
 * defaults of its schema and no member that it does not know.
 *
 * @param applied it is what an applied configuration led to, and was not read
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
  const object = isOldAutoscaler(kind) ? autoscalerAsShown(autoscalerAsStored(filled)) : filled;
  const metadata = metadataOf(object);
  const labels = labelsOf(kind, metadata, stringAt(metadata, 'name'));
  if (labels !== metadata.labels) return { ...object, metadata: { ...metadata, labels } };
  if (kind.group !== '' || kind.plural !== 'secrets') return object;
  const text = objectAt(object, 'stringData');
  const data = objectAt(object, 'data');
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

/** A Namespace has its name as a label, also one that the server made up; that one is nobody's. */
function labelsOf(kind: Kind, metadata: JsonObject, name: string): Json | undefined {
  if (kind.plural !== 'namespaces' || kind.group !== '' || name === '') return metadata.labels;
  return { ...objectAt(metadata, 'labels'), 'kubernetes.io/metadata.name': name };
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

/** Items that stand twice, unless some did before: what was wrong may stay so. */
function newDuplicates(
  schema: Schema,
  object: JsonObject,
  old: JsonObject | undefined,
): FieldError[] {
  if (old !== undefined && duplicateItems(schema, old).length > 0) return [];
  return duplicateItems(schema, object);
}

/** With what the rules in CEL say, where the object is such that they can be asked. */
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

/** Of a write to `/status`: the real server looks at the status as if it were the object. */
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

/** Where a kind has a scale, its replicas must be a number that is not negative. */
function scaleErrors(
  kind: Kind,
  object: JsonObject,
  which: 'specReplicas' | 'statusReplicas',
): FieldError[] {
  if (kind.scale === undefined) return [];
  const path = kind.scale[which];
  const field = which === 'specReplicas' ? '.spec.replicas' : '.status.replicas';
  const inaccessible = (value: Json, wanted: string): FieldError[] => {
    const why = `${path} accessor error: ${goText(value)} is of the type ${goType(value)}, expected ${wanted}`;
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
