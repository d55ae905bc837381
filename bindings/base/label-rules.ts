/**
 * The rules for label keys and values, with the messages of k8s.io/apimachinery's validation, which
 * quote the rule. A check returns the messages of what is wrong; an empty list is legal.
 */

/** RFC 1123 names, as regular expressions without anchors. */
export const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
export const SUBDOMAIN = `${LABEL}(\\.${LABEL})*`;
const QUALIFIED = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const VALUE = `(${QUALIFIED})?`;

/** The rule for a whole string. */
export const exactly = (rule: string): RegExp => new RegExp(`^${rule}$`);
const SUBDOMAIN_RULE = exactly(SUBDOMAIN);
const QUALIFIED_RULE = exactly(QUALIFIED);
const VALUE_RULE = exactly(VALUE);

/** The message of a rule, with examples. */
export const hint = (what: string, rule: string, ...examples: string[]): string =>
  `${what} (e.g. ` +
  `${examples.map((example) => `'${example}'`).join(',  or ')}, regex ` +
  `used for validation is '${rule}')`;

export const tooLong = (limit: number, unit = 'bytes'): string =>
  `must be no more than ${limit} ${unit}`;

/** @param unit apimachinery's messages count characters for names and bytes for all others */
export function subdomain(name: string, unit = 'characters'): string[] {
  const wrong = name.length > 253 ? [tooLong(253, unit)] : [];
  if (!SUBDOMAIN_RULE.test(name)) {
    const what =
      'a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, ' +
      "'-' or '.', and must start and end with an alphanumeric character";
    wrong.push(hint(what, SUBDOMAIN, 'example.com'));
  }
  return wrong;
}

/** The rule for keys of labels and annotations and for finalizers: `[prefix/]name`. */
export function qualifiedName(key: string): string[] {
  const what =
    "must consist of alphanumeric characters, '-', '_' or '.', and " +
    'must start and end with an alphanumeric character';
  const rule = hint(what, QUALIFIED, 'MyName', 'my.name', '123-abc');
  const parts = key.split('/');
  if (parts.length > 2) {
    return [
      `a valid label key ${rule} with an optional DNS subdomain ` +
        "prefix and '/' (e.g. 'example.com/MyName')",
    ];
  }
  const name = parts.at(-1) ?? '';
  const wrong: string[] = [];
  if (parts.length === 2) {
    const prefix = parts[0] ?? '';
    const inPrefix = prefix === '' ? ['must be non-empty'] : subdomain(prefix, 'bytes');
    wrong.push(...inPrefix.map((message) => `prefix part ${message}`));
  }
  if (name === '') wrong.push('name part must be non-empty');
  else if (name.length > 63) wrong.push(`name part ${tooLong(63)}`);
  if (!QUALIFIED_RULE.test(name)) wrong.push(`name part ${rule}`);
  return wrong;
}

export function labelValue(value: string): string[] {
  const wrong = value.length > 63 ? [tooLong(63)] : [];
  if (!VALUE_RULE.test(value)) {
    const what =
      "a valid label must be an empty string or consist of alphanumeric characters, '-', " +
      "'_' or '.', and must start and end with an alphanumeric character";
    wrong.push(hint(what, VALUE, 'MyValue', 'my_value', '12345'));
  }
  return wrong;
}
