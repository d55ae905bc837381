/**
 * One resource at one server, as two requests: list and watch. It knows paths, selectors and headers, and what an object
 * of this resource looks like; when to ask for what is the reflector's business. client-go: tools/cache/listwatch.go.
 */
import type { Clock } from '../clock.ts';
import { invalid, requireFunction } from '../errors.ts';
import { describeKind, type ExpectedKind, jsonDecoder, type ListPage, type PageReader } from './decoder.ts';
import type { Exchange } from './exchange.ts';
import type { ListQuery } from './pager.ts';
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
}

/** Who asks: on which clock to wait, and the signal that ends it. */
export interface Caller {
  clock: Clock;
  signal: AbortSignal;
}

/**
 * A list may be silent for this long. kube-apiserver answers any request but a watch within 60 s (--request-timeout), if
 * only with 504; beyond that the connection is dead, and TCP alone would take up to half an hour to say so.
 */
const LIST_IDLE_MS = 90_000;
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
  /** What the objects of list and watch are. */
  readonly expected: ExpectedKind;
  readonly #transport: Transport;
  readonly #path: string;
  readonly #selectors: Record<string, string>;
  readonly #metadataOnly: boolean;

  constructor(transport: Transport, resource: Resource<T, I>, options: ListWatchOptions = {}) {
    requireFunction('transport.request', (transport as Partial<Transport> | undefined)?.request);
    if (typeof resource?.plural !== 'string') throw invalid('resource', 'what defineResource returns', resource);
    const { namespace, labelSelector, fieldSelector, metadataOnly = false } = options;
    this.resource = resource;
    this.#transport = transport;
    this.#path = resourcePath(resource, namespace ?? '');
    this.#selectors = {};
    if (labelSelector) this.#selectors.labelSelector = labelSelector;
    if (fieldSelector) this.#selectors.fieldSelector = fieldSelector;
    this.#metadataOnly = metadataOnly;
    this.expected = metadataOnly
      ? { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata' }
      : { apiVersion: groupVersion(resource), kind: resource.kind };
  }

  /**
   * One page, read by `reader` as its bytes arrive; the reader is closed in any case. Rejects with StatusError,
   * TransportError, or CapstanError DECODE for a body that is not a list.
   */
  async list(
    query: ListQuery,
    caller: Caller,
    reader: PageReader<T> = jsonDecoder<T>(this.expected).page(),
  ): Promise<ListPage<T>> {
    const parameters: Record<string, string> = { ...this.#selectors };
    if (query.limit > 0) parameters.limit = String(query.limit);
    if (query.continue !== '') parameters.continue = query.continue;
    if (query.resourceVersion !== '') parameters.resourceVersion = query.resourceVersion;
    try {
      const exchange = await this.#get(parameters, 'PartialObjectMetadataList', { ...caller, idleMs: LIST_IDLE_MS });
      try {
        for (let chunk = await exchange.read(); chunk !== undefined; chunk = await exchange.read()) reader.push(chunk);
        return reader.end();
      } finally {
        exchange.close();
      }
    } finally {
      reader.close();
    }
  }

  /** The open stream, whose bytes are frames. Rejects with StatusError or TransportError. */
  async watch(query: { resourceVersion: string; timeoutSeconds: number }, caller: Caller): Promise<Exchange> {
    const parameters: Record<string, string> = { ...this.#selectors, allowWatchBookmarks: 'true', watch: 'true' };
    if (query.resourceVersion !== '') parameters.resourceVersion = query.resourceVersion;
    parameters.timeoutSeconds = String(query.timeoutSeconds);
    const totalMs = query.timeoutSeconds * 1000 + WATCH_GRACE_MS;
    return this.#get(parameters, 'PartialObjectMetadata', { ...caller, totalMs });
  }

  /** `v1 ConfigMap`, for messages. */
  describe(): string {
    return describeKind(this.expected);
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
}

function resourcePath<T, I extends string>(resource: Resource<T, I>, namespace: string): string {
  const { group, plural, namespaced } = resource;
  if (namespace !== '' && !namespaced) throw invalid('namespace', `none, as ${plural} are not namespaced`, namespace);
  const root = group === '' ? '/api' : '/apis';
  const scope = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${root}/${groupVersion(resource)}${scope}/${plural}`;
}
