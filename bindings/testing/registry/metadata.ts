/**
 * `metadata` as the server keeps it: the members it knows, of the types they must have, none of
 * them empty. What a client may not set (uid, times, generation, managedFields, selfLink) is
 * decided in strategy.ts; here is only the shape.
 */
import {
  isObject,
  type Json,
  type JsonObject,
  objectAt,
  stringAt,
  unmarshalError,
} from '../json.ts';
import {
  ApiError,
  type FieldError,
  fieldForbidden,
  fieldInvalid,
  fieldRequired,
  fieldTooLong,
} from '../status.ts';
import type { Kind } from './kinds.ts';
import { dnsLabel, labelValue, pathSegment, qualifiedName, subdomain } from './names.ts';

const STRINGS = [
  'name',
  'generateName',
  'namespace',
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'deletionTimestamp',
];
const NUMBERS = ['generation', 'deletionGracePeriodSeconds'];
const MAPS = ['labels', 'annotations'];
/** The order in which members are kept. */
const ORDER = [
  ...[
    'name',
    'generateName',
    'namespace',
    'uid',
    'resourceVersion',
    'generation',
    'creationTimestamp',
  ],
  ...[
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
    'labels',
    'annotations',
    'ownerReferences',
    'finalizers',
  ],
  'managedFields',
];

/** The words of Go's JSON decoder, which the real server passes on. */
const mismatch = (kind: Kind, member: string, value: Json, type: string): Error =>
  new MetadataTypeError(
    kind,
    unmarshalError(value, `Go struct field ObjectMeta.${member} of type ${type}`),
  );

/**
 * Metadata of another type: a 400 where it was sent, and where a patch led to it what that makes of
 * `why`.
 */
export class MetadataTypeError extends ApiError {
  readonly why: string;

  constructor(kind: Kind, why: string) {
    super(
      400,
      `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: ${why}`,
      {
        reason: 'BadRequest',
      },
    );
    this.why = why;
  }
}

/**
 * Known members of the right types, in a fixed order; empty ones and null are dropped, unknown ones
 * ignored.
 */
export function normalizeMetadata(kind: Kind, raw: Json | undefined): JsonObject {
  if (raw === undefined || raw === null) return {};
  if (!isObject(raw)) throw mismatch(kind, 'metadata', raw, 'v1.ObjectMeta');
  const members: [string, Json][] = [];
  for (const member of ORDER) {
    const value = raw[member];
    if (value === undefined || value === null) continue;
    if (STRINGS.includes(member)) {
      if (typeof value !== 'string')
        throw mismatch(kind, member, value, member.endsWith('Timestamp') ? 'v1.Time' : 'string');
      if (value !== '') members.push([member, value]);
    } else if (NUMBERS.includes(member)) {
      if (typeof value !== 'number') throw mismatch(kind, member, value, 'int64');
      // Go has a pointer to the seconds, and leaves out a generation of zero.
      if (value !== 0 || member !== 'generation') members.push([member, value]);
    } else if (MAPS.includes(member)) {
      const map = stringMap(kind, member, value);
      if (Object.keys(map).length > 0) members.push([member, map]);
    } else if (member === 'managedFields') {
      // An empty list is kept: it asks that nobody owns anything.
      members.push([member, objectList(kind, member, value)]);
    } else {
      const list =
        member === 'finalizers' ? stringList(kind, member, value) : objectList(kind, member, value);
      if (list.length > 0) members.push([member, list]);
    }
  }
  return Object.fromEntries(members);
}

function stringMap(kind: Kind, member: string, value: Json): JsonObject {
  if (!isObject(value)) throw mismatch(kind, member, value, 'map[string]string');
  for (const item of Object.values(value)) {
    if (typeof item !== 'string' && item !== null && item !== undefined)
      throw mismatch(kind, member, item, 'string');
  }
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, item ?? '']));
}

function stringList(kind: Kind, member: string, value: Json): readonly Json[] {
  if (!Array.isArray(value)) throw mismatch(kind, member, value, '[]string');
  const wrong = value.find((item: Json) => typeof item !== 'string');
  if (wrong !== undefined) throw mismatch(kind, member, wrong, 'string');
  return value;
}

function objectList(kind: Kind, member: string, value: Json): readonly Json[] {
  const type = member === 'managedFields' ? 'v1.ManagedFieldsEntry' : 'v1.OwnerReference';
  if (!Array.isArray(value)) throw mismatch(kind, member, value, `[]${type}`);
  const wrong = value.find((item: Json) => !isObject(item));
  if (wrong !== undefined) throw mismatch(kind, member, wrong, type);
  return value;
}

/** apimachinery: TotalAnnotationSizeLimitB, keys and values in bytes. */
const MOST_ANNOTATIONS = 256 * 1024;

/** Labels, annotations, owner references and finalizers of an object that is created or updated. */
export function validateMetadata(kind: Kind, metadata: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  for (const [key, value] of Object.entries(isObject(metadata.labels) ? metadata.labels : {})) {
    for (const why of qualifiedName(key)) errors.push(fieldInvalid('metadata.labels', key, why));
    for (const why of labelValue(String(value)))
      errors.push(fieldInvalid('metadata.labels', value, why));
  }
  let annotationBytes = 0;
  for (const [key, value] of Object.entries(objectAt(metadata, 'annotations'))) {
    for (const why of qualifiedName(key.toLowerCase()))
      errors.push(fieldInvalid('metadata.annotations', key, why));
    annotationBytes += Buffer.byteLength(key) + Buffer.byteLength(String(value));
  }
  if (annotationBytes > MOST_ANNOTATIONS)
    errors.push(fieldTooLong('metadata.annotations', MOST_ANNOTATIONS));
  const owners = Array.isArray(metadata.ownerReferences) ? metadata.ownerReferences : [];
  for (const owner of owners) if (isObject(owner)) errors.push(...validateOwner(owner));
  const controllers = owners.filter((owner) => isObject(owner) && owner.controller === true);
  if (controllers.length > 1) {
    const [first, second] = controllers.map(
      (owner) => isObject(owner) && `${stringAt(owner, 'kind')}/${stringAt(owner, 'name')}`,
    );
    const why = `Only one reference can have Controller set to true. Found "true" in references for ${first} and ${second}`;
    errors.push(fieldInvalid('metadata.ownerReferences', owners, why));
  }
  const finalizers = Array.isArray(metadata.finalizers) ? metadata.finalizers : [];
  for (const [at, finalizer] of finalizers.entries()) {
    const name = String(finalizer);
    for (const why of qualifiedName(name))
      errors.push(fieldInvalid('metadata.finalizers', name, why));
    // Built-in kinds take a name without a group for one of Kubernetes' own.
    if (kind.builtIn && !name.includes('/') && !OWN_FINALIZERS.includes(name)) {
      const why = 'name is neither a standard finalizer name nor is it fully qualified';
      errors.push(fieldInvalid(`metadata.finalizers[${at}]`, name, why));
    }
  }
  if (finalizers.includes('orphan') && finalizers.includes('foregroundDeletion')) {
    const why = 'finalizer orphan and foregroundDeletion cannot be both set';
    errors.push(fieldInvalid('metadata.finalizers', finalizers, why));
  }
  return errors;
}

/** pkg/apis/core/helper: IsStandardFinalizerName. */
const OWN_FINALIZERS: readonly string[] = ['kubernetes', 'orphan', 'foregroundDeletion'];

function validateOwner(owner: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  const require = (member: string, why: string): void => {
    const value = stringAt(owner, member);
    if (value === '') errors.push(fieldInvalid(`metadata.ownerReferences.${member}`, value, why));
  };
  require('apiVersion', 'version must not be empty');
  require('kind', 'must not be empty');
  require('name', 'must not be empty');
  require('uid', 'must not be empty');
  return errors;
}

/** The name of an object that is created, and what it is made from, by the rule of its kind. */
export function validateName(kind: Kind, name: string, prefix: string): FieldError[] {
  if (name === '') return [fieldRequired('metadata.name', 'name or generateName is required')];
  const rule = nameRule(kind);
  // Behind a dash comes more. apimachinery: api/validation/generic.go maskTrailingDash.
  const begun = prefix === '' ? [] : rule(prefix.replace(/[ -~]-$/, 'a'));
  return [
    ...begun.map((why) => fieldInvalid('metadata.generateName', prefix, why)),
    ...rule(name).map((why) => fieldInvalid('metadata.name', name, why)),
  ];
}

function nameRule(kind: Kind): (name: string) => string[] {
  if (kind.builtIn && (kind.plural === 'namespaces' || kind.plural === 'services')) return dnsLabel;
  return kind.builtIn && kind.group === 'rbac.authorization.k8s.io' ? pathSegment : subdomain;
}

/**
 * What an update must not do to an object's metadata; what it leaves out has been filled in before.
 */
export function validateMetadataChange(now: JsonObject, old: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  if (old.deletionTimestamp !== undefined) {
    const had = Array.isArray(old.finalizers) ? old.finalizers : [];
    const added = (Array.isArray(now.finalizers) ? now.finalizers : []).filter(
      (finalizer) => !had.includes(finalizer),
    );
    if (added.length > 0) {
      const names = added.map((finalizer) => JSON.stringify(finalizer)).join(', ');
      const why = `no new finalizers can be added if the object is being deleted, found new finalizers []string{${names}}`;
      errors.push(fieldForbidden('metadata.finalizers', why));
    }
  }
  for (const member of [
    'name',
    'namespace',
    'uid',
    'creationTimestamp',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
  ]) {
    if (now[member] === old[member]) continue;
    errors.push(fieldInvalid(`metadata.${member}`, now[member] ?? null, 'field is immutable'));
  }
  return errors;
}
