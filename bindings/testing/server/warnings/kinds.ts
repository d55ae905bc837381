/**
 * The warnings about objects of built-in kinds, by kind. kubernetes: WarningsOnCreate and
 * WarningsOnUpdate of the strategies in pkg/registry.
 */
import type { JsonObject } from '../json.ts';
import type { Kind } from '../registry/kinds.ts';
import { dnsLabel } from '../registry/names.ts';
import { canonicalQuantity, quantityNanos } from '../schema/quantity.ts';
import { Place, type Warn } from '../validation/place.ts';
import { addressWarning, rangeWarnings } from './addresses.ts';
import { keyPairWarning } from './key-pair.ts';
import {
  claimSpecWarnings,
  nodeExpressions,
  nodeLabelMessage,
  OLD_VOLUMES,
  podWarnings,
} from './pods.ts';

type Rule = (object: Place, warn: Warn) => void;

const INGRESS_CLASS = 'kubernetes.io/ingress.class';
const HINTS = 'service.kubernetes.io/topology-aware-hints';
const MOUNTABLE = 'kubernetes.io/enforce-mountable-secrets';
const STATIC = '.static.k8s.io';

/** For kinds whose name is also the hostname of their Pods. */
const podName =
  (whose: string): Rule =>
  (object, warn) => {
    const name = object.in('metadata.name');
    const wrong = object.isUpdate ? [] : dnsLabel(name.text);
    if (wrong.length > 0)
      warn(
        name,
        `this is used in ${whose}, which can result in surprising behavior; a DNS ` +
          `label is recommended: [${wrong.join(' ')}]`,
      );
  };
const namesPods = podName('Pod names and hostnames');

/** An update that does not change the generation gives no warnings. */
const isSameGeneration = (object: Place): boolean =>
  object.isUpdate && !object.in('metadata.generation').isChanged;

/** @param path of the template */
const template =
  (path: string): Rule =>
  (object, warn) => {
    if (!isSameGeneration(object)) podWarnings(object.in(path), warn);
  };

/** Checks the old template: the real server swaps the two templates of an update. */
const formerTemplate: Rule = (object, warn) =>
  template('spec.template')(
    object.isUpdate ? new Place(object.was, object.value, true, []) : object,
    warn,
  );

const each =
  (...rules: Rule[]): Rule =>
  (object, warn) => {
    for (const rule of rules) rule(object, warn);
  };

function pod(object: Place, warn: Warn): void {
  if (object.isUpdate) return;
  podName("the Pod's hostname")(object, warn);
  podWarnings(object, warn);
}

function statefulSet(object: Place, warn: Warn): void {
  template('spec.template')(object, warn);
  for (const claim of object.in('spec.volumeClaimTemplates').items) {
    const spec = claim.at('spec');
    claimSpecWarnings(spec.as(object.isUpdate ? `${claim.path}.Spec` : claim.path), warn);
  }
  if (object.in('spec.revisionHistoryLimit').number < 0)
    warn(
      object.in('spec.revisionHistoryLimit'),
      'a negative value retains all historical revisions; a value >= 0 is recommended',
    );
}

const job =
  (path: string): Rule =>
  (object, warn) => {
    if (isSameGeneration(object)) return;
    const spec = object.in(path);
    const isLarge =
      spec.at('completions').number > 100_000 && spec.at('parallelism').number > 10_000;
    if (spec.at('completionMode').text === 'Indexed' && isLarge)
      warn(
        spec,
        'In Indexed Jobs with a number of completions higher than 10^5 and a ' +
          'parallelism higher than 10^4, Kubernetes might not be able to track ' +
          'completedIndexes when a big number of indexes fail',
      );
    podWarnings(spec.at('template'), warn);
  };

function cronJob(object: Place, warn: Warn): void {
  namesPods(object, warn);
  job('spec.jobTemplate.spec')(object, warn);
  if (object.isUpdate && object.in('spec.schedule').text.includes('TZ'))
    warn(
      undefined,
      'cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see ' +
        'https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more ' +
        'details',
    );
}

function service(object: Place, warn: Warn): void {
  const spec = object.at('spec');
  const type = spec.at('type').text;
  const isExternal = type === 'ExternalName';
  const isHeadless = type === 'ClusterIP' && spec.at('clusterIP').text === 'None';
  const ips = spec.at('externalIPs');
  if (object.in('metadata.annotations').key(HINTS).isSet)
    warn(
      undefined,
      `annotation ${HINTS} is deprecated, please use service.kubernetes.io/topology-mode instead`,
    );
  if (!['', 'None'].includes(spec.at('clusterIP').text) && !isExternal)
    for (const ip of spec.at('clusterIPs').items) addressWarning(ip, warn);
  if (isHeadless) {
    const ignored = (name: string): void =>
      warn(undefined, `${name} is ignored for headless services`);
    if (!spec.at('loadBalancerIP').isEmpty) ignored('spec.loadBalancerIP');
    if (!ips.isEmpty) ignored('spec.externalIPs');
    if (spec.at('sessionAffinity').text !== 'None') ignored('spec.SessionAffinity');
  }
  for (const ip of ips.items) addressWarning(ip, warn);
  if (!ips.isEmpty && !isHeadless && !isExternal)
    warn(undefined, `${ips.path} is deprecated and may no longer be implemented in some clusters`);
  if (!spec.at('loadBalancerIP').isEmpty) addressWarning(spec.at('loadBalancerIP'), warn);
  for (const range of spec.at('loadBalancerSourceRanges').items) rangeWarnings(range, warn);
  if (isExternal && !ips.isEmpty)
    warn(undefined, 'spec.externalIPs is ignored when spec.type is "ExternalName"');
  if (!isExternal && !spec.at('externalName').isEmpty)
    warn(undefined, 'spec.externalName is ignored when spec.type is not "ExternalName"');
  if (spec.at('trafficDistribution').text === 'PreferClose')
    warn(spec.at('trafficDistribution'), '"PreferClose" is deprecated; use "PreferSameZone"');
}

const ingressStatus: Rule = (object, warn) => {
  for (const item of object.in('status.loadBalancer.ingress').items)
    if (!item.at('ip').isEmpty) addressWarning(item.at('ip').as(item.path), warn);
};

function endpoints(object: Place, warn: Warn): void {
  const manager = object.in('metadata.labels').key('endpoints.kubernetes.io/managed-by');
  if (manager.text === 'endpoint-controller') return;
  for (const subset of object.at('subsets').items)
    for (const list of ['addresses', 'notReadyAddresses'])
      for (const item of subset.at(list).items) addressWarning(item.at('ip'), warn);
}

function endpointSlice(object: Place, warn: Warn): void {
  if (!object.isUpdate && object.at('addressType').text === 'FQDN')
    warn(undefined, 'spec.addressType: FQDN endpoints are deprecated');
  const manager = object.in('metadata.labels').key('endpointslice.kubernetes.io/managed-by').text;
  if (/^endpointslice(mirroring)?-controller\.k8s\.io$/.test(manager)) return;
  for (const item of object.at('endpoints').items)
    for (const address of item.at('addresses').items) addressWarning(address, warn);
}

function networkPolicy(object: Place, warn: Warn): void {
  for (const [list, peers] of [
    ['ingress', 'from'],
    ['egress', 'to'],
  ] as const)
    for (const rule of object.at('spec').at(list).items)
      for (const peer of rule.at(peers).items) {
        const block = peer.at('ipBlock');
        if (!block.isSet) continue;
        rangeWarnings(block.at('cidr'), warn);
        for (const range of block.at('except').items) rangeWarnings(range, warn);
      }
}

function node(object: Place, warn: Warn): void {
  const spec = object.at('spec');
  if (spec.at('configSource').isSet) warn(spec.at('configSource'), 'the feature is removed');
  if (!spec.at('externalID').isEmpty)
    warn(spec.at('externalID'), 'this field is deprecated, and is unused by Kubernetes');
  for (const range of spec.at('podCIDRs').items) rangeWarnings(range, warn);
}

function persistentVolume(object: Place, warn: Warn): void {
  const [spec, annotations] = [object.at('spec'), object.in('metadata.annotations')];
  const [storageClass, options] = ['storage-class', 'mount-options'].map((name) =>
    annotations.key(`volume.beta.kubernetes.io/${name}`),
  );
  if (storageClass?.isSet)
    warn(storageClass, 'deprecated since v1.8; use "storageClassName" attribute instead');
  if (options?.isSet) warn(options, 'deprecated since v1.31; use "mountOptions" attribute instead');
  const policy = spec.at('persistentVolumeReclaimPolicy');
  if (policy.text === 'Recycle')
    warn(
      policy,
      'The Recycle reclaim policy is deprecated. Instead, the recommended approach is ' +
        'to use dynamic provisioning.',
    );
  for (const term of spec.in('nodeAffinity.required.nodeSelectorTerms').items)
    nodeExpressions(term.at('matchExpressions'), warn);
  const names = ['cephfs', 'photonPersistentDisk', 'scaleIO', 'storageos', 'glusterfs', 'rbd'];
  for (const name of names)
    if (spec.at(name).isSet)
      warn(name === 'storageos' ? spec.at('storageOS') : spec.at(name), OLD_VOLUMES[name] ?? '');
}

function claim(object: Place, warn: Warn): void {
  const old = object.in('metadata.annotations').key('volume.beta.kubernetes.io/storage-class');
  if (old.isSet) warn(old, 'deprecated since v1.8; use "storageClassName" attribute instead');
  claimSpecWarnings(object.at('spec'), warn);
}

function quota(object: Place, warn: Warn): void {
  if (object.isUpdate) return;
  const hard = object.in('spec.hard');
  const amount = (name: string): bigint => quantityNanos(String(hard.key(name).value)) ?? 0n;
  const shown = (name: string): string => {
    const text = String(hard.key(name).value);
    return `${name} (${canonicalQuantity(text) ?? text})`;
  };
  for (const resource of ['cpu', 'memory', 'storage', 'ephemeral-storage']) {
    const isPlain = !hard.key(`requests.${resource}`).isSet && /^(cpu|memory)$/.test(resource);
    const [request, limit] = [isPlain ? resource : `requests.${resource}`, `limits.${resource}`];
    if (hard.key(request).isSet && hard.key(limit).isSet && amount(request) > amount(limit))
      warn(undefined, `ResourceQuota ${shown(request)} should be less than ${shown(limit)}`);
  }
}

function serviceAccount(object: Place, warn: Warn): void {
  const annotation = object.in('metadata.annotations').key(MOUNTABLE);
  if (annotation.isSet && annotation.was === undefined)
    warn(
      annotation,
      'deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets',
    );
}

function secret(object: Place, warn: Warn): void {
  if (object.at('type').text !== 'kubernetes.io/tls') return;
  const data = object.at('data');
  const why = keyPairWarning(
    ...(['tls.crt', 'tls.key'].map((name) =>
      Buffer.from(data.key(name).text, 'base64').toString('latin1'),
    ) as [string, string]),
  );
  if (why !== undefined) warn(undefined, why);
}

function csiDriver(object: Place, warn: Warn): void {
  const spec = object.at('spec');
  const requests = spec.at('tokenRequests');
  const isSame = object.isUpdate && !requests.isChanged;
  if (requests.isEmpty || spec.at('serviceAccountTokenInSecrets').isSet || isSame) return;
  warn(
    undefined,
    'spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set ' +
      'to true to prevent possible logging of tokens in volume attributes',
  );
}

function storageClass(object: Place, warn: Warn): void {
  for (const topology of object.at('allowedTopologies').items)
    for (const item of topology.at('matchLabelExpressions').items) {
      const message = nodeLabelMessage(item.at('key').text);
      if (message !== undefined) warn(item.at('key'), message);
    }
}

function storageCapacity(object: Place, warn: Warn): void {
  const topology = object.at('nodeTopology');
  nodeExpressions(topology.at('matchExpressions'), warn);
  for (const label of Object.keys(topology.at('matchLabels').members)) {
    const message = nodeLabelMessage(label);
    if (message !== undefined) warn(topology.at('matchLabels').at(label), message);
  }
}

function runtimeClass(object: Place, warn: Warn): void {
  const selector = object.in('scheduling.nodeSelector');
  for (const label of Object.keys(selector.members)) {
    const message = nodeLabelMessage(label);
    if (message !== undefined) warn(selector, message);
  }
}

function ingress(object: Place, warn: Warn): void {
  const annotated = object.in('metadata.annotations').key(INGRESS_CLASS);
  if (!object.isUpdate && annotated.isSet && !object.in('spec.ingressClassName').isSet)
    warn(
      undefined,
      `annotation "${INGRESS_CLASS}" is deprecated, please use 'spec.ingressClassName' instead`,
    );
}

function resourceSlice(object: Place, warn: Warn): void {
  const driver = object.in('spec.driver');
  if (driver.text !== driver.text.toLowerCase()) {
    const shown = JSON.stringify(driver.text);
    warn(driver, `driver names should be lowercase; ${shown} contains uppercase characters`);
  }
}

function staticName(object: Place, warn: Warn): void {
  const name = object.in('metadata.name');
  if (name.text.endsWith(STATIC))
    warn(
      name,
      `names ending with "${STATIC}" are reserved for static manifest-based ` +
        'configurations and cannot be managed via the API',
    );
}

const podStatus: Rule = (object, warn) => {
  for (const list of ['podIPs', 'hostIPs'])
    for (const item of object.at('status').at(list).items) addressWarning(item.at('ip'), warn);
};

const ADMISSION = [
  ...['validatingadmissionpolicies', 'validatingadmissionpolicybindings'],
  ...['mutatingadmissionpolicies', 'mutatingadmissionpolicybindings'],
  ...['validatingwebhookconfigurations', 'mutatingwebhookconfigurations'],
].map((plural) => [`admissionregistration.k8s.io/${plural}`, staticName] as const);

const RULES: Readonly<Record<string, Rule>> = {
  '/pods': pod,
  '/podtemplates': template('template'),
  '/replicationcontrollers': each(namesPods, formerTemplate),
  '/services': service,
  '/endpoints': endpoints,
  '/nodes': node,
  '/persistentvolumes': persistentVolume,
  '/persistentvolumeclaims': claim,
  '/resourcequotas': quota,
  '/serviceaccounts': serviceAccount,
  '/secrets': secret,
  'apps/deployments': each(namesPods, template('spec.template')),
  'apps/replicasets': each(namesPods, template('spec.template')),
  'apps/daemonsets': template('spec.template'),
  'apps/statefulsets': statefulSet,
  'batch/jobs': each(namesPods, job('spec')),
  'batch/cronjobs': cronJob,
  'discovery.k8s.io/endpointslices': endpointSlice,
  'networking.k8s.io/ingresses': ingress,
  'networking.k8s.io/networkpolicies': networkPolicy,
  'node.k8s.io/runtimeclasses': runtimeClass,
  'resource.k8s.io/resourceslices': resourceSlice,
  'storage.k8s.io/csidrivers': csiDriver,
  'storage.k8s.io/csistoragecapacities': storageCapacity,
  'storage.k8s.io/storageclasses': storageClass,
  ...Object.fromEntries(ADMISSION),
};

/** The rules for writes to `/status`. */
const STATUS_RULES: Readonly<Record<string, Rule>> = {
  '/pods': podStatus,
  '/services': ingressStatus,
  'networking.k8s.io/ingresses': ingressStatus,
};

/**
 * @param object as it is stored
 * @param old undefined at a create
 */
export function builtInWarnings(
  kind: Kind,
  object: JsonObject,
  old: JsonObject | undefined,
  part: 'object' | 'status',
): string[] {
  const rule = (part === 'object' ? RULES : STATUS_RULES)[`${kind.group}/${kind.plural}`];
  const found: string[] = [];
  rule?.(new Place(object, old, old !== undefined, []), (at, message) =>
    found.push(at === undefined ? message : `${at.path}: ${message}`),
  );
  return found;
}
