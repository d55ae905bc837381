/**
 * A list out of a cache. What it keeps true: it has what a live list with the same options would
 * have, as far as the cache knows it, and a selector that the cache has no index for is an error
 * instead of a walk through everything. controller-runtime: pkg/cache/internal/cache_reader.go.
 */

import { CapstanError, invalid, requireInteger, show } from '../base/errors.ts';
import { pathIndexFunc } from '../base/json-path.ts';
import { labelMatcher } from '../base/selectors.ts';
import type { KubeObject } from '../cache/rest/keys.ts';
import type { IndexSpec } from '../cache/rest/resource.ts';
import {
  compareResourceVersion,
  isComparableResourceVersion,
} from '../cache/rest/resource-version.ts';
import { namespaceIndex } from '../cache/store/indices.ts';
import type { Indexer } from '../cache/store/store.ts';
import type { ListOptions, ObjectList } from './types.ts';

/**
 * @param namespace "" is all
 * @param resourceVersion what the cache shows everything up to
 */
export function selectFrom<T extends object>(
  indexer: Indexer<T, string>,
  options: ListOptions,
  namespace: string,
  resourceVersion: string,
): ObjectList<T> {
  const { labelSelector = '', fieldSelector = '', index } = options;
  const terms = termsOf(indexer, fieldSelector);
  let objects = candidates(indexer, index, terms, namespace);
  if (labelSelector !== '') {
    const matches = labelMatcher(labelSelector);
    objects = objects.filter((object) => matches(labelsOf(object)));
  }
  return { items: objects, metadata: { resourceVersion } };
}

/**
 * A cache has no pages: a list from it has everything, whatever its limit, and no token to go on
 * with. Throws CapstanError INVALID_ARGUMENT for one.
 */
export function requireUnpaged({ limit, continue: token }: ListOptions): void {
  if (limit !== undefined) requireInteger('options.limit', limit, 0);
  if (token)
    throw invalid(
      'options.continue',
      'nothing, as a list from a cache is whole: set live for pages, or use listAll',
      token,
    );
}

/**
 * The same out of a list that the server gave, by labels and namespace already. What is wrong with
 * the options is said before it is asked.
 */
export function selectorOf<T extends object>(
  indexer: Indexer<T, string>,
  { fieldSelector = '', index }: ListOptions,
): (list: ObjectList<T>) => ObjectList<T> {
  const terms = termsOf(indexer, fieldSelector);
  if (index !== undefined) {
    const { name, value } = index;
    indexer.byIndex(name, ''); // which refuses one that there is not
    const spec = indexer.getIndexers()[name] as IndexSpec<T>;
    terms.push({ path: name, value, index: name, valuesOf: valuesBy(spec), takesNone: false });
  }
  return ({ items, metadata }) => ({
    items: keep(items, terms),
    metadata: { resourceVersion: metadata.resourceVersion ?? '' },
  });
}

/**
 * The lists of several caches as one. What it shows everything up to is what the oldest of them
 * does.
 */
export function joined<T extends object>(lists: readonly ObjectList<T>[]): ObjectList<T> {
  const versions = lists.map(({ metadata }) => metadata.resourceVersion ?? '');
  const oldest = versions.every(isComparableResourceVersion)
    ? versions.sort(compareResourceVersion)[0]
    : '';
  return {
    items: lists.flatMap(({ items }) => items),
    metadata: { resourceVersion: oldest ?? '' },
  };
}

interface Term<T> {
  readonly path: string;
  readonly value: string;
  /** The index that has its objects, where there is one. */
  readonly index: string | undefined;
  readonly valuesOf: (object: T) => readonly string[];
  /** Objects without any value count too: a path without a value is "", as on the server. */
  readonly takesNone: boolean;
}

/**
 * apimachinery: pkg/fields ParseSelector, of which a cache can answer equality alone, as in
 * controller-runtime.
 */
function termsOf<T extends object>(indexer: Indexer<T, string>, fieldSelector: string): Term<T>[] {
  return fieldSelector
    .split(/(?<!\\),/)
    .filter((term) => term !== '')
    .map((term) => {
      const [, path, quoted] = /^([^=!]+)==?((?:[^=\\]|\\.)*)$/.exec(term) ?? [];
      if (path === undefined || quoted === undefined)
        throw invalid(
          'options.fieldSelector',
          'terms "path=value", as this is read from the cache',
          fieldSelector,
        );
      const value = quoted.replace(/\\(.)/g, '$1');
      const [index, spec] = indexOver(indexer, path);
      const takesNone = value === '' && typeof spec === 'string';
      return { path, value, index, valuesOf: valuesBy(spec), takesNone };
    });
}

/** Through the narrowest index, and then by what the index does not say. */
function candidates<T extends object>(
  indexer: Indexer<T, string>,
  index: ListOptions['index'],
  terms: readonly Term<T>[],
  namespace: string,
): T[] {
  const name = terms.find(({ path }) => path === 'metadata.name')?.value;
  let objects: T[];
  let rest = terms;
  if (index !== undefined) objects = indexer.byIndex(index.name, index.value);
  else if (name !== undefined && namespace !== '')
    objects = optional(indexer.getByKey(`${namespace}/${name}`));
  else {
    const first = terms.find((term) => term.index !== undefined && !term.takesNone);
    if (first?.index !== undefined) {
      objects = indexer.byIndex(first.index, first.value);
      rest = terms.filter((term) => term !== first);
    } else if (namespace !== '') return keep(indexer.byIndex(namespaceIndex, namespace), terms);
    else objects = indexer.list();
  }
  if (namespace !== '')
    objects = objects.filter((object) => (object as KubeObject).metadata?.namespace === namespace);
  return keep(objects, rest);
}

function keep<T extends object>(objects: T[], terms: readonly Term<T>[]): T[] {
  return terms.reduce(
    (left, { value, valuesOf, takesNone }) =>
      left.filter((object) => {
        const values = valuesOf(object);
        return values.includes(value) || (takesNone && values.length === 0);
      }),
    objects,
  );
}

const optional = <T>(value: T | undefined): T[] => (value === undefined ? [] : [value]);

/** As the index has them: an index function that fails, which the index tells of, gives none. */
function valuesBy<T extends object>(spec: IndexSpec<T>): (object: T) => readonly string[] {
  if (typeof spec === 'string') return pathIndexFunc(spec);
  return (object) => {
    try {
      const values: unknown = spec(object);
      return Array.isArray(values) && values.every((value) => typeof value === 'string')
        ? values
        : [];
    } catch {
      return [];
    }
  };
}

/**
 * The index over a path; else the one of that name, as the field of controller-runtime's
 * MatchingFields is the name of an index.
 */
function indexOver<T extends object>(
  indexer: Indexer<T, string>,
  path: string,
): readonly [index: string | undefined, spec: IndexSpec<T>] {
  const specs = Object.entries(indexer.getIndexers());
  const found = specs.find(([, spec]) => spec === path);
  if (found !== undefined) return found;
  if (path === 'metadata.name' || path === 'metadata.namespace') return [undefined, path];
  const named = specs.find(([name]) => name === path);
  if (named !== undefined) return named;
  throw new CapstanError(
    'UNKNOWN_INDEX',
    `the cache has no index over ${show(path)}, and none of that name: add one to the resource, over a path of its objects ` +
      '({ indexers: { name: path } }) or by a function, or read live',
  );
}

function labelsOf(object: object): Record<string, unknown> {
  const labels: unknown = (object as { metadata?: { labels?: unknown } }).metadata?.labels;
  return typeof labels === 'object' && labels !== null ? (labels as Record<string, unknown>) : {};
}
