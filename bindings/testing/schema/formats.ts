/** Formats of strings that a CustomResourceDefinition may ask for; others are not checked. kube-openapi: pkg/validation/strfmt. */

const FORMATS: Record<string, (value: string) => boolean> = {
  'date-time': (value) =>
    /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/.test(value) && isDate(value.slice(0, 10)),
  date: (value) => /^\d{4}-\d\d-\d\d$/.test(value) && isDate(value),
  uuid: (value) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(value),
  ipv4: (value) =>
    value.split('.').length === 4 && value.split('.').every((part) => /^\d{1,3}$/.test(part) && +part < 256),
  byte: (value) => /^(?:[A-Za-z0-9+/]{4})*[A-Za-z0-9+/]{2}(?:==|[A-Za-z0-9+/]=|[A-Za-z0-9+/]{2})$/.test(value), // not ''
  email: (value) => /^[^@\s]+@[^@\s]+$/.test(value),
  uri: (value) => URL.canParse(value),
};

function isDate(text: string): boolean {
  const [year, month, day] = text.split('-').map(Number) as [number, number, number];
  const date = new Date(Date.UTC(year, month - 1, day));
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

/** true: the value is not of the format. */
export function formatError(format: string, value: string): boolean {
  return FORMATS[format]?.(value) === false;
}
