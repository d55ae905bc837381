/**
 * Clients that change one thing in every call. They can wrap each other. controller-runtime:
 * pkg/client/namespaced_client.go, dryrun.go, fieldowner.go, fieldvalidation.go.
 */

import { CapstanError, invalid, requireObject } from '../base/errors.ts';
import type { KubeObject } from '../base/object.ts';
import { requireFieldOptions } from './client.ts';
import { requireMetadata, requireResource } from './paths.ts';
import type { AnyResource, Client, ObjectKey, WriteOptions } from './types.ts';
import { WrappedClient } from './wrapped-client.ts';

/**
 * Makes a client of one namespace: keys, objects and lists without a namespace get it, another
 * namespace is rejected. Cluster-scoped resources pass unchanged. It rejects a list in another
 * namespace; controller-runtime's lists in its own.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const team = newNamespacedClient(client, 'team-a');
 * await team.get(Pod, { name: 'web-0' });
 */
export function newNamespacedClient(client: Client, namespace: string): Client {
  if (typeof namespace !== 'string' || namespace === '')
    throw invalid('namespace', 'a namespace', namespace);
  const own = (
    resource: AnyResource,
    given: string | undefined,
    what: string,
  ): string | undefined => {
    requireResource(resource);
    if (!resource.namespaced) return given;
    if (given === undefined || given === '' || given === namespace) return namespace;
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `${what} is in the namespace ${given}, and this client is ` +
        `for ${namespace}: use another client`,
    );
  };
  const scoped = <O extends { namespace?: string }>(resource: AnyResource, options: O): O => {
    const placed = own(resource, options.namespace, 'what is asked for');
    return resource.namespaced ? { ...options, namespace: placed } : options;
  };
  return new WrappedClient(client, {
    key: (resource: AnyResource, key: ObjectKey) => {
      requireObject('key', key);
      return scoped(resource, key);
    },
    object: <T extends object>(resource: AnyResource, object: T): T => {
      const metadata = requireMetadata(object);
      const placed = own(resource, metadata.namespace, `the object ${metadata.name ?? ''}`);
      if (placed === metadata.namespace) return object;
      return { ...object, metadata: { ...(object as KubeObject).metadata, namespace: placed } };
    },
    list: scoped,
    deleteAllOf: scoped,
  });
}

/**
 * Makes a client whose writes are dry runs: the server does everything but store the object.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const metadata = { namespace: 'default', name: 'site' };
 * const preview = await newDryRunClient(client).create(ConfigMap, { metadata });
 */
export function newDryRunClient(client: Client): Client {
  const dry = <O extends { dryRun?: boolean }>(options: O): O => ({ ...options, dryRun: true });
  return new WrappedClient(client, { write: dry, apply: dry, delete: dry });
}

/**
 * Makes a client whose writes have this field manager. A call can set another.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const owned = withFieldOwner(client, 'website-controller');
 */
export function withFieldOwner(client: Client, fieldOwner: string): Client {
  requireFieldOptions(fieldOwner, undefined);
  if (fieldOwner === undefined) throw invalid('fieldOwner', 'a name', fieldOwner);
  const owned = <O extends WriteOptions>(options: O): O => ({
    ...options,
    fieldOwner: options.fieldOwner ?? fieldOwner,
  });
  return new WrappedClient(client, { write: owned, apply: owned });
}

/**
 * Makes a client whose writes have this field validation. A call can set another; apply is always
 * strict.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const strict = withFieldValidation(client, 'Strict');
 */
export function withFieldValidation(
  client: Client,
  fieldValidation: NonNullable<WriteOptions['fieldValidation']>,
): Client {
  requireFieldOptions(undefined, fieldValidation);
  if (fieldValidation === undefined)
    throw invalid('fieldValidation', "'Ignore', 'Warn' or 'Strict'", fieldValidation);
  const validated = <O extends WriteOptions>(options: O): O => ({
    ...options,
    fieldValidation: options.fieldValidation ?? fieldValidation,
  });
  return new WrappedClient(client, { write: validated });
}
