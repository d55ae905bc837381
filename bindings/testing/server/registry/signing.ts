/**
 * Writes to `/status` and `/approval` of a CertificateSigningRequest: the one signs, the other
 * decides. kubernetes: pkg/registry/certificates/certificates/strategy.go.
 */
import { isObject, type JsonObject, objectAt } from '../json.ts';
import type { Kind } from './kinds.ts';
import { forStatusUpdate } from './strategy.ts';

const DECISIONS: readonly unknown[] = ['Approved', 'Denied'];

const conditionsOf = (request: JsonObject): readonly JsonObject[] => {
  const { conditions } = objectAt(request, 'status');
  return Array.isArray(conditions) ? conditions.filter(isObject) : [];
};

/** The conditions change, and nothing else of the status. */
export function forApproval(
  kind: Kind,
  object: JsonObject,
  old: JsonObject,
  now: string,
): JsonObject {
  const next = withConditions(
    object,
    objectAt(old, 'status'),
    timed(conditionsOf(object), old, now),
  );
  return forStatusUpdate(kind, next, old, 'approval');
}

/** The certificate and the failures change; what was decided is kept. */
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
  const next = withConditions(object, objectAt(object, 'status'), timed(kept, old, now));
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

/** With the times that they were not sent with. */
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
