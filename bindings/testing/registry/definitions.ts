/**
 * CustomResourceDefinitions as objects: what the real server's controllers write into them, which here happens in the
 * same turn. apiserver: apiextensions-apiserver pkg/controller/status, establish and finalizer.
 */
import { type Json, type JsonObject, objectAt } from '../json.ts';

const condition = (now: string, type: string, reason: string, message: string): JsonObject => ({
  type,
  status: 'True',
  lastTransitionTime: now,
  reason,
  message,
});

/** A CustomResourceDefinition is served at once, and says so. */
export function established(crd: JsonObject, now: string): JsonObject {
  const spec = crd.spec as JsonObject | undefined;
  const had = crd.status as JsonObject | undefined;
  if (Array.isArray(had?.conditions) && had.conditions.length > 0) return crd;
  const versions = Array.isArray(spec?.versions) ? spec.versions : [];
  const stored = versions.filter((version: Json) => (version as JsonObject).storage === true);
  return {
    ...crd,
    status: {
      conditions: [
        condition(now, 'NamesAccepted', 'NoConflicts', 'no conflicts found'),
        condition(now, 'Established', 'InitialNamesAccepted', 'the initial names have been accepted'),
      ],
      acceptedNames: spec?.names ?? {},
      storedVersions: stored.map((version: Json) => (version as JsonObject).name ?? ''),
    },
  };
}

/** A deleted one stays until its objects are gone; the answer to its deletion shows that. */
export function terminating(crd: JsonObject, now: string): JsonObject {
  const status = objectAt(crd, 'status');
  const conditions = Array.isArray(status.conditions) ? status.conditions : [];
  const why = 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon';
  return {
    ...crd,
    metadata: {
      ...objectAt(crd, 'metadata'),
      deletionTimestamp: now,
      finalizers: ['customresourcecleanup.apiextensions.k8s.io'],
    },
    status: { ...status, conditions: [...conditions, condition(now, 'Terminating', 'InstanceDeletionPending', why)] },
  };
}
