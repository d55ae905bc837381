/**
 * A client for unit tests: the real client on a transport that ends in this process. Invariant: it
 * behaves as a client of the embedded server does (conflicts, status, generation, resourceVersions,
 * selectors, dry run, field owners), as it is the same code.
 */

import { CapstanError, requireIterable, requireObject, show } from '../base/errors.ts';
import { namesOf, requireNames } from '../base/names.ts';
import type { IndexSpec, Resource } from '../base/resource.ts';
import { Indexer } from '../cache/store/store.ts';
import { isLiveRead } from '../client/cached-client.ts';
import { requireUnpaged, selectFrom } from '../client/cached-list.ts';
import { newClient } from '../client/client.ts';
import { type Interceptors, withInterceptors } from '../client/interceptor.ts';
import { requireCallOptions } from '../client/option-names.ts';
import { requireResource } from '../client/paths.ts';
import type {
  AnyResource,
  Client,
  ListOptions,
  ObjectList,
  WriteOptions,
} from '../client/types.ts';
import {
  type FakeResource,
  type FakeTransport,
  type FakeTransportOptions,
  fakeTransport,
} from './fake-transport.ts';

/** Options of {@link fakeClient}. */
export interface FakeClientOptions {
  /** The initial objects, status included. */
  readonly objects?: Iterable<object> | undefined;
  /** The custom resources of these objects; a `Resource` is one. */
  readonly resources?: Iterable<FakeResource> | undefined;
  /**
   * Indices for lists with `index`, in addition to those of the resources, and for lists with a
   * `fieldSelector` on an indexed path or on the name of an index. As with a cache, a list by a
   * path without an index, other than `metadata.name` and `metadata.namespace`, is an error
   * UNKNOWN_INDEX, unless it is `live`.
   */
  readonly indices?:
    | readonly {
        readonly resource: AnyResource;
        readonly indexers: Readonly<Record<string, IndexSpec<never>>>;
      }[]
    | undefined;
  /**
   * The custom resources that have a status subresource. Default: all, unless a
   * CustomResourceDefinition says otherwise.
   */
  readonly statusSubresource?: readonly FakeResource[] | undefined;
  readonly interceptors?: Interceptors | undefined;
  /** The field manager of writes. Default `fake-client`, so that apply needs no option. */
  readonly fieldOwner?: string | undefined;
  readonly fieldValidation?: WriteOptions['fieldValidation'] | undefined;
  /**
   * Options of the server, such as its clock, or an existing transport, such as one that an
   * informer reads from too.
   */
  readonly server?: FakeTransport | Omit<FakeTransportOptions, 'objects' | 'resources'> | undefined;
}

const NAMES = namesOf<FakeClientOptions>()({
  objects: 1,
  resources: 1,
  indices: 1,
  statusSubresource: 1,
  interceptors: 1,
  fieldOwner: 1,
  fieldValidation: 1,
  server: 1,
});

/** A client with its own server. */
export interface FakeClient extends Client {
  /** The server: for informers, faults, and objects that are added later. */
  readonly transport: FakeTransport;
}

/**
 * A client on a server in this process, without a socket: no set-up, no clean-up, and the semantics
 * of the embedded server. It behaves as a manager's client whose caches are never behind: lists use
 * indices and have no pages, and objects are read-only. `live: true` reads from the server, with
 * pages and the server's field selectors.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const metadata = { namespace: 'default', name: 'a' };
 * const client = fakeClient({ objects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata }] });
 * await client.delete(ConfigMap, { namespace: 'default', name: 'a' });
 */
export function fakeClient(options: FakeClientOptions = {}): FakeClient {
  requireNames('options', options, 'option of fakeClient()', NAMES);
  const {
    objects = [],
    resources = [],
    indices = [],
    statusSubresource,
    interceptors,
    server = {},
  } = options;
  for (const [name, list] of Object.entries({ objects, resources, indices, statusSubresource }))
    if (list !== undefined) requireIterable(`options.${name}`, list);
  requireObject('options.server', server);
  requireIndexedOnce(indices);
  const transport = 'request' in server ? server : fakeTransport(server);
  if (statusSubresource !== undefined) transport.setStatusSubresource(...statusSubresource);
  transport.define(...resources, ...(statusSubresource ?? []));
  transport.add(...objects);
  const { fieldOwner = 'fake-client', fieldValidation } = options;
  const clock = 'request' in server ? undefined : server.clock;
  const client = newClient({
    transport,
    fieldOwner,
    onWarning: () => undefined,
    ...(fieldValidation === undefined ? {} : { fieldValidation }),
    ...(clock === undefined ? {} : { clock }),
  });
  const indexed = withInterceptors(client, { list: listWithIndices(indices) });
  const outer = interceptors === undefined ? indexed : withInterceptors(indexed, interceptors);
  return Object.assign(outer, { transport });
}

/** Throws if two index functions have one name: the second would replace the first. */
function requireIndexedOnce(indices: NonNullable<FakeClientOptions['indices']>): void {
  const seen = new Set<string>();
  for (const { resource, indexers } of indices) {
    requireResource(resource);
    for (const name of Object.keys(indexers)) {
      const id = `${resource.group}/${resource.version} ${resource.plural} ${name}`;
      if (seen.has(id))
        throw new CapstanError(
          'INVALID_ARGUMENT',
          `"options.indices" has the index ${show(name)} of ${resource.plural} twice: give one ` +
            'of them another name',
        );
      seen.add(id);
    }
  }
}

const sameResource = (a: AnyResource, b: AnyResource): boolean =>
  a.group === b.group && a.version === b.version && a.plural === b.plural;

/** Lists select from an indexer of all objects, as a cache does. */
function listWithIndices(
  indices: NonNullable<FakeClientOptions['indices']>,
): NonNullable<Interceptors['list']> {
  return async <T extends object>(
    inner: Client,
    resource: Resource<T, string>,
    options: ListOptions = {},
  ): Promise<ObjectList<T>> => {
    requireResource(resource);
    requireCallOptions('list', options);
    if (isLiveRead(options)) return inner.list(resource, options);
    requireUnpaged(options);
    const specs: Record<string, IndexSpec<T>> = { ...resource.indexers };
    for (const { resource: of, indexers } of indices) {
      if (sameResource(of, resource)) Object.assign(specs, indexers);
    }
    const namespace = resource.namespaced ? (options.namespace ?? '') : '';
    const { items, metadata } = await inner.list(resource, { namespace, signal: options.signal });
    const indexer = new Indexer<T, string>(undefined, specs);
    indexer.replace(items, metadata.resourceVersion ?? '');
    return selectFrom(indexer, options, '', metadata.resourceVersion ?? '');
  };
}
