/** The client of these tests: each call is one request, without a cache, limits or repeats. */
import { type Resource, StatusError, type Transport } from 'capstan/cache';
import type { Client, ObjectKey, Patch, SubResourceClient, WriteOptions } from 'capstan/client';
import { textOf } from '../testing/client.ts';

const PATCH_TYPES = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
};
const APPLY = 'application/apply-patch+yaml';

interface Call {
  method: string;
  path: string;
  query?: Record<string, string>;
  body?: unknown;
  type?: string;
  signal?: AbortSignal;
}

type Any = Resource<never, string>;

const collection = ({ group, version, plural, namespaced }: Any, namespace: string | undefined): string => {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  return namespaced && namespace ? `${root}/namespaces/${namespace}/${plural}` : `${root}/${plural}`;
};
const keyOf = (object: object) => (object as { metadata: ObjectKey }).metadata;
const stamped = ({ group, version, kind }: Any, object: object) => ({
  apiVersion: group === '' ? version : `${group}/${version}`,
  kind,
  ...object,
});

export function plainClient(transport: Transport): Client {
  async function call<T>({ method, path, query, body, type = 'application/json', signal }: Call): Promise<T> {
    const response = await transport.request({
      method,
      path,
      ...(query === undefined ? {} : { query }),
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': type } }),
      ...(signal === undefined ? {} : { signal }),
    });
    const answer = JSON.parse(await textOf(response.body)) as T;
    if (response.status >= 400) throw new StatusError(response.status, answer as object, `${method} ${path}`);
    return answer;
  }

  const bodyOf = (patch: Patch) => (patch.type === 'json' ? patch.operations : patch.body);
  const fields = ({ fieldOwner = 'test', dryRun = false }: WriteOptions) => ({
    fieldManager: fieldOwner,
    ...(dryRun ? { dryRun: 'All' } : {}),
  });
  const named = (resource: Any, { namespace, name }: ObjectKey, sub: string) =>
    `${collection(resource, namespace)}/${name}${sub}`;

  const under = (sub: string): SubResourceClient => ({
    get: (resource, key, options) =>
      call({ method: 'GET', path: named(resource as Any, key, sub), signal: options?.signal }),
    create: (resource, key, body, options) =>
      call({ method: 'POST', path: named(resource as Any, key, sub), body, signal: options?.signal }),
    update: (resource, object, options) => {
      const path = named(resource as Any, keyOf(object), sub);
      return call({ method: 'PUT', path, body: stamped(resource as Any, object), signal: options?.signal });
    },
    patch: (resource, key, patch, options) => {
      const type = PATCH_TYPES[patch.type];
      const path = named(resource as Any, key, sub);
      return call({ method: 'PATCH', path, body: bodyOf(patch), type, signal: options?.signal });
    },
    apply: (resource, object, options = {}) => {
      const query = { ...fields(options), force: String(options.force ?? false) };
      const path = named(resource as Any, keyOf(object), sub);
      const body = stamped(resource as Any, object);
      return call({ method: 'PATCH', path, query, body, type: APPLY, signal: options.signal });
    },
  });

  const main = under('');
  return {
    ...main,
    list: (resource, options = {}) => {
      const path = collection(resource as Any, options.namespace);
      const query: Record<string, string> = options.limit === undefined ? {} : { limit: String(options.limit) };
      return call({ method: 'GET', path, query, signal: options.signal });
    },
    create: (resource, object, options = {}) => {
      const path = collection(resource as Any, keyOf(object).namespace);
      const body = stamped(resource as Any, object);
      return call({ method: 'POST', path, query: fields(options), body, signal: options.signal });
    },
    delete: async (resource, key, options) => {
      await call({ method: 'DELETE', path: named(resource as Any, key, ''), signal: options?.signal });
    },
    deleteAllOf: async (resource, options = {}) => {
      await call({ method: 'DELETE', path: collection(resource as Any, options.namespace), signal: options.signal });
    },
    status: () => under('/status'),
    subResource: (name) => under(`/${name}`),
  };
}
