/**
 * Writes to `/status` and `/approval` of a CertificateSigningRequest: the former sets the
 * certificate, the latter the decision. kubernetes:
 * pkg/registry/certificates/certificates/strategy.go.
 */
import { isObject, type JsonObject, memberObject } from '../json.ts';
import type { Kind } from './kinds.ts';
import { forStatusUpdate } from './strategy.ts';

const DECISIONS: readonly unknown[] = ['Approved', 'Denied'];

const conditionsOf = (request: JsonObject): readonly JsonObject[] => {
  const { conditions } = memberObject(request, 'status');
  return Array.isArray(conditions) ? conditions.filter(isObject) : [];
};

/** Replaces the conditions; the rest of the status is kept. */
export function forApproval(
  kind: Kind,
  object: JsonObject,
  old: JsonObject,
  now: string,
): JsonObject {
  const next = withConditions(
    object,
    memberObject(old, 'status'),
    timed(conditionsOf(object), old, now),
  );
  return forStatusUpdate(kind, next, old, 'approval');
}

/** Replaces the certificate and the condition Failed; the decision is kept. */
export function forSigning(
  kind: Kind,
  object: JsonObject,
  old: JsonObject,
  now: string,
): JsonObject {
  const decided = conditionsOf(old).filter(({ type }) => DECISIONS.includes(type));
  const kept = conditionsOf(object).map((condition) => {
    if (!DECISIONS.includes(condition.type)) return condition;
    return decided.find(({ type }) => type === condition.type) ?? condition;
  });
  const next = withConditions(object, memberObject(object, 'status'), timed(kept, old, now));
  return forStatusUpdate(kind, next, old);
}

function withConditions(
  object: JsonObject,
  status: JsonObject,
  conditions: readonly JsonObject[],
): JsonObject {
  const { conditions: _, ...others } = status;
  return {
    ...object,
    status: conditions.length > 0 ? { ...others, conditions } : others,
  };
}

/** Adds the times that the client did not send. */
function timed(
  conditions: readonly JsonObject[],
  old: JsonObject,
  now: string,
): readonly JsonObject[] {
  return conditions.map((condition) => {
    const { type, status, lastUpdateTime, lastTransitionTime } = condition;
    const was = conditionsOf(old).find((each) => each.type === type && each.status === status);
    return {
      ...condition,
      lastUpdateTime: lastUpdateTime ?? now,
      lastTransitionTime: lastTransitionTime ?? was?.lastTransitionTime ?? now,
    };
  });
}
