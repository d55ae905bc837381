/**
 * The rules of resource.k8s.io. CEL expressions are not compiled. kubernetes:
 * pkg/apis/resource/validation/validation.go.
 */

import { isObject } from '../json.ts';
import { dnsLabel, labelValue, qualifiedName, subdomain } from '../registry/names.ts';
import { Compiler } from '../rules/expressions.ts';
import type { Place, RuleTable } from './place.ts';
import { driverName } from './shared.ts';

const GROUP = 'resource.k8s.io';
const MOST_REQUESTS = 32;
const MOST_SUBREQUESTS = 8;
const MOST_DEVICES = 128;
const MOST_DEVICES_WITH_MORE = 64;
const MOST_EXPRESSION = 10 * 1024;
const MOST_OPAQUE = 10 * 1024;
const MOST_RESERVED = 256;

/** Checks each item by the rule, unless there are too many, and that each occurs once. */
function set(
  list: Place,
  most: number,
  rule: (item: Place) => void,
  keyOf: (item: Place) => string = ({ text }) => text,
): void {
  if (list.items.length > most) {
    list.tooMany(list.items.length, most);
    return;
  }
  for (const item of list.items) rule(item);
  list.distinct(keyOf);
}

function slice(list: Place, most: number, rule: (item: Place) => void): void {
  if (list.items.length > most) list.tooMany(list.items.length, most);
  else for (const item of list.items) rule(item);
}

const nameOf = (item: Place): string => item.at('name').text;

function claim(at: Place): void {
  const devices = at.at('devices');
  const requests = devices.at('requests');
  const names = new Set(
    requests.items.flatMap((request) => [
      nameOf(request),
      ...request.at('firstAvailable').items.map((each) => `${nameOf(request)}/${nameOf(each)}`),
    ]),
  );
  set(requests, MOST_REQUESTS, deviceRequest, nameOf);
  slice(devices.at('constraints'), MOST_REQUESTS, (constraint) => {
    set(constraint.at('requests'), MOST_REQUESTS, (ref) => requestReference(ref, names));
    const match = constraint.at('matchAttribute');
    const distinct = constraint.at('distinctAttribute');
    if (match.isSet) fullyQualified(match);
    else if (distinct.isSet) fullyQualified(distinct);
    else constraint.required('exactly one of "matchAttribute" or "distinctAttribute" is required');
  });
  slice(devices.at('config'), MOST_REQUESTS, (config) => {
    set(config.at('requests'), MOST_REQUESTS, (ref) => requestReference(ref, names));
    opaque(config.at('opaque'));
  });
}

function deviceRequest(at: Place): void {
  at.at('name').matches(dnsLabel);
  const [exactly, first] = [at.at('exactly'), at.at('firstAvailable')];
  if (first.isEmpty && !exactly.isSet)
    at.required('exactly one of `exactly` or `firstAvailable` is required');
  else if (!first.isEmpty && exactly.isSet)
    at.invalid('exactly one of `exactly` or `firstAvailable` is required');
  else if (exactly.isSet) devicesOf(exactly);
  else
    set(
      first,
      MOST_SUBREQUESTS,
      (each) => {
        each.at('name').matches(dnsLabel);
        devicesOf(each);
      },
      nameOf,
    );
}

function devicesOf(at: Place): void {
  if (at.at('deviceClassName').need()) at.at('deviceClassName').matches(subdomain);
  selectors(at.at('selectors'));
  const [mode, count] = [at.at('allocationMode'), at.at('count')];
  if (mode.text === 'All') {
    if (count.number !== 0) count.invalid("must not be specified when allocationMode is 'All'");
  } else if (mode.text === 'ExactCount') {
    if (count.number <= 0) count.invalid('must be greater than zero');
  } else mode.notSupported(['All', 'ExactCount']);
  for (const item of at.at('tolerations').items) toleration(item);
}

const EFFECTS = ['NoExecute', 'NoSchedule', 'None'];

function toleration(at: Place): void {
  const [key, operator, value, effect] = ['key', 'operator', 'value', 'effect'].map((name) =>
    at.at(name),
  ) as [Place, Place, Place, Place];
  if (!key.isEmpty) key.matches(qualifiedName);
  if (operator.text === 'Exists') {
    if (!value.isEmpty) value.invalid('must be empty for operator `Exists`');
  } else if (operator.text === 'Equal') value.matches(labelValue);
  else operator.needAmong(['Equal', 'Exists']);
  if (!effect.isEmpty) effect.among(EFFECTS);
}

function selectors(list: Place): void {
  slice(list, MOST_REQUESTS, (selector) => {
    const cel = selector.at('cel');
    const expression = cel.at('expression');
    if (!cel.isSet) cel.required();
    else if (Buffer.byteLength(expression.text) > MOST_EXPRESSION)
      expression.tooLong(MOST_EXPRESSION);
    else if (expression.text.trim() === '') expression.invalid('must be an expression');
    else {
      const why = Compiler.ofDevices().error(expression.text, ['bool', 'dyn']);
      if (why !== undefined) expression.invalid(why);
    }
  });
}

function opaque(at: Place): void {
  if (!at.isSet) {
    at.required();
    return;
  }
  driverName(at.at('driver'));
  const parameters = at.at('parameters');
  if (!parameters.isSet) parameters.required();
  else if (JSON.stringify(parameters.value).length > MOST_OPAQUE) parameters.tooLong(MOST_OPAQUE);
  else if (!isObject(parameters.value)) parameters.invalid('must be a valid JSON object');
}

function requestReference(at: Place, names: ReadonlySet<string>): void {
  const parts = at.text.split('/');
  if (parts.length <= 2) for (const part of parts) at.matches(dnsLabel, part);
  if (!names.has(at.text)) at.invalid('must be the name of a request in the claim');
}

const MOST_ID = 32;

function identifier(at: Place, id: string): void {
  if (id.length > MOST_ID) at.tooLong(MOST_ID);
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(id)) at.invalid('a valid C identifier is needed');
}

function deviceName(at: Place, name: string): void {
  const [first = '', second, ...more] = name.split('/');
  if (more.length > 0) return;
  if (second === undefined) {
    identifier(at, first);
    return;
  }
  if (first === '') at.invalid('the domain must not be empty');
  else {
    if (first.length > 63) at.tooLong(63);
    at.matches(subdomain, first.toLowerCase());
  }
  if (second === '') at.invalid('the name must not be empty');
  else identifier(at, second);
}

function fullyQualified(at: Place): void {
  deviceName(at, at.text);
  if (!at.text.includes('/')) at.invalid('must be a domain and a name separated by a slash');
}

function resourceClaim(object: Place): void {
  if (object.isUpdate) object.at('spec').immutable();
  else claim(object.at('spec'));
}

function claimTemplate(object: Place): void {
  claim(object.in('spec.spec'));
  object.at('spec').immutable();
}

function claimStatus(object: Place): void {
  const status = object.at('status');
  const [reserved, allocation] = [status.at('reservedFor'), status.at('allocation')];
  set(
    reserved,
    MOST_RESERVED,
    (item) => {
      for (const name of ['resource', 'name', 'uid']) item.at(name).need();
    },
    (item) => item.at('uid').text,
  );
  if (!reserved.isEmpty && !allocation.isSet)
    reserved.forbidden('may not be specified when `allocated` is not set');
  if (allocation.isSet && (allocation.was ?? undefined) !== undefined) allocation.immutable();
}

function deviceClass(object: Place): void {
  const spec = object.at('spec');
  selectors(spec.at('selectors'));
  slice(spec.at('config'), MOST_REQUESTS, (config) => opaque(config.at('opaque')));
  const name = spec.at('extendedResourceName');
  const isExtended =
    name.text.includes('/') &&
    !name.text.includes('kubernetes.io/') &&
    !name.text.startsWith('requests.') &&
    qualifiedName(`requests.${name.text}`).length === 0;
  if (name.isSet && !isExtended) name.invalid('must be a valid extended resource name');
}

function resourceSlice(object: Place): void {
  const spec = object.at('spec');
  const [driver, pool, node] = [spec.at('driver'), spec.at('pool'), spec.at('nodeName')];
  driverName(driver);
  if (pool.at('name').need()) {
    if (pool.at('name').text.length > 253) pool.at('name').tooLong(253);
    for (const part of pool.at('name').text.split('/')) pool.at('name').matches(subdomain, part);
  }
  if (pool.at('resourceSliceCount').number <= 0)
    pool.at('resourceSliceCount').invalid('must be greater than zero');
  pool.at('generation').atLeast(0);
  for (const at of [pool.at('name'), driver, node]) at.immutable();
  const where: Place[] = [];
  if (node.isSet && node.isEmpty) node.invalid('must be either unset or a non-empty string');
  else if (node.isSet) {
    where.push(node);
    node.matches(subdomain);
  }
  const selector = spec.at('nodeSelector');
  if (selector.isSet) {
    where.push(selector);
    if (selector.at('nodeSelectorTerms').items.length !== 1)
      selector.at('nodeSelectorTerms').invalid('must have exactly one node selector term');
  }
  for (const name of ['allNodes', 'perDeviceNodeSelection']) {
    const at = spec.at(name);
    if (at.value === true) where.push(at);
    else if (at.isSet) at.invalid('must be either unset or set to true');
  }
  const why =
    'exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required';
  if (where.length === 0) spec.required(why);
  if (where.length > 1) spec.invalid(why);
  devices(spec);
}

function devices(spec: Place): void {
  const [list, counters] = [spec.at('devices'), spec.at('sharedCounters')];
  if (list.isSet && counters.isSet)
    spec.invalid('only one of `sharedCounters` or `devices` is allowed');
  const hasMore = list.items.some(
    (device) => !device.at('taints').isEmpty || !device.at('consumesCounters').isEmpty,
  );
  set(list, hasMore ? MOST_DEVICES_WITH_MORE : MOST_DEVICES, device, nameOf);
  set(counters, MOST_SUBREQUESTS, counterSet, nameOf);
}

const VALUES = ['bool', 'int', 'string', 'version'];
const NUMBER = '(0|[1-9]\\d*)';
const IDENTIFIERS = '[0-9A-Za-z-]+(\\.[0-9A-Za-z-]+)*';
const SEMVER = new RegExp(
  `^${NUMBER}\\.${NUMBER}\\.${NUMBER}(-${IDENTIFIERS})?(\\+${IDENTIFIERS})?$`,
);
const MOST_VALUE = 64;

function device(at: Place): void {
  at.at('name').matches(dnsLabel);
  for (const [key, attribute] of at.at('attributes').entries) {
    deviceName(attribute, key);
    const [text, version] = [attribute.at('string'), attribute.at('version')];
    if (text.text.length > MOST_VALUE) text.tooLong(MOST_VALUE);
    if (version.isSet && !SEMVER.test(version.text))
      version.invalid('must be a string compatible with semver.org spec 2.0.0');
    if (version.text.length > MOST_VALUE) version.tooLong(MOST_VALUE);
    if (VALUES.filter((name) => attribute.at(name).isSet).length !== 1)
      attribute.invalid('exactly one value must be specified');
  }
  const isShared = at.at('allowMultipleAllocations').value === true;
  for (const [key, capacity] of at.at('capacity').entries) {
    deviceName(capacity, key);
    if (!isShared && capacity.at('requestPolicy').isSet)
      capacity.at('requestPolicy').forbidden('allowMultipleAllocations must be true');
  }
  for (const taint of at.at('taints').items) {
    taint.at('key').matches(qualifiedName);
    if (!taint.at('value').isEmpty) taint.at('value').matches(labelValue);
    taint.at('effect').needAmong(EFFECTS);
  }
}

function counterSet(at: Place): void {
  if (at.at('name').need()) at.at('name').matches(dnsLabel);
  at.at('counters').need();
  for (const [name, counter] of at.at('counters').entries) counter.matches(dnsLabel, name);
}

export const resource: RuleTable = {
  [`${GROUP}/resourceclaims`]: { object: resourceClaim, status: claimStatus },
  [`${GROUP}/resourceclaimtemplates`]: { object: claimTemplate },
  [`${GROUP}/deviceclasses`]: { object: deviceClass },
  [`${GROUP}/resourceslices`]: { object: resourceSlice },
};
