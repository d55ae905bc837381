/** The options of a factory of informers, and their checks. */
import {
  invalid,
  requireBoolean,
  requireFunction,
  requireMs,
  requireNumber,
} from '../../base/errors.ts';
import { omitUndefined } from '../../base/json-value.ts';
import { namesOf, requireNames } from '../../base/names.ts';
import type { FromServer, KubeObject } from '../../base/object.ts';
import { type Resource, resourceId } from '../../base/resource.ts';
import {
  type CacheLimits,
  LIMIT_NAMES,
  requireBytesFree,
  requireCacheLimits,
} from '../decode/limits.ts';
import type { ListWatchOptions } from '../reflector/list-watch.ts';
import { requireNamespaces } from '../rest/namespaces.ts';
import type { Lister } from '../store/lister.ts';
import type { SharedIndexInformer } from './informer.ts';
import { fifoOf, INFORMER_NAMES, type SharedIndexInformerOptions } from './informer-options.ts';

/** An informer and its lister. client-go: GenericInformer. */
export interface GenericInformer<T extends object, I extends string> {
  informer(): SharedIndexInformer<T, I>;
  lister(): Lister<FromServer<T>>;
}

/**
 * What an informer is restricted to. Default of `namespace`: the option of the factory; required if
 * the factory has several `namespaces`.
 */
export type InformerSelection = Pick<
  ListWatchOptions,
  'namespace' | 'labelSelector' | 'fieldSelector' | 'metadataOnly'
>;

/** Default of the selection of `informerFor` for one resource. */
export interface ResourceSelection extends InformerSelection {
  /** Several namespaces instead of one: see {@link FactoryOptions.namespaces}. */
  namespaces?: readonly string[] | undefined;
}

/** Options of the informers of one resource, which override those for all resources. */
export interface ResourceOptions extends CacheLimits {
  /**
   * See {@link FactoryOptions.transform}. `undefined`: no transform, even if there is one for all.
   */
  transform?: FactoryOptions['transform'] | undefined;
  /** See {@link SharedIndexInformerOptions}. */
  watchList?: boolean | undefined;
  /**
   * The cache has all objects of this resource, even if the factory has `ranges`: for a small kind
   * that all others refer to. Default false.
   */
  shared?: boolean | undefined;
}

/**
 * Options of a {@link SharedInformerFactory}, and of all its informers. client-go:
 * SharedInformerOption.
 */
export interface FactoryOptions extends Omit<SharedIndexInformerOptions, 'transform'> {
  /** The resync period of all informers, in milliseconds. 0, the default: never. */
  resyncPeriod?: number | undefined;
  /** Resync periods by resource, in milliseconds. client-go: WithCustomResyncConfig. */
  customResync?: ReadonlyMap<Resource<never, string>, number> | undefined;
  /**
   * The namespace of all namespaced resources. Default: all namespaces. client-go: WithNamespace.
   */
  namespace?: string | undefined;
  /**
   * Several namespaces instead of `namespace`: a namespaced resource gets an informer for each of
   * them, which needs permissions in these namespaces only. `informerFor` needs the namespace then
   * (`informerFor(Pod, { namespace: 'a' })`); controllers and clients over the factory use all of
   * them. `setNamespaces` changes them while the informers run, so none to begin with is possible.
   * controller-runtime: cache Options.DefaultNamespaces.
   *
   * @example
   * const factory = newSharedInformerFactory(transport, { namespaces: ['team-a', 'team-b'] });
   * const informers = factory
   *   .namespacesOf(Pod)
   *   .map((namespace) => factory.informerFor(Pod, { namespace }));
   */
  namespaces?: readonly string[] | undefined;
  /**
   * Default selections by resource, for calls of `informerFor` without one. controller-runtime:
   * cache Options.ByObject.
   */
  selections?: ReadonlyMap<Resource<never, string>, ResourceSelection> | undefined;
  /**
   * Options by resource, which override those for all resources. controller-runtime: cache
   * Options.ByObject.
   *
   * @example
   * const perResource = new Map([[Pod, { drop: ['spec.volumes'], maxBytes: 1e9 }]]);
   * newSharedInformerFactory(transport, { perResource });
   */
  perResource?: ReadonlyMap<Resource<never, string>, ResourceOptions> | undefined;
  /**
   * Changes the query of each list and watch: see {@link ListWatchOptions.tweak}. client-go:
   * WithTweakListOptions.
   */
  tweakListOptions?: ListWatchOptions['tweak'] | undefined;
  /** The longest silence of a watch, in milliseconds: see {@link ListWatchOptions.idleTimeout}. */
  idleTimeout?: number | undefined;
  /** The longest answer to a list, in bytes: see {@link ListWatchOptions.maxListBytes}. */
  maxListBytes?: number | undefined;
  /** Whether lists come compressed: see {@link ListWatchOptions.compression}. Default `'auto'`. */
  compression?: ListWatchOptions['compression'];
  /**
   * Changes objects before they are stored: see {@link SharedIndexInformerOptions.transform}.
   * client-go: WithTransform.
   */
  transform?: ((object: KubeObject) => KubeObject) | undefined;
  /**
   * The name of the informers in metrics. The selection is appended to the name of informers that
   * have one. client-go: WithInformerName.
   */
  name?: string | undefined;
}

export const SELECTION_NAMES = namesOf<InformerSelection>()({
  namespace: 1,
  labelSelector: 1,
  fieldSelector: 1,
  metadataOnly: 1,
});
export const SERVED_NAMES = namesOf<{ selection: unknown; signal: AbortSignal }>()({
  selection: 1,
  signal: 1,
});
const OF_RESOURCE_NAMES = namesOf<ResourceSelection>()({ ...SELECTION_NAMES, namespaces: 1 });
const PER_RESOURCE_NAMES = namesOf<ResourceOptions>()({
  ...LIMIT_NAMES,
  transform: 1,
  watchList: 1,
  shared: 1,
});
export const FACTORY_NAMES = namesOf<FactoryOptions>()({
  ...INFORMER_NAMES,
  customResync: 1,
  namespace: 1,
  namespaces: 1,
  selections: 1,
  perResource: 1,
  tweakListOptions: 1,
  idleTimeout: 1,
  maxListBytes: 1,
  compression: 1,
});

/** Throws CapstanError INVALID_ARGUMENT. */
export function requireFactoryOptions(options: FactoryOptions): void {
  requireNames('options', options, 'option of a SharedInformerFactory', FACTORY_NAMES);
  const { resyncPeriod, customResync, selections, perResource, tweakListOptions } = options;
  if (resyncPeriod !== undefined) requireNumber('options.resyncPeriod', resyncPeriod);
  requireMs('options.shutdownTimeout', options.shutdownTimeout ?? 0);
  fifoOf(options);
  for (const [name, map] of Object.entries({ customResync, selections, perResource })) {
    if (map !== undefined && !(map instanceof Map))
      throw invalid(`options.${name}`, 'a Map by resources', map);
  }
  for (const period of customResync?.values() ?? []) requireNumber('options.customResync', period);
  requireNamespaces('options', options, true);
  for (const [resource, selection] of selections ?? []) {
    requireNames('options.selections', selection, 'selection', OF_RESOURCE_NAMES);
    requireNamespaces('options.selections', selection);
    if (selection.namespaces !== undefined && !resource?.namespaced)
      throw invalid('options.selections', 'namespaces only for resources that have any', selection);
  }
  if (tweakListOptions !== undefined) requireFunction('options.tweakListOptions', tweakListOptions);
  requireLimits(options);
  for (const own of perResource?.values() ?? []) {
    requireNames('options.perResource', own, 'option of one resource', PER_RESOURCE_NAMES);
    requireBoolean('options.perResource.shared', own?.shared);
    requireLimits(optionsOf(options, own));
  }
}

function requireLimits(options: FactoryOptions): void {
  const { transform, watchList } = options;
  if (transform !== undefined) requireFunction('options.transform', transform);
  requireBoolean('options.watchList', watchList);
  requireCacheLimits(options);
  if (transform !== undefined) requireBytesFree(options, 'a transform');
}

/**
 * Merges the options of one resource over those of all; an explicit undefined `transform` removes
 * it.
 */
export function optionsOf<O extends Pick<FactoryOptions, 'transform'>>(
  all: O,
  own: ResourceOptions = {},
): O & ResourceOptions {
  return { ...all, ...omitUndefined(own), ...('transform' in own && { transform: own.transform }) };
}

/** By the id of their resource, so that all definitions of a resource are equal. */
export function byResourceId<V>(
  map: ReadonlyMap<Resource<never, string>, V> | undefined,
): ReadonlyMap<string, V> {
  return new Map([...(map ?? [])].map(([resource, value]) => [resourceId(resource), value]));
}
