/**
 * Converts HorizontalPodAutoscalers between autoscaling/v1 and v2, in which they are stored. In v1
 * a CPU target is a member, and what v1 has no members for is in annotations. kubernetes:
 * pkg/apis/autoscaling/v1/conversion.go.
 */
import { isObject, type Json, type JsonObject, memberObject, without } from '../json.ts';

const [V1, V2] = ['autoscaling/v1', 'autoscaling/v2'];
const PREFIX = 'autoscaling.alpha.kubernetes.io/';
const NAMES = ['metrics', 'behavior', 'current-metrics', 'conditions'] as const;
type Name = (typeof NAMES)[number];

const listAt = (object: JsonObject, name: string): JsonObject[] => {
  const value = object[name];
  return Array.isArray(value) ? value.filter(isObject) : [];
};

const cpuOf = (utilization: Json): JsonObject => ({
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: utilization } },
});

const isCpu = (metric: JsonObject, where: string): boolean => {
  const resource = memberObject(metric, 'resource');
  const value = memberObject(resource, where).averageUtilization;
  return metric.type === 'Resource' && resource.name === 'cpu' && typeof value === 'number';
};

const definedMembers = (members: Record<string, Json | undefined>): JsonObject =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));

/** A v2 metric in the form that v1 has in its annotation. `newMetric` is the inverse. */
function oldMetric(metric: JsonObject, where: 'target' | 'current'): JsonObject {
  const of = (name: string): JsonObject => memberObject(metric, name);
  const value = (name: string): JsonObject => memberObject(of(name), where);
  const named = (rest: string): string => `${where}${rest}`;
  const metricOf = (name: string): JsonObject => memberObject(of(name), 'metric');
  switch (metric.type) {
    case 'Resource':
    case 'ContainerResource': {
      const member = metric.type === 'Resource' ? 'resource' : 'containerResource';
      const { averageUtilization, averageValue } = value(member);
      return {
        type: metric.type,
        [member]: definedMembers({
          name: of(member).name,
          [named('AverageUtilization')]: averageUtilization,
          [named('AverageValue')]: averageValue ?? (where === 'current' ? '0' : undefined),
          container: of(member).container,
        }),
      };
    }
    case 'Pods':
      return {
        type: 'Pods',
        pods: definedMembers({
          metricName: metricOf('pods').name,
          [named('AverageValue')]: value('pods').averageValue,
          selector: metricOf('pods').selector,
        }),
      };
    case 'Object':
      return {
        type: 'Object',
        object: definedMembers({
          target: of('object').describedObject,
          metricName: metricOf('object').name,
          [named('Value')]: value('object').value ?? '0',
          selector: metricOf('object').selector,
          averageValue: value('object').averageValue,
        }),
      };
    default:
      return {
        type: metric.type ?? '',
        external: definedMembers({
          metricName: metricOf('external').name,
          metricSelector: metricOf('external').selector,
          [named('Value')]: value('external').value,
          [named('AverageValue')]: value('external').averageValue,
        }),
      };
  }
}

function newMetric(metric: JsonObject, where: 'target' | 'current'): JsonObject {
  const of = (name: string): JsonObject => memberObject(metric, name);
  const goal = (members: Record<string, Json | undefined>): JsonObject => {
    const type =
      members.averageUtilization === undefined
        ? members.value === undefined
          ? 'AverageValue'
          : 'Value'
        : 'Utilization';
    return definedMembers(where === 'target' ? { type, ...members } : members);
  };
  const named = (name: string, rest: string): Json | undefined => of(name)[`${where}${rest}`];
  switch (metric.type) {
    case 'Resource':
    case 'ContainerResource': {
      const member = metric.type === 'Resource' ? 'resource' : 'containerResource';
      const averageValue = named(member, 'AverageValue');
      return {
        type: metric.type,
        [member]: definedMembers({
          name: of(member).name,
          [where]: goal({ averageUtilization: named(member, 'AverageUtilization'), averageValue }),
          container: of(member).container,
        }),
      };
    }
    case 'Pods':
      return {
        type: 'Pods',
        pods: {
          metric: definedMembers({ name: of('pods').metricName, selector: of('pods').selector }),
          [where]: goal({ averageValue: named('pods', 'AverageValue') }),
        },
      };
    case 'Object': {
      const { target, metricName, selector, averageValue } = of('object');
      const value = averageValue === undefined ? named('object', 'Value') : undefined;
      return {
        type: 'Object',
        object: definedMembers({
          describedObject: target,
          metric: definedMembers({ name: metricName, selector }),
          [where]: goal({ value, averageValue }),
        }),
      };
    }
    default: {
      const { metricName: name, metricSelector } = of('external');
      const averageValue = named('external', 'AverageValue');
      return {
        type: metric.type ?? '',
        external: {
          metric: definedMembers({ name, selector: metricSelector }),
          [where]: goal({ value: named('external', 'Value'), averageValue }),
        },
      };
    }
  }
}

/**
 * Changes the case of the members' first letter. Go types without tags have
 * `StabilizationWindowSeconds`.
 */
function cased(value: Json, first: 'toUpperCase' | 'toLowerCase'): Json {
  if (Array.isArray(value)) return value.map((item: Json) => cased(item, first));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) =>
      member === undefined || (member === null && first === 'toLowerCase')
        ? []
        : [[name.charAt(0)[first]() + name.slice(1), cased(member, first)]],
    ),
  );
}

const withAnnotations = (object: JsonObject, added: Record<string, string>): JsonObject => {
  const metadata = memberObject(object, 'metadata');
  const kept = Object.entries(memberObject(metadata, 'annotations')).filter(
    ([name]) => !NAMES.some((own) => name === PREFIX + own),
  );
  const own = Object.entries(added).map(([name, value]): [string, Json] => [PREFIX + name, value]);
  const annotations = Object.fromEntries([...kept, ...own]);
  const rest = without(metadata, 'annotations');
  return {
    ...object,
    metadata: Object.keys(annotations).length === 0 ? rest : { ...metadata, annotations },
  };
};

/** The v1 object in its stored form, v2. */
export function autoscalerToV2(given: JsonObject): JsonObject {
  if (given.apiVersion === V2) return given;
  const [spec, status] = [memberObject(given, 'spec'), memberObject(given, 'status')];
  const annotations = memberObject(memberObject(given, 'metadata'), 'annotations');
  const read = (name: Name): Json | undefined => {
    try {
      return JSON.parse(String(annotations[PREFIX + name])) as Json;
    } catch {
      return undefined;
    }
  };
  const others = read('metrics');
  const goal = spec.targetCPUUtilizationPercentage;
  const metrics = [
    ...(Array.isArray(others)
      ? others.filter(isObject).map((each) => newMetric(each, 'target'))
      : []),
    ...(typeof goal === 'number' ? [cpuOf(goal)] : []),
  ];
  const behavior = read('behavior');
  const { currentCPUUtilizationPercentage: cpu } = status;
  const current = read('current-metrics');
  const currentMetrics = Array.isArray(current)
    ? current.filter(isObject).map((each) => newMetric(each, 'current'))
    : typeof cpu === 'number'
      ? [{ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: cpu } } }]
      : undefined;
  const conditions = read('conditions');
  return {
    ...withAnnotations(given, {}),
    apiVersion: V2,
    spec: {
      ...without(spec, 'targetCPUUtilizationPercentage'),
      metrics: metrics.length > 0 ? metrics : [cpuOf(80)],
      ...(isObject(behavior) ? { behavior: cased(behavior, 'toLowerCase') } : {}),
    },
    status: {
      ...without(status, 'currentCPUUtilizationPercentage'),
      currentMetrics: currentMetrics ?? null,
      ...(Array.isArray(conditions) ? { conditions } : {}),
    },
  };
}

/** The stored object as v1. */
export function autoscalerToV1(stored: JsonObject): JsonObject {
  if (stored.apiVersion === V1) return stored;
  const [spec, status] = [memberObject(stored, 'spec'), memberObject(stored, 'status')];
  const metrics = listAt(spec, 'metrics');
  const goal = metrics.find((metric) => isCpu(metric, 'target'));
  const others = metrics.filter((metric) => !isCpu(metric, 'target'));
  const current = listAt(status, 'currentMetrics');
  const conditions = listAt(status, 'conditions');
  const cpu = current.findLast((metric) => isCpu(metric, 'current'));
  const texts: Record<string, string> = {
    ...(others.length > 0
      ? { metrics: JSON.stringify(others.map((metric) => oldMetric(metric, 'target'))) }
      : {}),
    ...(current.length > 0
      ? { 'current-metrics': JSON.stringify(current.map((metric) => oldMetric(metric, 'current'))) }
      : {}),
    ...(isObject(spec.behavior) ? { behavior: JSON.stringify(goBehavior(spec.behavior)) } : {}),
    ...(conditions.length > 0 ? { conditions: JSON.stringify(conditions) } : {}),
  };
  const utilization = (metric: JsonObject | undefined, where: string): Json | undefined =>
    metric === undefined
      ? undefined
      : memberObject(memberObject(metric, 'resource'), where).averageUtilization;
  return {
    ...withAnnotations(stored, texts),
    apiVersion: V1,
    spec: definedMembers({
      ...without(spec, 'metrics', 'behavior'),
      targetCPUUtilizationPercentage: utilization(goal, 'target'),
    }),
    status: definedMembers({
      ...without(status, 'currentMetrics', 'conditions'),
      currentCPUUtilizationPercentage: utilization(cpu, 'current'),
    }),
  };
}

/** As Go writes it: null for pointers that are not set. */
function goBehavior(behavior: JsonObject): JsonObject {
  const rules = (given: Json | undefined): Json =>
    isObject(given)
      ? {
          StabilizationWindowSeconds: given.stabilizationWindowSeconds ?? null,
          SelectPolicy: given.selectPolicy ?? null,
          Policies: given.policies === undefined ? null : cased(given.policies, 'toUpperCase'),
          Tolerance: given.tolerance ?? null,
        }
      : null;
  return { ScaleUp: rules(behavior.scaleUp), ScaleDown: rules(behavior.scaleDown) };
}

export const isOldAutoscaler = (kind: {
  group: string;
  version: string;
  plural: string;
}): boolean =>
  kind.group === 'autoscaling' &&
  kind.version === 'v1' &&
  kind.plural === 'horizontalpodautoscalers';
