/**
 * Two custom kinds whose OpenAPI from a real kube-apiserver is the pattern for all custom kinds:
 * every name in it is replaced.
 */
import type { Kind } from '../registry/kinds.ts';

export interface Pattern {
  kind: string;
  plural: string;
  scope: 'Namespaced' | 'Cluster';
}

export const PATTERN_GROUP = 'zz-g.example';
export const PATTERN_VERSION = 'v9alpha9';
export const NAMESPACED: Pattern = { kind: 'Zzkind', plural: 'zzplurals', scope: 'Namespaced' };
export const CLUSTER: Pattern = { kind: 'Yykind', plural: 'yyplurals', scope: 'Cluster' };

interface Named {
  group: string;
  version: string;
  plural: string;
  kind: string;
  listKind: string;
}

/** The prefix of a type's schema: `com.example.v1`. */
const prefixOf = ({ group, version }: { group: string; version: string }): string =>
  `${group.split('.').reverse().join('.')}.${version}`;

export const schemaName = (of: { group: string; version: string }, kind: string): string =>
  `${prefixOf(of)}.${kind}`;

const upper = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);
const title = (group: string): string => group.split(/[.-]/).map(upper).join('');
const lower = (word: string): string => word.charAt(0).toLowerCase() + word.slice(1);

/** The names of a kind in the texts; each comes before its own prefixes. */
const namesOf = (of: Named): string[] => [
  of.listKind,
  of.kind,
  of.plural,
  prefixOf(of),
  title(of.group) + upper(of.version),
  `${lower(title(of.group))}_${of.version}`,
  of.group,
  of.version,
];

/** Replaces the names of a pattern's kind by those of another kind. */
export function renamed(text: string, pattern: Pattern, kind: Kind): string {
  const from = {
    ...pattern,
    listKind: `${pattern.kind}List`,
    group: PATTERN_GROUP,
    version: PATTERN_VERSION,
  };
  const to = namesOf(kind);
  const names = new Map(namesOf(from).map((name, at) => [name, to[at] ?? '']));
  const any = [...names.keys()].map((name) => name.replaceAll('.', '\\.')).join('|');
  return text.replace(new RegExp(any, 'g'), (name) => names.get(name) ?? name);
}
