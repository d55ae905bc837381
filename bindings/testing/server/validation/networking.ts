/** The rules of networking.k8s.io. kubernetes: pkg/apis/networking/validation/validation.go. */
import { isIP } from 'node:net';
import { isObject } from '../json.ts';
import { dnsLabel, pathSegmentErrors, subdomain } from '../registry/names.ts';
import {
  address,
  canonicalAddress,
  cidr,
  isIPv6Family,
  labelSelector,
  portName,
  portNumber,
} from './formats.ts';
import type { Place, RuleTable } from './place.ts';
import { isRange, isStrictlyWithin, wasValid, wildcardSubdomain } from './shared.ts';

const GROUP = 'networking.k8s.io';

// Ingress

const FORBIDDEN_IN_PATH = ['//', '/./', '/../', '%2f', '%2F'];
const FORBIDDEN_AT_END = ['/..', '/.'];

function ingress(object: Place): void {
  const spec = object.at('spec');
  const [backend, rules] = [spec.at('defaultBackend'), spec.at('rules')];
  if (rules.isEmpty && !backend.isSet)
    spec.invalid('either `defaultBackend` or `rules` must be specified');
  if (backend.isSet) backendOf(backend);
  for (const rule of rules.items) ingressRule(rule);
  const secretNames = !wasValid(spec.at('tls'), (tls) => {
    for (const item of tls.items)
      if (!item.at('secretName').isEmpty) item.at('secretName').matches(subdomain);
  });
  for (const item of spec.at('tls').items) {
    for (const host of item.at('hosts').items)
      host.matches(host.text.includes('*') ? wildcardSubdomain : subdomain);
    const secret = item.at('secretName');
    if (!secretNames && !secret.isEmpty) secret.matches(subdomain);
  }
  const name = spec.at('ingressClassName');
  if (name.isSet) name.matches(subdomain);
  if (object.isUpdate) return;
  const annotations = object.in('metadata.annotations').members;
  const annotated = annotations['kubernetes.io/ingress.class'];
  if (annotated !== undefined && name.isSet && annotated !== name.text)
    object
      .in('metadata.annotations')
      .as('annotations.kubernetes.io/ingress.class')
      .invalid('must match `ingressClassName` when both are specified');
}

function ingressRule(rule: Place): void {
  const host = rule.at('host');
  if (!host.isEmpty) {
    if (isIP(host.text) > 0) host.invalid('must be a DNS name, not an IP address');
    host.matches(host.text.includes('*') ? wildcardSubdomain : subdomain);
  }
  const http = rule.at('http');
  if (!http.isSet) return;
  http.at('paths').need();
  for (const item of http.at('paths').items) httpPath(item);
}

function httpPath(at: Place): void {
  const [path, type] = [at.at('path'), at.at('pathType')];
  if (!type.isSet) {
    type.required('pathType must be specified');
    return;
  }
  const isAbsolute = path.text.startsWith('/');
  if (type.text === 'Exact' || type.text === 'Prefix') {
    if (!isAbsolute) path.invalid('must be an absolute path');
    for (const part of FORBIDDEN_IN_PATH)
      if (path.text.includes(part)) path.invalid(`must not contain '${part}'`);
    for (const end of FORBIDDEN_AT_END)
      if (path.text.endsWith(end)) path.invalid(`cannot end with '${end}'`);
  } else if (type.text === 'ImplementationSpecific') {
    if (!path.isEmpty && !isAbsolute) path.invalid('must be an absolute path');
  } else type.notSupported(['Exact', 'ImplementationSpecific', 'Prefix']);
  backendOf(at.at('backend'));
}

function backendOf(at: Place): void {
  const [service, resource] = [at.at('service'), at.at('resource')];
  if (service.isSet && resource.isSet) at.invalid('cannot set both resource and service backends');
  else if (resource.isSet) typedReference(resource);
  else if (service.isSet) {
    if (service.at('name').need()) service.at('name').matches(dnsLabel);
    const [name, number] = [service.in('port.name'), service.in('port.number')];
    if (!name.isEmpty && !number.isEmpty) at.invalid('cannot set both port name & port number');
    else if (!name.isEmpty) name.matches(portName);
    else if (!number.isEmpty) for (const why of portNumber(number.number)) number.invalid(why);
    else at.required('port name or number is required');
  } else at.invalid('resource or service backend is required');
}

function typedReference(at: Place): void {
  if (at.at('apiGroup').isSet) at.at('apiGroup').matches(subdomain);
  for (const name of ['kind', 'name'])
    if (at.at(name).need()) at.at(name).matches(pathSegmentErrors);
}

function ingressStatus(object: Place): void {
  const list = object.in('status.loadBalancer.ingress');
  const before = Array.isArray(list.was) ? list.was : [];
  for (const item of list.items) {
    const [ip, hostname] = [item.at('ip'), item.at('hostname')];
    const isKept = before.some((each) => isObject(each) && each.ip === ip.value);
    if (!ip.isEmpty && !isKept) ip.matches(address);
    if (hostname.isEmpty) continue;
    hostname.matches(subdomain);
    if (isIP(hostname.text) > 0) hostname.invalid('must be a DNS name, not an IP address');
  }
}

// IngressClass

const MOST_CONTROLLER = 250;
const URL_PATH = /^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/;

function ingressClass(object: Place): void {
  const controller = object.in('spec.controller');
  controller.immutable();
  if (controller.text.length > MOST_CONTROLLER) controller.tooLong(MOST_CONTROLLER);
  if (controller.need()) domainPrefixedPath(controller);
  const at = object.in('spec.parameters');
  if (!at.isSet) return;
  typedReference(at);
  const [scope, namespace] = [at.at('scope'), at.at('namespace')];
  if (!scope.isSet) scope.required();
  else if (scope.among(['Cluster', 'Namespace'])) {
    if (scope.text === 'Cluster') {
      if (namespace.isSet) namespace.forbidden("`parameters.scope` is set to 'Cluster'");
    } else if (namespace.isSet) namespace.matches(dnsLabel);
    else namespace.required("`parameters.scope` is set to 'Namespace'");
  }
}

function domainPrefixedPath(at: Place): void {
  const slash = at.text.indexOf('/');
  const [host, path] = [at.text.slice(0, slash), at.text.slice(slash + 1)];
  if (slash < 1 || path === '')
    at.invalid('must be a domain-prefixed path (such as "acme.io/foo")');
  else {
    at.matches(subdomain, host);
    if (!URL_PATH.test(path)) at.invalid('Invalid path');
  }
}

// NetworkPolicy

function networkPolicy(object: Place): void {
  const spec = object.at('spec');
  const selector = spec.at('podSelector');
  const anyValue = !wasValid(selector, labelSelector);
  const kept = new Set(blocksOf(spec.was));
  labelSelector(selector, anyValue);
  for (const [rules, peers] of [
    ['ingress', 'from'],
    ['egress', 'to'],
  ] as const) {
    for (const rule of spec.at(rules).items) {
      for (const port of rule.at('ports').items) policyPort(port);
      for (const each of rule.at(peers).items) peer(each, anyValue, kept);
    }
  }
  const types = spec.at('policyTypes');
  if (types.items.length > 2) types.invalid('may not specify more than two policyTypes');
  else for (const type of types.items) type.among(['Ingress', 'Egress']);
}

/** All address ranges anywhere in the value. */
function blocksOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(blocksOf);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    if (name === 'cidr') return [String(member)];
    return name === 'except' && Array.isArray(member) ? member.map(String) : blocksOf(member);
  });
}

function policyPort(at: Place): void {
  const [protocol, port, end] = [at.at('protocol'), at.at('port'), at.at('endPort')];
  if (protocol.isSet) protocol.among(['TCP', 'UDP', 'SCTP']);
  if (!port.isSet) {
    if (end.isSet) end.invalid('may not be specified when `port` is not specified');
  } else if (typeof port.value === 'string') {
    if (end.isSet) end.invalid('may not be specified when `port` is non-numeric');
    port.matches(portName);
  } else {
    for (const why of portNumber(port.number)) port.invalid(why);
    if (!end.isSet) return;
    if (end.number < port.number) end.invalid('must be greater than or equal to `port`');
    for (const why of portNumber(end.number)) end.invalid(why);
  }
}

function peer(at: Place, anyValue: boolean, kept: ReadonlySet<string>): void {
  const selectors = [at.at('podSelector'), at.at('namespaceSelector')];
  const block = at.at('ipBlock');
  for (const selector of selectors) labelSelector(selector, anyValue);
  if (block.isSet) ipBlock(block, kept);
  const isSelected = selectors.some(({ isSet }) => isSet);
  if (!block.isSet && !isSelected) at.required('must specify a peer');
  if (block.isSet && isSelected) at.forbidden('may not specify both ipBlock and another peer');
}

function ipBlock(at: Place, kept: ReadonlySet<string>): void {
  const range = at.at('cidr');
  if (!range.need()) return;
  if (!kept.has(range.text)) range.matches(cidr);
  if (!isRange(range.text)) return;
  for (const item of at.at('except').items) {
    if (!kept.has(item.text)) item.matches(cidr);
    if (isRange(item.text) && !isStrictlyWithin(item.text, range.text))
      item.invalid('must be a strict subset of `cidr`');
  }
}

// IPAddress and ServiceCIDR

function ipAddress(object: Place): void {
  const parent = object.in('spec.parentRef');
  if (!parent.isSet) parent.required();
  else {
    if (!parent.at('group').isEmpty) parent.at('group').matches(subdomain);
    for (const name of ['resource', 'name'])
      if (parent.at(name).need()) parent.at(name).matches(pathSegmentErrors);
    if (!parent.at('namespace').isEmpty) parent.at('namespace').matches(pathSegmentErrors);
  }
  parent.immutable();
}

function serviceCidr(object: Place): void {
  const list = object.in('spec.cidrs');
  const was = Array.isArray(list.was) ? list.was : [];
  if (!object.isUpdate) serviceCidrs(list);
  else if (was.length === list.items.length) for (const item of list.items) item.immutable();
  else if (was.length === 1 && list.items.length === 2) {
    (list.items[0] as Place).immutable();
    serviceCidrs(list);
  } else list.invalid('field is immutable');
}

function serviceCidrs(list: Place): void {
  if (!list.need('at least one CIDR required')) return;
  const { items } = list;
  if (items.length > 2) {
    list.invalid('may only hold up to 2 values');
    return;
  }
  for (const item of items) {
    const wrong = cidr(item.text);
    for (const why of wrong) item.invalid(why);
    const [ip = '', length = ''] = item.text.split('/');
    const canonical = `${canonicalAddress(ip)}/${length}`;
    if (wrong.length === 0 && canonical !== item.text)
      item.invalid(`must be in canonical form (${JSON.stringify(canonical)})`);
  }
  const sixes = items.map(({ text }) => isIPv6Family(text.split('/')[0] ?? ''));
  const all = items.every(({ text }) => isRange(text));
  if (items.length === 2 && all && sixes[0] === sixes[1])
    list.invalid('may specify no more than one IP for each IP family');
}

export const networking: RuleTable = {
  [`${GROUP}/ingresses`]: { object: ingress, status: ingressStatus },
  [`${GROUP}/ingressclasses`]: { object: ingressClass },
  [`${GROUP}/networkpolicies`]: { object: networkPolicy },
  [`${GROUP}/ipaddresses`]: { object: ipAddress },
  [`${GROUP}/servicecidrs`]: { object: serviceCidr },
};
