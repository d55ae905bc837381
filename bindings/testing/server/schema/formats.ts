/**
 * Formats of strings in CustomResourceDefinitions. Unknown formats are not checked; writing the
 * definition returns a warning. kube-openapi: pkg/validation/strfmt; apiextensions-apiserver:
 * pkg/apiserver/validation/formats.go.
 */
import { isIPv6 } from 'node:net';

type Check = (value: string) => boolean;

const matching =
  (pattern: RegExp): Check =>
  (value) =>
    pattern.test(value);

const uuid = (version: string, variant: string): Check =>
  matching(
    new RegExp(
      `^[0-9a-f]{8}-?[0-9a-f]{4}-?${version}[0-9a-f]{3}-?${variant}[0-9a-f]{3}-?[0-9a-f]{12}$`,
      'i',
    ),
  );
const HEX = '[0-9a-f]';
const BYTE = '(?:0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])';

/** By name without dashes. */
const FORMATS: Record<string, Check> = {
  bsonobjectid: matching(/^[0-9a-f]{24}$/i),
  byte: matching(/^(?!$)(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/),
  cidr: isCidr,
  creditcard: isCreditCard,
  date: isDate,
  datetime: (value) =>
    /^.{10}[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/.test(value) &&
    isDate(value.slice(0, 10)),
  duration: isDuration,
  email: (value) => EMAIL.test(value.trim()),
  hexcolor: matching(/^#?([0-9a-f]{3}|[0-9a-f]{6})$/i),
  hostname: (value) =>
    HOSTNAME.test(value) &&
    Buffer.byteLength(value) <= 255 &&
    value.split('.').every((part) => Buffer.byteLength(part) <= 63),
  ipv4: (value) => isSloppyIPv4(value) || (isPlainIPv6(value) && value.includes('.')),
  ipv6: isPlainIPv6,
  isbn: (value) => isIsbn10(value) || isIsbn13(value),
  isbn10: isIsbn10,
  isbn13: isIsbn13,
  k8slongname: (value) =>
    value.length <= 253 &&
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(value),
  k8sshortname: (value) => value.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(value),
  mac: isMac,
  password: () => true,
  rgbcolor: matching(new RegExp(`^rgb\\(\\s*${BYTE}\\s*,\\s*${BYTE}\\s*,\\s*${BYTE}\\s*\\)$`)),
  ssn: matching(/^(?=.{11}$)\d{3}[- ]?\d{2}[- ]?\d{4}$/),
  uri: isRequestUri,
  uuid: uuid(HEX, HEX),
  uuid3: uuid('3', HEX),
  uuid4: uuid('4', '[89ab]'),
  uuid5: uuid('5', '[89ab]'),
};

const LETTER = '\\p{S}\\p{L}';
const HOSTNAME = new RegExp(
  `^([a-zA-Z0-9${LETTER}]((-?[a-zA-Z0-9${LETTER}]{0,62})?)|` +
    `([a-zA-Z0-9${LETTER}](([a-zA-Z0-9\\-${LETTER}]{0,61}[a-zA-Z0-9${LETTER}])?)(\\.)){1,}` +
    '([a-zA-Z\\p{L}]){2,63})$',
  'u',
);

const ATOMS = String.raw`[^\s@<>()[\]:;,."\\]+(?:\.[^\s@<>()[\]:;,."\\]+)*`;
/**
 * net/mail ParseAddress, which accepts a name before the address; without comments, quoted local
 * parts and domain literals.
 */
const EMAIL = new RegExp(
  String.raw`^(?:${ATOMS}@${ATOMS}|(?:"(?:[^"\\]|\\.)*"|[^@<>()[\]:;,"\\])*<${ATOMS}@${ATOMS}>)$`,
);

const AUTHORITY = /^(?:[\w.~!$&'()*+,;=:%@-]*@)?(?:\[[^\]]*\]|[^\s:#%@\\^{|}`[\]]*)(?::\d*)?$/;

/** net/url ParseRequestURI: a path, or a scheme and the rest. */
function isRequestUri(text: string): boolean {
  const scheme = /^[a-z][a-z\d+.-]*:/i.exec(text)?.[0] ?? '';
  const [rest = ''] = text.slice(scheme.length).split('?');
  if (/\p{Cc}/u.test(text)) return false;
  if (!rest.startsWith('/')) return scheme !== '' || text === '*';
  const authority = scheme !== '' && rest.startsWith('//') ? (rest.split('/')[2] ?? '') : '';
  return AUTHORITY.test(authority) && !/%(?![\da-f]{2})/i.test(rest);
}

function isDate(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const [year, month, day] = text.split('-').map(Number) as [number, number, number];
  const date = new Date(Date.UTC(year, month - 1, day));
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

/** Leading zeros are allowed, as in Go before 1.17. */
function isSloppyIPv4(text: string): boolean {
  const parts = text.split('.');
  return parts.length === 4 && parts.every((part) => /^\d+$/.test(part) && Number(part) < 256);
}

/** An address without a zone. */
function isPlainIPv6(text: string): boolean {
  if (!text.includes(':') || text.includes('%')) return false;
  return isIPv6(text.replaceAll(/(?<=[:.])0+(?=\d+(?:\.|$))/g, ''));
}

function isCidr(text: string): boolean {
  const [address = '', bits = '', ...more] = text.split('/');
  if (more.length > 0 || !/^\d+$/.test(bits)) return false;
  return isSloppyIPv4(address) ? Number(bits) <= 32 : isPlainIPv6(address) && Number(bits) <= 128;
}

/**
 * net.ParseMAC: 6, 8 or 20 bytes, in pairs of digits with colons or dashes, or in fours with dots.
 */
function isMac(text: string): boolean {
  if (!/^([0-9a-f]{2}([:-])([0-9a-f]{2}\2)*[0-9a-f]{2}|([0-9a-f]{4}\.)+[0-9a-f]{4})$/i.test(text))
    return false;
  return [12, 16, 40].includes(text.replaceAll(/[^0-9a-f]/gi, '').length);
}

const UNITS =
  /^(ns|us|µs|ms|s|m|h|hr|d|w|wk|nano.*|micro.*|milli.*|sec.*|min.*|hour.*|day.*|week.*)$/i;

/** A duration in Go's or Scala's syntax. */
function isDuration(text: string): boolean {
  if (/^[-+]?(0|((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)$/.test(text)) return true;
  const found = [...text.matchAll(/(\d+)\s*([A-Za-zµ]+)/g)];
  return found.some(([, , unit = '']) => UNITS.test(unit));
}

const digitsOf = (text: string): number[] => [...text].map(Number);

function isIsbn10(text: string): boolean {
  const isbn = text.replaceAll(/[\s-]+/g, '');
  if (!/^\d{9}[\dX]$/.test(isbn)) return false;
  const sum = [...isbn].reduce(
    (all, digit, at) => all + (at + 1) * (digit === 'X' ? 10 : Number(digit)),
    0,
  );
  return sum % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const isbn = text.replaceAll(/[\s-]+/g, '');
  if (!/^\d{13}$/.test(isbn)) return false;
  return (
    digitsOf(isbn).reduce((all, digit, at) => all + digit * (at % 2 === 0 ? 1 : 3), 0) % 10 === 0
  );
}

const CARD_NUMBERS = [
  /^4\d{12}(?:\d{3})?$/,
  /^5[1-5]\d{14}$/,
  /^(222[1-9]|22[3-9]\d|2[3-6]\d{2}|27[01]\d|2720)\d{12}$/,
  /^6(?:011|5\d\d)\d{12}$/,
  /^3[47]\d{13}$/,
  /^3(?:0[0-5]|[68]\d)\d{11}$/,
  /^(?:2131|1800|35\d{3})\d{11}$/,
  /^6[27]\d{14}$/,
];

function isCreditCard(text: string): boolean {
  const number = text.replaceAll(/\D+/g, '');
  if (!CARD_NUMBERS.some((known) => known.test(number))) return false;
  const sum = digitsOf(number)
    .reverse()
    .reduce((all, digit, at) => {
      const doubled = at % 2 === 0 ? digit : digit * 2;
      return all + (doubled > 9 ? doubled - 9 : doubled);
    }, 0);
  return sum % 10 === 0;
}

const checkOf = (format: string): Check | undefined => {
  const name = format.replaceAll('-', '');
  return Object.hasOwn(FORMATS, name) ? FORMATS[name] : undefined;
};

/** Whether the format is checked for values of that type. */
export function isKnownFormat(format: string, type: string): boolean {
  if (type === '' || type === 'string') return checkOf(format) !== undefined;
  if (type === 'integer') return format === 'int32' || format === 'int64';
  return type === 'number' && (format === 'float' || format === 'double');
}

/** true: the value violates the format. */
export const formatError = (format: string, value: string): boolean =>
  checkOf(format)?.(value) === false;
