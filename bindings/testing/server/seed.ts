/**
 * The initial objects that a test gives: status, uid and managedFields are stored unchanged. All
 * are checked before the first one is stored. controller-runtime: pkg/client/fake WithObjects.
 */
import { randomUUID } from 'node:crypto';
import { CapstanError, invalid } from '../../base/errors.ts';
import { asReadBack, FieldTypeError, readFields } from './fields.ts';
import { isObject, type JsonObject, readJson, stringAt, writeJson } from './json.ts';
import { storageKey } from './registry/conversion.ts';
import { type Kind, splitApiVersion } from './registry/kinds.ts';
import { MetadataTypeError, normalizeMetadata } from './registry/metadata.ts';
import type { Registry } from './registry/registry.ts';
import { metadataOf, storeKey } from './registry/store.ts';
import { assemble, prepare } from './registry/strategy.ts';

export function seed(registry: Registry, objects: readonly object[]): void {
  const now = registry.now();
  const wanted = objects.map((object, at) => read(registry, object, `objects[${at}]`, now));
  const keys = new Set<string>();
  for (const [at, { kind, key }] of wanted.entries()) {
    const unique = `${storageKey(kind)} ${key}`;
    if (keys.has(unique) || registry.store(kind).get(key) !== undefined) {
      throw new CapstanError(
        'INVALID_ARGUMENT',
        `objects[${at}]: ${kind.plural} ${JSON.stringify(key)} already exists`,
      );
    }
    keys.add(unique);
  }
  for (const { kind, key, object } of wanted) registry.put(kind, key, object);
}

function read(
  registry: Registry,
  given: object,
  what: string,
  now: string,
): { kind: Kind; key: string; object: JsonObject } {
  // A copy, without values that JSON does not have.
  const sent = readJson(writeJson(given));
  if (!isObject(sent)) throw invalid(what, 'an object', given);
  const kind = kindOf(registry, sent, what);
  const metadata = withObjectPath(what, () => normalizeMetadata(kind, sent.metadata));
  const name = stringAt(metadata, 'name');
  if (name === '') throw invalid(`${what}.metadata.name`, 'a name', metadata.name);
  const namespace = stringAt(metadata, 'namespace');
  if (kind.namespaced === true && namespace === '')
    throw invalid(
      `${what}.metadata.namespace`,
      `a namespace, as ${kind.plural} are namespaced`,
      metadata.namespace,
    );
  if (kind.namespaced === false && namespace !== '')
    throw invalid(
      `${what}.metadata.namespace`,
      `none, as ${kind.plural} are not namespaced`,
      namespace,
    );
  const finalizers = Array.isArray(metadata.finalizers) ? metadata.finalizers : [];
  if (metadata.deletionTimestamp !== undefined && finalizers.length === 0)
    throw invalid(
      `${what}.metadata.finalizers`,
      'a finalizer, as an object that is being deleted without one is gone',
      finalizers,
    );
  const complete = {
    uid: randomUUID(),
    creationTimestamp: now,
    ...(kind.generation === 'none' ? {} : { generation: 1 }),
    ...metadata,
  };
  // Normalizes empty values as Go does, so that the next write of the same object is no change.
  const fields = withObjectPath(what, () =>
    asReadBack(kind, readFields(kind, sent, undefined).object),
  );
  const object = prepare(kind, assemble(kind, complete, fields));
  return { kind, key: storeKey(namespace, stringAt(metadataOf(object), 'name')), object };
}

/** Adds the place of the object to an error. */
function withObjectPath<R>(what: string, read: () => R): R {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof FieldTypeError || error instanceof MetadataTypeError)) throw error;
    throw new CapstanError('INVALID_ARGUMENT', `${what}: ${error.message}`, { cause: error });
  }
}

function kindOf(registry: Registry, object: JsonObject, what: string): Kind {
  const { apiVersion, kind } = object;
  if (typeof apiVersion !== 'string' || typeof kind !== 'string')
    throw invalid(what, 'an object with apiVersion and kind', object);
  const { group, version } = splitApiVersion(apiVersion);
  const found = registry.kinds
    .all()
    .find((known) => known.kind === kind && known.group === group && known.version === version);
  if (found === undefined)
    throw invalid(
      what,
      'an object of a built-in kind, or of one of the resources',
      `${kind} of ${apiVersion}`,
    );
  return found;
}
