/**
 * Builds the text of label and field selectors from terms, for lists, watches and options.
 * apimachinery: pkg/labels NewRequirement, pkg/fields OneTermEqualSelector, AndSelectors.
 */
import { invalid, requireObject, show } from '../base/errors.ts';
import { namesOf, requireNames } from '../base/names.ts';
import { labelMatcher } from '../base/selectors.ts';

/**
 * What a label must be: a value, one of several values, absent (`false`), present (`true`), none of
 * some values (also if it is absent), or an integer above or below a limit.
 */
export type LabelTerm =
  | string
  | boolean
  | readonly string[]
  | { readonly not: string | readonly string[] }
  | { readonly above: number; readonly below?: number }
  | { readonly above?: number; readonly below: number };

/** What a field must be: a value, or any other value. Servers support no other operators. */
export type FieldTerm = string | { readonly not: string };

const LABEL_NAMES = namesOf<Record<'not' | 'above' | 'below', unknown>>()({
  not: 1,
  above: 1,
  below: 1,
});
const FIELD_NAMES = namesOf<{ not: string }>()({ not: 1 });

/**
 * The text of a label selector whose terms must all hold. Without terms it is "", which selects
 * everything. A term that is undefined is an error, because it would select too much. For a
 * selector object such as `spec.selector` of a Deployment use `labelSelectorText` of
 * `capstan/cache`.
 *
 * @throws CapstanError INVALID_ARGUMENT, with apimachinery's message for an invalid key or value
 * @example
 * const labelSelector = labelSelectorOf({
 *   app: 'web',
 *   tier: ['front', 'back'],
 *   track: { not: 'canary' },
 *   owner: true,
 *   legacy: false,
 *   generation: { above: 3 },
 * }); // app=web,tier in (front,back),track!=canary,owner,!legacy,generation>3
 * await client.list(Pod, { namespace: 'default', labelSelector });
 */
export function labelSelectorOf(terms: Readonly<Record<string, LabelTerm>>): string {
  requireObject('terms', terms);
  const text = Object.entries(terms)
    .flatMap(([key, term]) => labelTerms(word('terms', key), term))
    .join(',');
  labelMatcher(text); // throws for invalid keys and values
  return text;
}

function labelTerms(key: string, term: LabelTerm): string[] {
  const name = `terms[${show(key)}]`;
  if (typeof term === 'string') return [`${key}=${word(name, term)}`];
  if (typeof term === 'boolean') return [term ? key : `!${key}`];
  if (Array.isArray(term)) return [`${key} in ${values(name, term)}`];
  requireTerm(name, term, 'such as "web", ["a", "b"], true, { not: "a" } or { above: 3 }');
  requireNames(name, term, 'member of a term of labels', LABEL_NAMES);
  const { not, above, below } = term as Partial<Record<string, unknown>>;
  const parts: string[] = [];
  if (Array.isArray(not)) parts.push(`${key} notin ${values(name, not)}`);
  else if (not !== undefined) parts.push(`${key}!=${word(name, not)}`);
  if (above !== undefined) parts.push(`${key}>${integer(name, above)}`);
  if (below !== undefined) parts.push(`${key}<${integer(name, below)}`);
  if (parts.length === 0) throw invalid(name, 'not, above or below', term);
  return parts;
}

/**
 * The text of a field selector whose terms must all hold; commas, equals signs and backslashes in
 * values are escaped. The server decides which fields a kind has: `metadata.name` and
 * `metadata.namespace` of all kinds, some more of built-in kinds, and `selectableFields` of custom
 * kinds.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const terms = { 'spec.nodeName': 'node-1', 'status.phase': { not: 'Succeeded' } };
 * await client.list(Pod, { fieldSelector: fieldSelectorOf(terms) });
 * // spec.nodeName=node-1,status.phase!=Succeeded
 */
export function fieldSelectorOf(terms: Readonly<Record<string, FieldTerm>>): string {
  requireObject('terms', terms);
  return Object.entries(terms)
    .map(([path, term]) => {
      const name = `terms[${show(path)}]`;
      if (path === '' || /[=!,\\\s]/.test(path)) throw invalid('terms', 'paths of fields', path);
      if (typeof term === 'string') return `${path}=${escaped(term)}`;
      requireTerm(name, term, 'such as "node-1" or { not: "node-1" }');
      requireNames(name, term, 'member of a term of fields', FIELD_NAMES);
      if (typeof term.not !== 'string') throw invalid(`${name}.not`, 'a string', term.not);
      return `${path}!=${escaped(term.not)}`;
    })
    .join(',');
}

const escaped = (value: string): string => value.replaceAll(/[\\,=]/g, '\\$&');

function requireTerm(name: string, term: unknown, expected: string): void {
  if (typeof term !== 'object' || term === null || Array.isArray(term))
    throw invalid(name, expected, term);
}

/** Refuses characters that the grammar of selectors reads as operators or separators. */
function word(name: string, text: unknown): string {
  if (typeof text !== 'string' || /[=!(),<>\s]/.test(text))
    throw invalid(name, 'a label key or value', text);
  return text;
}

function values(name: string, all: readonly unknown[]): string {
  if (all.length === 0) throw invalid(name, 'one value or more', all);
  return `(${all.map((value) => word(name, value)).join(',')})`;
}

function integer(name: string, limit: unknown): string {
  if (!Number.isSafeInteger(limit) || (limit as number) < 0)
    throw invalid(name, 'an integer from 0', limit);
  return String(limit);
}
