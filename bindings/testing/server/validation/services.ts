/**
 * Services and Endpoints. kubernetes: pkg/apis/core/validation/validation.go ValidateServiceCreate,
 * ValidateServiceUpdate, ValidateEndpoints and what they call.
 */
import { isIP } from 'node:net';
import { sameJson } from '../json.ts';
import { dnsLabel, qualifiedName, subdomain } from '../registry/names.ts';
import { PROTOCOLS, portInRange, portNumberOrName } from './containers.ts';
import { address, canonicalAddress, cidr, isIPv6Family, labels } from './formats.ts';
import type { Place } from './place.ts';

const TYPES = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];

const isHeadless = (spec: Place): boolean => {
  const ips = spec.at('clusterIPs').items;
  return ips.length === 1 && ips[0]?.text === 'None';
};

export function service(object: Place): void {
  const spec = object.at('spec');
  if (object.isUpdate) serviceChange(spec);
  const annotations = object.in('metadata.annotations');
  const [mode, hints] = ['mode', 'aware-hints'].map((name) =>
    annotations.key(`service.kubernetes.io/topology-${name}`),
  ) as [Place, Place];
  if (mode.isSet && hints.isSet && mode.value !== hints.value)
    mode.invalid('must match the annotation of topology-aware hints');
  const type = spec.at('type');
  const ports = spec.at('ports');
  if (ports.isEmpty && !isHeadless(spec) && type.text !== 'ExternalName') ports.required();
  if (type.text === 'LoadBalancer' || type.text === 'NodePort') {
    const [first] = spec.at('clusterIPs').items;
    if (isHeadless(spec)) first?.invalid(`may not be set to 'None' for ${type.text} services`);
  } else if (type.text === 'ExternalName') externalName(spec);
  const names = new Set<string>();
  for (const port of ports.items) servicePort(port, ports.items.length > 1, names);
  labels(spec.at('selector'));
  affinity(spec);
  if (type.text !== 'ExternalName') clusterAddresses(spec);
  const known = spec.at('externalIPs').before.items.map(({ text }) => text);
  for (const ip of spec.at('externalIPs').items) {
    const before = ip.errorCount;
    if (!known.includes(ip.text)) ip.matches(address);
    if (ip.errorCount === before) endpointAddress(ip);
  }
  type.needAmong(TYPES);
  if (type.text === 'ClusterIP')
    for (const port of ports.items)
      if (!port.at('nodePort').isEmpty)
        port.at('nodePort').forbidden("may not be used when `type` is 'ClusterIP'");
  distinctPorts(ports);
  balancer(object, spec);
  traffic(spec);
}

function externalName(spec: Place): void {
  const why = 'may not be set for ExternalName services';
  for (const member of ['clusterIPs', 'ipFamilies'])
    if (!spec.at(member).isEmpty) spec.at(member).forbidden(why);
  if (spec.at('ipFamilyPolicy').isSet) spec.at('ipFamilyPolicy').forbidden(why);
  const name = spec.at('externalName').text.replace(/\.$/, '');
  if (name === '') spec.at('externalName').required();
  else spec.at('externalName').matches(subdomain, name);
}

function servicePort(port: Place, needsName: boolean, names: Set<string>): void {
  const name = port.at('name');
  if (!name.isEmpty) {
    name.matches(dnsLabel);
    if (names.has(name.text)) name.duplicate();
    names.add(name.text);
  } else if (needsName) name.required();
  portInRange(port.at('port'));
  port.at('protocol').needAmong(PROTOCOLS);
  portNumberOrName(port.at('targetPort'));
  if (port.at('appProtocol').isSet) port.at('appProtocol').matches(qualifiedName);
}

/** One day, in seconds. */
const LONGEST_AFFINITY = 86_400;

function affinity(spec: Place): void {
  const [at, config] = [spec.at('sessionAffinity'), spec.at('sessionAffinityConfig')];
  at.needAmong(['ClientIP', 'None']);
  if (at.text === 'None' && config.isSet)
    config.forbidden('must not be set when session affinity is None');
  if (at.text !== 'ClientIP') return;
  const places = [config, config.at('clientIP'), config.in('clientIP.timeoutSeconds')];
  const missing = places.find(({ isSet }) => !isSet);
  const seconds = config.in('clientIP.timeoutSeconds');
  if (missing !== undefined) missing.required('when session affinity type is ClientIP');
  else if (seconds.number <= 0 || seconds.number > LONGEST_AFFINITY)
    seconds.invalid(`must be greater than 0 and less than ${LONGEST_AFFINITY}`);
}

const FAMILIES = ['IPv4', 'IPv6'];

function clusterAddresses(spec: Place): void {
  const [ip, ips, families] = [spec.at('clusterIP'), spec.at('clusterIPs'), spec.at('ipFamilies')];
  const all = ips.items;
  if (ip.isEmpty) {
    if (!ips.isEmpty) ips.invalid('must be empty when `clusterIP` is not specified');
  } else if (ips.isEmpty) ips.required();
  else if (all[0]?.text !== ip.text) ips.invalid('first value must match `clusterIP`');
  const seen = new Set<string>();
  for (const family of families.items) {
    family.among(FAMILIES);
    if (seen.has(family.text)) family.duplicate();
    seen.add(family.text);
  }
  const policy = spec.at('ipFamilyPolicy');
  if (policy.isSet) policy.among(['PreferDualStack', 'RequireDualStack', 'SingleStack']);
  const known = ips.before.items.map(({ text }) => text);
  const before = ips.errorCount;
  let areAddresses = true;
  for (const [index, item] of all.entries()) {
    if (index === 0 && item.text === 'None') {
      if (all.length > 1) ips.invalid("'None' must be the first and only value");
    } else if (!known.includes(item.text)) item.matches(address);
  }
  areAddresses = ips.errorCount === before;
  if (all.length > 2) ips.invalid('may only hold up to 2 values');
  if (!areAddresses) return;
  const sixes = all.map((item) => isIPv6Family(item.text));
  if (all.length > 1 && !(sixes.includes(true) && sixes.includes(false)))
    ips.invalid('may specify no more than one IP for each IP family');
  if (isHeadless(spec)) return;
  for (const [index, item] of all.entries()) {
    const family = families.items[index]?.text ?? '';
    if (family === (sixes[index] ? 'IPv4' : 'IPv6'))
      item.invalid(`expected an ${family} value as indicated by \`ipFamilies[${index}]\``);
  }
}

function distinctPorts(ports: Place): void {
  for (const [member, isSkipped] of [
    ['nodePort', true],
    ['port', false],
  ] as const) {
    const seen = new Set<string>();
    for (const port of ports.items) {
      const number = port.at(member);
      if (isSkipped && number.isEmpty) continue;
      const key = `${port.at('protocol').text}/${number.number}`;
      if (seen.has(key)) (isSkipped ? number : port).duplicate();
      seen.add(key);
    }
  }
}

const RANGES = 'service.beta.kubernetes.io/load-balancer-source-ranges';

function balancer(object: Place, spec: Place): void {
  const isBalancer = spec.at('type').text === 'LoadBalancer';
  const why = "may only be used when `type` is 'LoadBalancer'";
  const ranges = spec.at('loadBalancerSourceRanges').as(spec.at('LoadBalancerSourceRanges').path);
  const annotation = object.in('metadata.annotations').key(RANGES);
  if (!ranges.isEmpty) {
    if (!isBalancer) ranges.forbidden(why);
    const known = ranges.before.items.map(({ text }) => text.trim());
    for (const range of ranges.items)
      if (!known.includes(range.text.trim())) range.matches(cidr, range.text.trim());
  } else if (annotation.isSet) {
    if (!isBalancer) annotation.forbidden(why);
    if (annotation.value !== annotation.was && annotation.text.trim() !== '')
      for (const range of annotation.text.split(',')) annotation.matches(cidr, range.trim());
  }
  const allocate = spec.at('allocateLoadBalancerNodePorts');
  if (allocate.isSet && !isBalancer) allocate.forbidden(why);
  if (!allocate.isSet && isBalancer) allocate.as('allocateLoadBalancerNodePorts').required();
  balancerClass(spec);
}

function balancerClass(spec: Place): void {
  const at = spec.at('loadBalancerClass');
  if (!at.isSet) return;
  if (spec.at('type').text === 'LoadBalancer') at.matches(qualifiedName);
  else at.forbidden("may only be used when `type` is 'LoadBalancer'");
}

const isBalanced = (spec: Place): boolean => spec.at('type').text === 'LoadBalancer';

/** Whether the Service accepts traffic from outside of the cluster. */
const isExternal = (spec: Place): boolean =>
  isBalanced(spec) ||
  spec.at('type').text === 'NodePort' ||
  (spec.at('type').text === 'ClusterIP' && !spec.at('externalIPs').isEmpty);

const needsHealthCheck = (spec: Place): boolean =>
  isBalanced(spec) && spec.at('externalTrafficPolicy').text === 'Local';

function traffic(spec: Place): void {
  const external = spec.at('externalTrafficPolicy');
  if (isExternal(spec)) external.needAmong(['Cluster', 'Local']);
  else if (!external.isEmpty)
    external.invalid('may only be set for externally-accessible services');
  const check = spec.at('healthCheckNodePort');
  if (needsHealthCheck(spec)) {
    if (check.need()) portInRange(check);
  } else if (!check.isEmpty)
    check.invalid("may only be set when `type` is 'LoadBalancer' and the policy is 'Local'");
  const internal = spec.at('internalTrafficPolicy');
  if (internal.isSet) internal.among(['Cluster', 'Local']);
  else if (TYPES.includes(spec.at('type').text) && spec.at('type').text !== 'ExternalName')
    internal.required();
  const distribution = spec.at('trafficDistribution');
  if (distribution.isSet) distribution.among(['PreferClose', 'PreferSameZone', 'PreferSameNode']);
}

/** A Service keeps its addresses, unless it becomes an ExternalName. */
function serviceChange(spec: Place): void {
  const { before } = spec;
  const isOutside = [spec, before].some((each) => each.at('type').text === 'ExternalName');
  const [now, was] = [isHeadless(spec), isHeadless(before)];
  if (!isOutside && !(now && was)) {
    kept(spec.at('clusterIPs'), spec, false);
    if (now === was) kept(spec.at('ipFamilies'), spec, true);
  }
  const bothBalanced = isBalanced(spec) && isBalanced(before);
  if (bothBalanced) spec.at('loadBalancerClass').immutable('may not change once set');
  balancerClass(spec);
  const check = spec.at('healthCheckNodePort');
  if (needsHealthCheck(spec) && needsHealthCheck(before) && check.isChanged)
    check.forbidden('field is immutable');
}

function kept(at: Place, spec: Place, areFamilies: boolean): void {
  const [now, was] = [at.items, at.before.items];
  const first = at.as(`${at.path}[0]`);
  const why = 'may not change once set';
  if (now.length === was.length) {
    for (const [index, item] of now.entries())
      if (item.text !== was[index]?.text) (areFamilies ? first : item).invalid(why);
    return;
  }
  if (spec.at('clusterIPs').isEmpty && now.length < was.length)
    first.invalid(
      areFamilies ? 'primary ipFamily can not be unset' : 'primary clusterIP can not be unset',
    );
  if (now.length > 0 && was.length > 0 && now[0]?.text !== was[0]?.text) first.invalid(why);
  const policy = spec.at('ipFamilyPolicy');
  if (now.length < was.length && now.length === 1 && policy.text !== 'SingleStack')
    policy.invalid("must be set to 'SingleStack' when releasing the secondary");
}

export function serviceStatus(object: Place): void {
  const ingress = object.in('status.loadBalancer.ingress');
  if (!isBalanced(object.at('spec')) && !ingress.isEmpty) {
    ingress.forbidden("may only be used when `spec.type` is 'LoadBalancer'");
    return;
  }
  const known = ingress.before.items.map((item) => item.at('ip').text);
  for (const item of ingress.items) {
    const [ip, mode, host] = [item.at('ip'), item.at('ipMode'), item.at('hostname')];
    if (!ip.isEmpty && !known.includes(ip.text)) ip.matches(address);
    if (!mode.isSet) {
      if (!ip.isEmpty) mode.required('must be specified when `ip` is set');
    } else if (ip.isEmpty) mode.forbidden('may not be specified when `ip` is not set');
    else mode.among(['Proxy', 'VIP']);
    if (host.isEmpty) continue;
    host.matches(subdomain);
    if (isIP(host.text) > 0) host.invalid('must be a DNS name, not an IP address');
  }
}

/** Rejects special addresses such as loopback and link-local ones. */
function endpointAddress(at: Place): void {
  if (isIP(at.text) === 0) {
    at.invalid('must be a valid IP address');
    return;
  }
  const ip = canonicalAddress(at.text);
  if (ip === '0.0.0.0' || ip === '::') at.invalid('may not be unspecified');
  if (/^127\.|^::1$/.test(ip)) at.invalid('may not be in the loopback range');
  if (/^169\.254\.|^fe[89ab][\da-f]:/.test(ip)) at.invalid('may not be in the link-local range');
  if (/^224\.0\.0\.|^ff02:/.test(ip)) at.invalid('may not be in the link-local multicast range');
}

export function endpoints(object: Place): void {
  const subsets = object.at('subsets');
  if (object.isUpdate && sameJson(subsets.value, subsets.was)) return;
  for (const subset of subsets.items) {
    const [ready, notReady] = [subset.at('addresses'), subset.at('notReadyAddresses')];
    if (ready.isEmpty && notReady.isEmpty)
      subset.required('must specify `addresses` or `notReadyAddresses`');
    for (const item of [...ready.items, ...notReady.items]) {
      item.at('ip').matches(address);
      if (!item.at('hostname').isEmpty) item.at('hostname').matches(dnsLabel);
      if (item.at('nodeName').isSet) item.at('nodeName').matches(subdomain);
      endpointAddress(item.at('ip'));
    }
    const ports = subset.at('ports').items;
    for (const port of ports) {
      const name = port.at('name');
      if (!name.isEmpty) name.matches(dnsLabel);
      else if (ports.length > 1) name.required();
      portInRange(port.at('port'));
      port.at('protocol').needAmong(PROTOCOLS);
      if (port.at('appProtocol').isSet) port.at('appProtocol').matches(qualifiedName);
    }
  }
}
