/** The rules of EndpointSlices. kubernetes: pkg/apis/discovery/validation/validation.go. */
import { isIPv6 } from 'node:net';
import { dnsLabel, labelValue, qualifiedName, subdomain } from '../registry/names.ts';
import { address, canonicalAddress, labels } from './formats.ts';
import type { Place, RuleTable } from './place.ts';
import { domain, endpointAddressErrors } from './shared.ts';

const MOST_ADDRESSES = 100;
const MOST_PORTS = 20_000;
const MOST_ENDPOINTS = 1000;
const MOST_TOPOLOGY = 16;
const MOST_HINTS = 8;

/** Reports too many items; returns whether there are few enough. */
function atMost(at: Place, count: number, most: number): boolean {
  if (count > most) at.tooMany(count, most);
  return count <= most;
}

function endpointSlice(object: Place): void {
  const type = object.at('addressType');
  type.needAmong(['FQDN', 'IPv4', 'IPv6']);
  ports(object.at('ports'));
  const list = object.at('endpoints');
  // Endpoints that an update does not change are not checked again (ratcheting).
  if (!object.isUpdate || list.isChanged) endpoints(list, type.text);
  type.immutable();
}

function ports(list: Place): void {
  if (!atMost(list, list.items.length, MOST_PORTS)) return;
  const names = new Set<string>();
  for (const item of list.items) {
    const [name, protocol, app] = [item.at('name'), item.at('protocol'), item.at('appProtocol')];
    if (!name.isEmpty) name.matches(dnsLabel);
    if (names.has(name.text)) name.duplicate();
    names.add(name.text);
    if (!protocol.isSet) protocol.required();
    else protocol.among(['SCTP', 'TCP', 'UDP']);
    if (app.isSet) app.matches(qualifiedName);
  }
}

function endpoints(list: Place, type: string): void {
  if (!atMost(list, list.items.length, MOST_ENDPOINTS)) return;
  for (const item of list.items) {
    const addresses = item.at('addresses');
    if (addresses.need('must contain at least 1 address'))
      atMost(addresses, addresses.items.length, MOST_ADDRESSES);
    for (const each of addresses.items) endpointAddressOf(each, addresses, type);
    if (item.at('nodeName').isSet) item.at('nodeName').matches(subdomain);
    const topology = item.at('deprecatedTopology');
    atMost(topology, topology.entries.length, MOST_TOPOLOGY);
    labels(topology);
    if (item.at('hostname').isSet) item.at('hostname').matches(dnsLabel);
    hints(item.at('hints'));
  }
}

function endpointAddressOf(at: Place, list: Place, type: string): void {
  if (type === 'FQDN') domain(at, 2);
  if (type !== 'IPv4' && type !== 'IPv6') return;
  const before = at.errorCount;
  at.matches(address);
  const isSix = isIPv6(at.text);
  if (at.errorCount === before && type === 'IPv6' && isSix && canonicalAddress(at.text) !== at.text)
    at.invalid('must be in canonical form');
  if (at.errorCount > before) return;
  if (isSix !== (type === 'IPv6')) list.invalid(`must be an ${type} address`);
  at.matches(endpointAddressErrors);
}

function hints(at: Place): void {
  for (const [member, rule] of [
    ['forZones', labelValue],
    ['forNodes', subdomain],
  ] as const) {
    const list = at.at(member);
    if (!atMost(list, list.items.length, MOST_HINTS)) return;
    const seen = new Set<string>();
    for (const item of list.items) {
      const name = item.at('name');
      if (seen.has(name.text)) name.duplicate();
      seen.add(name.text);
      name.matches((text) => rule(text));
    }
  }
}

export const discovery: RuleTable = {
  'discovery.k8s.io/endpointslices': { object: endpointSlice },
};
