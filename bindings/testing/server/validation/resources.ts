/**
 * Names of resources, and the requests and limits of containers. kubernetes:
 * pkg/apis/core/helper/helpers.go, pkg/apis/core/validation/validation.go.
 */
import { dnsLabel, qualifiedName } from '../registry/names.ts';
import { quantityNanos } from '../schema/quantity.ts';
import { amount } from './formats.ts';
import type { Place } from './place.ts';

const COMPUTE = ['cpu', 'memory', 'ephemeral-storage'];
const COUNTED = [
  ...['pods', 'resourcequotas', 'services', 'replicationcontrollers', 'secrets', 'configmaps'],
  ...['persistentvolumeclaims', 'services.nodeports', 'services.loadbalancers'],
];
/** The resources that a quota may limit. */
export const QUOTA = [
  ...COMPUTE.flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
  ...COUNTED,
  'requests.storage',
];
const STANDARD = [...QUOTA, 'storage'];

const isHuge = (name: string): boolean => name.startsWith('hugepages-');
const isHugeInQuota = (name: string): boolean => /^(requests\.)?hugepages-/.test(name);

/** Whether the resource is one of Kubernetes. */
export const isNative = (name: string): boolean =>
  !name.includes('/') || name.includes('kubernetes.io/');

const isExtended = (name: string): boolean =>
  !isNative(name) &&
  !name.startsWith('requests.') &&
  qualifiedName(`requests.${name}`).length === 0;

/** Whether a request may be lower than its limit. */
export const canBeOvercommitted = (name: string): boolean => isNative(name) && !isHuge(name);

/** Checks the name of a resource, and reports it at the place; returns whether it is valid. */
export function resourceName(at: Place, name: string): boolean {
  const before = at.errorCount;
  at.matches(qualifiedName, name);
  const isLegal = at.errorCount === before;
  if (isLegal && !name.includes('/') && !STANDARD.includes(name) && !isHugeInQuota(name))
    at.invalid('must be a standard resource type or fully qualified');
  return at.errorCount === before;
}

export function containerResourceName(at: Place, name: string): void {
  resourceName(at, name);
  if (!name.includes('/')) {
    if (!COMPUTE.includes(name) && !isHuge(name))
      at.invalid('must be a standard resource for containers');
  } else if (!isNative(name) && !isExtended(name))
    at.invalid("doesn't follow extended resource name standard");
}

export function quotaResourceName(at: Place, name: string): void {
  resourceName(at, name);
  if (!name.includes('/') && !QUOTA.includes(name) && !isHugeInQuota(name))
    at.invalid('must be a standard resource for quota');
}

/** The resources that a Pod-level request may name. */
function podResourceName(at: Place, name: string): void {
  const supported = ['cpu', 'memory'];
  if (resourceName(at, name) && !supported.includes(name) && !isHuge(name))
    at.notSupported(supported);
}

const ONE = 10n ** 9n;

/** Requires a quantity that is not negative, and an integer for countable resources. */
export function resourceQuantity(at: Place, name: string): void {
  if (amount(at) < 0n) at.invalid('must be greater than or equal to 0');
  if ((COUNTED.includes(name) || isExtended(name)) && amount(at) % ONE !== 0n)
    at.invalid('must be an integer');
}

/** @param claims the names of the Pod's claims */
export function resourceRequirements(at: Place, claims: ReadonlySet<string>, ofPod = false): void {
  const [limits, requests] = [at.at('limits'), at.at('requests')];
  const checkName = ofPod ? podResourceName : containerResourceName;
  const check = (place: Place, name: string): void => {
    checkName(place, name);
    resourceQuantity(place, name);
  };
  const wrong = (request: Place, how: string, name: string, limit: Place): void => {
    requests.invalid(`must be ${how} to ${name} limit of ${limit.text}`, request.text);
  };
  for (const [name, limit] of limits.entries) {
    check(limit, name);
    pages(limit, name);
  }
  for (const [name, request] of requests.entries) {
    check(request, name);
    const limit = limits.key(name);
    if (!limit.isSet) {
      if (!canBeOvercommitted(name))
        limits.required('Limit must be set for non overcommitable resources');
    } else if (amount(request) > amount(limit)) wrong(request, 'less than or equal', name, limit);
    else if (amount(request) !== amount(limit) && !canBeOvercommitted(name))
      wrong(request, 'equal', name, limit);
    pages(request, name);
  }
  const names = [...Object.keys(limits.members), ...Object.keys(requests.members)];
  if (names.some(isHuge) && !names.includes('cpu') && !names.includes('memory'))
    at.forbidden('HugePages require cpu or memory');
  claimNames(at.at('claims'), claims);
}

function pages(at: Place, name: string): void {
  if (!isHuge(name)) return;
  const size = quantityNanos(name.slice('hugepages-'.length)) ?? 0n;
  if (size <= 0n || amount(at) % size !== 0n)
    at.invalid(`is not positive integer multiple of ${name}`);
}

function claimNames(at: Place, known: ReadonlySet<string>): void {
  const seen = new Set<string>();
  for (const item of at.items) {
    const [name, request] = [item.at('name'), item.at('request')];
    if (name.isEmpty) {
      item.required();
      continue;
    }
    const key = request.isEmpty ? name.text : `${name.text}/${request.text}`;
    if (!request.isEmpty && !seen.has(name.text)) request.matches(dnsLabel);
    const overlaps = request.isEmpty && [...seen].some((other) => other.startsWith(`${key}/`));
    if (seen.has(name.text) || seen.has(key) || overlaps) item.duplicate();
    seen.add(key);
    if (!known.has(name.text)) item.notFound();
  }
}
