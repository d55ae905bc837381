/** Rules that kinds of several groups share. */
import { BlockList, isIP, isIPv6 } from 'node:net';
import { dnsLabel, qualifiedName, subdomain } from '../registry/names.ts';
import type { FieldError } from '../status.ts';
import { canonicalAddress } from './formats.ts';
import { Place, type Rule } from './place.ts';

/** Whether the old value passes the rule. True at a create. */
export function wasValid(at: Place, rule: Rule): boolean {
  if (!at.isUpdate) return true;
  const errors: FieldError[] = [];
  rule(new Place(at.was, undefined, false, errors, at.path));
  return errors.length === 0;
}

const REASON = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;
const MOST_REASON = 1024;
const MOST_MESSAGE = 32_768;

/** metav1: ValidateConditions. */
export function conditions(at: Place): void {
  const seen = new Set<string>();
  for (const item of at.items) {
    const [type, status, reason] = [item.at('type'), item.at('status'), item.at('reason')];
    if (seen.has(type.text)) type.duplicate();
    seen.add(type.text);
    type.matches(qualifiedName);
    status.among(['False', 'True', 'Unknown']);
    item.at('observedGeneration').atLeast(0);
    if (!item.at('lastTransitionTime').isSet) item.at('lastTransitionTime').required();
    if (reason.need()) {
      if (!REASON.test(reason.text)) reason.invalid('a condition reason must be a word');
      if (reason.text.length > MOST_REASON) reason.tooLong(MOST_REASON);
    }
    if (item.at('message').text.length > MOST_MESSAGE) item.at('message').tooLong(MOST_MESSAGE);
  }
}

/** The errors of an endpoint's address. core/validation: ValidateEndpointIP. */
export function endpointAddressErrors(text: string): string[] {
  const address = canonicalAddress(text);
  const six = isIPv6(address);
  if (address === (six ? '::' : '0.0.0.0')) return ['may not be unspecified'];
  if (six ? address === '::1' : address.startsWith('127.'))
    return ['may not be in the loopback range (127.0.0.0/8, ::1/128)'];
  if (six ? /^fe[89ab]/.test(address) : address.startsWith('169.254.'))
    return ['may not be in the link-local range (169.254.0.0/16, fe80::/10)'];
  if (six ? /^ff[0-9a-f]2:/.test(address) : address.startsWith('224.0.0.'))
    return ['may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'];
  return [];
}

/** `*.example.com`. */
export function wildcardSubdomain(name: string): string[] {
  const isOne = name.startsWith('*.') && subdomain(name.slice(2)).length === 0;
  return isOne && name.length <= 253
    ? []
    : ["a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain"];
}

/** core/validation: ValidateCSIDriverName. */
export function driverName(at: Place): void {
  if (!at.need()) return;
  if (at.text.length > 63) at.tooLong(63);
  at.matches(subdomain, at.text.toLowerCase());
}

/** A DNS name with at least that many labels. */
export function domain(at: Place, labels: number): void {
  if (!at.need()) return;
  const name = labels === 2 ? at.text.replace(/\.$/, '') : at.text;
  const parts = name.split('.');
  if (subdomain(name).length > 0) at.invalid('must be a DNS name');
  else if (parts.length < labels)
    at.invalid(`should be a domain with at least ${labels} segments separated by dots`);
  else if (labels === 2 && parts.some((part) => dnsLabel(part).length > 0))
    at.invalid('each segment must be a DNS label');
}

const RANGE = /^(?<ip>.*)\/(?<length>\d{1,3})$/;

function rangeOf(
  text: string,
): { ip: string; length: number; family: 'ipv4' | 'ipv6' } | undefined {
  const { ip = '', length = '' } = RANGE.exec(text)?.groups ?? {};
  const version = isIP(ip);
  if (version === 0 || Number(length) > (version === 4 ? 32 : 128)) return undefined;
  return { ip, length: Number(length), family: version === 4 ? 'ipv4' : 'ipv6' };
}

/** Whether the text is an address with a prefix length, regardless of the bits after the prefix. */
export const isRange = (text: string): boolean => rangeOf(text) !== undefined;

/** Whether a range of addresses is within another one, and smaller. */
export function isStrictlyWithin(inner: string, outer: string): boolean {
  const [a, b] = [rangeOf(inner), rangeOf(outer)];
  if (a === undefined || b === undefined || a.family !== b.family) return false;
  const list = new BlockList();
  list.addSubnet(b.ip, b.length, b.family);
  return list.check(a.ip, a.family) && a.length > b.length;
}
