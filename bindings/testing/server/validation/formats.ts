/**
 * Formats of values: addresses, ports, quantities and selectors. Checks of a Place report there;
 * checks of a text return messages. The rules for names are in registry/names.ts.
 */
import { isIP, isIPv4, isIPv6 } from 'node:net';
import type { JsonObject } from '../json.ts';
import { labelValue, qualifiedName } from '../registry/names.ts';
import { quantityNanos } from '../schema/quantity.ts';
import type { Place } from './place.ts';

/** An address without leading zeros and zone, and not IPv4 in IPv6. */
export const address = (text: string): string[] =>
  isIP(text) > 0 && !text.includes('%') && !isMapped(text)
    ? []
    : ['must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'];

/** The address as Go prints it. */
export const canonicalAddress = (text: string): string =>
  isIPv6(text) ? new URL(`http://[${text}]`).hostname.slice(1, -1) : text;

const isMapped = (text: string): boolean =>
  isIPv6(text) && canonicalAddress(text).startsWith('::ffff:');

/** Whether an address is of the IPv6 family; IPv4 in IPv6 is of IPv4. k8s.io/utils/net. */
export const isIPv6Family = (text: string): boolean => isIPv6(text) && !isMapped(text);

/** An address with a prefix length, and no bits set after the prefix. */
export function cidr(text: string): string[] {
  const [ip = '', length = '', ...more] = text.split('/');
  const bits = isIPv4(ip) ? 32 : 128;
  const isLength = /^(0|[1-9]\d{0,2})$/.test(length) && Number(length) <= bits;
  if (address(ip).length > 0 || !isLength || more.length > 0)
    return ['must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'];
  const behind = (1n << BigInt(bits - Number(length))) - 1n;
  return (addressBits(ip) & behind) === 0n
    ? []
    : ['must not have bits set beyond the prefix length'];
}

/** The address as a number. */
export function addressBits(ip: string): bigint {
  if (isIPv4(ip)) return ip.split('.').reduce((bits, part) => (bits << 8n) | BigInt(part), 0n);
  const [head = '', tail] = canonicalAddress(ip).split('::');
  const groups = (part: string): string[] => (part === '' ? [] : part.split(':'));
  const [first, last] = [groups(head), groups(tail ?? '')];
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => '0');
  return [...first, ...zeros, ...last].reduce(
    (bits, group) => (bits << 16n) | BigInt(`0x${group}`),
    0n,
  );
}

export const portNumber = (port: number): string[] =>
  port >= 1 && port <= 65_535 ? [] : ['must be between 1 and 65535, inclusive'];

/** IANA_SVC_NAME: the name of a port. */
export function portName(name: string): string[] {
  const wrong: string[] = [];
  if (name.length > 15) wrong.push('must be no more than 15 characters');
  if (!/^[-a-z0-9]+$/.test(name))
    wrong.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  if (!/[a-z]/.test(name)) wrong.push('must contain at least one letter (a-z)');
  if (name.includes('--')) wrong.push('must not contain consecutive hyphens');
  if (name.startsWith('-') || name.endsWith('-')) wrong.push('must not begin or end with a hyphen');
  return wrong;
}

/** The name of an environment variable. */
export function envName(name: string): string[] {
  const wrong =
    name === '' || !/^[ -<>-~]+$/.test(name)
      ? [
          'a valid environment variable name must consist only of printable ASCII ' +
            "characters other than '='",
        ]
      : [];
  return wrong;
}

/** A number or a percentage that is not negative. */
export function countOrPercent(at: Place): void {
  if (typeof at.value === 'string') {
    if (!/^[0-9]+%$/.test(at.text))
      at.invalid("a valid percent string must be a numeric string followed by an ending '%'");
  } else at.atLeast(0);
}

/** At most 100 %, if it is a percentage. */
export function notAboveAll(at: Place): void {
  if (/^[0-9]+%$/.test(at.text) && Number.parseInt(at.text, 10) > 100)
    at.invalid('must not be greater than 100%');
}

/** A quantity in units of 10^-9; 0n for an invalid one. */
export const amount = (at: Place): bigint =>
  (typeof at.value === 'string' || typeof at.value === 'number'
    ? quantityNanos(String(at.value))
    : undefined) ?? 0n;

/** Keys of annotations. Errors have the path of the map. */
export function annotationKeys(at: Place): void {
  for (const [key] of at.entries) at.matches(qualifiedName, key.toLowerCase());
}

/** Keys and values of labels. Errors have the path of the map. */
export function labels(at: Place): void {
  for (const [key, value] of at.entries) {
    at.matches(qualifiedName, key);
    at.matches(labelValue, value.text);
  }
}

/**
 * metav1: ValidateLabelSelector.
 *
 * @param anyValue values need not be valid label values
 */
export function labelSelector(at: Place, anyValue = false): void {
  labels(at.at('matchLabels'));
  for (const item of at.at('matchExpressions').items) {
    const values = item.at('values');
    const operator = item.at('operator');
    if (operator.text === 'In' || operator.text === 'NotIn') {
      if (values.isEmpty) values.required('must be specified when `operator` is `In` or `NotIn`');
    } else if (operator.text === 'Exists' || operator.text === 'DoesNotExist') {
      if (!values.isEmpty)
        values.forbidden('may not be specified when `operator` is `Exists` or `DoesNotExist`');
    } else operator.invalid('not a valid selector operator');
    item.at('key').matches(qualifiedName);
    if (!anyValue) for (const value of values.items) value.matches(labelValue);
  }
}

/**
 * The selector as a predicate; an unset one matches nothing. Returns undefined if the real server
 * cannot parse it. apimachinery: pkg/apis/meta/v1/helpers.go LabelSelectorAsSelector.
 */
export function readSelector(at: Place): ((labels: JsonObject) => boolean) | undefined {
  if (!at.isSet) return () => false;
  const isLegal = (key: string, values: readonly string[]): boolean =>
    qualifiedName(key).length === 0 && values.every((value) => labelValue(value).length === 0);
  const tests: ((labels: JsonObject) => boolean)[] = [];
  for (const [key, value] of at.at('matchLabels').entries) {
    if (!isLegal(key, [value.text])) return undefined;
    tests.push((labels) => labels[key] === value.text);
  }
  for (const item of at.at('matchExpressions').items) {
    const [key, operator] = [item.at('key').text, item.at('operator').text];
    const values = item.at('values').items.map(({ text }) => text);
    const takesValues = operator === 'In' || operator === 'NotIn';
    const isKnown = takesValues || operator === 'Exists' || operator === 'DoesNotExist';
    if (!isKnown || !isLegal(key, values) || takesValues === (values.length === 0))
      return undefined;
    tests.push((labels) => {
      const value = labels[key];
      if (operator === 'Exists') return value !== undefined;
      if (operator === 'DoesNotExist') return value === undefined;
      const isIn = typeof value === 'string' && values.includes(value);
      return operator === 'In' ? isIn : !isIn;
    });
  }
  return (labels) => tests.every((test) => test(labels));
}
