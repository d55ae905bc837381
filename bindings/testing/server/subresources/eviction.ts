/**
 * Evictions: a Pod is deleted unless its disruption budget is used up. kubernetes:
 * pkg/registry/core/pod/storage/eviction.go. No controller counts healthy Pods: the status of a
 * budget is what a client wrote, and before that every eviction gets 429.
 */
import { type LabelSelector, labelMatcher } from '../../../base/selectors.ts';
import { isObject, type JsonObject, memberObject, stringAt } from '../json.ts';
import type { ResourcePath } from '../paths.ts';
import { requirePreconditions } from '../registry/preconditions.ts';
import type { Registry } from '../registry/registry.ts';
import { metadataOf } from '../registry/store.ts';
import type { Written } from '../registry/warnings.ts';
import { deleteOptionsIn } from '../request/options.ts';
import { ApiError, type StatusDetails } from '../status.ts';
import { requireName, success } from './scale-and-binding.ts';

const BUDGETS = { group: 'policy', version: 'v1', plural: 'poddisruptionbudgets' };
/** Seconds after which to retry while the budget's status is not of its latest generation. */
const RETRY_AFTER_SECONDS = 10;

export function evict(
  registry: Registry,
  path: ResourcePath,
  eviction: JsonObject,
  dryRun: boolean,
): Written {
  requireName(path, eviction, 'Eviction');
  const evictionOptions = memberObject(eviction, 'deleteOptions');
  const isDry =
    dryRun || (Array.isArray(evictionOptions.dryRun) && evictionOptions.dryRun.length > 0);
  const { uid, resourceVersion } = memberObject(evictionOptions, 'preconditions');
  const kind = registry.kinds.get(path.resource);
  const pod = registry.get({ ...path, subresource: '' }, 0);
  const unhealthy = canIgnoreBudget(pod.object)
    ? undefined
    : takeDisruption(registry, path, pod.object, isDry);
  try {
    requirePreconditions(kind, pod, {
      uid: (uid as string) || undefined,
      // That of a Pod that is not healthy is the one that the server has read.
      resourceVersion:
        unhealthy === undefined ? (resourceVersion as string) || undefined : undefined,
      dryRun: isDry,
    });
  } catch (error) {
    // The real server assumes that the Pod has become healthy since.
    throw unhealthy === undefined || resourceVersion !== undefined ? error : retryLater(unhealthy);
  }
  registry.modify(path, isDry, withDisruptionTarget);
  // The real server reads the options only now. Their resourceVersion is the one from before the
  // condition was written, and was checked above.
  const options = deleteOptionsIn(evictionOptions);
  registry.delete(path, { ...options, resourceVersion: undefined, dryRun: isDry });
  return success;
}

/** The Pod with the condition `DisruptionTarget`. */
function withDisruptionTarget(pod: JsonObject, now: string): JsonObject {
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: now,
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
  };
  return { ...pod, status: withCondition(memberObject(pod, 'status'), condition) };
}

/**
 * The status with the condition in place of the one of its type; lastTransitionTime stays if the
 * condition's status does.
 */
function withCondition(status: JsonObject, condition: JsonObject): JsonObject {
  const all = Array.isArray(status.conditions) ? status.conditions.filter(isObject) : [];
  const old = all.find(({ type }) => type === condition.type);
  if (old === undefined) return { ...status, conditions: [...all, condition] };
  const { lastTransitionTime = null } = old.status === condition.status ? old : condition;
  const next = { ...condition, lastTransitionTime };
  return { ...status, conditions: all.map((each) => (each === old ? next : each)) };
}

/** Pods that are pending or finished do not count for a budget. */
function canIgnoreBudget(pod: JsonObject): boolean {
  const phase = stringAt(memberObject(pod, 'status'), 'phase');
  const over = phase === 'Succeeded' || phase === 'Failed' || phase === 'Pending';
  return over || metadataOf(pod).deletionTimestamp !== undefined;
}

const isReady = (pod: JsonObject): boolean => {
  const { conditions } = memberObject(pod, 'status');
  const all = Array.isArray(conditions) ? conditions.filter(isObject) : [];
  return all.some(({ type, status }) => type === 'Ready' && status === 'True');
};

/**
 * Takes one disruption from the Pod's budget, if there is one. Returns the name of a budget that
 * was not charged, as the Pod is not healthy. Throws 429.
 */
function takeDisruption(
  registry: Registry,
  path: ResourcePath,
  pod: JsonObject,
  dryRun: boolean,
): string | undefined {
  const { namespace } = path;
  const labels = memberObject(metadataOf(pod), 'labels');
  const budgets = registry
    .store(BUDGETS)
    .asOf(registry.versions.current, namespace, '')
    .filter(({ object }) => {
      const { selector } = memberObject(object, 'spec');
      return isObject(selector) && labelMatcher(selector as LabelSelector)(labels);
    });
  const [budget, another] = budgets;
  if (budget === undefined) return undefined;
  if (another !== undefined) {
    const why = 'which the eviction subresource does not support.';
    throw new ApiError(500, `This pod has more than one PodDisruptionBudget, ${why}`);
  }
  const { name, generation } = metadataOf(budget.object);
  const spec = memberObject(budget.object, 'spec');
  const status = memberObject(budget.object, 'status');
  const count = (name: string): number => Number(status[name] ?? 0);
  if (!isReady(pod)) {
    const policy = stringAt(spec, 'unhealthyPodEvictionPolicy') || 'IfHealthyBudget';
    const isSafe =
      count('currentHealthy') >= count('desiredHealthy') && count('desiredHealthy') > 0;
    if (policy === 'AlwaysAllow' || isSafe) return String(name);
  }
  if (count('observedGeneration') < Number(generation ?? 0)) throw retryLater(String(name));
  const allowed = count('disruptionsAllowed');
  if (allowed <= 0) {
    const needs =
      `needs ${count('desiredHealthy')} healthy pods and has ` +
      `${count('currentHealthy')} currently`;
    throw tooMany(`The disruption budget ${String(name)} ${needs}`);
  }
  const at = { ...path, resource: BUDGETS, name: String(name), subresource: 'status' };
  const now = registry.now();
  const take = (object: JsonObject): JsonObject => {
    const disrupted = { ...memberObject(status, 'disruptedPods'), [path.name]: now };
    const next: JsonObject = {
      ...status,
      disruptedPods: disrupted,
      disruptionsAllowed: allowed - 1,
    };
    return { ...object, status: allowed > 1 ? next : withoutDisruptions(next, now) };
  };
  registry.update(at, take, { dryRun, manager: 'kube-apiserver' });
  return undefined;
}

const retryLater = (budget: string): ApiError =>
  tooMany(
    `The disruption budget ${budget} is still being processed by the server.`,
    RETRY_AFTER_SECONDS,
  );

/** The status after the last allowed disruption. */
function withoutDisruptions(status: JsonObject, now: string): JsonObject {
  return withCondition(status, {
    type: 'DisruptionAllowed',
    status: 'False',
    observedGeneration: status.observedGeneration ?? 0,
    lastTransitionTime: now,
    reason: 'InsufficientPods',
    message: '',
  });
}

function tooMany(message: string, retryAfterSeconds?: number): ApiError {
  const details: StatusDetails = {
    causes: [{ reason: 'DisruptionBudget', message }],
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  };
  const why = "Cannot evict pod as it would violate the pod's disruption budget.";
  return new ApiError(429, why, { reason: 'TooManyRequests', details });
}
