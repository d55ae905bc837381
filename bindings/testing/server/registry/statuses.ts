/**
 * What the server changes in the status that a client writes, before validation: the
 * PrepareForUpdate of the kinds' status strategies. kubernetes: pkg/registry/core,
 * pkg/registry/resource/resourceclaim.
 */
import { isObject, type Json, type JsonObject, memberObject, sameJson, without } from '../json.ts';
import { daemonSetChange } from './admission.ts';
import type { Kind } from './kinds.ts';

/** @param was the status before the write */
type Preparation = (status: JsonObject, was: JsonObject, now: string) => JsonObject;

const PREPARATIONS: Readonly<Record<string, Preparation>> = {
  '/nodes': withoutConfig,
  '/persistentvolumes': withTransitionTime,
  '/pods': withPodDefaults,
  'resource.k8s.io/resourceclaims': withoutDeallocated,
};

/** The object with its status prepared for validation. */
export function withPreparedStatus(
  kind: Kind,
  object: JsonObject,
  old: JsonObject,
  now: string,
): JsonObject {
  // The generation of a DaemonSet's template is an annotation, but belongs to the spec.
  if (kind.builtIn && kind.plural === 'daemonsets')
    return daemonSetChange({ ...object, spec: memberObject(old, 'spec') }, old);
  const prepare = kind.builtIn ? PREPARATIONS[`${kind.group}/${kind.plural}`] : undefined;
  if (prepare === undefined) return object;
  const status = prepare(memberObject(object, 'status'), memberObject(old, 'status'), now);
  const isMissing = !isObject(object.status) && Object.keys(status).length === 0;
  return isMissing ? object : { ...object, status };
}

const objectsAt = (parent: JsonObject, member: string): readonly JsonObject[] => {
  const value = parent[member];
  return Array.isArray(value) ? value.filter(isObject) : [];
};

/** A Node's `status.config` can be kept, but no longer be set. */
function withoutConfig(status: JsonObject, was: JsonObject): JsonObject {
  return isObject(was.config) ? status : without(status, 'config');
}

/** Sets the time at which the phase changed, unless the client sends one. */
function withTransitionTime(status: JsonObject, was: JsonObject, now: string): JsonObject {
  const { lastPhaseTransitionTime: had } = was;
  const { lastPhaseTransitionTime: sent = had } = status;
  const time = status.phase !== was.phase && sent === had ? now : sent;
  return time === undefined ? status : { ...status, lastPhaseTransitionTime: time };
}

/** Older kubelets omit qosClass and observedGeneration: the old values are kept. */
function withPodDefaults(status: JsonObject, was: JsonObject): JsonObject {
  const kept = Object.fromEntries(
    ['qosClass', 'observedGeneration'].flatMap((name): [string, Json][] => {
      const value = status[name] || was[name];
      return value ? [[name, value]] : [];
    }),
  );
  const before = [...objectsAt(was, 'conditions')];
  const { conditions } = status;
  if (!Array.isArray(conditions)) return { ...status, ...kept };
  const withGeneration = conditions.map((condition) => {
    if (!isObject(condition)) return condition;
    // If a type occurs more than once, the order tells the conditions apart.
    const at = before.findIndex(({ type }) => type === condition.type);
    const [old] = at < 0 ? [] : before.splice(at, 1);
    const generation = condition.observedGeneration || old?.observedGeneration;
    return generation ? { ...condition, observedGeneration: generation } : condition;
  });
  return { ...status, ...kept, conditions: withGeneration };
}

/** Removes the status of devices that are no longer allocated. */
function withoutDeallocated(status: JsonObject, was: JsonObject): JsonObject {
  const { devices } = status;
  if (!Array.isArray(devices)) return status;
  const idsIn = (of: JsonObject): Json[] =>
    objectsAt(memberObject(memberObject(of, 'allocation'), 'devices'), 'results').map(deviceId);
  const has = (ids: readonly Json[], id: Json): boolean => ids.some((each) => sameJson(each, id));
  const [before, still] = [idsIn(was), idsIn(status)];
  const left = devices.filter((device) => {
    const id = isObject(device) ? deviceId(device) : null;
    return !has(before, id) || has(still, id);
  });
  return left.length === 0 ? without(status, 'devices') : { ...status, devices: left };
}

const deviceId = ({ driver, pool, device, shareID }: JsonObject): Json =>
  [driver, pool, device, shareID].map((part) => part ?? null);
