/**
 * Kubernetes' functions in CEL, as far as rules of definitions use them: lists, sets, regular
 * expressions, strings, URLs, quantities, addresses, formats and semantic versions. apiserver:
 * pkg/cel/library; cel-go: ext.
 */
import { isIPv4, isIPv6 } from 'node:net';
import type { Environment, Optional } from '@marcbachmann/cel-js';
import { dnsLabel, label1035, labelValue, qualifiedName, subdomain } from '../registry/names.ts';
import { formatError } from '../schema/formats.ts';
import { canonicalQuantity, quantityNanos } from '../schema/quantity.ts';
import { addressBits, canonicalAddress } from '../validation/formats.ts';

class Url {
  readonly url: URL;
  constructor(text: string) {
    this.url = new URL(text, 'relative://');
  }
  get isRelative(): boolean {
    return this.url.protocol === 'relative:';
  }
}

class Quantity {
  readonly nanos: bigint;
  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

class Ip {
  readonly text: string;
  constructor(text: string) {
    if (!isIp(text)) throw new Error(`IP Address ${JSON.stringify(text)} parse error`);
    this.text = canonicalAddress(text);
  }
}

class Cidr {
  readonly ip: Ip;
  readonly bits: number;
  constructor(text: string) {
    if (!isCidr(text)) throw new Error(`network address parse error: ${JSON.stringify(text)}`);
    const [ip = '', bits = ''] = text.split('/');
    this.ip = new Ip(ip);
    this.bits = Number(bits);
  }
  #prefix({ text }: Ip): bigint {
    return addressBits(text) >> BigInt((isIPv4(text) ? 32 : 128) - this.bits);
  }
  contains(ip: Ip, bits: number): boolean {
    return (
      isIPv4(ip.text) === isIPv4(this.ip.text) &&
      bits >= this.bits &&
      this.#prefix(ip) === this.#prefix(this.ip)
    );
  }
}

class Semver {
  readonly parts: readonly [bigint, bigint, bigint];
  readonly pre: readonly string[];
  constructor(text: string) {
    const found = SEMVER.exec(text);
    if (found === null) throw new Error(`invalid semantic version ${JSON.stringify(text)}`);
    this.parts = [BigInt(found[1] ?? 0), BigInt(found[2] ?? 0), BigInt(found[3] ?? 0)];
    this.pre = found[4]?.split('.') ?? [];
  }
}

class Format {
  readonly check: (text: string) => string[];
  constructor(check: (text: string) => string[]) {
    this.check = check;
  }
}

const NOT_GLOBAL_UNICAST =
  /^(127\.|0\.0\.0\.0$|255\.255\.255\.255$|169\.254\.|22[4-9]\.|23\d\.|::1?$|ff|fe[89ab])/;
const NUMBER = String.raw`(0|[1-9]\d*)`;
const IDENTIFIERS = String.raw`[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*`;
const SEMVER = new RegExp(
  String.raw`^${NUMBER}\.${NUMBER}\.${NUMBER}(?:-(${IDENTIFIERS}))?(?:\+${IDENTIFIERS})?$`,
);

const isIp = (text: string): boolean =>
  isIPv4(text) || (isIPv6(text) && !text.includes('%') && !text.includes('.'));

function isCidr(text: string): boolean {
  const [ip = '', bits = '', ...more] = text.split('/');
  return (
    isIp(ip) &&
    more.length === 0 &&
    /^(0|[1-9]\d{0,2})$/.test(bits) &&
    Number(bits) <= (isIPv4(ip) ? 32 : 128)
  );
}

function nanosOf(text: string): bigint {
  const nanos = canonicalQuantity(text) === undefined ? undefined : quantityNanos(text);
  if (nanos === undefined)
    throw new Error('quantities must match the regular expression of quantities');
  return nanos;
}

const compare = <V>(a: V, b: V): bigint => (a < b ? -1n : a > b ? 1n : 0n);

function compareVersions(a: Semver, b: Semver): bigint {
  for (const [at, part] of a.parts.entries()) {
    const order = compare(part, b.parts[at] ?? 0n);
    if (order !== 0n) return order;
  }
  if (a.pre.length === 0 || b.pre.length === 0) return compare(b.pre.length, a.pre.length);
  for (const [at, part] of a.pre.entries()) {
    const other = b.pre[at];
    if (other === undefined) return 1n;
    const numbers = /^\d+$/.test(part) && /^\d+$/.test(other);
    const order = numbers ? compare(BigInt(part), BigInt(other)) : compare(part, other);
    if (order !== 0n) return order;
  }
  return compare(a.pre.length, b.pre.length);
}

const FORMATS: Record<string, (text: string) => string[]> = {
  dns1123Label: dnsLabel,
  dns1123Subdomain: subdomain,
  dns1035Label: label1035,
  qualifiedName,
  dns1123LabelPrefix: (text) => dnsLabel(text.replace(/-$/, 'a')),
  dns1123SubdomainPrefix: (text) => subdomain(text.replace(/-$/, 'a')),
  dns1035LabelPrefix: (text) => label1035(text.replace(/-$/, 'a')),
  labelValue,
  ...Object.fromEntries(
    ['uri', 'uuid', 'byte', 'date', 'datetime'].map((name) => [
      name,
      (text: string) => (formatError(name, text) ? [`invalid ${name}`] : []),
    ]),
  ),
};

const pattern = (text: string, flags = ''): RegExp => {
  const inline = /^\(\?([ims]+)\)/.exec(text);
  return new RegExp(
    inline === null ? text : text.slice(inline[0].length),
    `u${flags}${inline?.[1] ?? ''}`,
  );
};

type Comparable = bigint | number | string | Date;

function least(list: readonly Comparable[], sign: bigint, what: string): Comparable {
  const [first] = list;
  if (first === undefined) throw new Error(`${what} called on empty list`);
  return list.reduce((best, each) => (compare(each, best) === sign ? each : best), first);
}

const sameValue = (a: unknown, b: unknown): boolean => textOf(a) === textOf(b);
/** A string that is the same for equal values of CEL. */
const textOf = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'bigint' ? String(each) : each instanceof Map ? Object.fromEntries(each) : each,
  );

function formatted(template: string, values: readonly unknown[]): string {
  let at = 0;
  return template.replaceAll(
    /%(?:\.(\d+))?([sdfeboxX%])/g,
    (_, digits: string | undefined, verb: string) => {
      if (verb === '%') return '%';
      const value = values[at++];
      const places = digits === undefined ? 6 : Number(digits);
      switch (verb) {
        case 'd':
          return String(value);
        case 'f':
          return Number(value).toFixed(places);
        case 'e':
          return Number(value).toExponential(places);
        case 'b':
          return BigInt(value as bigint).toString(2);
        case 'o':
          return BigInt(value as bigint).toString(8);
        case 'x':
          return BigInt(value as bigint).toString(16);
        case 'X':
          return BigInt(value as bigint)
            .toString(16)
            .toUpperCase();
        default:
          return Array.isArray(value) ? `[${value.join(', ')}]` : String(value);
      }
    },
  );
}

const none = (): never => {
  throw new Error('optional.none() dereference');
};

/** Registers all functions in the environment. */
export function registerExtensions(env: Environment, optional: typeof Optional): void {
  for (const [name, ctor] of Object.entries({ Url, Quantity, Ip, Cidr, Semver, Format }))
    env.registerType(name, { ctor, fields: {} });
  const add = (signature: string, handler: (...values: never[]) => unknown): void =>
    void env.registerFunction(signature, handler as (...values: unknown[]) => unknown);
  lists(add);
  sets(env, add);
  formats(env, add, optional);
  texts(add);
  addresses(add);
  add('url(string): Url', (text: string) => {
    if (formatError('uri', text))
      throw new Error(`URL parse error during conversion from string: ${text}`);
    return new Url(text);
  });
  add('isURL(string): bool', (text: string) => !formatError('uri', text));
  add('Url.getScheme(): string', (it: Url) => (it.isRelative ? '' : it.url.protocol.slice(0, -1)));
  add('Url.getHost(): string', (it: Url) => it.url.host);
  add('Url.getHostname(): string', (it: Url) => it.url.hostname.replace(/^\[|\]$/g, ''));
  add('Url.getPort(): string', (it: Url) => it.url.port);
  add('Url.getEscapedPath(): string', (it: Url) => it.url.pathname);
  add('Url.getQuery(): map<string, list<string>>', ({ url }: Url) => {
    const names = [...new Set(url.searchParams.keys())];
    return new Map(names.map((name) => [name, url.searchParams.getAll(name)]));
  });
  add('quantity(string): Quantity', (text: string) => new Quantity(nanosOf(text)));
  add('isQuantity(string): bool', (text: string) => canonicalQuantity(text) !== undefined);
  add('Quantity.isGreaterThan(Quantity): bool', (a: Quantity, b: Quantity) => a.nanos > b.nanos);
  add('Quantity.isLessThan(Quantity): bool', (a: Quantity, b: Quantity) => a.nanos < b.nanos);
  add('Quantity.compareTo(Quantity): int', (a: Quantity, b: Quantity) => compare(a.nanos, b.nanos));
  add(
    'Quantity.add(Quantity): Quantity',
    (a: Quantity, b: Quantity) => new Quantity(a.nanos + b.nanos),
  );
  add(
    'Quantity.sub(Quantity): Quantity',
    (a: Quantity, b: Quantity) => new Quantity(a.nanos - b.nanos),
  );
  add('Quantity.add(int): Quantity', (a: Quantity, b: bigint) => new Quantity(a.nanos + b * NANO));
  add('Quantity.sub(int): Quantity', (a: Quantity, b: bigint) => new Quantity(a.nanos - b * NANO));
  add('Quantity.sign(): int', (it: Quantity) => compare(it.nanos, 0n));
  add('Quantity.isInteger(): bool', (it: Quantity) => it.nanos % NANO === 0n);
  add('Quantity.asInteger(): int', (it: Quantity) => {
    if (it.nanos % NANO !== 0n) throw new Error('cannot convert value to integer');
    return it.nanos / NANO;
  });
  add('Quantity.asApproximateFloat(): double', (it: Quantity) => Number(it.nanos) / 1e9);
  env.registerOperator('Quantity == Quantity', (a: Quantity, b: Quantity) => a.nanos === b.nanos);
  add('semver(string): Semver', (text: string) => new Semver(text));
  add('isSemver(string): bool', (text: string) => SEMVER.test(text));
  for (const [name, at] of [
    ['major', 0],
    ['minor', 1],
    ['patch', 2],
  ] as const)
    add(`Semver.${name}(): int`, (it: Semver) => it.parts[at]);
  add('Semver.compareTo(Semver): int', compareVersions);
  add('Semver.isGreaterThan(Semver): bool', (a: Semver, b: Semver) => compareVersions(a, b) > 0n);
  add('Semver.isLessThan(Semver): bool', (a: Semver, b: Semver) => compareVersions(a, b) < 0n);
  env.registerOperator('Semver == Semver', (a: Semver, b: Semver) => compareVersions(a, b) === 0n);
}

const NANO = 1_000_000_000n;

type Add = (signature: string, handler: (...values: never[]) => unknown) => void;

function lists(add: Add): void {
  add('list.isSorted(): bool', (list: Comparable[]) =>
    list.every((each, at) => at === 0 || compare(list[at - 1], each) !== 1n),
  );
  add('list.sum(): dyn', (list: (bigint | number)[]) =>
    list.reduce(
      (all, each) => ((all as number) + (each as number)) as number,
      typeof list[0] === 'number' ? 0 : 0n,
    ),
  );
  add('list.min(): dyn', (list: Comparable[]) => least(list, -1n, 'min'));
  add('list.max(): dyn', (list: Comparable[]) => least(list, 1n, 'max'));
  add('list.indexOf(dyn): int', (list: unknown[], item: unknown) =>
    BigInt(list.findIndex((each) => sameValue(each, item))),
  );
  add('list.lastIndexOf(dyn): int', (list: unknown[], item: unknown) =>
    BigInt(list.findLastIndex((each) => sameValue(each, item))),
  );
  add('list.first(): dyn', (list: unknown[]) => (list.length === 0 ? none() : list[0]));
  add('list.last(): dyn', (list: unknown[]) => (list.length === 0 ? none() : list.at(-1)));
  add('list.distinct(): list', (list: unknown[]) =>
    list.filter((each, at) => list.findIndex((other) => sameValue(other, each)) === at),
  );
  add('list.reverse(): list', (list: unknown[]) => list.toReversed());
  add('list.sort(): list', (list: Comparable[]) => list.toSorted((a, b) => Number(compare(a, b))));
  add('list.slice(int, int): list', (list: unknown[], from: bigint, to: bigint) =>
    list.slice(Number(from), Number(to)),
  );
}

function texts(add: Add): void {
  add(
    'string.find(string): string',
    (text: string, rule: string) => pattern(rule).exec(text)?.[0] ?? '',
  );
  add(
    'string.findAll(string): list<string>',
    (text: string, rule: string) => text.match(pattern(rule, 'g')) ?? [],
  );
  add('string.findAll(string, int): list<string>', (text: string, rule: string, most: bigint) => {
    const found = text.match(pattern(rule, 'g')) ?? [];
    return most < 0n ? found : found.slice(0, Number(most));
  });
  add('string.charAt(int): string', (text: string, at: bigint) => [...text][Number(at)] ?? '');
  add('string.replace(string, string): string', (text: string, from: string, to: string) =>
    text.replaceAll(from, () => to),
  );
  add(
    'string.replace(string, string, int): string',
    (text: string, from: string, to: string, most: bigint) => {
      let left = most < 0n ? Number.POSITIVE_INFINITY : Number(most);
      return text.replaceAll(from, (found) => (left-- > 0 ? to : found));
    },
  );
  add('string.reverse(): string', (text: string) => [...text].reverse().join(''));
  add('string.format(list): string', formatted);
}

/** `format.dns1123Label().validate(text)`: an optional list of errors. */
function formats(env: Environment, add: Add, optional: typeof Optional): void {
  class Formats {}
  env.registerType('Formats', { ctor: Formats, fields: {} });
  env.registerConstant('format', 'Formats', new Formats());
  for (const [name, check] of Object.entries(FORMATS))
    add(`Formats.${name}(): Format`, () => new Format(check));
  add('Formats.named(string): optional<Format>', (_: unknown, name: string) => {
    const check = Object.hasOwn(FORMATS, name) ? FORMATS[name] : undefined;
    return check === undefined ? optional.none() : optional.of(new Format(check));
  });
  add('Format.validate(string): optional<list<string>>', (it: Format, text: string) => {
    const wrong = it.check(text);
    return wrong.length === 0 ? optional.none() : optional.of(wrong);
  });
}

class Sets {}

/** `sets.contains(a, b)` and similar functions. */
function sets(env: Environment, add: Add): void {
  env.registerType('Sets', { ctor: Sets, fields: {} });
  env.registerConstant('sets', 'Sets', new Sets());
  const has = (list: unknown[], item: unknown): boolean =>
    list.some((each) => sameValue(each, item));
  const all = (a: unknown[], b: unknown[]): boolean => b.every((each) => has(a, each));
  add('Sets.contains(list, list): bool', (_: Sets, a: unknown[], b: unknown[]) => all(a, b));
  add(
    'Sets.equivalent(list, list): bool',
    (_: Sets, a: unknown[], b: unknown[]) => all(a, b) && all(b, a),
  );
  add('Sets.intersects(list, list): bool', (_: Sets, a: unknown[], b: unknown[]) =>
    b.some((each) => has(a, each)),
  );
}

function addresses(add: Add): void {
  add('ip(string): Ip', (text: string) => new Ip(text));
  add('isIP(string): bool', isIp);
  add('Ip.family(): int', (it: Ip) => (isIPv4(it.text) ? 4n : 6n));
  add('Ip.isUnspecified(): bool', (it: Ip) => addressBits(it.text) === 0n);
  add('Ip.isLoopback(): bool', (it: Ip) => /^127\.|^::1$/.test(it.text));
  add('Ip.isLinkLocalMulticast(): bool', (it: Ip) => /^224\.0\.0\.|^ff02:/.test(it.text));
  add('Ip.isLinkLocalUnicast(): bool', (it: Ip) => /^169\.254\.|^fe[89ab]/.test(it.text));
  add('Ip.isGlobalUnicast(): bool', (it: Ip) => !NOT_GLOBAL_UNICAST.test(it.text));
  add('string(Ip): string', (it: Ip) => it.text);
  add('cidr(string): Cidr', (text: string) => new Cidr(text));
  add('isCIDR(string): bool', isCidr);
  add('Cidr.containsIP(string): bool', (it: Cidr, text: string) => it.contains(new Ip(text), 128));
  add('Cidr.containsIP(Ip): bool', (it: Cidr, ip: Ip) => it.contains(ip, 128));
  const within = (it: Cidr, other: Cidr): boolean => it.contains(other.ip, other.bits);
  add('Cidr.containsCIDR(string): bool', (it: Cidr, text: string) => within(it, new Cidr(text)));
  add('Cidr.containsCIDR(Cidr): bool', within);
  add('Cidr.ip(): Ip', (it: Cidr) => it.ip);
  add('Cidr.prefixLength(): int', (it: Cidr) => BigInt(it.bits));
  add('string(Cidr): string', (it: Cidr) => `${it.ip.text}/${it.bits}`);
}
