/**
 * The specification of Pods and templates of them. kubernetes:
 * pkg/apis/core/validation/validation.go ValidatePodSpec, ValidatePodTemplateSpec.
 */
import type { Json } from '../json.ts';
import { dnsLabel, qualifiedName, subdomain } from '../registry/names.ts';
import {
  containers,
  ephemeralContainers,
  id,
  initContainers,
  type PodScope,
  profile,
} from './containers.ts';
import { address, amount, annotationKeys, labels } from './formats.ts';
import type { Place } from './place.ts';
import { containerResourceName, resourceQuantity, resourceRequirements } from './resources.ts';
import { affinity, tolerations, topologySpread } from './scheduling.ts';
import { volumes } from './volumes.ts';

/** @param podName '' in a template */
export function podSpec(spec: Place, podName: string): void {
  spec.at('terminationGracePeriodSeconds').isSet ||
    spec.at('terminationGracePeriodSeconds').required();
  const known = volumes(spec.at('volumes'), podName);
  resourceClaims(spec.at('resourceClaims'));
  const claims = new Set(spec.at('resourceClaims').items.map((claim) => claim.at('name').text));
  claims.delete('');
  const scope: PodScope = { spec, volumes: known, claims };
  containers(spec.at('containers'), scope);
  initContainers(spec.at('initContainers'), scope);
  ephemeralContainers(spec.at('ephemeralContainers'), scope);
  podResources(spec, claims);
  hostNetwork(spec, podName !== '');
  spec.at('restartPolicy').needAmong(['Always', 'OnFailure', 'Never']);
  spec.at('dnsPolicy').needAmong(['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None']);
  labels(spec.at('nodeSelector'));
  securityContext(spec);
  affinity(spec.at('affinity'));
  dnsConfig(spec);
  for (const gate of spec.at('readinessGates').items)
    gate.at('conditionType').matches(qualifiedName);
  schedulingGates(spec.at('schedulingGates'));
  topologySpread(spec.at('topologySpreadConstraints'));
  hostUsers(spec);
  hostnameOverride(spec);
  for (const member of ['serviceAccountName', 'nodeName'])
    if (!spec.at(member).isEmpty) spec.at(member).matches(subdomain);
  spec.at('activeDeadlineSeconds').between(1, 2 ** 31 - 1);
  for (const member of ['hostname', 'subdomain'])
    if (!spec.at(member).isEmpty) spec.at(member).matches(dnsLabel);
  tolerations(spec.at('tolerations'));
  for (const alias of spec.at('hostAliases').items) {
    alias.at('ip').matches(address);
    for (const name of alias.at('hostnames').items) name.matches(subdomain);
  }
  if (!spec.at('priorityClassName').isEmpty) spec.at('priorityClassName').matches(subdomain);
  if (spec.at('runtimeClassName').isSet) spec.at('runtimeClassName').matches(subdomain);
  if (spec.at('preemptionPolicy').isSet)
    spec.at('preemptionPolicy').needAmong(['PreemptLowerPriority', 'Never']);
  for (const [name, at] of spec.at('overhead').entries) {
    containerResourceName(at, name);
    resourceQuantity(at, name);
  }
  if (spec.at('os').isSet) operatingSystem(spec);
  fileKeyVolumes(spec);
}

/** All containers, in the order of the real server. */
const allContainers = (spec: Place): Place[] =>
  ['initContainers', 'containers', 'ephemeralContainers'].flatMap((list) => spec.at(list).items);

function resourceClaims(at: Place): void {
  const names = new Set<string>();
  for (const claim of at.items) {
    const name = claim.at('name');
    if (name.isEmpty) name.required();
    else if (names.has(name.text)) name.duplicate();
    else name.matches(dnsLabel);
    names.add(name.text);
    const sources = [claim.at('resourceClaimName'), claim.at('resourceClaimTemplateName')];
    if (sources.filter(({ isSet }) => isSet).length !== 1)
      claim.invalid('must specify one of: `resourceClaimName`, `resourceClaimTemplateName`');
    for (const source of sources) if (source.isSet) source.matches(subdomain);
  }
}

function podResources(spec: Place, claims: ReadonlySet<string>): void {
  const at = spec.at('resources');
  if (!at.isSet) return;
  if (spec.in('os.name').text === 'windows') {
    at.forbidden('may not be set for a windows pod');
    return;
  }
  if (at.at('claims').isSet)
    at.at('claims').forbidden('claims may not be set for Resources at pod-level');
  resourceRequirements(at, claims, true);
  for (const [name, request] of at.at('requests').entries)
    if (requestedByContainers(spec, name) > amount(request))
      request.invalid('must be greater than or equal to aggregate container requests');
  for (const [index, container] of spec.at('containers').items.entries())
    for (const [name, limit] of container.in('resources.limits').entries) {
      const ofPod = at.at('limits').key(name);
      if (ofPod.isSet && amount(limit) > amount(ofPod))
        limit
          .as(`${at.path}.containers[${index}][${name}].limits`)
          .invalid('must be less than or equal to pod limits');
    }
}

/** The request of init containers, which run one by one beside the sidecars started before them. */
function requestedByContainers(spec: Place, name: string): bigint {
  const of = (container: Place): bigint => amount(container.in('resources.requests').key(name));
  let total = spec.at('containers').items.reduce((sum, container) => sum + of(container), 0n);
  let [sidecars, most] = [0n, 0n];
  for (const container of spec.at('initContainers').items) {
    const isSidecar = container.at('restartPolicy').text === 'Always';
    if (isSidecar) {
      sidecars += of(container);
      total += of(container);
    }
    const now = isSidecar ? sidecars : sidecars + of(container);
    if (now > most) most = now;
  }
  return total > most ? total : most;
}

function hostNetwork(spec: Place, isPod: boolean): void {
  if (spec.at('hostNetwork').value !== true) return;
  for (const container of spec.at('containers').items)
    for (const port of container.at('ports').items) {
      const host = port.at('hostPort');
      if ((isPod || host.number !== 0) && host.number !== port.at('containerPort').number)
        host.invalid('must match `containerPort` when `hostNetwork` is true');
    }
}

const SYSCTL = /^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$/;

function securityContext(spec: Place): void {
  const at = spec.at('securityContext');
  for (const member of ['fsGroup', 'runAsUser', 'runAsGroup']) id(at.at(member));
  at.at('supplementalGroups').items.forEach(id);
  const shared = spec.at('shareProcessNamespace');
  if (shared.value === true && spec.at('hostPID').value === true)
    shared
      .as(at.at('shareProcessNamespace').path)
      .invalid('ShareProcessNamespace and HostPID cannot both be enabled');
  const names = new Set<string>();
  for (const item of at.at('sysctls').items) {
    const name = item.at('name');
    if (name.isEmpty) name.required();
    else if (name.text.length > 253 || !SYSCTL.test(name.text))
      name.invalid('must have at most 253 characters and match the regex of sysctls');
    else if (names.has(name.text)) name.duplicate();
    names.add(name.text);
    const namespace = sysctlNamespace(name.text);
    if (namespace !== undefined && spec.at(namespace).value === true)
      name.invalid(`may not be specified when '${namespace}' is true`);
  }
  const change = at.at('fsGroupChangePolicy');
  if (change.isSet) change.among(['Always', 'OnRootMismatch']);
  profile(at.at('seccompProfile'), false);
  profile(at.at('appArmorProfile'), true);
  const groups = at.at('supplementalGroupsPolicy');
  if (groups.isSet) groups.among(['Merge', 'Strict']);
  const labels = at.at('seLinuxChangePolicy');
  if (labels.isSet) labels.among(['MountOption', 'Recursive']);
}

/** The member of the spec by which the Pod shares the namespace of the sysctl with its node. */
function sysctlNamespace(name: string): string | undefined {
  const dotted = /^[^./]*\//.test(name) ? name.replaceAll('/', '.') : name;
  if (dotted.startsWith('net.')) return 'hostNetwork';
  return /^(kernel\.sem$|kernel\.shm|kernel\.msg|fs\.mqueue\.)/.test(dotted)
    ? 'hostIPC'
    : undefined;
}

function dnsConfig(spec: Place): void {
  const [at, servers] = [spec.at('dnsConfig'), spec.in('dnsConfig.nameservers')];
  if (spec.at('dnsPolicy').text === 'None' && (!at.isSet || servers.isEmpty)) {
    const missing = at.isSet ? servers : at;
    missing.required('must provide at least one DNS nameserver when `dnsPolicy` is None');
    return;
  }
  if (servers.items.length > 3) servers.invalid('must not have more than 3 nameservers');
  for (const server of servers.items) server.matches(address);
  const searches = at.at('searches');
  if (searches.items.length > 32) searches.invalid('must not have more than 32 search paths');
  if (searches.items.map(({ text }) => text).join(' ').length > 2048)
    searches.invalid('must not have more than 2048 characters (including spaces)');
  for (const search of searches.items)
    if (search.text !== '.')
      search.matches(subdomain, search.text.replace(/\.$/, '').replaceAll('_', 'a'));
  for (const option of at.at('options').items)
    if (option.at('name').isEmpty) option.required('must not be empty');
}

function schedulingGates(at: Place): void {
  const seen = new Set<string>();
  for (const gate of at.items) {
    const name = gate.at('name');
    name.as(gate.path).matches(qualifiedName);
    if (seen.has(name.text)) gate.duplicate();
    seen.add(name.text);
  }
}

function hostUsers(spec: Place): void {
  if (spec.at('hostUsers').value !== false) return;
  const why = 'when `hostUsers` is false';
  if (spec.at('hostNetwork').value === true) spec.at('hostNetwork').forbidden(why);
  if (spec.at('hostPID').value === true) spec.at('HostPID').forbidden(why);
  if (spec.at('hostIPC').value === true) spec.at('HostIPC').forbidden(why);
  for (const container of allContainers(spec))
    if (!container.at('volumeDevices').isEmpty) container.at('volumeDevices').forbidden(why);
}

function hostnameOverride(spec: Place): void {
  const at = spec.at('hostnameOverride');
  if (!at.isSet) return;
  for (const member of ['setHostnameAsFQDN', 'hostNetwork'])
    if (spec.at(member).value === true) at.forbidden(`may not be specified when ${member} is true`);
  if (at.text.length > 64) at.tooLong(64);
  at.matches(subdomain);
}

const NOT_ON_WINDOWS = [
  ...['appArmorProfile', 'seLinuxOptions', 'hostUsers', 'hostPID', 'hostIPC', 'seccompProfile'],
  ...['fsGroup', 'fsGroupChangePolicy', 'sysctls', 'shareProcessNamespace', 'runAsUser'],
  ...['runAsGroup', 'supplementalGroups', 'supplementalGroupsPolicy', 'seLinuxChangePolicy'],
];
const NOT_IN_WINDOWS_CONTAINERS = [
  ...['appArmorProfile', 'seLinuxOptions', 'seccompProfile', 'capabilities'],
  ...['readOnlyRootFilesystem', 'privileged', 'allowPrivilegeEscalation', 'procMount'],
  ...['runAsUser', 'runAsGroup'],
];

function operatingSystem(spec: Place): void {
  const name = spec.in('os.name');
  if (!name.needAmong(['linux', 'windows'])) return;
  const context = spec.at('securityContext');
  if (name.text === 'linux') {
    for (const at of [context, ...allContainers(spec).map((each) => each.at('securityContext'))])
      if (at.at('windowsOptions').isSet)
        at.at('windowsOptions').forbidden('windows options cannot be set for a linux pod');
    return;
  }
  const why = 'cannot be set for a windows pod';
  for (const member of NOT_ON_WINDOWS) {
    const ofSpec = /^(host|share)/.test(member);
    const at = ofSpec ? spec.at(member) : context.at(member);
    const isFlag = member === 'hostPID' || member === 'hostIPC' || member === 'sysctls';
    if (isFlag ? !at.isEmpty : at.isSet) at.forbidden(why);
  }
  for (const container of allContainers(spec))
    for (const member of NOT_IN_WINDOWS_CONTAINERS) {
      const at = container.at('securityContext').at(member);
      if (at.isSet) at.forbidden(why);
    }
}

/** Environment variables from files must be in emptyDir volumes. */
function fileKeyVolumes(spec: Place): void {
  const named = new Map(spec.at('volumes').items.map((volume) => [volume.at('name').text, volume]));
  for (const container of allContainers(spec))
    for (const item of container.at('env').items) {
      const ref = item.in('valueFrom.fileKeyRef');
      if (!ref.isSet) continue;
      const name = ref.at('volumeName');
      const volume = named.get(name.text);
      if (volume === undefined) name.notFound();
      else if (!volume.at('emptyDir').isSet)
        name.invalid('referenced volume must be of type emptyDir');
    }
}

const MIRROR = 'kubernetes.io/config.mirror';
const DELETION_COST = 'controller.kubernetes.io/pod-deletion-cost';
const APP_ARMOR = 'container.apparmor.security.beta.kubernetes.io/';

/** Annotations with a meaning for Pods. */
export function podAnnotations(annotations: Place, spec: Place): void {
  const mirror = annotations.key(MIRROR);
  if (mirror.isSet && spec.at('nodeName').isEmpty)
    mirror.invalid('must set spec.nodeName if mirror pod annotation is set');
  const cost = annotations.key(DELETION_COST);
  if (cost.isSet && !isInt32(cost.value)) cost.invalid('must be a 32bit integer');
  const names = allContainers(spec).map((container) => container.at('name').text);
  for (const [key, at] of annotations.entries) {
    if (!key.startsWith(APP_ARMOR)) continue;
    if (!names.includes(key.slice(APP_ARMOR.length))) at.invalid('container not found');
    if (!/^($|runtime\/default$|unconfined$|localhost\/)/.test(at.text))
      at.invalid('invalid AppArmor profile name');
  }
}

/** Annotations of a Pod that cannot change. */
export function podAnnotationChange(annotations: Place): void {
  const was = annotations.before.members;
  for (const key of [...Object.keys(was), ...Object.keys(annotations.members)]) {
    const at = annotations.key(key);
    const isAdded = !Object.hasOwn(was, key);
    if (
      at.isChanged &&
      (key.startsWith(APP_ARMOR) || key === MIRROR) &&
      (isAdded || Object.hasOwn(was, key))
    )
      at.forbidden('may not be added, removed or updated');
  }
}

function isInt32(value: Json | undefined): boolean {
  const number = Number(value);
  return (
    /^(0|-?[1-9]\d*)$/.test(String(value)) &&
    Math.trunc(number / 2) >= -(2 ** 30) &&
    number < 2 ** 31
  );
}

/** The Pod template in the spec of a controller. */
export function podTemplate(template: Place): void {
  const metadata = template.at('metadata');
  const told = (member: string): Place => metadata.at(member).as(template.at(member).path);
  labels(told('labels'));
  annotationKeys(told('annotations'));
  podAnnotations(told('annotations'), template.at('spec'));
  podSpec(template.at('spec'), '');
  const ephemeral = template.in('spec.ephemeralContainers');
  if (!ephemeral.isEmpty) ephemeral.forbidden('ephemeral containers not allowed in pod template');
}
