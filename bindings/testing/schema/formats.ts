/**
 * Formats of strings that a CustomResourceDefinition may ask for; others are not checked.
 * kube-openapi: pkg/validation/strfmt.
 */

const FORMATS: Record<string, (value: string) => boolean> = {
  'date-time': (value) =>
    /^.{10}[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/.test(value) &&
    isDate(value.slice(0, 10)),
  date: isDate,
  uuid: (value) =>
    /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(value),
  ipv4: (value) =>
    value.split('.').length === 4 &&
    value.split('.').every((part) => /^\d{1,3}$/.test(part) && +part < 256),
  byte: (value) =>
    /^(?!$)(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(value),
  email: (value) => EMAIL.test(value.trim()),
  uri: isRequestUri,
};

const ATOMS = String.raw`[^\s@<>()[\]:;,."\\]+(?:\.[^\s@<>()[\]:;,."\\]+)*`;
/**
 * net/mail ParseAddress, which takes a name ahead of the address, but for comments, quoted local
 * parts and literal domains.
 */
const EMAIL = new RegExp(
  String.raw`^(?:${ATOMS}@${ATOMS}|(?:"(?:[^"\\]|\\.)*"|[^@<>()[\]:;,"\\])*<${ATOMS}@${ATOMS}>)$`,
);

const AUTHORITY = /^(?:[\w.~!$&'()*+,;=:%@-]*@)?(?:\[[^\]]*\]|[^\s:#%@\\^{|}`[\]]*)(?::\d*)?$/;

/** net/url ParseRequestURI: a path, or a scheme and what follows it. */
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

/** true: the value is not of the format. */
export function formatError(format: string, value: string): boolean {
  return FORMATS[format]?.(value) === false;
}
