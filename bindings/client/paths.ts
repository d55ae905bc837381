/**
 * Paths and bodies of requests. Names, namespaces and subresources are checked so that none changes
 * the path around it, and an object is sent only to the resource of its apiVersion and kind.
 */

import { CapstanError, invalid, requireObject, show } from '../base/errors.ts';
import { jsonText } from '../base/exact-json.ts';
import { isObjectLike } from '../base/json-value.ts';
import type { KubeObject } from '../base/object.ts';
import { groupVersion, notResource, type Resource } from '../base/resource.ts';
import { pathSegment } from '../base/urls.ts';
import { groupVersionPath } from '../cache/reflector/discovery.ts';
import type { AnyResource, ObjectKey } from './types.ts';

/** Throws CapstanError INVALID_ARGUMENT. */
export function requireResource(resource: AnyResource): void {
  if (typeof resource?.plural !== 'string' || typeof resource.namespaced !== 'boolean')
    throw notResource('resource', resource);
}

/**
 * The path of a collection; no namespace or "" for all namespaces. Throws CapstanError
 * INVALID_ARGUMENT.
 */
export function collectionPath(resource: AnyResource, namespace = ''): string {
  requireResource(resource);
  const scope =
    namespace === '' || !resource.namespaced
      ? ''
      : `/namespaces/${pathSegment('namespace', namespace)}`;
  return `${groupVersionPath(resource)}${scope}/${pathSegment('plural', resource.plural)}`;
}

/**
 * The path of an object. The key's namespace is ignored for a cluster-scoped resource, so that a
 * reconcile request is a key for both. Throws CapstanError INVALID_ARGUMENT.
 */
export function objectPath(resource: AnyResource, key: ObjectKey, subresource = ''): string {
  requireResource(resource);
  requireObject('key', key);
  const name = pathSegment('key.name', key.name);
  const collection = collectionPath(resource, requireNamespace(resource, key.namespace));
  return subresource === ''
    ? `${collection}/${name}`
    : `${collection}/${name}/${pathSegment('subresource', subresource)}`;
}

/**
 * The namespace of a key; "" for a cluster-scoped resource. Throws CapstanError INVALID_ARGUMENT.
 */
export function requireNamespace(resource: AnyResource, namespace: unknown): string {
  requireResource(resource);
  if (!resource.namespaced) return '';
  if (typeof namespace !== 'string' || namespace === '')
    throw invalid('namespace', `a namespace, as ${resource.plural} are namespaced`, namespace);
  return namespace;
}

/**
 * The key of an object. Throws CapstanError INVALID_ARGUMENT. controller-runtime:
 * client.ObjectKeyFromObject.
 */
export function objectKeyOf(
  resource: AnyResource,
  object: object,
): { namespace: string; name: string } {
  requireResource(resource);
  const { name, namespace } = requireMetadata(object);
  if (typeof name !== 'string' || name === '')
    throw invalid('object.metadata.name', 'a name', name);
  return { name, namespace: requireNamespace(resource, namespace) };
}

export function requireMetadata(object: object): NonNullable<KubeObject['metadata']> {
  requireObject('object', object);
  const { metadata } = object as KubeObject;
  requireObject('object.metadata', metadata);
  return metadata as NonNullable<KubeObject['metadata']>;
}

/**
 * The body of an object: a missing apiVersion and kind are added. Throws CapstanError
 * INVALID_ARGUMENT for an object of another kind.
 */
export function bodyOf<T extends object>(
  resource: Resource<T, string>,
  object: T | Partial<T>,
): object {
  requireResource(resource);
  requireObject('object', object);
  const { apiVersion = groupVersion(resource), kind = resource.kind } = object as KubeObject;
  if (apiVersion !== groupVersion(resource) || kind !== resource.kind) {
    const expected = `${groupVersion(resource)} ${resource.kind}`;
    const todo =
      kind === 'PartialObjectMetadata'
        ? 'it was read as metadata alone and would lose the rest; ' +
          'patch it, or read it with { live: true }'
        : 'pass the resource that the object is of';
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `"object" expected a ${expected}, got a ${show(apiVersion)} ${show(kind)}: ${todo}`,
    );
  }
  return { ...object, apiVersion, kind };
}

/** What JSON.stringify makes of a Map, a promise or bytes. Other values may match too. */
const MAY_BE_LOST = /\{\}|\{"0":|\{"type":"Buffer"/;
const LOST =
  /^\[object (?:Map|Set|WeakMap|WeakSet|Promise|RegExp|Error|(?:Shared)?ArrayBuffer|DataView|(?:[A-Z]\w*)Array)\]$/;

/** Throws CapstanError INVALID_ARGUMENT for a member whose content JSON.stringify leaves out. */
function requireNothingLost(what: string, value: unknown): void {
  const open: { path: string; at: unknown }[] = [{ path: what, at: value }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { path, at } = next;
    if (!isObjectLike(at)) continue;
    if (LOST.test(Object.prototype.toString.call(at))) {
      const isBytes = ArrayBuffer.isView(at) || at instanceof ArrayBuffer;
      const expected = isBytes ? 'bytes as a base64 text' : 'a value that JSON can say';
      throw invalid(path, expected, at);
    }
    for (const [name, member] of Object.entries(at))
      open.push({ path: `${path}.${name}`, at: member });
  }
}

/**
 * The text of a value, with the digits of its numbers as they were parsed. Throws CapstanError
 * INVALID_ARGUMENT for what JSON cannot express, such as a cycle or a Map.
 */
export function requireJsonText(what: string, value: unknown): string {
  try {
    const text = jsonText(value);
    if (text !== undefined) {
      if (MAY_BE_LOST.test(text)) requireNothingLost(what, value);
      return text;
    }
  } catch (cause) {
    if (cause instanceof CapstanError) throw cause;
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `"${what}" expected a value that JSON can say: ${String(cause)}`,
      {
        cause,
      },
    );
  }
  throw invalid(what, 'a value that JSON can say', value);
}
