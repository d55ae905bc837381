/**
 * A list out of a cache. What it keeps true: it has what a live list with the same options would have, as far as the cache knows it, and a
 * selector that the cache has no index for is an error instead of a walk through everything. controller-runtime: pkg/cache/internal/cache_reader.go.
 */
import { namespaceIndex } from '../cache/indices.ts';
import { pathIndexFunc } from '../cache/json-path.ts';
import type { KubeObject } from '../cache/keys.ts';
import { compareResourceVersion, isComparableResourceVersion } from '../cache/resource-version.ts';
import type { Indexer } from '../cache/store.ts';
import { CapstanError, invalid, show } from '../errors.ts';
import { labelMatcher } from '../selectors.ts';
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
  const { labelSelector = '', fieldSelector = '', index, limit = 0 } = options;
  const terms = termsOf(fieldSelector);
  let objects = candidates(indexer, index, terms, namespace);
  if (labelSelector !== '') {
    const matches = labelMatcher(labelSelector);
    objects = objects.filter((object) => matches(labelsOf(object)));
  }
  return limited(objects, limit, resourceVersion);
}

/** The lists of several caches as one. What it shows everything up to is what the oldest of them does. */
export function joined<T extends object>(lists: readonly ObjectList<T>[], limit: number): ObjectList<T> {
  const versions = lists.map(({ metadata }) => metadata.resourceVersion ?? '');
  const oldest = versions.every(isComparableResourceVersion) ? versions.sort(compareResourceVersion)[0] : '';
  return limited(
    lists.flatMap(({ items }) => items),
    limit,
    oldest ?? '',
  );
}

function limited<T extends object>(objects: T[], limit: number, resourceVersion: string): ObjectList<T> {
  const metadata = { resourceVersion };
  if (limit === 0 || objects.length <= limit) return { items: objects, metadata };
  return { items: objects.slice(0, limit), metadata: { ...metadata, remainingItemCount: objects.length - limit } };
}

interface Term {
  readonly path: string;
  readonly value: string;
}

/** apimachinery: pkg/fields ParseSelector, of which a cache can answer equality alone, as in controller-runtime. */
function termsOf(fieldSelector: string): Term[] {
  return fieldSelector
    .split(/(?<!\\),/)
    .filter((term) => term !== '')
    .map((term) => {
      const [, path, value] = /^([^=!]+)==?((?:[^=\\]|\\.)*)$/.exec(term) ?? [];
      if (path === undefined || value === undefined)
        throw invalid('options.fieldSelector', 'terms "path=value", as this is read from the cache', fieldSelector);
      return { path, value: value.replace(/\\(.)/g, '$1') };
    });
}

/** Through the narrowest index, and then by what the index does not say. */
function candidates<T extends object>(
  indexer: Indexer<T, string>,
  index: ListOptions['index'],
  terms: readonly Term[],
  namespace: string,
): T[] {
  for (const { path } of terms) requireIndexed(indexer, path);
  const name = terms.find(({ path }) => path === 'metadata.name')?.value;
  let objects: T[];
  let rest = terms;
  if (index !== undefined) objects = indexer.byIndex(index.name, index.value);
  else if (name !== undefined && namespace !== '') objects = optional(indexer.getByKey(`${namespace}/${name}`));
  else {
    const [first] = terms.filter(({ path, value }) => indexOf(indexer, path) !== undefined && value !== '');
    const found = first && indexOf(indexer, first.path);
    if (found !== undefined && first !== undefined) {
      objects = indexer.byIndex(found, first.value);
      rest = terms.filter((term) => term !== first);
    } else if (namespace !== '') return keep(indexer.byIndex(namespaceIndex, namespace), terms);
    else objects = indexer.list();
  }
  if (namespace !== '') objects = objects.filter((object) => (object as KubeObject).metadata?.namespace === namespace);
  return keep(objects, rest);
}

/** A path without a value counts as "", as on the server. */
function keep<T extends object>(objects: T[], terms: readonly Term[]): T[] {
  return terms.reduce((left, { path, value }) => {
    const valuesOf = pathIndexFunc(path);
    return left.filter((object) => {
      const values = valuesOf(object);
      return values.includes(value) || (value === '' && values.length === 0);
    });
  }, objects);
}

const optional = <T>(value: T | undefined): T[] => (value === undefined ? [] : [value]);

function indexOf<T extends object>(indexer: Indexer<T, string>, path: string): string | undefined {
  return Object.entries(indexer.getIndexers()).find(([, spec]) => spec === path)?.[0];
}

function requireIndexed<T extends object>(indexer: Indexer<T, string>, path: string): void {
  if (path === 'metadata.name' || path === 'metadata.namespace' || indexOf(indexer, path) !== undefined) return;
  throw new CapstanError(
    'UNKNOWN_INDEX',
    `the cache has no index over ${show(path)}: add one to the resource ({ indexers: { name: ${show(path)} } }), or read live`,
  );
}

function labelsOf(object: object): Record<string, unknown> {
  const labels: unknown = (object as { metadata?: { labels?: unknown } }).metadata?.labels;
  return typeof labels === 'object' && labels !== null ? (labels as Record<string, unknown>) : {};
}
