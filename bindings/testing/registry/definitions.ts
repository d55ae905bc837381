/**
 * CustomResourceDefinitions as objects: what the real server's controllers write into them, which
 * here happens in the same turn. apiserver: apiextensions-apiserver pkg/controller/status,
 * establish and finalizer.
 */
import { isObject, type Json, type JsonObject, objectAt, stringAt } from '../json.ts';
import { type FieldError, fieldInvalid, fieldRequired } from '../status.ts';

const condition = (now: string, type: string, reason: string, message: string): JsonObject => ({
  type,
  status: 'True',
  lastTransitionTime: now,
  reason,
  message,
});

/**
 * A CustomResourceDefinition is served at once, and says so; its names are always accepted, and the
 * version that is stored counts from then on.
 */
export function established(crd: JsonObject, now: string): JsonObject {
  const spec = objectAt(crd, 'spec');
  const had = objectAt(crd, 'status');
  const versions = (Array.isArray(spec.versions) ? spec.versions : []).filter(isObject);
  const stored = versions
    .filter(({ storage }) => storage === true)
    .map((version) => stringAt(version, 'name'));
  const before: readonly Json[] = Array.isArray(had.storedVersions) ? had.storedVersions : [];
  return {
    ...crd,
    status: {
      ...had,
      conditions:
        Array.isArray(had.conditions) && had.conditions.length > 0
          ? had.conditions
          : [
              condition(now, 'NamesAccepted', 'NoConflicts', 'no conflicts found'),
              condition(
                now,
                'Established',
                'InitialNamesAccepted',
                'the initial names have been accepted',
              ),
            ],
      acceptedNames: objectAt(spec, 'names'),
      storedVersions: [...before, ...stored.filter((name) => !before.includes(name))],
    },
  };
}

/**
 * A version in which objects may still lie must stay, until somebody has written them anew and
 * taken it from the status.
 */
export function validateStoredVersions(crd: JsonObject): FieldError[] {
  const { versions } = objectAt(crd, 'spec');
  const { storedVersions } = objectAt(crd, 'status');
  const names = (Array.isArray(versions) ? versions : []).map((version) =>
    isObject(version) ? version.name : undefined,
  );
  return (Array.isArray(storedVersions) ? storedVersions : []).flatMap((name: Json, at) => {
    if (names.includes(name)) return [];
    const why =
      `missing from spec.versions; ${String(name)} was previously a storage version, and must remain in spec.versions until a storage migration ` +
      `ensures no data remains persisted in ${String(name)} and removes ${String(name)} from status.storedVersions`;
    return [fieldInvalid(`status.storedVersions[${at}]`, name, why)];
  });
}

const APPROVAL = 'api-approved.kubernetes.io';

/** apiextensions-apiserver: pkg/apihelpers GetAPIApprovalState. */
function approvalOf(crd: JsonObject): 'missing' | 'bypassed' | 'approved' | 'invalid' {
  const annotation = stringAt(objectAt(objectAt(crd, 'metadata'), 'annotations'), APPROVAL);
  if (annotation === '') return 'missing';
  if (annotation.startsWith('unapproved')) return 'bypassed';
  return /^[a-z][a-z\d+.-]*:\/\/[^/?\s]+/i.test(annotation) ? 'approved' : 'invalid';
}

/**
 * Groups of Kubernetes itself are for definitions that say who approved them; what is stored may go
 * on without. apiserver: validateAPIApproval.
 */
export function validateApproval(crd: JsonObject, old: JsonObject | undefined): FieldError[] {
  const approval = approvalOf(crd);
  if (!/(?:^|\.)(?:k8s|kubernetes)\.io$/.test(stringAt(objectAt(crd, 'spec'), 'group'))) return [];
  if (approval === 'approved' || approval === 'bypassed') return [];
  if (old !== undefined && approvalOf(old) === approval) return [];
  const field = `metadata.annotations[${APPROVAL}]`;
  const why = `protected groups must have approval annotation "${APPROVAL}"`;
  const where = 'see https://github.com/kubernetes/enhancements/pull/1111';
  if (approval === 'missing') return [fieldRequired(field, `${why}, ${where}`)];
  const value = objectAt(objectAt(crd, 'metadata'), 'annotations')[APPROVAL];
  return [
    fieldInvalid(
      field,
      value,
      `${why} with either a URL or a reason starting with "unapproved", ${where}`,
    ),
  ];
}

/** A deleted one stays until its objects are gone; the answer to its deletion shows that. */
export function terminating(crd: JsonObject, now: string): JsonObject {
  const status = objectAt(crd, 'status');
  const conditions = Array.isArray(status.conditions) ? status.conditions : [];
  const why =
    'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon';
  return {
    ...crd,
    metadata: {
      ...objectAt(crd, 'metadata'),
      deletionTimestamp: now,
      finalizers: ['customresourcecleanup.apiextensions.k8s.io'],
    },
    status: {
      ...status,
      conditions: [...conditions, condition(now, 'Terminating', 'InstanceDeletionPending', why)],
    },
  };
}
