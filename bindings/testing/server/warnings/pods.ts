/**
 * The warnings about Pods and Pod templates. kubernetes: pkg/api/pod/warnings.go,
 * pkg/api/persistentvolumeclaim/util.go, pkg/api/node/util.go.
 */
import { labelValue } from '../registry/names.ts';
import { canonicalQuantity, quantityNanos } from '../schema/quantity.ts';
import type { Place, Warn } from '../validation/place.ts';
import { addressWarning } from './addresses.ts';
import { overlappingPaths } from './volume-paths.ts';

const NODE_LABELS: Readonly<Record<string, string>> = {
  'beta.kubernetes.io/arch': 'deprecated since v1.14; use "kubernetes.io/arch" instead',
  'beta.kubernetes.io/os': 'deprecated since v1.14; use "kubernetes.io/os" instead',
  'failure-domain.beta.kubernetes.io/region':
    'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
  'failure-domain.beta.kubernetes.io/zone':
    'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  'beta.kubernetes.io/instance-type':
    'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
  'app.kubernetes.io/created-by': 'deprecated since v1.9',
  'scheduler.alpha.kubernetes.io/preferAvoidPods':
    'deprecated since v1.22; use Taints and Tolerations instead',
  'node-role.kubernetes.io/master': 'use "node-role.kubernetes.io/control-plane" instead',
};

/** The warning about a deprecated node label; undefined: it is not deprecated. */
export const nodeLabelMessage = (label: string): string | undefined =>
  Object.hasOwn(NODE_LABELS, label) ? NODE_LABELS[label] : undefined;

/** Checks requirements on node labels. */
export function nodeExpressions(list: Place, warn: Warn, checkValues = false): void {
  for (const item of list.items) {
    const key = item.at('key');
    const message = nodeLabelMessage(key.text);
    if (message !== undefined) warn(key, `${key.text} is ${message}`);
    if (!checkValues) continue;
    for (const value of item.at('values').items)
      for (const why of labelValue(value.text)) warn(value, `${value.text} is invalid, ${why}`);
  }
}

/** Warns of fractions of bytes. */
function wholeBytes(list: Place, names: readonly string[], warn: Warn): void {
  for (const name of names) {
    const at = list.key(name);
    const text = String(at.value ?? '0');
    if ((quantityNanos(text) ?? 0n) % 10n ** 9n === 0n) continue;
    const shown = JSON.stringify(canonicalQuantity(text) ?? text);
    warn(at, `fractional byte value ${shown} is invalid, must be an integer`);
  }
}

export function claimSpecWarnings(spec: Place, warn: Warn): void {
  wholeBytes(spec.in('resources.requests'), ['storage'], warn);
  wholeBytes(spec.in('resources.limits'), ['storage'], warn);
}

const OLD_ANNOTATIONS: Readonly<Record<string, string>> = {
  'scheduler.alpha.kubernetes.io/critical-pod':
    'non-functional in v1.16+; use the "priorityClassName" field instead',
  'security.alpha.kubernetes.io/sysctls':
    'non-functional in v1.11+; use the "sysctls" field instead',
  'security.alpha.kubernetes.io/unsafe-sysctls':
    'non-functional in v1.11+; use the "sysctls" field instead',
};

export const OLD_VOLUMES: Readonly<Record<string, string>> = {
  photonPersistentDisk: 'deprecated in v1.11, non-functional in v1.16+',
  gitRepo: 'deprecated in v1.11, and disabled by default in v1.33+',
  scaleIO: 'deprecated in v1.16, non-functional in v1.22+',
  flocker: 'deprecated in v1.22, non-functional in v1.25+',
  storageOS: 'deprecated in v1.22, non-functional in v1.25+',
  storageos: 'deprecated in v1.22, non-functional in v1.25+',
  quobyte: 'deprecated in v1.22, non-functional in v1.25+',
  glusterfs: 'deprecated in v1.25, non-functional in v1.26+',
  cephfs: 'deprecated in v1.28, non-functional in v1.31+',
  rbd: 'deprecated in v1.28, non-functional in v1.31+',
};

const SECCOMP_POD = 'seccomp.security.alpha.kubernetes.io/pod';
const SECCOMP_CONTAINER = 'container.seccomp.security.alpha.kubernetes.io/';
const APP_ARMOR = 'container.apparmor.security.beta.kubernetes.io/';
const NO_SELECTOR = 'a null labelSelector results in matching no pod';
const NO_SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead';

/** @param at a Pod or a Pod template */
export function podWarnings(at: Place, warn: Warn): void {
  const [spec, annotations] = [at.at('spec'), at.in('metadata.annotations')];
  nodes(spec, warn);
  for (const [name, message] of Object.entries(OLD_ANNOTATIONS))
    if (annotations.key(name).isSet) warn(annotations.key(name), message);
  for (const volume of spec.at('volumes').items) {
    for (const [member, message] of Object.entries(OLD_VOLUMES)) {
      const told =
        member === 'storageos' ? volume.at(member).as(`${volume.path}.storageOS`) : undefined;
      if (volume.at(member).isSet) warn(told ?? volume.at(member), message);
    }
    claimSpecWarnings(volume.in('ephemeral.volumeClaimTemplate.spec'), warn);
  }
  overlappingPaths(spec.at('volumes'), warn);
  duplicates(spec.at('hostAliases'), 'ip', 'ip', warn);
  const secrets = spec.at('imagePullSecrets');
  duplicates(secrets, 'name', 'name', warn);
  for (const { text, name } of secrets.items.map((item) => ({ ...nameOf(item) })))
    if (text === '') warn(name, 'invalid empty name ""');
  wholeBytes(spec.at('overhead'), ['memory', 'ephemeral-storage'], warn);
  const hasProfile = spec.in('securityContext.seccompProfile').isSet;
  if (!hasProfile && annotations.key(SECCOMP_POD).isSet)
    warn(annotations.key(SECCOMP_POD), NO_SECCOMP);
  const all = ['initContainers', 'containers', 'ephemeralContainers'].flatMap(
    (list) => spec.at(list).items,
  );
  for (const each of all) container(each, annotations, at.path !== '', warn);
  ports(all, warn);
  const grace = spec.at('terminationGracePeriodSeconds');
  if (grace.number < 0)
    warn(grace, 'must be >= 0; negative values are invalid and will be treated as 1');
  for (const name of ['podAffinity', 'podAntiAffinity']) {
    const affinity = spec.in(`affinity.${name}`);
    for (const term of affinity.at('requiredDuringSchedulingIgnoredDuringExecution').items)
      if (!term.at('labelSelector').isSet) warn(term.at('labelSelector'), NO_SELECTOR);
    for (const term of affinity.at('preferredDuringSchedulingIgnoredDuringExecution').items) {
      const selector = term.in('podAffinityTerm.labelSelector');
      if (!selector.isSet) warn(selector, NO_SELECTOR);
    }
  }
  for (const server of spec.in('dnsConfig.nameservers').items) addressWarning(server, warn);
  for (const alias of spec.at('hostAliases').items) addressWarning(alias.at('ip'), warn);
}

const nameOf = (item: Place): { text: string; name: Place } => ({
  text: item.at('name').text,
  name: item.at('name'),
});

function nodes(spec: Place, warn: Warn): void {
  for (const [key, at] of spec.at('nodeSelector').entries) {
    const message = nodeLabelMessage(key);
    if (message !== undefined) warn(at, message);
  }
  const affinity = spec.in('affinity.nodeAffinity');
  const required = affinity.at('requiredDuringSchedulingIgnoredDuringExecution');
  for (const term of required.at('nodeSelectorTerms').items)
    nodeExpressions(term.at('matchExpressions'), warn);
  for (const term of affinity.at('preferredDuringSchedulingIgnoredDuringExecution').items)
    nodeExpressions(term.in('preference.matchExpressions'), warn, true);
  for (const constraint of spec.at('topologySpreadConstraints').items) {
    const key = constraint.at('topologyKey');
    const message = nodeLabelMessage(key.text);
    if (message !== undefined) warn(key, `${key.text} is ${message}`);
    if (!constraint.at('labelSelector').isSet) warn(constraint.at('labelSelector'), NO_SELECTOR);
  }
}

function duplicates(list: Place, member: string, what: string, warn: Warn): void {
  const seen = new Set<string>();
  for (const item of list.items) {
    const { text } = item.at(member);
    if (seen.has(text)) warn(item.at(member), `duplicate ${what} ${JSON.stringify(text)}`);
    seen.add(text);
  }
}

function container(at: Place, annotations: Place, isTemplate: boolean, warn: Warn): void {
  const [name, context] = [at.at('name').text, at.at('securityContext')];
  const seccomp = annotations.key(SECCOMP_CONTAINER + name);
  if (!context.at('seccompProfile').isSet && seccomp.isSet) warn(seccomp, NO_SECCOMP);
  const appArmor = annotations.key(APP_ARMOR + name);
  if (isTemplate && !context.at('appArmorProfile').isSet && appArmor.isSet)
    warn(appArmor, 'deprecated since v1.30; use the "appArmorProfile" field instead');
  for (const resource of ['memory', 'ephemeral-storage'])
    for (const list of ['limits', 'requests'])
      wholeBytes(at.at('resources').at(list), [resource], warn);
  const seen = new Set<string>();
  for (const item of at.at('env').items) {
    const { text } = item.at('name');
    const [value, reference] = [item.at('value').text, `$(${text})`];
    const hides = item.at('valueFrom').isSet || value === reference || !value.includes(reference);
    if (seen.has(text) && hides)
      warn(
        item,
        `hides previous definition of ${JSON.stringify(text)}, which may be dropped ` +
          'when using apply',
      );
    seen.add(text);
  }
}

function ports(containers: readonly Place[], warn: Warn): void {
  const all = containers.flatMap((each) => each.at('ports').items);
  const byKey = new Map<string, Place[]>();
  const [ip, host] = [
    (port: Place): string => port.at('hostIP').text,
    (port: Place): number => port.at('hostPort').number,
  ];
  for (const port of all) {
    const number = port.at('containerPort').number;
    const protocol = port.at('protocol').text;
    if (ip(port) !== '' && host(port) === 0) {
      const shown =
        `{Name:${port.at('name').text} HostPort:0 ContainerPort:${number} ` +
        `Protocol:${protocol} HostIP:${ip(port)}}`;
      warn(port, `hostIP set without hostPort: ${shown}`);
    }
    const others = byKey.get(`${number}/${protocol}`) ?? [];
    for (const other of others) {
      if (ip(port) === ip(other) && host(port) === host(other))
        warn(port, `duplicate port definition with ${other.path}`);
      else if (host(port) === 0 || host(other) === 0)
        warn(port, `overlapping port definition with ${other.path}`);
      else if (host(port) === host(other) && (ip(port) === '') !== (ip(other) === ''))
        warn(port, `dangerously ambiguous port definition with ${other.path}`);
    }
    byKey.set(`${number}/${protocol}`, [...others, port]);
  }
  const names = new Map<string, Place>();
  for (const port of all) {
    const { text } = port.at('name');
    const other = names.get(text);
    if (text === '') continue;
    if (other === undefined) names.set(text, port);
    else
      warn(
        port,
        `duplicate port name ${JSON.stringify(text)} with ${other.path}, services and ` +
          `probes that select ports by name will use ${other.path}`,
      );
  }
}
