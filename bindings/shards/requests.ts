/**
 * The requests of the protocol: reads of the Leases and the map, and writes by compare-and-swap.
 * Each has a timeout. They do not wait for each other, nor for the rate limiter of a client.
 */
import type { Clock } from '../base/clock.ts';
import { CapstanError } from '../base/errors.ts';
import { isJsonObject } from '../base/json-value.ts';
import type { Resource } from '../base/resource.ts';
import { pathSegment } from '../base/urls.ts';
import { abortable } from '../base/wait.ts';
import { groupVersionPath } from '../cache/reflector/discovery.ts';
import type { Transport } from '../cache/rest/transport.ts';
import { Deadline } from '../leaderelection/deadline.ts';
import { requestJson } from '../leaderelection/lease-requests.ts';
import { RecordTimes } from '../leaderelection/lock.ts';
import type { ReadKind, ShardInput, ShardWrite } from './machine.ts';
import {
  GROUP_LABEL,
  leaseToWrite,
  leaseViewOf,
  mapToWrite,
  mapViewOf,
  SHARD_LEASES,
  SHARD_MAPS,
  type ShardObject,
  versionNumber,
} from './objects.ts';

/** Added to the timeout, for a transport that ignores both timeout and signal. */
const SLACK_MS = 1000;

export interface ShardRequestOptions {
  readonly id: string;
  readonly namespace: string;
  readonly clock: Clock;
  /** Of each request, in milliseconds. */
  readonly timeout: number;
  /** The time of day in milliseconds since 1970, for the times in Leases. */
  readonly wallNow: () => number;
}

export class ShardRequests {
  readonly #transport: Transport;
  readonly #options: ShardRequestOptions;
  readonly #times: RecordTimes;
  readonly #leases: string;
  readonly #maps: string;

  /** @throws CapstanError INVALID_ARGUMENT for a namespace that cannot be a path segment */
  constructor(transport: Transport, options: ShardRequestOptions) {
    this.#transport = transport;
    this.#options = options;
    this.#times = new RecordTimes(options.wallNow);
    this.#leases = pathOf(SHARD_LEASES, options.namespace);
    this.#maps = pathOf(SHARD_MAPS, options.namespace);
  }

  /** Reads by a list, as a list has a resourceVersion even when the object does not exist. */
  async read(what: ReadKind, sentAt: number, signal: AbortSignal): Promise<ShardInput> {
    const { id } = this.#options;
    const query: Record<string, string> =
      what === 'leases'
        ? { labelSelector: `${GROUP_LABEL}=${id}` }
        : { fieldSelector: `metadata.name=${id}` };
    const path = what === 'map' ? this.#maps : this.#leases;
    const { items, version } = listOf(path, await this.#request('GET', path, query, signal));
    const [first] = items;
    if (what === 'leases')
      return { type: 'leases', sentAt, version, leases: items.map(leaseViewOf) };
    if (what === 'leader') return { type: 'leader', version, lease: first && leaseViewOf(first) };
    return { type: 'map', version, object: first && mapViewOf(first) };
  }

  /** Rejects with StatusError 409 or 404 if the object has changed, exists already, or is gone. */
  async write(write: ShardWrite, signal: AbortSignal): Promise<ShardInput> {
    const answer = await this.#send(write, signal);
    const done = { type: 'answer', id: write.id, result: 'done' } as const;
    if (write.verb === 'delete') return done;
    if (write.kind === 'map') return { ...done, object: mapViewOf(answer) };
    return { ...done, lease: leaseViewOf(answer) };
  }

  async #send(write: ShardWrite, signal: AbortSignal): Promise<ShardObject> {
    const { namespace, id } = this.#options;
    const path = write.kind === 'map' ? this.#maps : this.#leases;
    const name = write.kind === 'map' ? id : write.name;
    const one = `${path}/${pathSegment('name', name)}`;
    if (write.kind === 'lease' && write.verb === 'delete') {
      const { uid, version } = write.base ?? {};
      const preconditions = { uid, resourceVersion: `${version}` };
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions };
      return (await this.#request('DELETE', one, {}, signal, body)) as ShardObject;
    }
    const place = { namespace, name, group: id };
    const body =
      write.kind === 'map'
        ? mapToWrite(write.base, write.map, place)
        : leaseToWrite(write.base, write.content, place, this.#times.next());
    const answer =
      write.verb === 'create'
        ? await this.#request('POST', path, {}, signal, body)
        : await this.#request('PUT', one, {}, signal, body);
    return objectOf(one, answer);
  }

  /** Sends the timeout to the server too, so that it does not execute a write much later. */
  async #request(
    method: string,
    path: string,
    query: Readonly<Record<string, string>>,
    signal: AbortSignal,
    body?: object,
  ): Promise<object> {
    const { clock, timeout } = this.#options;
    const patience = new Deadline(clock, timeout + SLACK_MS, signal);
    const headers: Record<string, string> = { accept: 'application/json' };
    if (body !== undefined) headers['content-type'] = 'application/json';
    try {
      return await abortable(
        requestJson(
          this.#transport,
          {
            method,
            path,
            query: { ...query, timeout: `${Math.ceil(timeout)}ms` },
            headers,
            ...(body !== undefined && { body: JSON.stringify(body) }),
          },
          { clock, signal, timeout },
        ),
        patience.signal,
      );
    } finally {
      patience.end();
    }
  }
}

const pathOf = (resource: Resource<ShardObject>, namespace: string): string =>
  `${groupVersionPath(resource)}/namespaces/${pathSegment('namespace', namespace)}/${resource.plural}`;

function listOf(path: string, answer: object): { items: ShardObject[]; version: number } {
  const { items, metadata } = answer as {
    items?: unknown;
    metadata?: { resourceVersion?: string };
  };
  const version = versionNumber(metadata?.resourceVersion);
  if (Array.isArray(items) && version > 0)
    return { items: items.map((item) => objectOf(path, item)), version };
  throw new CapstanError('DECODE', `GET ${path}: expected a list with a resourceVersion`);
}

function objectOf(path: string, answer: unknown): ShardObject {
  if (isJsonObject(answer) && isJsonObject(answer.metadata))
    return answer as unknown as ShardObject;
  throw new CapstanError('DECODE', `${path}: expected an object with metadata`);
}
