/**
 * Lists from a cache. controller-runtime: pkg/cache/internal/cache_reader.go.
 *
 * Invariants: the list has the objects that a live list with the same options has, as of the
 * cache's version. A field selector without an index is an error; it never walks through all
 * objects.
 */

import { CapstanError, invalid, show } from '../base/errors.ts';
import { pathIndexFunc } from '../base/json-path.ts';
import type { FromServer, KubeObject } from '../base/object.ts';
import type { IndexSpec } from '../base/resource.ts';
import { labelMatcher, labelsOf } from '../base/selectors.ts';
import {
  compareResourceVersion,
  isComparableResourceVersion,
} from '../cache/rest/resource-version.ts';
import { namespaceIndex } from '../cache/store/indices.ts';
import type { Indexer } from '../cache/store/store.ts';
import type { ListOptions, ObjectList } from './types.ts';

/**
 * @param namespace "" for all namespaces
 * @param resourceVersion the version up to which the cache is complete
 */
export async function selectFrom<T extends object>(
  indexer: Indexer<T, string>,
  options: ListOptions,
  namespace: string,
  resourceVersion: string,
): Promise<ObjectList<T>> {
  const { labelSelector = '', fieldSelector = '', index, signal } = options;
  const terms = termsOf(indexer, fieldSelector);
  const matchesLabels = labelSelector === '' ? undefined : labelMatcher(labelSelector);
  const { one, by, rest } = narrowest(indexer, index, terms, namespace);
  const [own, paths] = [rest.filter(isFunction), rest.filter((term) => !isFunction(term))];
  const inNamespace = namespace === '' || (by?.name === namespaceIndex && by.value === namespace);
  const needsLook = matchesLabels !== undefined || paths.length > 0 || !inNamespace;
  const matches = (object: T): boolean =>
    (inNamespace || (object as KubeObject).metadata?.namespace === namespace) &&
    (matchesLabels?.(labelsOf(object)) ?? true) &&
    paths.every((term) => hasValue(object, term));
  const found =
    one === undefined
      ? await indexer.selectAsync(by, needsLook ? matches : undefined, signal)
      : one.filter(matches);
  // Functions of the user may keep objects, so they get only those of the result.
  const items = own.length === 0 ? found : keep(found, own);
  return { items: items as FromServer<T>[], metadata: { resourceVersion } };
}

/**
 * Throws CapstanError INVALID_ARGUMENT for a continue token: a cache returns all objects at once
 * and ignores the limit.
 */
export function requireUnpaged({ continue: token }: ListOptions): void {
  if (token)
    throw invalid(
      'options.continue',
      'no token, because a list from a cache has all objects: ' +
        'set live: true for pages, or use listAll',
      token,
    );
}

/**
 * The same selection for a list of the server, which has applied labels and namespace. Throws for
 * wrong options before the server is asked.
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
    terms.push({
      ...{ path: name, value, index: name, valuesOf: valuesBy(spec) },
      ...{ isFunction: typeof spec === 'function', takesNone: false },
    });
  }
  return ({ items, metadata }) => ({
    items: keep(items, terms),
    metadata: { resourceVersion: metadata.resourceVersion ?? '' },
  });
}

/** Joins the lists of several caches. The resourceVersion is the oldest of theirs. */
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
  /** The index that finds the objects; undefined if there is none. */
  readonly index: string | undefined;
  readonly valuesOf: (object: T) => readonly string[];
  /** `valuesOf` is a function of the user. */
  readonly isFunction: boolean;
  /** Whether the term selects objects without a value: on the server a missing path is "". */
  readonly takesNone: boolean;
}

/**
 * Parses a field selector. A cache supports equality alone, as in controller-runtime. apimachinery:
 * pkg/fields ParseSelector.
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
      const isFunction = typeof spec === 'function';
      return { path, value, index, valuesOf: valuesBy(spec), isFunction, takesNone };
    });
}

/** Where the objects are: one by its key, those of the narrowest index, or all. */
function narrowest<T extends object>(
  indexer: Indexer<T, string>,
  index: ListOptions['index'],
  terms: readonly Term<T>[],
  namespace: string,
): {
  one?: T[];
  by?: { name: string; value: string };
  /** What is still to be checked, beside the namespace. */
  rest: readonly Term<T>[];
} {
  if (index !== undefined) return { by: index, rest: terms };
  const name = terms.find(({ path }) => path === 'metadata.name')?.value;
  if (name !== undefined && namespace !== '')
    return { one: optional(indexer.getByKey(`${namespace}/${name}`)), rest: terms };
  const first = terms.find((term) => term.index !== undefined && !term.takesNone);
  if (first?.index !== undefined)
    return {
      by: { name: first.index, value: first.value },
      rest: terms.filter((term) => term !== first),
    };
  if (namespace !== '') return { by: { name: namespaceIndex, value: namespace }, rest: terms };
  return { rest: terms };
}

const isFunction = (term: Term<never>): boolean => term.isFunction;

function hasValue<T>(object: T, { value, valuesOf, takesNone }: Term<T>): boolean {
  const values = valuesOf(object);
  return values.includes(value) || (takesNone && values.length === 0);
}

function keep<T extends object>(objects: T[], terms: readonly Term<T>[]): T[] {
  return objects.filter((object) => terms.every((term) => hasValue(object, term)));
}

const optional = <T>(value: T | undefined): T[] => (value === undefined ? [] : [value]);

/**
 * The values that the index has. A failing index function gives none, and the index has reported
 * it.
 */
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
 * The index over a path, else the index of that name: the field of controller-runtime's
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
    `the cache has no index over ${show(path)}, and none of that name: add ` +
      'one to the resource, over a path of its objects ({ indexers: { name: ' +
      'path } }) or by a function, or read live',
  );
}
