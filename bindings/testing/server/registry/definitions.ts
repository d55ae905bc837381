/**
 * The status of CustomResourceDefinitions, which the real server's controllers write. Here it is
 * written in the same turn as the definition. apiserver: apiextensions-apiserver
 * pkg/controller/status, establish and finalizer.
 */
import {
  isObject,
  type Json,
  type JsonObject,
  memberObject,
  sameJson,
  stringAt,
  without,
} from '../json.ts';
import { type FieldError, fieldInvalid, fieldRequired } from '../status.ts';

export const DEFINITIONS = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
} as const;

/** Whether the kind is CustomResourceDefinition. */
export const isDefinition = (kind: { builtIn: boolean; plural: string }): boolean =>
  kind.builtIn && kind.plural === 'customresourcedefinitions';

const condition = (now: string, type: string, reason: string, message: string): JsonObject => ({
  type,
  status: 'True',
  lastTransitionTime: now,
  reason,
  message,
});

/** The status of a definition before its names are accepted. */
const UNKNOWN: JsonObject = {
  conditions: null,
  acceptedNames: { plural: '', kind: '' },
  storedVersions: null,
};

/** Adds the storage version to `status.storedVersions`. */
export function withStoredVersion(crd: JsonObject): JsonObject {
  const { versions } = memberObject(crd, 'spec');
  const stored = (Array.isArray(versions) ? versions : [])
    .filter(isObject)
    .find(({ storage }) => storage === true);
  const status = { ...UNKNOWN, ...memberObject(crd, 'status') };
  const before: readonly Json[] = Array.isArray(status.storedVersions) ? status.storedVersions : [];
  if (stored === undefined || before.includes(stringAt(stored, 'name'))) return { ...crd, status };
  return { ...crd, status: { ...status, storedVersions: [...before, stringAt(stored, 'name')] } };
}

const conditionsOf = (crd: JsonObject): JsonObject[] => {
  const { conditions } = memberObject(crd, 'status');
  return Array.isArray(conditions) ? conditions.filter(isObject) : [];
};

export const isConditionTrue = (crd: JsonObject, type: string): boolean =>
  conditionsOf(crd).some((each) => each.type === type && each.status === 'True');

/** lastTransitionTime changes only when the condition becomes or ceases to be `True`. */
function withCondition(crd: JsonObject, wanted: JsonObject): JsonObject {
  const had = conditionsOf(crd);
  const old = had.find(({ type }) => type === wanted.type);
  const since = old?.status === wanted.status ? (old?.lastTransitionTime as Json) : undefined;
  const made = since === undefined ? wanted : { ...wanted, lastTransitionTime: since };
  const conditions =
    old === undefined ? [...had, made] : had.map((each) => (each === old ? made : each));
  return { ...crd, status: { ...memberObject(crd, 'status'), conditions } };
}

const strings = (list: Json | undefined): string[] =>
  Array.isArray(list) ? list.filter((each) => typeof each === 'string') : [];

/**
 * The definition with the names that it can have. undefined: nothing changes.
 *
 * @param others the definitions of the same group
 */
export function withAcceptedNames(
  crd: JsonObject,
  others: readonly JsonObject[],
  now: string,
): JsonObject | undefined {
  const asked = memberObject(memberObject(crd, 'spec'), 'names');
  const had = memberObject(memberObject(crd, 'status'), 'acceptedNames');
  if (sameJson(asked, had)) return undefined;
  const taken = [...others, crd].map((each) =>
    memberObject(memberObject(each, 'status'), 'acceptedNames'),
  );
  const resources = taken.flatMap(({ plural, singular, shortNames }) => [
    ...strings([plural ?? '', singular ?? '']),
    ...strings(shortNames),
  ]);
  const kinds = taken.flatMap(({ kind, listKind }) => strings([kind ?? '', listKind ?? '']));
  let conflict: [reason: string, message: string] | undefined;
  const accepted: Record<string, Json | undefined> = { ...had, categories: asked.categories };
  const claim = (member: string, reason: string, used: readonly string[]): void => {
    const name = stringAt(asked, member);
    if (name !== stringAt(had, member) && used.includes(name))
      conflict = [reason, `${JSON.stringify(name)} is already in use`];
    else accepted[member] = name;
  };
  claim('plural', 'PluralConflict', resources);
  claim('singular', 'SingularConflict', resources);
  const inUse = strings(asked.shortNames).filter(
    (name) => !strings(had.shortNames).includes(name) && resources.includes(name),
  );
  const why = inUse.map((name) => `${JSON.stringify(name)} is already in use`);
  if (why.length > 0)
    conflict = ['ShortNamesConflict', why.length === 1 ? String(why[0]) : `[${why.join(', ')}]`];
  else accepted.shortNames = asked.shortNames;
  claim('kind', 'KindConflict', kinds);
  claim('listKind', 'ListKindConflict', kinds);
  const [reason, message] = conflict ?? ['NoConflicts', 'no conflicts found'];
  const named = withCondition(
    {
      ...crd,
      status: {
        ...memberObject(crd, 'status'),
        acceptedNames: JSON.parse(JSON.stringify(accepted)),
      },
    },
    {
      ...condition(now, 'NamesAccepted', reason, message),
      status: conflict === undefined ? 'True' : 'False',
    },
  );
  const same = (member: string, type: string): boolean =>
    conditionsOf(named).find((each) => each.type === type)?.[member] ===
    conditionsOf(crd).find((each) => each.type === type)?.[member];
  if (
    sameJson(accepted as JsonObject, had) &&
    ['status', 'reason', 'message'].every((member) => same(member, 'NamesAccepted'))
  )
    return undefined;
  if (isConditionTrue(named, 'Established')) return named;
  const waits: [string, string] =
    conflict === undefined
      ? ['Installing', 'the initial names have been accepted']
      : ['NotAccepted', 'not all names are accepted'];
  if (conflict !== undefined && conditionsOf(named).some(({ type }) => type === 'Established'))
    return named;
  return withCondition(named, { ...condition(now, 'Established', ...waits), status: 'False' });
}

/** The established definition; undefined: it already is, or its names are not accepted. */
export function establishedOf(crd: JsonObject, now: string): JsonObject | undefined {
  if (isConditionTrue(crd, 'Established') || !isConditionTrue(crd, 'NamesAccepted'))
    return undefined;
  const why = 'the initial names have been accepted';
  return withCondition(crd, condition(now, 'Established', 'InitialNamesAccepted', why));
}

/**
 * A version in which objects may be stored must stay in the spec until a client has migrated them
 * and removed the version from `status.storedVersions`.
 */
export function validateStoredVersions(crd: JsonObject): FieldError[] {
  const { versions } = memberObject(crd, 'spec');
  const { storedVersions } = memberObject(crd, 'status');
  const field = 'status.storedVersions';
  const stored: readonly Json[] = Array.isArray(storedVersions) ? storedVersions : [];
  if (stored.length === 0)
    return [fieldInvalid(field, stored, 'must have at least one stored version')];
  const all = (Array.isArray(versions) ? versions : []).filter(isObject);
  const missing = all.filter(
    ({ name, storage }) => storage === true && !stored.includes(name as Json),
  );
  return [
    ...missing.map(({ name }) =>
      fieldInvalid(field, stored, `must have the storage version ${String(name)}`),
    ),
    ...stored.flatMap((name, at) => {
      if (all.some((version) => version.name === name)) return [];
      const why =
        `missing from spec.versions; ${String(name)} was previously a storage version, ` +
        'and must remain in spec.versions until a storage migration ' +
        `ensures no data remains persisted in ${String(name)} and removes ` +
        `${String(name)} from status.storedVersions`;
      return [fieldInvalid(`${field}[${at}]`, name, why)];
    }),
  ];
}

const APPROVAL = 'api-approved.kubernetes.io';

/** apiextensions-apiserver: pkg/apihelpers GetAPIApprovalState. */
function approvalOf(crd: JsonObject): 'missing' | 'bypassed' | 'approved' | 'invalid' {
  const annotation = stringAt(memberObject(memberObject(crd, 'metadata'), 'annotations'), APPROVAL);
  if (annotation === '') return 'missing';
  if (annotation.startsWith('unapproved')) return 'bypassed';
  return /^[a-z][a-z\d+.-]*:\/\/[^/?\s]+/i.test(annotation) ? 'approved' : 'invalid';
}

/**
 * Definitions in groups of Kubernetes need an annotation with their approval, unless the stored one
 * has none either. apiserver: validateAPIApproval.
 */
export function validateApproval(crd: JsonObject, old: JsonObject | undefined): FieldError[] {
  const approval = approvalOf(crd);
  if (!/(?:^|\.)(?:k8s|kubernetes)\.io$/.test(stringAt(memberObject(crd, 'spec'), 'group')))
    return [];
  if (approval === 'approved' || approval === 'bypassed') return [];
  if (old !== undefined && approvalOf(old) === approval) return [];
  const field = `metadata.annotations[${APPROVAL}]`;
  const why = `protected groups must have approval annotation "${APPROVAL}"`;
  const where = 'see https://github.com/kubernetes/enhancements/pull/1111';
  if (approval === 'missing') return [fieldRequired(field, `${why}, ${where}`)];
  const value = memberObject(memberObject(crd, 'metadata'), 'annotations')[APPROVAL];
  return [
    fieldInvalid(
      field,
      value,
      `${why} with either a URL or a reason starting with "unapproved", ${where}`,
    ),
  ];
}

const CLEANUP = 'customresourcecleanup.apiextensions.k8s.io';

const terminating = (crd: JsonObject, now: string, ...why: [string, string]): JsonObject =>
  withCondition(crd, condition(now, 'Terminating', ...why));

/** Whether the deletion waits for the objects. */
export const awaitsCleanup = (crd: JsonObject): boolean =>
  strings(memberObject(crd, 'metadata').finalizers).includes(CLEANUP);

/** Marks the definition as deleted. The response to the deletion shows that state. */
export function markedForDeletion(crd: JsonObject, now: string): JsonObject {
  const metadata = memberObject(crd, 'metadata');
  const finalizers = strings(metadata.finalizers);
  return terminating(
    {
      ...crd,
      metadata: {
        ...metadata,
        deletionTimestamp: now,
        finalizers: finalizers.includes(CLEANUP) ? finalizers : [...finalizers, CLEANUP],
      },
    },
    now,
    'InstanceDeletionPending',
    'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
  );
}

/** Sets the condition Terminating while the objects are deleted. */
export const withCleanupStarted = (crd: JsonObject, now: string): JsonObject =>
  terminating(crd, now, 'InstanceDeletionInProgress', 'CustomResource deletion is in progress');

/** Ends the cleanup: the definition is removed unless it has other finalizers. */
export function withCleanupDone(crd: JsonObject, now: string): JsonObject {
  const [reason, message] = isConditionTrue(crd, 'Established')
    ? ['InstanceDeletionCompleted', 'removed all instances']
    : ['NeverEstablished', 'resource was never established'];
  const metadata = memberObject(crd, 'metadata');
  const finalizers = strings(metadata.finalizers).filter((name) => name !== CLEANUP);
  const rest = without(metadata, 'finalizers');
  return withCondition(
    { ...crd, metadata: finalizers.length > 0 ? { ...rest, finalizers } : rest },
    { ...condition(now, 'Terminating', reason, message), status: 'False' },
  );
}
