/**
 * The subresources that are not part of the object: scale, binding and eviction. A scale is a view
 * of an object: writing it writes the object's replicas. api.ts handles the other subresources.
 */
import { isObject, type Json, type JsonObject, memberObject, stringAt } from '../json.ts';
import type { ResourcePath } from '../paths.ts';
import { valueAt, withValueAt } from '../registry/json-paths.ts';
import type { Kind } from '../registry/kinds.ts';
import type { Registry } from '../registry/registry.ts';
import { metadataOf } from '../registry/store.ts';
import { ofResource } from '../registry/strategy.ts';
import type { Written } from '../registry/warnings.ts';
import type { RequestOptions } from '../request/options.ts';
import {
  ApiError,
  badRequest,
  conflict,
  fieldInvalid,
  invalidObject,
  type StatusBody,
} from '../status.ts';

/** The object's scale, as an autoscaling/v1 Scale. */
export function scaleOf(kind: Kind, object: JsonObject): JsonObject {
  const { specReplicas = '', statusReplicas = '', selector = '' } = kind.scale ?? {};
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadataOf(object);
  const shown = kind.builtIn
    ? selectorText(memberObject(object, 'spec').selector)
    : valueAt(object, selector);
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: replicasAt(object, specReplicas) },
    status: {
      replicas: replicasAt(object, statusReplicas) ?? 0,
      ...(typeof shown === 'string' && shown !== '' ? { selector: shown } : {}),
    },
  };
}

/** The number of replicas; undefined if the value is not a number. */
function replicasAt(object: JsonObject, path: string): number | undefined {
  const value = valueAt(object, path);
  return typeof value === 'number' && value !== 0 ? value : undefined;
}

/**
 * A selector in the form of a query parameter. That of a ReplicationController is a map of labels.
 */
function selectorText(selector: unknown): string {
  if (!isObject(selector)) return '';
  const isLabels = selector.matchLabels === undefined && selector.matchExpressions === undefined;
  const labels = isLabels ? selector : memberObject(selector, 'matchLabels');
  const parts = Object.entries(labels).map(([key, value]): [string, string] => [
    key,
    `${key}=${String(value)}`,
  ]);
  for (const expression of Array.isArray(selector.matchExpressions)
    ? selector.matchExpressions
    : []) {
    if (!isObject(expression)) continue;
    const key = stringAt(expression, 'key');
    const values = Array.isArray(expression.values) ? [...expression.values].sort().join(',') : '';
    const texts: Record<string, string> = {
      In: `${key} in (${values})`,
      NotIn: `${key} notin (${values})`,
      Exists: key,
      DoesNotExist: `!${key}`,
    };
    parts.push([key, texts[stringAt(expression, 'operator')] ?? '']);
  }
  return parts
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([, text]) => text)
    .join(',');
}

/**
 * Writes an object's scale.
 *
 * @param change from the present scale to the new one
 */
export function updateScale(
  registry: Registry,
  kind: Kind,
  path: ResourcePath,
  change: (scale: JsonObject) => JsonObject,
  options: RequestOptions,
): Written {
  const written = registry.update(
    path,
    (object) => {
      const scale = change(scaleOf(kind, object));
      requireScale(scale);
      const was = metadataOf(object);
      const {
        name,
        namespace = was.namespace,
        resourceVersion = was.resourceVersion,
      } = metadataOf(scale);
      const metadata = { ...was, name, namespace, resourceVersion };
      return { ...withReplicas(kind, path, object, scale), metadata };
    },
    options,
  );
  return asScale(kind, written);
}

/** Applies the replicas only; other fields of the applied scale are ignored. */
export function applyScale(
  registry: Registry,
  kind: Kind,
  path: ResourcePath,
  config: JsonObject,
  options: RequestOptions,
): Written {
  requireScale(config);
  const { group, version } = kind;
  const head: JsonObject = {
    apiVersion: group === '' ? version : `${group}/${version}`,
    kind: kind.kind,
  };
  const metadata = {
    name: memberObject(config, 'metadata').name,
    namespace: memberObject(config, 'metadata').namespace,
  };
  const { replicas = 0 } = memberObject(config, 'spec');
  const wanted = withValueAt({ ...head, metadata }, kind.scale?.specReplicas ?? '', replicas);
  // The real server reports conflicts before a negative number.
  const guard: RequestOptions['guard'] = (...args) => {
    options.guard?.(...args);
    requireReplicas(kind, path, replicas);
  };
  return asScale(kind, registry.apply(path, wanted, { ...options, guard }));
}

const asScale = (kind: Kind, { code, json }: Written): Written => ({
  code,
  json: JSON.stringify(scaleOf(kind, JSON.parse(json) as JsonObject)),
});

function requireScale(scale: JsonObject): void {
  const { apiVersion = 'autoscaling/v1', kind = 'Scale' } = scale;
  if (apiVersion === 'autoscaling/v1' && kind === 'Scale') return;
  throw badRequest(
    `expected autoscaling/v1, Kind=Scale, got ${String(apiVersion)}, Kind=${String(kind)}`,
  );
}

function withReplicas(
  kind: Kind,
  path: ResourcePath,
  object: JsonObject,
  scale: JsonObject,
): JsonObject {
  const replicas = memberObject(scale, 'spec').replicas ?? 0;
  requireReplicas(kind, path, replicas);
  return withValueAt(object, kind.scale?.specReplicas ?? '', replicas);
}

function requireReplicas(kind: Kind, path: ResourcePath, replicas: Json): void {
  if (!kind.builtIn || typeof replicas !== 'number' || replicas >= 0) return;
  const wrong = fieldInvalid('spec.replicas', replicas, 'must be greater than or equal to 0');
  throw invalidObject({ group: 'autoscaling', what: 'Scale', name: path.name }, [wrong]);
}

const SUCCESS: StatusBody = {
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  code: 201,
};
export const success: Written = { code: 201, json: JSON.stringify(SUCCESS) };

/** Assigns a Pod to a node, as a scheduler does. */
export function bind(
  registry: Registry,
  kind: Kind,
  path: ResourcePath,
  binding: JsonObject,
  dryRun: boolean,
): Written {
  requireName(path, binding, 'Binding');
  const target = memberObject(binding, 'target');
  const [node, targetKind] = [stringAt(target, 'name'), stringAt(target, 'kind')];
  if (targetKind !== '' && targetKind !== 'Node') {
    const given = JSON.stringify(targetKind);
    const why = `Unsupported value: ${given}: supported values: "Node", "<empty>"`;
    throw new ApiError(500, `target.kind: ${why}`);
  }
  if (node === '') throw new ApiError(500, 'target.name: Required value');
  if (path.name === '') throw badRequest('Name parameter required.');
  const { uid, resourceVersion } = metadataOf(binding);
  registry.modify(path, dryRun, (pod, now) => {
    const was = metadataOf(pod);
    requireSame(path, 'UID', uid, was.uid);
    requireSame(path, 'ResourceVersion', resourceVersion, was.resourceVersion);
    const subject = { ...ofResource(kind, path.name), what: 'pods/binding' };
    if (metadataOf(pod).deletionTimestamp !== undefined) {
      throw conflict(subject, `pod ${path.name} is being deleted, cannot be assigned to a host`);
    }
    const assigned = stringAt(memberObject(pod, 'spec'), 'nodeName');
    if (assigned !== '')
      throw conflict(
        subject,
        `pod ${path.name} is already assigned to node ${JSON.stringify(assigned)}`,
      );
    const status = memberObject(pod, 'status');
    const conditions = Array.isArray(status.conditions) ? status.conditions : [];
    const others = conditions.filter(
      (condition) => !isObject(condition) || condition.type !== 'PodScheduled',
    );
    const scheduled = {
      type: 'PodScheduled',
      status: 'True',
      lastProbeTime: null,
      lastTransitionTime: now,
    };
    const gates = memberObject(pod, 'spec').schedulingGates;
    if (Array.isArray(gates) && gates.length > 0)
      throw conflict(subject, `pod ${path.name} has non-empty .spec.schedulingGates`);
    const merged = ['labels', 'annotations'].flatMap((member) => {
      const both = { ...memberObject(was, member), ...memberObject(metadataOf(binding), member) };
      return Object.keys(both).length > 0 ? [[member, both] as const] : [];
    });
    return {
      ...pod,
      metadata: { ...was, ...Object.fromEntries(merged) },
      spec: { ...memberObject(pod, 'spec'), nodeName: node },
      status: { ...status, conditions: [...others, scheduled] },
    };
  });
  return success;
}

/** A Binding may require the Pod's uid and resourceVersion. */
function requireSame(
  { name, namespace }: ResourcePath,
  what: string,
  requested: Json | undefined,
  was: Json | undefined,
): void {
  if (requested === undefined || requested === '' || requested === was) return;
  const why =
    `StorageError: invalid object, Code: 4, Key: /registry/pods/${namespace}/${name}, ` +
    'ResourceVersion: 0, ' +
    `AdditionalErrorMsg: Precondition failed: ${what} in precondition: ${String(requested)}, ` +
    `${what} in object meta: ${String(was)}`;
  throw conflict({ group: '', what: 'pods', name }, why);
}

export function requireName(path: ResourcePath, object: JsonObject, what: string): void {
  if (stringAt(metadataOf(object), 'name') !== path.name) {
    throw badRequest(`name in URL does not match name in ${what} object`);
  }
}
