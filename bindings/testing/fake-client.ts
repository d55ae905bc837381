/**
 * A client for unit tests: the real one, over a transport that ends in this process. What it keeps
 * true: whatever holds for a client of the embedded server holds for it (conflicts, status,
 * generation, versions, selectors, dry run, owners of fields), for it is the same code.
 */

import { CapstanError, requireObject, show } from '../base/errors.ts';
import { namesOf, requireNames } from '../base/names.ts';
import type { IndexSpec, Resource } from '../cache/rest/resource.ts';
import { Indexer } from '../cache/store/store.ts';
import { isLive } from '../client/cached-client.ts';
import { requireUnpaged, selectFrom } from '../client/cached-list.ts';
import { newClient } from '../client/client.ts';
import { type Interceptors, withInterceptors } from '../client/interceptor.ts';
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

/** Of {@link fakeClient}. */
export interface FakeClientOptions {
  /** What is there from the beginning, status included. */
  readonly objects?: Iterable<object> | undefined;
  /** The custom resources among them; a `Resource` is one. */
  readonly resources?: Iterable<FakeResource> | undefined;
  /**
   * More indices for lists with `index`, beside those of the resources themselves, and for lists
   * with a `fieldSelector` on a path that is indexed, or on the name of an index. As from a cache,
   * a list by any other path than `metadata.name` and `metadata.namespace` is an error
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
  /**
   * Who owns the fields that are written. Default `fake-client`, so that apply can be tested
   * without another word.
   */
  readonly fieldOwner?: string | undefined;
  readonly fieldValidation?: WriteOptions['fieldValidation'] | undefined;
  /**
   * The server: its clock and more, or a transport that is there already, such as one that an
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

/** A client that has its server with it. */
export interface FakeClient extends Client {
  /** The server behind it: for informers, faults, and objects that come later. */
  readonly transport: FakeTransport;
}

/**
 * A client on a server in the process, without a socket: no set-up, no clean-up, and the semantics
 * of the embedded server. To what calls it, it is a manager's client whose caches are never behind:
 * lists go by indices and are whole, and what is read is read-only. `live: true` asks the server as
 * it does there, with pages and the server's field selectors.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name: 'a' } };
 * const client = fakeClient({ objects: [configMap] });
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

/** Of two functions of one name the last one was taken, and the lists of the first were wrong. */
function requireIndexedOnce(indices: NonNullable<FakeClientOptions['indices']>): void {
  const seen = new Set<string>();
  for (const { resource, indexers } of indices) {
    requireResource(resource);
    for (const name of Object.keys(indexers)) {
      const id = `${resource.group}/${resource.version} ${resource.plural} ${name}`;
      if (seen.has(id))
        throw new CapstanError(
          'INVALID_ARGUMENT',
          `"options.indices" has the index ${show(name)} of ${resource.plural} twice: give one of them another name`,
        );
      seen.add(id);
    }
  }
}

const sameResource = (a: AnyResource, b: AnyResource): boolean =>
  a.group === b.group && a.version === b.version && a.plural === b.plural;

/** Lists are chosen from one of everything, as a cache would. */
function listWithIndices(
  indices: NonNullable<FakeClientOptions['indices']>,
): NonNullable<Interceptors['list']> {
  return async <T extends object>(
    inner: Client,
    resource: Resource<T, string>,
    options: ListOptions = {},
  ): Promise<ObjectList<T>> => {
    requireResource(resource);
    requireObject('options', options);
    if (isLive(options)) return inner.list(resource, options);
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
