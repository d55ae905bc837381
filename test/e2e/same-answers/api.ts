/**
 * A client that records every request and response, so that two servers can be compared. It decodes
 * only JSON and lines, and shares no code with what is under test but the transport.
 */
import type { Transport, TransportRequest } from 'capstan/cache';
import { within } from '../../helpers/control-plane/conditions.ts';
import type { ResourceType } from './resources.ts';

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };

/** One request and its response. A watch has events instead of a body. */
export interface Entry {
  request: string;
  status: number;
  contentType?: string | null;
  /** Set if an encoding was requested. */
  encoding?: string | null;
  body?: Json;
  /** The Warning header. */
  warning?: string;
  events?: Json[];
  /** The stream was read to its regular end. */
  ended?: true;
}

/** A JSON response with the members that exchanges use. */
export interface RecordedAnswer {
  status: number;
  body: KubeBody;
}

export interface KubeBody {
  metadata: {
    name: string;
    uid: string;
    resourceVersion: string;
    continue?: string;
    [name: string]: Json | undefined;
  };
  items?: KubeBody[];
  [name: string]: unknown;
}

export type Query = Record<string, string>;

export interface CallOptions {
  query?: Query;
  body?: unknown;
  contentType?: string;
  accept?: string;
  /** Accept-Encoding; the transcript then has the Content-Encoding. */
  encoding?: string;
  signal?: AbortSignal;
}

const PATCH_TYPES = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;
const ANSWER_MS = 15_000;

export class Api {
  readonly transcript: Entry[] = [];
  readonly namespace: string;
  readonly #transport: Transport;
  readonly #watches = new Set<RecordedWatch>();

  constructor(transport: Transport, namespace: string) {
    this.#transport = transport;
    this.namespace = namespace;
  }

  /** The resource in the namespace of the exchange. */
  of(type: ResourceType): Collection {
    return new Collection(this, type, `${type.prefix}/namespaces/${this.namespace}/${type.plural}`);
  }

  /** The resource in all namespaces: use a selector, as other exchanges have objects too. */
  everywhere(type: ResourceType): Collection {
    return new Collection(this, type, `${type.prefix}/${type.plural}`);
  }

  /** The same server without a transcript, to wait until it is ready for an exchange. */
  unrecorded(): Api {
    return new Api(this.#transport, this.namespace);
  }

  /** A `body` that is a string is sent unchanged. */
  async call(method: string, path: string, options: CallOptions = {}): Promise<RecordedAnswer> {
    const response = await this.#send(method, path, options);
    const text = await within(ANSWER_MS, `the body of ${method} ${path}`, readAll(response.body));
    const contentType = response.headers.get('content-type');
    const encoding = response.headers.get('content-encoding');
    const body = parse(text); // the transport has already decoded what Content-Encoding names
    const entry: Entry = {
      request: title(method, path, options.query),
      status: response.status,
      contentType,
      body,
    };
    if (options.encoding !== undefined) entry.encoding = encoding;
    const warning = response.headers.get('warning');
    if (warning !== null) entry.warning = warning;
    this.transcript.push(entry);
    return { status: response.status, body: body as unknown as KubeBody };
  }

  /** Resolves when the server has responded, so that later writes are in the stream. */
  async watch(path: string, query: Query, accept?: string): Promise<RecordedWatch> {
    const abort = new AbortController();
    const all = { ...query, watch: 'true' };
    const response = await this.#send('GET', path, { query: all, accept, signal: abort.signal });
    const entry: Entry = {
      request: title('GET', path, all),
      status: response.status,
      contentType: response.headers.get('content-type'),
    };
    this.transcript.push(entry);
    if (response.status !== 200) {
      entry.body = parse(
        await within(ANSWER_MS, `the body of GET ${path}`, readAll(response.body)),
      );
      return new RecordedWatch(entry, emptyBody(), abort);
    }
    const watch = new RecordedWatch(entry, response.body, abort);
    this.#watches.add(watch);
    return watch;
  }

  /** Closes the watches that the exchange left open. */
  close(): void {
    for (const watch of this.#watches) watch.close();
  }

  async #send(
    method: string,
    path: string,
    { query, body, contentType, accept = 'application/json', encoding, signal }: CallOptions,
  ) {
    const headers = {
      accept,
      'user-agent': 'same-answers/1',
      ...(encoding === undefined ? {} : { 'accept-encoding': encoding }),
    };
    const request: TransportRequest = { method, path, headers };
    if (query !== undefined) request.query = query;
    if (signal !== undefined) request.signal = signal;
    if (body !== undefined) {
      request.body = typeof body === 'string' ? body : JSON.stringify(body);
      request.headers = { ...headers, 'content-type': contentType ?? 'application/json' };
    }
    return within(ANSWER_MS, `${method} ${path}`, this.#transport.request(request));
  }
}

export class Collection {
  readonly path: string;
  readonly #api: Api;
  readonly #type: ResourceType;

  constructor(api: Api, type: ResourceType, path: string) {
    this.#api = api;
    this.#type = type;
    this.path = path;
  }

  /** An object of this type; `fields.metadata` is merged with the name. */
  object(name: string, fields: JsonObject = {}): JsonObject {
    const metadata = { name, ...(fields.metadata as JsonObject | undefined) };
    return { apiVersion: this.#type.apiVersion, kind: this.#type.kind, ...fields, metadata };
  }

  create(body: unknown, query?: Query): Promise<RecordedAnswer> {
    return this.#api.call('POST', this.path, { body, query });
  }

  get(name: string, query?: Query): Promise<RecordedAnswer> {
    return this.#api.call('GET', `${this.path}/${name}`, { query });
  }

  list(query?: Query): Promise<RecordedAnswer> {
    return this.#api.call('GET', this.path, { query });
  }

  put(name: string, body: unknown, query?: Query): Promise<RecordedAnswer> {
    return this.#api.call('PUT', `${this.path}/${name}`, { body, query });
  }

  patch(
    name: string,
    type: keyof typeof PATCH_TYPES,
    body: unknown,
    query?: Query,
  ): Promise<RecordedAnswer> {
    return this.#api.call('PATCH', `${this.path}/${name}`, {
      body,
      contentType: PATCH_TYPES[type],
      query,
    });
  }

  /** Applies fields to the object `name` as `manager`. */
  apply(name: string, manager: string, fields: JsonObject, query?: Query): Promise<RecordedAnswer> {
    const [object = ''] = name.split('/');
    return this.patch(name, 'apply', this.object(object, fields), {
      fieldManager: manager,
      ...query,
    });
  }

  delete(name: string, options?: unknown): Promise<RecordedAnswer> {
    return this.#api.call('DELETE', `${this.path}/${name}`, { body: options });
  }

  deleteAll(query?: Query): Promise<RecordedAnswer> {
    return this.#api.call('DELETE', this.path, { query });
  }

  watch(query: Query = {}): Promise<RecordedWatch> {
    return this.#api.watch(this.path, query);
  }
}

/** A running watch. Events read by `take`, `until` and `end` are recorded; others are not. */
export class RecordedWatch {
  readonly #entry: Entry;
  readonly #abort: AbortController;
  readonly #lines: AsyncIterator<string>;

  constructor(entry: Entry, body: AsyncIterable<Uint8Array>, abort: AbortController) {
    this.#entry = entry;
    this.#abort = abort;
    this.#lines = lines(body);
    entry.events = [];
  }

  /** The next `count` events. */
  async take(count: number): Promise<RecordedEvent[]> {
    const events: RecordedEvent[] = [];
    while (events.length < count) {
      const { done, value } = await this.#next();
      if (done)
        throw new Error(`${this.#entry.request}: ended after ${events.length} of ${count} events`);
      events.push(value as RecordedEvent);
    }
    return events;
  }

  /**
   * Reads up to the first event of the object `name`: if it was written last, no earlier event can
   * be missed.
   */
  async until(name: string): Promise<void> {
    while ((await this.take(1))[0]?.object.metadata?.name !== name);
  }

  /** Reads the rest of a stream that the server ends. */
  async end(): Promise<void> {
    while (!(await this.#next()).done);
    this.#entry.ended = true;
  }

  close(): void {
    this.#abort.abort();
  }

  async #next(): Promise<IteratorResult<RecordedEvent, undefined>> {
    const line = await within(
      ANSWER_MS,
      `the next event of ${this.#entry.request}`,
      this.#lines.next(),
    );
    if (line.done) return { done: true, value: undefined };
    const event = JSON.parse(line.value) as Json;
    this.#entry.events?.push(event);
    return { done: false, value: event as unknown as RecordedEvent };
  }
}

export interface RecordedEvent {
  type: string;
  object: { metadata?: { name?: string; resourceVersion?: string } };
}

function title(method: string, path: string, query: Query | undefined): string {
  const search = Object.entries(query ?? {}).map(([name, value]) => `${name}=${value}`);
  return search.length === 0 ? `${method} ${path}` : `${method} ${path}?${search.join('&')}`;
}

/** Not every response is JSON: /healthz says `ok`. */
function parse(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

async function readAll(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

async function* lines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = parts.pop() ?? '';
    yield* parts;
  }
  if (rest !== '') yield rest;
}

async function* emptyBody(): AsyncGenerator<Uint8Array> {}
