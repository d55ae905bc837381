/**
 * The rules for names, with the messages of k8s.io/apimachinery's validation. Each check returns
 * messages; an empty list: the name is valid. Also generates names. The rules for labels are in
 * label-rules.ts.
 */
import { randomUUID } from 'node:crypto';
import { exactly, hint, LABEL, SUBDOMAIN, tooLong } from '../../../base/label-rules.ts';

export { labelValue, qualifiedName, subdomain } from '../../../base/label-rules.ts';

const CONFIG_KEY = '[-._a-zA-Z0-9]+';

const LABEL_RULE = exactly(LABEL);
const SUBDOMAIN_RULE = exactly(SUBDOMAIN);
const CONFIG_KEY_RULE = exactly(CONFIG_KEY);

/**
 * The name of an object that is created without one.
 *
 * @param prefix its generateName
 * @param generate returns a free name with that prefix
 */
export function madeUpName(
  kind: { builtIn: boolean; plural: string },
  prefix: string,
  generate: (prefix: string) => string,
): string {
  if (prefix === '') return kind.builtIn && kind.plural === 'limitranges' ? randomUUID() : '';
  // IPAddresses have no generated names.
  return kind.builtIn && kind.plural === 'ipaddresses' ? prefix : generate(prefix);
}

export function dnsLabel(name: string): string[] {
  const wrong = name.length > 63 ? [tooLong(63, 'characters')] : [];
  if (LABEL_RULE.test(name)) return wrong;
  if (SUBDOMAIN_RULE.test(name)) return [...wrong, 'must not contain dots'];
  const what =
    'a lowercase RFC 1123 label must consist of lower case alphanumeric characters or ' +
    "'-', and must start and end with an alphanumeric character";
  return [...wrong, hint(what, LABEL, 'my-name', '123-abc')];
}

/** Anything that fits into one path segment: the rule for names of RBAC objects. */
export function pathSegmentErrors(name: string): string[] {
  if (name === '.' || name === '..') return [`may not be '${name}'`];
  return ['/', '%']
    .filter((part) => name.includes(part))
    .map((part) => `may not contain '${part}'`);
}

/** The rule for keys of ConfigMaps and Secrets. */
export function configKey(key: string): string[] {
  if (key === '.' || key === '..') return [`must not be '${key}'`];
  const wrong = key.length > 253 ? [tooLong(253, 'characters')] : [];
  if (!CONFIG_KEY_RULE.test(key)) {
    const what = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
    wrong.push(hint(what, CONFIG_KEY, 'key.name', 'KEY_NAME', 'key-name'));
  }
  return wrong;
}

/** apiserver: pkg/storage/names/generate.go: five characters without vowels, at most 63 in all. */
export function generateName(prefix: string): string {
  const alphabet = 'bcdfghjklmnpqrstvwxz2456789';
  let suffix = '';
  for (let at = 0; at < 5; at++)
    suffix += alphabet.charAt(Math.floor(Math.random() * alphabet.length));
  return prefix.slice(0, 58) + suffix;
}

const LABEL_1035 = '[a-z]([-a-z0-9]*[a-z0-9])?';
const LABEL_1035_RULE = exactly(LABEL_1035);

/** The rule for names that become part of a path or identifier: versions, plurals, kinds. */
export function label1035(name: string): string[] {
  const wrong = name.length > 63 ? [tooLong(63, 'characters')] : [];
  if (LABEL_1035_RULE.test(name)) return wrong;
  const what =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start " +
    'with an alphabetic character, and end with an alphanumeric character';
  return [...wrong, hint(what, LABEL_1035, 'my-name', 'abc-123')];
}
