/**
 * The embedded API server without a socket: a Transport whose requests are answered in this
 * process. Answers, streams and faults are those of ApiServer, by the same code, and all times come
 * from the clock.
 */
/// <reference lib="esnext.disposable" preserve="true" />

import { CapstanError, requireIterable } from '../base/errors.ts';
import { namesOf, requireNames } from '../base/names.ts';
import { onAbort } from '../base/wait.ts';
import {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from '../cache/rest/transport.ts';
import { MemoryReply } from './server/answers/memory-reply.ts';
import { headersAs, requireUser, type ServerUser } from './server/auth/users.ts';
import { closesPort, type Fault } from './server/faults.ts';
import type { ResourceName } from './server/registry/kinds.ts';
import { parseTarget } from './server/request/request-target.ts';
import { seed } from './server/seed.ts';
import { Serving } from './server/serving.ts';
import {
  requireServingOptions,
  SERVING_NAMES,
  type ServingOptions,
} from './server/serving-options.ts';

/** Options of {@link fakeTransport}. */
export interface FakeTransportOptions extends ServingOptions {
  /** The initial objects; see {@link FakeTransport.add}. */
  objects?: Iterable<object> | undefined;
  /** Custom resources; needed where an object's kind does not give the plural. */
  resources?: Iterable<FakeResource> | undefined;
}

const FAKE_TRANSPORT_NAMES = namesOf<FakeTransportOptions>()({
  ...SERVING_NAMES,
  objects: 1,
  resources: 1,
});

/** A custom resource; a `Resource` of `capstan/cache` is one. */
export interface FakeResource {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

/** The functions of ApiServer, without a port. */
export interface FakeTransport extends Transport, AsyncDisposable {
  /**
   * Stores objects unchanged, status, uid and managedFields included, without validation or
   * authorization. A missing uid and creation time are set; watches get events.
   *
   * @throws CapstanError INVALID_ARGUMENT for an object that exists, whose kind is neither built in
   *   nor among the resources, without a name, or with a deletionTimestamp and no finalizer
   */
  add(...objects: object[]): void;
  /** Adds custom resources. */
  define(...resources: FakeResource[]): void;
  /**
   * The custom resources that have a status subresource; the status of others is written with the
   * object. By default all have one.
   */
  setStatusSubresource(...resources: FakeResource[]): void;
  inject(fault: Fault): () => void;
  unmetFaults(): Fault[];
  expireHistory(): void;
  removeResource(resource: { group: string; version: string; plural: string }): () => void;
  setTokens(tokens: readonly string[] | undefined): void;
  /**
   * A transport to the same server as another user, by impersonation: a name, such as
   * `system:serviceaccount:default:web`, or a name with groups.
   *
   * @throws CapstanError INVALID_ARGUMENT
   */
  as(user: string | ServerUser): Transport;
  /** Cuts all open answers. */
  dropConnections(): void;
  /** Ends all open answers; later requests are refused. */
  close(): Promise<void>;
}

/**
 * A transport that ends in this process, for unit tests of informers, clients and controllers
 * without a network. Requests are answered by the code of ApiServer, except that no namespaces
 * exist at the start, and that a deleted one is emptied at once. With a `FakeClock`, `await
 * clock.settle()` resolves when everything has happened that can happen without time passing.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const clock = new FakeClock();
 * const metadata = { namespace: 'default', name: 'a' };
 * const objects = [{ apiVersion: 'v1', kind: 'ConfigMap', metadata }];
 * const transport = fakeTransport({ clock, objects });
 * const informer = new SharedIndexInformer(new ListWatch(transport, ConfigMap), { clock });
 */
export function fakeTransport(options: FakeTransportOptions = {}): FakeTransport {
  requireNames('options', options, 'option of fakeTransport()', FAKE_TRANSPORT_NAMES);
  return new InProcess(options);
}

const ADDRESS = 'in-process';

class InProcess implements FakeTransport {
  readonly #serving: Serving;
  readonly #open = new Set<MemoryReply>();
  #closed = false;

  constructor(options: FakeTransportOptions) {
    const checked = requireServingOptions(options);
    for (const name of ['objects', 'resources'] as const)
      requireIterable(`options.${name}`, options[name] ?? []);
    this.#serving = new Serving(ADDRESS, checked, false);
    this.#serving.api.setTokens(options.tokens);
    this.define(...(options.resources ?? []));
    this.add(...(options.objects ?? []));
  }

  async request(request: TransportRequest): Promise<TransportResponse> {
    const { method, path, signal } = request;
    const query = new URLSearchParams(request.query ?? {}).toString();
    const url = query === '' ? path : `${path}?${query}`;
    if (signal?.aborted) throw aborted(signal);
    const refused =
      this.#closed || this.#serving.faults.take(parseTarget(method, url), 'refuse').length > 0;
    if (refused)
      throw new TransportError(
        'refused',
        `${method} ${path}: refused (${this.#closed ? 'closed' : 'injected'})`,
      );
    request.beforeSend?.();
    const reply = new MemoryReply();
    this.#open.add(reply);
    const unlisten = onAbort(signal, () => reply.abort(aborted(signal as AbortSignal)));
    reply.once('close', () => void this.#open.delete(reply));
    reply.onRead(unlisten);
    const headers = Object.fromEntries(
      Object.entries(request.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
    );
    const incoming = { method, url, headers, [Symbol.asyncIterator]: () => bodyOf(request.body) };
    void this.#serving.serve(incoming, reply);
    const head = await reply.head;
    return { ...head, body: reply.read() };
  }

  host(): string {
    return ADDRESS;
  }

  as(user: string | ServerUser): Transport {
    requireUser('user', user);
    const headers = Object.fromEntries(
      Object.entries(headersAs(user)).map(([name, value]) => [name, [value].flat().join(', ')]),
    );
    return {
      request: (request) =>
        this.request({ ...request, headers: { ...headers, ...request.headers } }),
      host: () => ADDRESS,
    };
  }

  add(...objects: object[]): void {
    seed(this.#serving.api.registry, objects);
  }

  define(...resources: FakeResource[]): void {
    for (const resource of resources) this.#serving.api.registry.kinds.declare(resource);
  }

  setStatusSubresource(...resources: FakeResource[]): void {
    this.#serving.api.registry.kinds.onlyStatusOf(resources);
  }

  inject(fault: Fault): () => void {
    if (this.#closed) throw new CapstanError('STOPPED', 'inject() on a transport that was closed');
    const takeBack = this.#serving.faults.add(fault);
    if (closesPort(fault)) this.dropConnections();
    return takeBack;
  }

  unmetFaults(): Fault[] {
    return this.#serving.faults.unmet();
  }

  expireHistory(): void {
    this.#serving.api.registry.expireHistory();
  }

  removeResource({ group, version, plural }: ResourceName): () => void {
    return this.#serving.api.registry.removeResource({ group, version, plural });
  }

  setTokens(tokens: readonly string[] | undefined): void {
    this.#serving.api.setTokens(tokens);
  }

  dropConnections(): void {
    for (const reply of [...this.#open]) reply.destroy();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.dropConnections();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

const aborted = (signal: AbortSignal): TransportError =>
  new TransportError('aborted', 'the request was aborted', { cause: signal.reason });

async function* bodyOf(body: string | Uint8Array | undefined): AsyncGenerator<Uint8Array> {
  if (body !== undefined) yield typeof body === 'string' ? Buffer.from(body) : body;
}
