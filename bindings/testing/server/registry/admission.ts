/**
 * What the server itself adds to a new object of a built-in kind, without an entry in
 * managedFields: the PrepareForCreate of the kinds' strategies, the allocation of addresses and
 * ports, and the default admission plugins of kube-apiserver. ServiceAccount is left out, since it
 * needs a controller manager.
 */
import type { ServerUser } from '../auth/users.ts';
import {
  isObject,
  type Json,
  type JsonObject,
  memberObject,
  sameJson,
  stringAt,
  without,
} from '../json.ts';
import { type ApiError, fieldInvalid, invalidObject } from '../status.ts';
import { withStoredVersion } from './definitions.ts';
import type { Kind } from './kinds.ts';

/** Allocates the addresses and node ports of one server. */
export class Allocator {
  #address = 10;
  #port = 30_000;

  /** In 10.0.0.0/16, as with `--service-cluster-ip-range=10.0.0.0/16`. */
  address(): string {
    const next = this.#address++;
    return `10.0.${Math.floor(next / 254) % 256}.${(next % 254) + 1}`;
  }

  nodePort(): number {
    const next = this.#port++;
    return 30_000 + ((next - 30_000) % 2768);
  }
}

export interface Admission {
  uid: string;
  name: string;
  now: string;
  allocate: Allocator;
  /** The metadata as the client sent it. */
  sent: JsonObject;
  /** The user who creates the object. */
  user: ServerUser | undefined;
  dryRun: boolean;
}

/** Adds what the server sets at a create. apiVersion and kind are those of the stored form. */
export function withServerFields(kind: Kind, object: JsonObject, by: Admission): JsonObject {
  const change = kind.builtIn ? CHANGES[`${kind.group}/${kind.plural}`] : undefined;
  return change === undefined ? object : change(object, by);
}

/** Carries over from the old object what the server keeps in an update, or sets it again. */
export function withKeptFields(kind: Kind, object: JsonObject, old: JsonObject): JsonObject {
  if (kind.builtIn && kind.plural === 'daemonsets') return daemonSetChange(object, old);
  if (!kind.builtIn || kind.group !== '') return object;
  if (kind.plural === 'pods') return podChange(object, old);
  return kind.plural === 'services' ? serviceChange(object, old) : object;
}

const TEMPLATE_GENERATION = 'deprecated.daemonset.template.generation';

/**
 * The generation of the template starts with 1. Without the annotation it reads as 0, and an update
 * would make its sender the owner of the field.
 */
function daemonSet(object: JsonObject): JsonObject {
  const metadata = memberObject(object, 'metadata');
  const annotations = memberObject(metadata, 'annotations');
  if (Number(annotations[TEMPLATE_GENERATION]) >= 1) return object;
  const first = { ...annotations, [TEMPLATE_GENERATION]: '1' };
  return { ...object, metadata: { ...metadata, annotations: first } };
}

/** Counts the changes of the template. Clients cannot set the counter. */
export function daemonSetChange(object: JsonObject, old: JsonObject): JsonObject {
  const templateOf = (of: JsonObject): Json | undefined => memberObject(of, 'spec').template;
  const annotationsOf = (of: JsonObject): JsonObject =>
    memberObject(memberObject(of, 'metadata'), 'annotations');
  const generation = Number(annotationsOf(old)[TEMPLATE_GENERATION] ?? 0);
  const isSame = sameJson(templateOf(object), templateOf(old));
  const annotations = {
    ...annotationsOf(object),
    [TEMPLATE_GENERATION]: String(isSame ? generation : generation + 1),
  };
  return { ...object, metadata: { ...memberObject(object, 'metadata'), annotations } };
}

type Change = (object: JsonObject, by: Admission) => JsonObject;

const withSpec = (object: JsonObject, members: Record<string, Json | undefined>): JsonObject => ({
  ...object,
  spec: { ...memberObject(object, 'spec'), ...members } as JsonObject,
});

const protectedBy =
  (finalizer: string): Change =>
  (object) => {
    const metadata = memberObject(object, 'metadata');
    const finalizers = Array.isArray(metadata.finalizers) ? metadata.finalizers : [];
    if (finalizers.includes(finalizer)) return object;
    return { ...object, metadata: { ...metadata, finalizers: [...finalizers, finalizer] } };
  };

const CHANGES: Record<string, Change> = {
  '/namespaces': (object) => {
    const { finalizers } = memberObject(object, 'spec');
    const asked = Array.isArray(finalizers) ? finalizers : [];
    const has = asked.includes('kubernetes');
    return withSpec(object, { finalizers: has ? asked : [...asked, 'kubernetes'] });
  },
  '/persistentvolumes': (object, by) => {
    const { now } = by;
    const made = protectedBy('kubernetes.io/pv-protection')(object, by);
    return { ...made, status: { ...memberObject(made, 'status'), lastPhaseTransitionTime: now } };
  },
  '/persistentvolumeclaims': protectedBy('kubernetes.io/pvc-protection'),
  'storage.k8s.io/volumeattributesclasses': protectedBy('kubernetes.io/vac-protection'),
  '/pods': pod,
  '/services': service,
  '/nodes': (object) => {
    const taints = memberObject(object, 'spec').taints;
    const all = Array.isArray(taints) ? taints : [];
    if (all.some((taint) => isObject(taint) && taint.key === NOT_READY)) return object;
    return withSpec(object, { taints: [...all, { key: NOT_READY, effect: 'NoSchedule' }] });
  },
  'apiextensions.k8s.io/customresourcedefinitions': withStoredVersion,
  'apps/daemonsets': daemonSet,
  'batch/jobs': job,
  'certificates.k8s.io/certificatesigningrequests': (object, { user }) => {
    const { name = '', uid, groups = [], extra } = user ?? {};
    return withSpec(object, {
      ...{ username: name, groups: [...groups] },
      ...{ uid, extra: extra as JsonObject | undefined },
    });
  },
};

const NOT_READY = 'node.kubernetes.io/not-ready';
const UNREACHABLE = 'node.kubernetes.io/unreachable';

/** The plugins DefaultTolerationSeconds and Priority. */
function pod(object: JsonObject, { now }: Admission): JsonObject {
  const spec = memberObject(object, 'spec');
  return {
    ...object,
    spec: {
      ...withDefaultTolerations(spec),
      priority: spec.priority ?? PRIORITIES[stringAt(spec, 'priorityClassName')] ?? 0,
      preemptionPolicy: spec.preemptionPolicy ?? 'PreemptLowerPriority',
    },
    status: {
      ...memberObject(object, 'status'),
      ...schedulingGatedStatus(spec, now),
      qosClass: qosClass(spec),
    },
  };
}

function podChange(object: JsonObject, old: JsonObject): JsonObject {
  const [spec, was] = [memberObject(object, 'spec'), memberObject(old, 'spec')];
  return {
    ...object,
    spec: { ...setMembers(was, 'priority', 'preemptionPolicy'), ...withDefaultTolerations(spec) },
  };
}

/** The given members that are set. */
const setMembers = (from: JsonObject, ...members: string[]): JsonObject =>
  Object.fromEntries(
    members.flatMap((name) => (from[name] === undefined ? [] : [[name, from[name]]])),
  );

function withDefaultTolerations(spec: JsonObject): JsonObject {
  const tolerations = Array.isArray(spec.tolerations) ? spec.tolerations : [];
  const tolerates = (key: string): boolean =>
    tolerations.some((each) => {
      if (!isObject(each)) return false;
      const effect = each.effect ?? '';
      const any = (each.key ?? '') === '' && each.operator === 'Exists';
      return (each.key === key || any) && (effect === 'NoExecute' || effect === '');
    });
  const added = [NOT_READY, UNREACHABLE].flatMap((key) =>
    tolerates(key)
      ? []
      : [{ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 }],
  );
  return added.length === 0 ? spec : { ...spec, tolerations: [...tolerations, ...added] };
}

/**
 * A Pod with scheduling gates has the condition SchedulingGated: pkg/registry/core/pod/strategy.go.
 */
function schedulingGatedStatus({ schedulingGates }: JsonObject, now: string): JsonObject {
  if (!Array.isArray(schedulingGates) || schedulingGates.length === 0) return {};
  const condition = {
    type: 'PodScheduled',
    status: 'False',
    lastProbeTime: null,
    lastTransitionTime: now,
    reason: 'SchedulingGated',
    message: 'Scheduling is blocked due to non-empty scheduling gates',
  };
  return { conditions: [condition] };
}

const PRIORITIES: Record<string, number> = {
  'system-cluster-critical': 2_000_000_000,
  'system-node-critical': 2_000_001_000,
};

/** pkg/apis/core/helper/qos. */
export function qosClass(spec: JsonObject): string {
  const all = [spec.containers, spec.initContainers].flatMap((list) =>
    Array.isArray(list) ? list.filter(isObject) : [],
  );
  let guaranteed = all.length > 0;
  let burstable = false;
  for (const container of all) {
    const resources = memberObject(container, 'resources');
    const requests = computeOf(memberObject(resources, 'requests'));
    const limits = computeOf(memberObject(resources, 'limits'));
    if (Object.keys(requests).length > 0 || Object.keys(limits).length > 0) burstable = true;
    for (const name of ['cpu', 'memory']) {
      const limit = limits[name];
      if (limit === undefined || (requests[name] ?? limit) !== limit) guaranteed = false;
    }
  }
  if (!burstable) return 'BestEffort';
  return guaranteed ? 'Guaranteed' : 'Burstable';
}

function computeOf(list: JsonObject): Record<string, Json> {
  return Object.fromEntries(
    ['cpu', 'memory'].flatMap((name) => {
      const value = list[name];
      return value === undefined || value === '0' || value === 0 ? [] : [[name, value]];
    }),
  );
}

function service(object: JsonObject, by: Admission): JsonObject {
  const { allocate } = by;
  const spec = memberObject(object, 'spec');
  const type = stringAt(spec, 'type');
  if (type === 'ExternalName') return object;
  if (by.name === '' && spec.clusterIP !== 'None' && !by.dryRun) throw addressError();
  const address = stringAt(spec, 'clusterIP') || allocate.address();
  const families = address.includes(':') ? ['IPv6'] : ['IPv4'];
  const members: Record<string, Json> = {
    clusterIP: address,
    clusterIPs: isFilled(spec.clusterIPs) ? (spec.clusterIPs as Json) : [address],
    ipFamilies: isFilled(spec.ipFamilies) ? (spec.ipFamilies as Json) : families,
    ipFamilyPolicy: spec.ipFamilyPolicy ?? 'SingleStack',
  };
  const ports = Array.isArray(spec.ports) ? spec.ports : [];
  const noPorts = type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts === false;
  if ((type === 'NodePort' || type === 'LoadBalancer') && !noPorts) {
    members.ports = ports.map((port) =>
      isObject(port) && !port.nodePort ? { ...port, nodePort: allocate.nodePort() } : port,
    );
  }
  if (type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local')
    members.healthCheckNodePort = spec.healthCheckNodePort || allocate.nodePort();
  return withSpec(object, members);
}

/**
 * An address is allocated to a named Service; the real server allocates before it checks the name.
 */
const addressError = (): ApiError =>
  invalidObject({ group: '', what: 'Service', name: '' }, [
    fieldInvalid('spec.clusterIPs', [''], 'failed to allocate IP: spec.parentRef.name is required'),
  ]);

/**
 * Keeps the allocated values that a client leaves out of its update, and drops the values that the
 * new type does not use. pkg/registry/core/service/storage: patchAllocatedValues, strategy.go
 * dropTypeDependentFields.
 */
function serviceChange(object: JsonObject, old: JsonObject): JsonObject {
  const [spec, was] = [memberObject(object, 'spec'), memberObject(old, 'spec')];
  const isOutside = (of: JsonObject): boolean => of.type === 'ExternalName';
  if (isOutside(was)) return object;
  if (isOutside(spec)) {
    const rest = ADDRESSES.filter(
      (name) => spec[name] !== undefined && !sameJson(spec[name], was[name]),
    );
    return { ...object, spec: { ...without(spec, ...ADDRESSES), ...setMembers(spec, ...rest) } };
  }
  const isNamed = stringAt(spec, 'clusterIP') !== '' || isFilled(spec.clusterIPs);
  const families = setMembers(was, 'ipFamilies', 'ipFamilyPolicy');
  const addresses = isNamed
    ? families
    : { ...families, ...setMembers(was, 'clusterIP', 'clusterIPs') };
  const empty = ADDRESSES.filter((name) => isEmpty(spec[name]));
  const members: Record<string, Json | undefined> = { ...addresses, ...without(spec, ...empty) };
  const hasPorts = (of: JsonObject): boolean =>
    of.type === 'NodePort' || of.type === 'LoadBalancer';
  const before = Array.isArray(was.ports) ? was.ports.filter(isObject) : [];
  if (hasPorts(was) && Array.isArray(spec.ports)) {
    members.ports = spec.ports.map((port: Json) => {
      if (!isObject(port)) return port;
      const same = before.find(
        (each) => each.port === port.port && each.protocol === port.protocol,
      );
      if (!hasPorts(spec))
        return same?.nodePort === port.nodePort ? without(port, 'nodePort') : port;
      return port.nodePort || same?.nodePort === undefined
        ? port
        : { ...port, nodePort: same.nodePort };
    });
  }
  const unused = Object.entries(MEMBERS_BY_TYPE).flatMap(([name, needs]) =>
    needs(was) && !needs(spec) && sameJson(members[name], was[name]) ? [name] : [],
  );
  return { ...object, spec: without(members as JsonObject, ...unused) };
}

const isBalancer = (spec: JsonObject): boolean => spec.type === 'LoadBalancer';

/** Which Services use the member. It is dropped when the new spec no longer uses it. */
const MEMBERS_BY_TYPE: Readonly<Record<string, (spec: JsonObject) => boolean>> = {
  externalTrafficPolicy: (spec) =>
    isBalancer(spec) ||
    spec.type === 'NodePort' ||
    (spec.type === 'ClusterIP' && isFilled(spec.externalIPs)),
  healthCheckNodePort: (spec) => isBalancer(spec) && spec.externalTrafficPolicy === 'Local',
  allocateLoadBalancerNodePorts: isBalancer,
  loadBalancerClass: isBalancer,
};

const ADDRESSES = ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy'];

const isEmpty = (value: Json | undefined): boolean =>
  value === '' || value === null || (Array.isArray(value) && value.length === 0);

const isFilled = (value: Json | undefined): boolean => Array.isArray(value) && value.length > 0;

/** pkg/registry/batch/job/strategy.go: generateSelector. */
function job(object: JsonObject, { uid, name, sent }: Admission): JsonObject {
  const spec = memberObject(object, 'spec');
  if (spec.manualSelector === true) return object;
  const labels = {
    'batch.kubernetes.io/controller-uid': uid,
    'batch.kubernetes.io/job-name': name,
    'controller-uid': uid,
    'job-name': name,
  };
  const template = memberObject(spec, 'template');
  const metadata = memberObject(template, 'metadata');
  const selector = memberObject(spec, 'selector');
  const matchLabels = {
    ...memberObject(selector, 'matchLabels'),
    'batch.kubernetes.io/controller-uid': uid,
  };
  // In Go, a Job without labels shares one map with its template, so that it gets the labels too.
  // The map was copied, and is not shared, if the name is generated and the template has labels.
  const own = memberObject(object, 'metadata');
  const isBare = (labels: JsonObject): boolean => Object.keys(labels).length === 0;
  const shared =
    isBare(memberObject(sent, 'labels')) &&
    (stringAt(sent, 'name') !== '' || isBare(memberObject(metadata, 'labels')));
  const made = shared
    ? { ...object, metadata: { ...own, labels: { ...memberObject(own, 'labels'), ...labels } } }
    : object;
  return withSpec(made, {
    selector: { ...selector, matchLabels },
    template: {
      ...template,
      metadata: { ...metadata, labels: { ...memberObject(metadata, 'labels'), ...labels } },
    },
  });
}
