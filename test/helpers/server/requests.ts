/**
 * How the tests of the embedded server talk to it: requests whose answers are parsed, and watches
 * read event by event.
 */
import type { Transport } from 'capstan/cache';
import { ApiServer, type ApiServerOptions } from 'capstan/testing';
import { expect, onTestFinished } from 'vitest';

/** The parts of answers that tests read. */
export interface ApiObject {
  kind: string;
  apiVersion: string;
  metadata: {
    name: string;
    namespace: string;
    generateName?: string;
    uid: string;
    resourceVersion: string;
    generation?: number;
    creationTimestamp: string;
    deletionTimestamp?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    finalizers?: string[];
    continue?: string;
    remainingItemCount?: number;
  };
  items: ApiObject[];
  spec: Record<string, unknown>;
  status: unknown;
  data: Record<string, string>;
  message: string;
  reason: string;
  code: number;
  details: {
    name?: string;
    kind?: string;
    group?: string;
    causes?: { field: string; reason: string }[];
  };
  [member: string]: unknown;
}

export interface ApiResponse {
  status: number;
  body: ApiObject;
  header(name: string): string | null;
}

export interface ApiWatchEvent {
  type: string;
  object: ApiObject;
}

export interface Send {
  query?: Record<string, string>;
  /** A string and bytes are sent as they are. */
  body?: unknown;
  type?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export const APPLY_PATCH = 'application/apply-patch+yaml';
export const JSON_PATCH = 'application/json-patch+json';
export const MERGE_PATCH = 'application/merge-patch+json';
export const STRATEGIC = 'application/strategic-merge-patch+json';
export const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
/** The least that a Pod must have. */
export const POD_SPEC = { containers: [{ name: 'c', image: 'i' }] };
/** The least that a Deployment and its like must have. */
export const WORKLOAD = {
  selector: { matchLabels: { app: 'x' } },
  template: { metadata: { labels: { app: 'x' } }, spec: POD_SPEC },
};
export const WIDGETS = '/apis/example.com/v1/namespaces/default/widgets';

/** A server and a client that end with the test. */
export async function startApi(
  options?: ApiServerOptions,
): Promise<{ server: ApiServer; api: ApiRequests }> {
  const server = await ApiServer.start(options);
  const api = new ApiRequests(server.transport());
  onTestFinished(async () => {
    await api.close();
    await server.stop();
  });
  return { server, api };
}

/**
 * As `expect.poll`: controllers of a real server do a moment later what the embedded one does at
 * once.
 */
export const soon = <V>(read: () => V) => expect.poll(read, { timeout: 20_000 });

export class ApiRequests {
  readonly #transport: Transport;
  readonly #watches = new Set<ApiWatch>();

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async send(method: string, path: string, options: Send = {}): Promise<ApiResponse> {
    const response = await this.#transport.request({ method, path, ...requestOf(options) });
    const text = await textOf(response.body);
    const json = text.startsWith('{')
      ? (JSON.parse(text) as ApiObject)
      : (text as unknown as ApiObject);
    return { status: response.status, body: json, header: (name) => response.headers.get(name) };
  }

  get(path: string, query: Record<string, string> = {}): Promise<ApiResponse> {
    return this.send('GET', path, { query });
  }

  /** Creates, and expects to. */
  async make(path: string, object: object): Promise<ApiObject> {
    const { status, body } = await this.send('POST', path, { body: object });
    if (status !== 201) throw new Error(`expected 201, got ${status}: ${JSON.stringify(body)}`);
    return body;
  }

  put(path: string, body: unknown): Promise<ApiResponse> {
    return this.send('PUT', path, { body });
  }

  patch(path: string, body: unknown, type = MERGE_PATCH): Promise<ApiResponse> {
    return this.send('PATCH', path, { body, type });
  }

  delete(path: string, body?: unknown): Promise<ApiResponse> {
    return this.send('DELETE', path, body === undefined ? {} : { body });
  }

  /** The version of the collection. */
  async version(path: string): Promise<string> {
    return (await this.get(path)).body.metadata.resourceVersion;
  }

  async watch(
    path: string,
    query: Record<string, string> = {},
    headers: Record<string, string> = {},
  ): Promise<ApiWatch> {
    const abort = new AbortController();
    const response = await this.#transport.request({
      method: 'GET',
      path,
      query: { watch: 'true', ...query },
      headers,
      signal: abort.signal,
    });
    const watch = new ApiWatch(response.status, response.body, abort);
    this.#watches.add(watch);
    return watch;
  }

  async close(): Promise<void> {
    for (const watch of this.#watches) watch.close();
    await this.#transport.close?.();
  }
}

function requestOf({ query, body, type, headers, signal }: Send) {
  return {
    ...(query === undefined ? {} : { query }),
    ...(signal === undefined ? {} : { signal }),
    ...(body === undefined
      ? {}
      : {
          body:
            typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
        }),
    headers: {
      ...(body === undefined ? {} : { 'content-type': type ?? 'application/json' }),
      ...headers,
    },
  };
}

export async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body) text += decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}

/** A running watch. */
export class ApiWatch {
  readonly status: number;
  readonly #events: AsyncGenerator<ApiWatchEvent>;
  readonly #abort: AbortController;

  constructor(status: number, body: AsyncIterable<Uint8Array>, abort: AbortController) {
    this.status = status;
    this.#events = eventsOf(body);
    this.#abort = abort;
  }

  /** The next event; undefined when the stream has ended cleanly. */
  async next(): Promise<ApiWatchEvent | undefined> {
    const { value, done } = await this.#events.next();
    return done ? undefined : value;
  }

  async take(count: number): Promise<ApiWatchEvent[]> {
    const events: ApiWatchEvent[] = [];
    for (let at = 0; at < count; at++) {
      const event = await this.next();
      if (event === undefined) throw new Error(`the watch ended after ${at} of ${count} events`);
      events.push(event);
    }
    return events;
  }

  /** All events until the stream ends, and how it did. */
  async rest(): Promise<{ events: ApiWatchEvent[]; error: unknown }> {
    const events: ApiWatchEvent[] = [];
    try {
      for await (const event of this.#events) events.push(event);
      return { events, error: undefined };
    } catch (error) {
      return { events, error };
    }
  }

  close(): void {
    this.#abort.abort();
  }
}

async function* eventsOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<ApiWatchEvent> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    const lines = text.split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) yield JSON.parse(line) as ApiWatchEvent;
  }
}

/** An event in short. */
export const brief = (event: ApiWatchEvent): string =>
  `${event.type} ${event.object.metadata.name}`;

export const configMapBody = (name: string, more: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  ...more,
});

export const widgetBody = (name: string, more: object = {}): object => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { name },
  ...more,
});
