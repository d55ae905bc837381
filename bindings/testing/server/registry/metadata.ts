/**
 * The shape of `metadata`: known members of the right types, without empty ones. strategy.ts
 * decides what a client may not set (uid, times, generation, managedFields, selfLink).
 */
import {
  isObject,
  type Json,
  type JsonObject,
  memberObject,
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
import { readTime, TimeError } from '../times.ts';
import { address } from '../validation/formats.ts';
import type { Place } from '../validation/place.ts';
import type { Kind } from './kinds.ts';
import { dnsLabel, labelValue, pathSegmentErrors, qualifiedName, subdomain } from './names.ts';

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
/** The order in which members are stored. */
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

/** The text of Go's JSON decoder, which the real server returns. */
const mismatch = (kind: Kind, member: string, value: Json, type: string): Error =>
  new MetadataTypeError(
    kind,
    unmarshalError(value, `Go struct field ObjectMeta.${member} of type ${type}`),
  );

/** Metadata of a wrong type: a 400 if a client sent it; `why` is the text if a patch led to it. */
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
 * Known members of the right types, in a fixed order. Empty and unknown members and null are
 * dropped.
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
      if (member.endsWith('Timestamp')) members.push([member, timeOf(kind, value)]);
      else if (value !== '') members.push([member, value]);
    } else if (NUMBERS.includes(member)) {
      if (typeof value !== 'number') throw mismatch(kind, member, value, 'int64');
      // Go has a pointer to the seconds, and omits a generation of zero.
      if (value !== 0 || member !== 'generation') members.push([member, value]);
    } else if (MAPS.includes(member)) {
      const map = stringMap(kind, member, value);
      if (Object.keys(map).length > 0) members.push([member, map]);
    } else if (member === 'managedFields') {
      // An empty list is kept: it removes all managers.
      members.push([member, objectList(kind, member, value)]);
    } else {
      const list =
        member === 'finalizers' ? stringList(kind, member, value) : objectList(kind, member, value);
      if (list.length > 0) members.push([member, list]);
    }
  }
  return Object.fromEntries(members);
}

function timeOf(kind: Kind, text: string): string {
  try {
    return readTime(text, false);
  } catch (error) {
    throw error instanceof TimeError ? new MetadataTypeError(kind, error.message) : error;
  }
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

/** apimachinery: TotalAnnotationSizeLimitB, the size of keys and values in bytes. */
const MOST_ANNOTATIONS = 256 * 1024;

/** A check of an object's metadata. Some kinds make several, and so report an error twice. */
type Check = (now: JsonObject, old: JsonObject) => FieldError[];

/**
 * apimachinery: ValidateObjectMeta and ValidateObjectMetaUpdate. Capital letters are the variants
 * of kubernetes/pkg/apis/core/validation, which also check the finalizers without a group.
 */
const CHECKS: Readonly<Record<string, Check>> = {
  m: (now) => wholeErrors(now),
  M: (now) => [...wholeErrors(now), ...plainFinalizers(now)],
  u: (now, old) => changeErrors(now, old),
  U: (now, old) => [...changeErrors(now, old), ...plainFinalizers(now)],
};

/**
 * The checks of a kind's strategy in an update and, after the slash, in a status update, if they
 * are not `U`. Each reports the same error again.
 */
const UPDATE_CHECKS: Readonly<Record<string, string>> = {
  ...{ pods: 'UM/U', secrets: 'UM', configmaps: 'UM', endpoints: 'UM', serviceaccounts: 'UM' },
  ...{ persistentvolumeclaims: 'UM/U', ingresses: 'UM/U', ingressclasses: 'UM' },
  ...{ volumeattributesclasses: 'UM', limitranges: 'M', persistentvolumes: 'MM/U' },
  ...{ endpointslices: 'M', flowschemas: 'M/', prioritylevelconfigurations: 'M/' },
  ...{ controllerrevisions: 'UM', leases: 'u' },
  ...{ volumeattachments: 'M/M', csinodes: 'M', namespaces: 'MU/U', nodes: 'MU/U' },
  ...{ roles: 'MU', clusterroles: 'MU', rolebindings: 'MU', clusterrolebindings: 'MU' },
  ...{ ipaddresses: 'MU', runtimeclasses: 'mu', storageclasses: 'MU', jobs: 'M/U' },
  ...{ csistoragecapacities: 'MU', certificatesigningrequests: 'MU/MU', deviceclasses: 'MU' },
  ...{ resourceclaims: 'MU/U', resourceclaimtemplates: 'MU', poddisruptionbudgets: '/' },
  ...{ validatingwebhookconfigurations: 'm', mutatingwebhookconfigurations: 'm' },
  ...{ validatingadmissionpolicies: 'm/', validatingadmissionpolicybindings: 'm' },
  ...{ mutatingadmissionpolicies: 'm', mutatingadmissionpolicybindings: 'm' },
  ...{ customresourcedefinitions: 'u/u', apiservices: 'um/u' },
};

function updateChecks(kind: Kind, part: 'object' | 'status'): string {
  if (!kind.builtIn) return 'u';
  if (kind.plural === 'events') return kind.group === '' ? '' : 'U';
  const [object = '', status = 'U'] = (UPDATE_CHECKS[kind.plural] ?? 'U').split('/');
  return part === 'object' ? object : status;
}

const errorsOf = (checks: string, now: JsonObject, old: JsonObject): FieldError[] =>
  [...checks].flatMap((name) => CHECKS[name]?.(now, old) ?? []);

/** The errors of an update: those of the checks for all kinds, then those of the kind's own. */
export const updateErrors = (
  kind: Kind,
  now: JsonObject,
  old: JsonObject,
  part: 'object' | 'status',
): FieldError[] => errorsOf(`mu${updateChecks(kind, part)}`, now, old);

/** For kinds that check the metadata between two checks of the spec. */
export function metadataChangeErrors({ value, was }: Place): FieldError[] {
  const of = (object: Json | undefined): JsonObject =>
    isObject(object) ? memberObject(object, 'metadata') : {};
  return errorsOf('U', of(value), of(was));
}

/**
 * Whether the kind checks metadata and name of a new object itself. Otherwise they are checked for
 * all kinds, after everything else.
 */
export const checksMetadata = (kind: Kind): boolean =>
  !(
    kind.builtIn && /^(policy\/poddisruptionbudgets|\/events)$/.test(`${kind.group}/${kind.plural}`)
  );

/** The metadata errors of a new object. validateName checks its name. */
export function createErrors(kind: Kind, metadata: JsonObject): FieldError[] {
  const isOwn = /^(admissionregistration|apiextensions|apiregistration)\./.test(kind.group);
  const isPlain = !kind.builtIn || isOwn || !checksMetadata(kind);
  return errorsOf(isPlain ? 'm' : 'M', metadata, {});
}

function wholeErrors(metadata: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  const { generation } = metadata;
  if (typeof generation === 'number' && generation < 0)
    errors.push(
      fieldInvalid('metadata.generation', generation, 'must be greater than or equal to 0'),
    );
  errors.push(...mapErrors(metadata), ...ownerErrors(metadata));
  const finalizers = finalizersOf(metadata);
  for (const name of finalizers)
    for (const why of qualifiedName(name))
      errors.push(fieldInvalid('metadata.finalizers', name, why));
  if (finalizers.includes('orphan') && finalizers.includes('foregroundDeletion')) {
    const why = 'finalizer orphan and foregroundDeletion cannot be both set';
    errors.push(fieldInvalid('metadata.finalizers', finalizers, why));
  }
  return errors;
}

function mapErrors(metadata: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  for (const [key, value] of Object.entries(memberObject(metadata, 'labels'))) {
    for (const why of qualifiedName(key)) errors.push(fieldInvalid('metadata.labels', key, why));
    for (const why of labelValue(String(value)))
      errors.push(fieldInvalid('metadata.labels', value, why));
  }
  let annotationBytes = 0;
  for (const [key, value] of Object.entries(memberObject(metadata, 'annotations'))) {
    for (const why of qualifiedName(key.toLowerCase()))
      errors.push(fieldInvalid('metadata.annotations', key, why));
    annotationBytes += Buffer.byteLength(key) + Buffer.byteLength(String(value));
  }
  if (annotationBytes > MOST_ANNOTATIONS)
    errors.push(fieldTooLong('metadata.annotations', MOST_ANNOTATIONS));
  return errors;
}

function ownerErrors(metadata: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  const list = Array.isArray(metadata.ownerReferences) ? metadata.ownerReferences : [];
  const owners = list.filter(isObject);
  let controller: string | undefined;
  for (const owner of owners) {
    errors.push(...validateOwner(owner));
    if (owner.controller !== true) continue;
    const name = `${stringAt(owner, 'kind')}/${stringAt(owner, 'name')}`;
    if (controller !== undefined) {
      const why =
        'Only one reference can have Controller set to true. Found "true" in references ' +
        `for ${controller} and ${name}`;
      errors.push(fieldInvalid('metadata.ownerReferences', owners, why));
    } else controller = name;
  }
  return errors;
}

const finalizersOf = (metadata: JsonObject): string[] =>
  (Array.isArray(metadata.finalizers) ? metadata.finalizers : []).map(String);

/** A finalizer without a group must be one of Kubernetes. */
function plainFinalizers(metadata: JsonObject): FieldError[] {
  return finalizersOf(metadata).flatMap((name, at) => {
    if (name.includes('/') || OWN_FINALIZERS.includes(name)) return [];
    const why = 'name is neither a standard finalizer name nor is it fully qualified';
    return [fieldInvalid(`metadata.finalizers[${at}]`, name, why)];
  });
}

/** pkg/apis/core/helper: IsStandardFinalizerName. */
const OWN_FINALIZERS: readonly string[] = ['kubernetes', 'orphan', 'foregroundDeletion'];

function validateOwner(owner: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  const require = (member: string, value: string, why: string): void => {
    if (value === '')
      errors.push(fieldInvalid(`metadata.ownerReferences.${member}`, stringAt(owner, member), why));
  };
  const apiVersion = stringAt(owner, 'apiVersion');
  const version = apiVersion.split('/').length > 2 ? '' : apiVersion.replace(/^.*\//, '');
  require('apiVersion', version, 'version must not be empty');
  for (const member of ['kind', 'name', 'uid'])
    require(member, stringAt(owner, member), 'must not be empty');
  if (apiVersion === 'v1' && owner.kind === 'Event') {
    const why = '/v1, Kind=Event is disallowed from being an owner';
    errors.push(fieldInvalid('metadata.ownerReferences', owner, why));
  }
  return errors;
}

/** Checks the name and generateName of a new object by the rule of its kind. */
export function validateName(kind: Kind, object: JsonObject): FieldError[] {
  const metadata = memberObject(object, 'metadata');
  const [name, prefix] = [stringAt(metadata, 'name'), stringAt(metadata, 'generateName')];
  if (name === '') return [fieldRequired('metadata.name', 'name or generateName is required')];
  const rule = nameRule(kind);
  const only = onlyName(kind, object);
  /** The errors by the rule. For an APIService a wrong name is the only error that is reported. */
  const wrong = (text: string, judged = text): string[] => {
    const errors = rule(judged);
    const isTold = errors.length > 0 && kind.plural === 'apiservices';
    return only === undefined || text === only.name || isTold ? errors : [...errors, only.why];
  };
  // A generated name continues after the dash. apimachinery: api/validation/generic.go
  // maskTrailingDash.
  const begun = rule === pathSegmentErrors ? prefix : prefix.replace(/[ -~]-$/, 'a');
  const isBegun = prefix !== '' && !(kind.builtIn && WITHOUT_PREFIX.includes(kind.plural));
  return [
    ...(isBegun ? wrong(prefix, begun) : []).map((why) =>
      fieldInvalid('metadata.generateName', prefix, why),
    ),
    ...wrong(name).map((why) => fieldInvalid('metadata.name', name, why)),
  ];
}

/** The only name that the object can have, for kinds whose spec determines the name. */
function onlyName(kind: Kind, object: JsonObject): { name: string; why: string } | undefined {
  const spec = memberObject(object, 'spec');
  const group = stringAt(spec, 'group');
  if (kind.builtIn && kind.plural === 'customresourcedefinitions') {
    const name = `${stringAt(memberObject(spec, 'names'), 'plural')}.${group}`;
    return { name, why: 'must be spec.names.plural+"."+spec.group' };
  }
  if (!kind.builtIn || kind.plural !== 'apiservices') return undefined;
  const name = `${stringAt(spec, 'version')}.${group}`;
  return { name, why: `must be \`spec.version+"."+spec.group\`: ${JSON.stringify(name)}` };
}

/** The generateName of these is not checked, only the whole name. */
const WITHOUT_PREFIX: readonly string[] = ['deviceclasses', 'replicationcontrollers'];

const NAME_RULES: Readonly<Record<string, (name: string) => string[]>> = {
  '/namespaces': dnsLabel,
  '/services': dnsLabel,
  'apps/statefulsets': dnsLabel,
  'networking.k8s.io/ipaddresses': address,
  // These are checked with the other metadata, by the rule for all kinds.
  '/events': pathSegmentErrors,
  'policy/poddisruptionbudgets': pathSegmentErrors,
  'certificates.k8s.io/certificatesigningrequests': pathSegmentErrors,
  'apiregistration.k8s.io/apiservices': pathSegmentErrors,
};

function nameRule(kind: Kind): (name: string) => string[] {
  if (!kind.builtIn) return subdomain;
  if (kind.group === 'rbac.authorization.k8s.io') return pathSegmentErrors;
  return NAME_RULES[`${kind.group}/${kind.plural}`] ?? subdomain;
}

/** What an update must not change in the metadata. Omitted members have been filled in before. */
function changeErrors(now: JsonObject, old: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  if (old.deletionTimestamp !== undefined) {
    const had = finalizersOf(old);
    const added = finalizersOf(now).filter((finalizer) => !had.includes(finalizer));
    if (added.length > 0) {
      const names = added.map((finalizer) => JSON.stringify(finalizer)).join(', ');
      const why =
        'no new finalizers can be added if the object is being deleted, found new ' +
        `finalizers []string{${names}}`;
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
  return [...errors, ...mapErrors(now), ...ownerErrors(now)];
}
