/**
 * One resource at one server, as two requests: list and watch. It knows paths, selectors and headers, and what an object
 * of this resource looks like; when to ask for what is the reflector's business. client-go: tools/cache/listwatch.go.
 */
import type { Clock } from '../clock.ts';
import { CapstanError, invalid, requireFunction, show } from '../errors.ts';
import type { Exchange } from './exchange.ts';
import type { KubeObject } from './keys.ts';
import type { ListPage, ListQuery } from './pager.ts';
import { groupVersion, type Resource } from './resource.ts';
import { sendWithRepeats } from './rest.ts';
import { statusErrorFromAnswer } from './status-error.ts';
import type { Transport } from './transport.ts';

export interface ListWatchOptions {
  /** One namespace; none or "" is all of them. */
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  /** Asks for PartialObjectMetadata: objects without spec, status and data. */
  metadataOnly?: boolean;
  /**
   * Milliseconds without a byte after which a watch counts as a lost connection: it is opened again from the last version, without a list and
   * without an error. Default 150 000; 0: never. A quiet watch gets a bookmark each minute from kube-apiserver, though none is promised; a server
   * that sends none costs one request each time. Over `capstan/client-node` dead connections are found within 45 s by other means; over fetch this is the only one.
   */
  idleTimeout?: number;
}

/** Who asks: on which clock to wait, the signal that ends it, and who wants to know of the server's signs of life. */
export interface Caller {
  clock: Clock;
  signal: AbortSignal;
  /** See {@link ExchangeOptions}. */
  onBytes?: (now: number) => void;
}

/**
 * A list may be silent for this long. kube-apiserver answers any request but a watch within 60 s (--request-timeout), if
 * only with 504; beyond that the connection is dead, and TCP alone would take up to half an hour to say so.
 */
const LIST_IDLE_MS = 90_000;
/** Two bookmarks of kube-apiserver's (one a minute) may be missed, and half a minute more. */
const WATCH_IDLE_MS = 150_000;
/** How long after its own timeoutSeconds a watch that the server did not end counts as dead. */
const WATCH_GRACE_MS = 30_000;

/**
 * What to list and watch, for a {@link SharedIndexInformer} or a {@link Reflector}.
 *
 * @throws CapstanError INVALID_ARGUMENT, also for a namespace with a resource that has none
 * @example
 * const informer = new SharedIndexInformer(new ListWatch(transport, Pod, { namespace: 'default' }));
 */
export class ListWatch<T, I extends string = never> {
  readonly resource: Resource<T, I>;
  readonly #transport: Transport;
  readonly #path: string;
  readonly #selectors: Record<string, string>;
  readonly #metadataOnly: boolean;
  readonly #idleTimeout: number;
  readonly #apiVersion: string;
  readonly #kind: string;

  constructor(transport: Transport, resource: Resource<T, I>, options: ListWatchOptions = {}) {
    requireFunction('transport.request', (transport as Partial<Transport> | undefined)?.request);
    if (typeof resource?.plural !== 'string') throw invalid('resource', 'what defineResource returns', resource);
    const { namespace, labelSelector, fieldSelector, metadataOnly = false, idleTimeout = WATCH_IDLE_MS } = options;
    if (typeof idleTimeout !== 'number' || !(idleTimeout >= 0))
      throw invalid('idleTimeout', 'milliseconds >= 0', idleTimeout);
    this.resource = resource;
    this.#transport = transport;
    this.#path = resourcePath(resource, namespace ?? '');
    this.#selectors = {};
    if (labelSelector) this.#selectors.labelSelector = labelSelector;
    if (fieldSelector) this.#selectors.fieldSelector = fieldSelector;
    this.#metadataOnly = metadataOnly;
    this.#idleTimeout = idleTimeout;
    this.#apiVersion = metadataOnly ? 'meta.k8s.io/v1' : groupVersion(resource);
    this.#kind = metadataOnly ? 'PartialObjectMetadata' : resource.kind;
  }

  /** One page. Rejects with StatusError, TransportError, or CapstanError DECODE for a body that is not a list. */
  async list(query: ListQuery, caller: Caller): Promise<ListPage<T>> {
    const parameters: Record<string, string> = { ...this.#selectors };
    if (query.limit > 0) parameters.limit = String(query.limit);
    if (query.continue !== '') parameters.continue = query.continue;
    if (query.resourceVersion !== '') parameters.resourceVersion = query.resourceVersion;
    const exchange = await this.#get(parameters, 'PartialObjectMetadataList', { ...caller, idleMs: LIST_IDLE_MS });
    try {
      return this.#toPage(parseList(await exchange.text(), this.#path));
    } finally {
      exchange.close();
    }
  }

  /** The open stream, whose bytes are frames. Rejects with StatusError or TransportError. */
  async watch(query: { resourceVersion: string; timeoutSeconds: number }, caller: Caller): Promise<Exchange> {
    const parameters: Record<string, string> = { ...this.#selectors, allowWatchBookmarks: 'true', watch: 'true' };
    if (query.resourceVersion !== '') parameters.resourceVersion = query.resourceVersion;
    parameters.timeoutSeconds = String(query.timeoutSeconds);
    const totalMs = query.timeoutSeconds * 1000 + WATCH_GRACE_MS;
    return this.#get(parameters, 'PartialObjectMetadata', { ...caller, totalMs, idleMs: this.#idleTimeout });
  }

  /** Whether a watch event's object is of this resource. A server that leaves kind or apiVersion out is trusted. */
  accepts(object: KubeObject): boolean {
    const { apiVersion = this.#apiVersion, kind = this.#kind } = object;
    return apiVersion === this.#apiVersion && kind === this.#kind;
  }

  /** `"v1" ConfigMap`, for messages. */
  describe(): string {
    return `${this.#apiVersion} ${this.#kind}`;
  }

  async #get(
    query: Record<string, string>,
    metadataAs: string,
    options: Caller & { idleMs?: number; totalMs?: number },
  ) {
    const accept = this.#metadataOnly ? `application/json;as=${metadataAs};g=meta.k8s.io;v=v1` : 'application/json';
    // Identity: kube-apiserver ends a gzip member at each flush of a compressed watch, and hosts differ in reading past the first.
    const headers = { accept, 'accept-encoding': 'identity' };
    const exchange = await sendWithRepeats(
      this.#transport,
      { method: 'GET', path: this.#path, query, headers },
      options,
    );
    if (exchange.status === 200) return exchange;
    throw statusErrorFromAnswer(exchange.status, await exchange.explanation(), `GET ${this.#path}`);
  }

  #toPage(list: { items: unknown[]; resourceVersion: string; continue: string }): ListPage<T> {
    for (const item of list.items) requireNamed(item, `a list of ${this.describe()}`);
    return { ...list, items: list.items as T[] };
  }
}

function resourcePath<T, I extends string>(resource: Resource<T, I>, namespace: string): string {
  const { group, plural, namespaced } = resource;
  if (namespace !== '' && !namespaced) throw invalid('namespace', `none, as ${plural} are not namespaced`, namespace);
  const root = group === '' ? '/api' : '/apis';
  const scope = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${root}/${groupVersion(resource)}${scope}/${plural}`;
}

function parseList(text: string, path: string): { items: unknown[]; resourceVersion: string; continue: string } {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    throw new CapstanError('DECODE', `GET ${path}: the body is not JSON: ${show(text)}`, { cause: error });
  }
  const { items, metadata } = (body ?? {}) as {
    items?: unknown;
    metadata?: { resourceVersion?: unknown; continue?: unknown };
  };
  if (typeof body !== 'object' || body === null || !('items' in body) || !(items === null || Array.isArray(items))) {
    throw new CapstanError('DECODE', `GET ${path}: expected a list with items, got ${show(text)}`);
  }
  return {
    items: items ?? [],
    resourceVersion: textOf(metadata?.resourceVersion),
    continue: textOf(metadata?.continue),
  };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Throws CapstanError DECODE for a value that no store could keep. */
export function requireNamed(value: unknown, where: string): asserts value is KubeObject {
  const name: unknown = (value as KubeObject | null)?.metadata?.name;
  const namespace: unknown = (value as KubeObject | null)?.metadata?.namespace;
  if (typeof name === 'string' && (namespace === undefined || namespace === null || typeof namespace === 'string'))
    return;
  throw new CapstanError('DECODE', `${where} expected objects with metadata.name, got ${show(value)}`);
}
