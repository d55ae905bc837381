/**
 * The defaults of built-in kinds in kube-apiserver 1.36: pkg/apis/&#42;/&#42;/defaults.go.
 * Constants are in a table by Go's type names; defaults that depend on other members are functions
 * of the type's value.
 */

import type { MapType } from '../../../apimachinery/atoms.ts';
import { builtInTypeName, typeNamed } from '../../../apimachinery/built-in.ts';
import { isObject, type Json, type JsonObject, memberObject, stringAt, without } from '../json.ts';
import { apiVersionOf, type Kind } from '../registry/kinds.ts';
import { isLatest } from './images.ts';

/** `Type member=value …`; a value is JSON, otherwise a string. */
const CONSTANTS = `
Container terminationMessagePath=/dev/termination-log terminationMessagePolicy=File
EphemeralContainer terminationMessagePath=/dev/termination-log terminationMessagePolicy=File
ContainerPort protocol=TCP
Probe timeoutSeconds=1 periodSeconds=10 successThreshold=1 failureThreshold=3
HTTPGetAction path=/ scheme=HTTP
GRPCAction service=""
ObjectFieldSelector apiVersion=v1
PodSpec restartPolicy=Always terminationGracePeriodSeconds=30 dnsPolicy=ClusterFirst \
securityContext={} schedulerName=default-scheduler
SecretVolumeSource defaultMode=420
NamespaceStatus phase=Active
PersistentVolumeStatus phase=Pending
PersistentVolumeClaimStatus phase=Pending
ConfigMapVolumeSource defaultMode=420
DownwardAPIVolumeSource defaultMode=420
ProjectedVolumeSource defaultMode=420
ServiceAccountTokenProjection expirationSeconds=3600
HostPathVolumeSource type=""
ISCSIVolumeSource iscsiInterface=default
ISCSIPersistentVolumeSource iscsiInterface=default
RBDVolumeSource pool=rbd user=admin keyring=/etc/ceph/keyring
RBDPersistentVolumeSource pool=rbd user=admin keyring=/etc/ceph/keyring
AzureDiskVolumeSource cachingMode=ReadWrite fsType=ext4 readOnly=false kind=Shared
ScaleIOVolumeSource storageMode=ThinProvisioned fsType=xfs
ScaleIOPersistentVolumeSource storageMode=ThinProvisioned fsType=xfs
PersistentVolumeClaimSpec volumeMode=Filesystem
PersistentVolumeSpec persistentVolumeReclaimPolicy=Retain volumeMode=Filesystem
ReplicationControllerSpec replicas=1
ServiceSpec sessionAffinity=None type=ClusterIP
ServicePort protocol=TCP
EndpointPort.core.v1 protocol=TCP
EndpointPort.discovery.v1 name="" protocol=TCP
DeploymentSpec replicas=1 revisionHistoryLimit=10 progressDeadlineSeconds=600
DeploymentStrategy type=RollingUpdate
ReplicaSetSpec replicas=1
DaemonSetSpec revisionHistoryLimit=10
DaemonSetUpdateStrategy type=RollingUpdate
StatefulSetSpec podManagementPolicy=OrderedReady replicas=1 revisionHistoryLimit=10
StatefulSetPersistentVolumeClaimRetentionPolicy whenDeleted=Retain whenScaled=Retain
PodFailurePolicyOnPodConditionsPattern status=True
CronJobSpec concurrencyPolicy=Allow suspend=false successfulJobsHistoryLimit=3 \
failedJobsHistoryLimit=1
HorizontalPodAutoscalerSpec.autoscaling.v1 minReplicas=1
HorizontalPodAutoscalerSpec.autoscaling.v2 minReplicas=1
NetworkPolicyPort protocol=TCP
IngressClassParametersReference scope=Cluster
RoleRef apiGroup=rbac.authorization.k8s.io
StorageClass reclaimPolicy=Delete volumeBindingMode=Immediate
CSIDriverSpec attachRequired=true podInfoOnMount=false storageCapacity=false \
fsGroupPolicy=ReadWriteOnceWithFSType volumeLifecycleModes=["Persistent"] \
requiresRepublish=false seLinuxMount=false
ValidatingWebhook failurePolicy=Fail matchPolicy=Equivalent namespaceSelector={} \
objectSelector={} timeoutSeconds=10
MutatingWebhook failurePolicy=Fail matchPolicy=Equivalent namespaceSelector={} objectSelector={} \
timeoutSeconds=10 reinvocationPolicy=Never
RuleWithOperations scope=*
NamedRuleWithOperations scope=*
ServiceReference.admissionregistration.v1 port=443
ServiceReference.apiregistration.v1 port=443
ServiceReference.apiextensions.v1 port=443
ValidatingAdmissionPolicySpec failurePolicy=Fail
MutatingAdmissionPolicySpec failurePolicy=Fail
MatchResources matchPolicy=Equivalent namespaceSelector={} objectSelector={}
PriorityClass preemptionPolicy=PreemptLowerPriority
FlowSchemaSpec matchingPrecedence=1000
LimitedPriorityLevelConfiguration nominalConcurrencyShares=30 lendablePercent=0
ExemptPriorityLevelConfiguration nominalConcurrencyShares=0 lendablePercent=0
QueuingConfiguration handSize=8 queues=64 queueLengthLimit=50
ExactDeviceRequest allocationMode=ExactCount
DeviceSubRequest allocationMode=ExactCount
`;

type Defaulter = (value: JsonObject) => JsonObject;

/**
 * Adds the members that are missing. Empty values count as set: those without a pointer in Go were
 * removed when the object was decoded.
 */
const fill = (value: JsonObject, members: JsonObject): JsonObject => {
  const missing = Object.entries(members).filter(([name]) => (value[name] ?? null) === null);
  return missing.length === 0 ? value : { ...value, ...Object.fromEntries(missing) };
};
const isUnset = (value: Json | undefined): boolean =>
  value === undefined || value === null || value === '';

let constants: Map<string, JsonObject> | undefined;

function constantsOf(type: string): JsonObject | undefined {
  constants ??= new Map(
    CONSTANTS.trim()
      .split('\n')
      .map((line) => {
        const [name = '', ...members] = line.split(' ');
        return [name, Object.fromEntries(members.map(constant))];
      }),
  );
  return constants.get(type);
}

function constant(text: string): [string, Json] {
  const [name = '', value = ''] = text.split(/=(.*)/s);
  const isJson = /^(["[{\d]|true$|false$)/.test(value);
  return [name, isJson ? (JSON.parse(value) as Json) : value];
}

/** The default pull policy: Always for a tag that may move. */
const pullPolicy = (value: JsonObject): JsonObject =>
  fill(value, { imagePullPolicy: isLatest(stringAt(value, 'image')) ? 'Always' : 'IfNotPresent' });

const templateLabels = (value: JsonObject): Json | undefined => {
  const labels = memberObject(
    memberObject(memberObject(value, 'spec'), 'template'),
    'metadata',
  ).labels;
  return isObject(labels) && Object.keys(labels).length > 0 ? labels : undefined;
};

/** A controller without labels gets those of its Pod template. */
function withTemplateLabels(value: JsonObject): JsonObject {
  const labels = templateLabels(value);
  const metadata = memberObject(value, 'metadata');
  if (labels === undefined || Object.keys(memberObject(metadata, 'labels')).length > 0)
    return value;
  return { ...value, metadata: { ...metadata, labels } };
}

const RULES: Record<string, Defaulter> = {
  Container: pullPolicy,
  EphemeralContainer: pullPolicy,
  Pod: (value) => {
    const spec = memberObject(value, 'spec');
    const requested = (list: Json | undefined): Json | undefined =>
      Array.isArray(list)
        ? list.map((container) => (isObject(container) ? withRequests(container) : container))
        : list;
    return {
      ...value,
      spec: {
        ...fill(spec, { enableServiceLinks: true }),
        ...(Number(spec.terminationGracePeriodSeconds) < 0
          ? { terminationGracePeriodSeconds: 1 }
          : {}),
        ...(spec.containers === undefined ? {} : { containers: requested(spec.containers) }),
        ...(spec.initContainers === undefined
          ? {}
          : { initContainers: requested(spec.initContainers) }),
      } as JsonObject,
    };
  },
  PodSpec: (value) => {
    const account = value.serviceAccountName ?? value.serviceAccount;
    const named = isUnset(account)
      ? value
      : { ...value, serviceAccountName: account as Json, serviceAccount: account as Json };
    return named.hostNetwork === true ? withHostPorts(named) : named;
  },
  Volume: (value) =>
    Object.keys(value).some((name) => name !== 'name') ? value : { ...value, emptyDir: {} },
  ReplicationController: (value) => {
    const labels = templateLabels(value);
    const spec = memberObject(value, 'spec');
    const selected = Object.keys(memberObject(spec, 'selector')).length > 0;
    const withLabels = withTemplateLabels(value);
    return labels === undefined || selected
      ? withLabels
      : { ...withLabels, spec: { ...spec, selector: labels } };
  },
  Service: (value) => ({ ...value, spec: serviceSpec(memberObject(value, 'spec')) }),
  LimitRangeItem: (value) => {
    if (value.type !== 'Container') return value;
    const limits = { ...memberObject(value, 'max'), ...memberObject(value, 'default') };
    const requests = {
      ...memberObject(value, 'min'),
      ...limits,
      ...memberObject(value, 'defaultRequest'),
    };
    const some = (map: JsonObject, name: string): JsonObject =>
      Object.keys(map).length === 0 ? {} : { [name]: map };
    return { ...value, ...some(limits, 'default'), ...some(requests, 'defaultRequest') };
  },
  NodeSpec: (value) => {
    const first = Array.isArray(value.podCIDRs) ? value.podCIDRs[0] : undefined;
    if (isUnset(value.podCIDR)) return first === undefined ? value : { ...value, podCIDR: first };
    return first === value.podCIDR ? value : { ...value, podCIDRs: [value.podCIDR as Json] };
  },
  NodeStatus: (value) =>
    isObject(value.capacity) ? fill(value, { allocatable: value.capacity }) : value,
  DeploymentStrategy: (value) =>
    value.type === 'RollingUpdate'
      ? {
          ...value,
          rollingUpdate: fill(memberObject(value, 'rollingUpdate'), {
            maxUnavailable: '25%',
            maxSurge: '25%',
          }),
        }
      : value,
  DaemonSetUpdateStrategy: (value) =>
    value.type === 'RollingUpdate'
      ? {
          ...value,
          rollingUpdate: fill(memberObject(value, 'rollingUpdate'), {
            maxUnavailable: 1,
            maxSurge: 0,
          }),
        }
      : value,
  // Without a type, both the type and rollingUpdate get defaults; with one, a missing
  // rollingUpdate gets none.
  StatefulSetUpdateStrategy: (value) => {
    const { type = '', rollingUpdate } = value;
    if (type !== '' && (type !== 'RollingUpdate' || !isObject(rollingUpdate))) return value;
    return {
      ...value,
      type: 'RollingUpdate',
      rollingUpdate: fill(memberObject(value, 'rollingUpdate'), { partition: 0 }),
    };
  },
  StatefulSetSpec: (value) => ({
    ...fill(value, { persistentVolumeClaimRetentionPolicy: {} }),
    ...(Array.isArray(value.volumeClaimTemplates)
      ? { volumeClaimTemplates: value.volumeClaimTemplates.map(claimTemplate) }
      : {}),
  }),
  // The template of a CronJob gets no defaults: they are set when the Job is created.
  Job: (value) => {
    const spec = memberObject(value, 'spec');
    const counts: JsonObject =
      isUnset(spec.completions) && isUnset(spec.parallelism)
        ? { completions: 1, parallelism: 1 }
        : { parallelism: 1 };
    const members: JsonObject = {
      ...counts,
      completionMode: 'NonIndexed',
      suspend: false,
      manualSelector: false,
      backoffLimit: isUnset(spec.backoffLimitPerIndex) ? 6 : 2_147_483_647,
      podReplacementPolicy: spec.podFailurePolicy === undefined ? 'TerminatingOrFailed' : 'Failed',
    };
    return { ...withTemplateLabels(value), spec: fill(spec, members) };
  },
  DaemonSet: (value) => {
    const metadata = memberObject(value, 'metadata');
    const annotations = fill(memberObject(metadata, 'annotations'), {
      'deprecated.daemonset.template.generation': '0',
    });
    return { ...value, metadata: { ...metadata, annotations } };
  },
  // podIP is the first of podIPs; if they differ, podIP wins, as with old kubelets.
  PodStatus: (value) => {
    const { podIP } = value;
    const ips = Array.isArray(value.podIPs) ? value.podIPs : [];
    const { ip } = isObject(ips[0]) ? ips[0] : {};
    if (podIP) return ip === podIP ? value : { ...value, podIPs: [{ ip: podIP }] };
    return ip ? { ...value, podIP: ip } : value;
  },
  'HorizontalPodAutoscalerSpec.autoscaling.v2': (value) => {
    const cpu = { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } };
    const filled = isEmptyList(value.metrics)
      ? { ...value, metrics: [{ type: 'Resource', resource: cpu }] }
      : value;
    return isObject(value.behavior) ? { ...filled, behavior: behavior(value.behavior) } : filled;
  },
  NetworkPolicySpec: (value) => {
    if (!isEmptyList(value.policyTypes)) return value;
    return {
      ...value,
      policyTypes: isEmptyList(value.egress) ? ['Ingress'] : ['Ingress', 'Egress'],
    };
  },
  'Subject.rbac.v1': (value) =>
    value.kind === 'User' || value.kind === 'Group'
      ? fill(value, { apiGroup: 'rbac.authorization.k8s.io' })
      : value,
  PriorityLevelConfigurationSpec: (value) =>
    value.type === 'Exempt' ? fill(value, { exempt: {} }) : value,
  ExactDeviceRequest: (value) =>
    isUnset(value.allocationMode) || value.allocationMode === 'ExactCount'
      ? fill(value, { count: 1 })
      : value,
  DeviceSubRequest: (value) =>
    isUnset(value.allocationMode) || value.allocationMode === 'ExactCount'
      ? fill(value, { count: 1 })
      : value,
  CustomResourceDefinition: (value) => {
    const status = memberObject(value, 'status');
    if (!isEmptyList(status.storedVersions)) return value;
    const versions = memberObject(value, 'spec').versions;
    const stored = (Array.isArray(versions) ? versions : []).filter(
      (version) => isObject(version) && version.storage === true,
    );
    const storedVersions = stored.map((version) => stringAt(version as JsonObject, 'name'));
    return storedVersions.length === 0
      ? value
      : { ...value, status: { ...status, storedVersions } };
  },
  CustomResourceDefinitionSpec: (value) => {
    const names = memberObject(value, 'names');
    const kind = stringAt(names, 'kind');
    return {
      ...fill(value, { conversion: { strategy: 'None' } }),
      names: fill(names, {
        ...(kind === '' ? {} : { singular: kind.toLowerCase(), listKind: `${kind}List` }),
      }),
    };
  },
};

const claimTemplate = (claim: Json): Json =>
  isObject(claim)
    ? {
        ...fill(claim, { kind: 'PersistentVolumeClaim', apiVersion: 'v1' }),
        status: fill(memberObject(claim, 'status'), { phase: 'Pending' }),
      }
    : claim;

const isEmptyList = (value: Json | undefined): boolean =>
  !Array.isArray(value) || value.length === 0;

/** Requests default to limits. */
function withRequests(container: JsonObject): JsonObject {
  const resources = memberObject(container, 'resources');
  const limits = memberObject(resources, 'limits');
  if (Object.keys(limits).length === 0) return container;
  const requests = { ...limits, ...memberObject(resources, 'requests') };
  return { ...container, resources: { ...resources, requests } };
}

/** On the host's network the default of hostPort is containerPort. */
function withHostPorts(spec: JsonObject): JsonObject {
  const ported = (list: Json | undefined): Json | undefined =>
    Array.isArray(list)
      ? list.map((container) => {
          if (!isObject(container) || !Array.isArray(container.ports)) return container;
          const ports = container.ports.map((port) =>
            isObject(port) && !port.hostPort ? { ...port, hostPort: port.containerPort } : port,
          );
          return { ...container, ports } as JsonObject;
        })
      : list;
  const made: Record<string, Json | undefined> = { ...spec };
  for (const name of ['containers', 'initContainers'])
    if (spec[name] !== undefined) made[name] = ported(spec[name]);
  return made as JsonObject;
}

function serviceSpec(spec: JsonObject): JsonObject {
  const type = stringAt(spec, 'type') || 'ClusterIP';
  const members: Record<string, Json> = {};
  if (spec.sessionAffinity === 'ClientIP') {
    const config = memberObject(spec, 'sessionAffinityConfig');
    const clientIP = fill(memberObject(config, 'clientIP'), { timeoutSeconds: 10_800 });
    members.sessionAffinityConfig = { ...config, clientIP };
  }
  const outside = type === 'NodePort' || type === 'LoadBalancer';
  if (outside || (type === 'ClusterIP' && !isEmptyList(spec.externalIPs)))
    members.externalTrafficPolicy = spec.externalTrafficPolicy ?? 'Cluster';
  if (outside || type === 'ClusterIP')
    members.internalTrafficPolicy = spec.internalTrafficPolicy ?? 'Cluster';
  if (type === 'LoadBalancer')
    members.allocateLoadBalancerNodePorts = spec.allocateLoadBalancerNodePorts ?? true;
  if (Array.isArray(spec.ports)) {
    members.ports = spec.ports.map((port) =>
      isObject(port) && (isUnset(port.targetPort) || port.targetPort === 0)
        ? { ...port, targetPort: port.port as Json }
        : port,
    );
  }
  const { sessionAffinityConfig: _, ...rest } = spec;
  const isNone = isUnset(spec.sessionAffinity) || spec.sessionAffinity === 'None';
  return { ...(isNone ? rest : spec), ...members };
}

/** autoscaling/v2: GenerateHPAScaleUpRules, GenerateHPAScaleDownRules. */
function behavior(given: JsonObject): JsonObject {
  const policy = (type: string, value: number, periodSeconds: number): JsonObject => ({
    type,
    value,
    periodSeconds,
  });
  const made: JsonObject = {
    scaleUp: fill(memberObject(given, 'scaleUp'), {
      stabilizationWindowSeconds: 0,
      selectPolicy: 'Max',
      policies: [policy('Pods', 4, 15), policy('Percent', 100, 15)],
    }),
    scaleDown: fill(memberObject(given, 'scaleDown'), {
      selectPolicy: 'Max',
      policies: [policy('Percent', 100, 15)],
    }),
  };
  return { ...given, ...made };
}

/** Sets the defaults of a built-in kind. */
export function withKindDefaults(kind: Kind, object: JsonObject): JsonObject {
  const name = builtInTypeName(apiVersionOf(kind), kind.kind);
  return name === undefined ? object : (ofType(name, object) as JsonObject);
}

function ofType(name: string, value: Json): Json {
  if (!isObject(value)) return value;
  const own = constantsOf(name);
  const { map } = typeNamed(name);
  const filled = own === undefined ? value : fill(withoutZeros(value, own, map), own);
  const defaulted = RULES[name]?.(filled) ?? filled;
  const members = Object.entries(defaulted).map(([member, child]): [string, Json | undefined] => {
    const code = map?.field(member)?.code;
    return [member, code === undefined || child === undefined ? child : ofCode(code, child)];
  });
  return Object.fromEntries(members) as JsonObject;
}

/** Removes empty values that Go cannot distinguish from nil, as there is no pointer. */
function withoutZeros(value: JsonObject, own: JsonObject, map: MapType | undefined): JsonObject {
  const unset = Object.keys(own).filter(
    (member) =>
      (value[member] === 0 || value[member] === '') && map?.field(member)?.pointer === undefined,
  );
  return unset.length === 0 ? value : without(value, ...unset);
}

function ofCode(code: string, value: Json): Json {
  if (code.startsWith('[')) {
    const item = code.slice(1, code.search(/[|\]]/));
    return Array.isArray(value) ? value.map((child) => ofCode(item, child)) : value;
  }
  if (code.startsWith('{')) {
    const item = code.slice(1, code.lastIndexOf('}'));
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, child]) => [
        name,
        child === undefined ? child : ofCode(item, child),
      ]),
    ) as JsonObject;
  }
  return /^[A-Z]/.test(code) ? ofType(code, value) : value;
}
