/**
 * The transport of a manager with shards. It does not send a request that writes an object of a
 * slot that this process does not run. It checks this immediately before the bytes are sent
 * (`beforeSend`), so that the check also holds for a process that was stopped. It aborts writing
 * requests under way when the Lease may have expired. The protocol does not use this transport.
 */
import { CapstanError, hasCode } from '../base/errors.ts';
import { isJsonObject } from '../base/json-value.ts';
import type { Transport, TransportRequest } from '../cache/index.ts';
import { notOwned } from '../controller/shards.ts';
import type { ManagedShards } from './shards.ts';

/** Groups of reviews, which the API server answers and does not store. */
const REVIEWS: readonly string[] = ['authentication.k8s.io', 'authorization.k8s.io'];

export function shardTransport(transport: Transport, shards: ManagedShards): Transport {
  return {
    ...transport,
    async request(request) {
      const target = targetOf(request);
      if (target === undefined) return transport.request(request);
      const { resource, text } = target;
      const { method, path, signal } = request;
      const isOfAll = resource !== undefined && shards.isShared(resource as never);
      const refused = (): CapstanError => notOwned(`${method} ${path} was not sent`);
      const mayWrite = (): boolean =>
        isOfAll ? shards.replica.isValid() : text !== undefined && shards.mayWrite(text);
      const beforeSend = (): void => {
        request.beforeSend?.();
        if (!mayWrite()) throw refused();
      };
      beforeSend();
      const { signal: lapsed, end } = shards.writing(text ?? '');
      const either = signal === undefined ? lapsed : AbortSignal.any([signal, lapsed]);
      try {
        return await transport.request({ ...request, beforeSend, signal: either });
      } catch (error) {
        if (!lapsed.aborted || signal?.aborted || hasCode(error, 'SHARD_NOT_OWNED')) throw error;
        throw new CapstanError(
          'SHARD_NOT_OWNED',
          `${method} ${path} was aborted because the Lease of this replica may have expired; the ` +
            'request may have taken effect',
          { cause: error },
        );
      } finally {
        end();
      }
    },
  };
}

interface Target {
  /** `undefined` for an object of a path that is no resource's. */
  readonly resource: { group: string; version: string; plural: string } | undefined;
  /** The namespace, or the name of a cluster-scoped object; `undefined` if the path has neither. */
  readonly text: string | undefined;
}

/** What a request writes; `undefined` if it writes no object that is in a slot. */
function targetOf({ method, path, body }: TransportRequest): Target | undefined {
  if (method === 'GET' || method === 'HEAD' || method === 'OPTIONS') return undefined;
  const parts = path.split('?')[0]?.split('/').slice(1).map(decodeURIComponent) ?? [];
  const isCore = parts[0] === 'api';
  if (!isCore && parts[0] !== 'apis') return undefined;
  const group = isCore ? '' : (parts[1] ?? '');
  const version = parts[isCore ? 1 : 2] ?? '';
  const rest = parts.slice(isCore ? 2 : 3);
  if (REVIEWS.includes(group)) return undefined;
  const [first = '', second, third] = rest;
  if (first === 'namespaces' && second !== undefined && third !== undefined) {
    // Status and finalize are subresources of the Namespace.
    const plural = isCore && ['status', 'finalize'].includes(third) ? first : third;
    // Every replica may record Events.
    if (plural === 'events') return undefined;
    return { resource: { group, version, plural }, text: second };
  }
  const resource = { group, version, plural: first };
  return { resource, text: second ?? (method === 'POST' ? nameIn(body) : undefined) };
}

/** The name, or generateName, in the body of a create. */
function nameIn(body: TransportRequest['body']): string | undefined {
  try {
    const text = typeof body === 'string' ? body : new TextDecoder().decode(body as Uint8Array);
    const object: unknown = JSON.parse(text);
    const metadata = isJsonObject(object) ? object.metadata : undefined;
    const name = isJsonObject(metadata) ? (metadata.name ?? metadata.generateName) : undefined;
    return typeof name === 'string' ? name : undefined;
  } catch {
    return undefined;
  }
}
