/**
 * LimitRanges, ResourceQuotas, Nodes and Namespaces. kubernetes:
 * pkg/apis/core/validation/validation.go.
 */
import { sameJson } from '../json.ts';
import { labelValue, qualifiedName } from '../registry/names.ts';
import { amount, cidr, isIPv6Family } from './formats.ts';
import type { Place } from './place.ts';
import {
  canBeOvercommitted,
  containerResourceName,
  QUOTA,
  quotaResourceName,
  resourceName,
  resourceQuantity,
} from './resources.ts';
import { EFFECTS } from './scheduling.ts';

const LIMIT_TYPES = ['Container', 'PersistentVolumeClaim', 'Pod'];

export function limitRange(object: Place): void {
  const seen = new Set<string>();
  for (const limit of object.in('spec.limits').items) {
    const type = limit.at('type');
    const before = type.errorCount;
    type.matches(qualifiedName);
    if (type.errorCount === before && !type.text.includes('/') && !LIMIT_TYPES.includes(type.text))
      type.invalid('must be a standard limit type or fully qualified');
    if (seen.has(type.text)) type.duplicate();
    seen.add(type.text);
    limitItem(limit, type.text);
  }
}

function limitItem(limit: Place, type: string): void {
  const ofContainers = type === 'Pod' || type === 'Container';
  const [max, min, standard, request, ratio] = [
    'max',
    'min',
    'default',
    'defaultRequest',
    'maxLimitRequestRatio',
  ].map((member) => limit.at(member)) as [Place, Place, Place, Place, Place];
  const keys = new Set<string>();
  const named = (map: Place): void => {
    for (const [key, at] of map.entries) {
      if (ofContainers) containerResourceName(at, key);
      else resourceName(at, key);
      keys.add(key);
    }
  };
  named(max);
  named(min);
  const defaults = [standard, request];
  if (type === 'Pod') {
    for (const map of defaults)
      if (!map.isEmpty) map.forbidden("may not be specified when `type` is 'Pod'");
  } else defaults.forEach(named);
  if (type === 'PersistentVolumeClaim' && !max.key('storage').isSet && !min.key('storage').isSet)
    limit.at('limits').required('either minimum or maximum storage value is required');
  named(ratio);
  for (const key of keys) {
    const above = (low: Place, high: Place, told: Place): void => {
      const [a, b] = [low.key(key), high.key(key)];
      if (a.isSet && b.isSet && amount(a) > amount(b))
        told.key(key).invalid('is out of the order min, defaultRequest, default, max');
    };
    above(min, max, min);
    if (type !== 'Pod') {
      above(min, request, request);
      above(request, max, request);
      above(request, standard, request);
      above(min, standard, standard);
      above(standard, max, standard);
    }
    ratioOf(ratio.key(key), min.key(key), max.key(key));
    const [a, b] = [standard.key(key), request.key(key)];
    if (!canBeOvercommitted(key) && a.isSet && b.isSet && amount(a) !== amount(b))
      b.invalid(`must equal the default value of ${key}`);
  }
}

const ONE = 10n ** 9n;

function ratioOf(ratio: Place, min: Place, max: Place): void {
  if (!ratio.isSet) return;
  if (amount(ratio) < ONE) ratio.invalid('ratio is less than 1');
  if (min.isSet && max.isSet && amount(ratio) * amount(min) > amount(max) * ONE)
    ratio.invalid('ratio is greater than max/min');
}

const POD_SCOPES = [
  ...['BestEffort', 'NotBestEffort', 'Terminating', 'NotTerminating', 'PriorityClass'],
  'CrossNamespacePodAffinity',
];
const SCOPES = [...POD_SCOPES, 'VolumeAttributesClass'];
const POD_RESOURCES = [
  'pods',
  ...['', 'limits.', 'requests.'].flatMap((prefix) => [`${prefix}cpu`, `${prefix}memory`]),
];
const CONFLICTS = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
];

function fits(scope: string, resource: string): boolean {
  if (scope === 'BestEffort') return resource === 'pods';
  if (scope === 'VolumeAttributesClass')
    return resource === 'persistentvolumeclaims' || resource === 'requests.storage';
  return !POD_SCOPES.includes(scope) || POD_RESOURCES.includes(resource);
}

const isQuota = (name: string): boolean => QUOTA.includes(name) || name.includes('hugepages-');

function amounts(map: Place): void {
  for (const [name, at] of map.entries) {
    quotaResourceName(at, name);
    resourceQuantity(at, name);
  }
}

export function resourceQuota(object: Place): void {
  const spec = object.at('spec');
  const hard = spec.at('hard');
  amounts(hard);
  const limited = Object.keys(hard.members).filter(isQuota);
  const scoped = (at: Place, told: Place, scope: string): void => {
    if (!SCOPES.includes(scope)) told.invalid('unsupported scope');
    for (const name of limited)
      if (!fits(scope, name)) at.invalid('unsupported scope applied to resource');
  };
  const conflicting = (at: Place, scopes: readonly string[]): void => {
    for (const pair of CONFLICTS)
      if (pair.every((scope) => scopes.includes(scope))) at.invalid('conflicting scopes');
  };
  const scopes = spec.at('scopes');
  for (const { text } of scopes.items) scoped(scopes, scopes, text);
  conflicting(
    scopes,
    scopes.items.map(({ text }) => text),
  );
  const expressions = spec.at('scopeSelector').at('matchExpressions');
  for (const item of expressions.items) {
    const [scope, operator, values] = [
      item.at('scopeName').as(expressions.at('scopeName').path),
      item.at('operator').as(expressions.at('operator').path),
      item.at('values').as(expressions.at('values').path),
    ];
    scoped(expressions, scope, scope.text);
    const existsOnly = POD_SCOPES.includes(scope.text) && scope.text !== 'PriorityClass';
    if (existsOnly && operator.text !== 'Exists')
      operator.invalid(`must be 'Exists' when scope is ${scope.text}`);
    if (operator.text === 'In' || operator.text === 'NotIn') {
      if (values.isEmpty) values.required('must be at least one value');
    } else if (operator.text === 'Exists' || operator.text === 'DoesNotExist') {
      if (!values.isEmpty) values.invalid('must be no value');
    } else operator.invalid('not a valid selector operator');
  }
  conflicting(
    expressions,
    expressions.items.map((item) => item.at('scopeName').text),
  );
  if (!object.isUpdate) return;
  const set = (at: Place): string[] => [...new Set(at.items.map(({ text }) => text))].sort();
  if (!sameJson(set(scopes), set(scopes.before))) scopes.invalid('field is immutable');
}

export function quotaStatus(object: Place): void {
  for (const member of ['hard', 'used']) amounts(object.at('status').at(member));
}

export function node(object: Place): void {
  taints(object.in('spec.taints').as('metadata.taints'));
  nodeAmounts(object);
  const cidrs = object.in('spec.podCIDRs');
  for (const item of cidrs.items) item.matches(cidr);
  const sixes = cidrs.items.map((item) => isIPv6Family(item.text.split('/')[0] ?? ''));
  if (sixes.length > 2 || (sixes.length === 2 && sixes[0] === sixes[1]))
    cidrs.invalid('may specify no more than one CIDR for each IP family');
  if (object.isUpdate) nodeChange(object);
}

function nodeAmounts(object: Place): void {
  for (const member of ['capacity', 'allocatable'])
    for (const [name, at] of object.at('status').at(member).entries)
      resourceQuantity(at.as(`status.${member}.${name}`), name);
}

/** Also checked in a write to the status. */
export function nodeChange(object: Place): void {
  const spec = object.at('spec');
  nodeAmounts(object);
  object.in('status.addresses').distinct();
  const cidrs = spec.at('podCIDRs');
  const was = cidrs.before.items;
  if (was.length > 0) {
    const why = 'node updates may not change podCIDR except from "" to valid';
    if (was.length !== cidrs.items.length) cidrs.forbidden(why);
    else
      for (const [index, item] of cidrs.items.entries())
        if (item.text !== was[index]?.text) cidrs.forbidden(why);
  }
  const provider = spec.at('providerID');
  if (!provider.before.isEmpty && provider.isChanged)
    provider.forbidden('node updates may not change providerID except from "" to valid');
  taints(spec.at('taints').as('metadata.taints'));
  if (spec.at('externalID').isChanged) spec.at('externalID').forbidden('may not be updated');
}

function taints(at: Place): void {
  const seen = new Set<string>();
  for (const taint of at.items) {
    const [key, value, effect] = [taint.at('key'), taint.at('value'), taint.at('effect')];
    key.matches(qualifiedName);
    if (labelValue(value.text).length > 0) value.invalid(labelValue(value.text).join(';'));
    effect.needAmong(EFFECTS);
    const pair = `${effect.text}/${key.text}`;
    if (seen.has(pair)) taint.duplicate();
    seen.add(pair);
  }
}

const STANDARD = ['kubernetes', 'foregroundDeletion', 'orphan'];

function finalizer(name: Place): void {
  name.matches(qualifiedName);
  if (!name.text.includes('/') && !STANDARD.includes(name.text))
    name.invalid('name is neither a standard finalizer name nor is it fully qualified');
}

export function namespaceSpec(object: Place): void {
  for (const name of object.in('spec.finalizers').items) finalizer(name.as('spec.finalizers'));
}

export function namespaceFinalizers(object: Place): void {
  for (const name of object.in('spec.finalizers').items) finalizer(name);
}

export function namespaceStatus(object: Place): void {
  const wanted = object.in('metadata.deletionTimestamp').isSet ? 'Terminating' : 'Active';
  const phase = object.in('status.phase');
  if (phase.text !== wanted) phase.as('status.Phase').invalid(`may only be '${wanted}'`);
}
