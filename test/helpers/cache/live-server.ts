/**
 * A small API server inside the process: lists and watches of one resource, and a hook that
 * replaces responses. The objects are ConfigMaps; their resourceVersions count up.
 */
import { type Transport, TransportError, type TransportRequest } from 'capstan/cache';
import type { ConfigMap } from '../resources.ts';

export interface FakeResponse {
  status: number;
  headers: { get(name: string): string | null };
  body: AsyncIterable<Uint8Array>;
}

/** Bytes that a test sends when it likes. */
export class Stream {
  readonly #chunks: Uint8Array[] = [];
  #wake: () => void = () => undefined;
  #end: Error | 'close' | undefined;

  send(text: string): void {
    this.#chunks.push(new TextEncoder().encode(text));
    this.#wake();
  }

  close(error?: Error): void {
    this.#end = error ?? 'close';
    this.#wake();
  }

  async *body(signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
    signal?.addEventListener('abort', () =>
      this.close(new TransportError('aborted', 'the request was aborted')),
    );
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) yield chunk;
      else if (this.#end === 'close') return;
      else if (this.#end !== undefined) throw this.#end;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }
}

export function answer(
  status: number,
  body: string,
  headers: Record<string, string> = {},
): FakeResponse {
  const stream = new Stream();
  stream.send(body);
  stream.close();
  return { status, headers: new Headers(headers), body: stream.body(undefined) };
}

export function statusBody(code: number, reason: string, message = reason): string {
  return JSON.stringify({
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    code,
    reason,
    message,
  });
}

export class LiveServer implements Transport {
  readonly requests: TransportRequest[] = [];
  readonly watches = new Set<Stream>();
  /** Answers in the server's place; `undefined` lets the server answer. */
  intercept:
    | ((request: TransportRequest, n: number) => Promise<FakeResponse> | FakeResponse | undefined)
    | undefined;
  readonly #objects = new Map<string, ConfigMap>();
  #version = 0;

  put(
    name: string,
    more: Partial<ConfigMap> & { labels?: Record<string, string> } = {},
  ): ConfigMap {
    const { labels, ...rest } = more;
    const type = this.#objects.has(name) ? 'MODIFIED' : 'ADDED';
    const metadata = {
      namespace: 'default',
      name,
      resourceVersion: String(++this.#version),
      ...(labels && { labels }),
    };
    const object: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', ...rest, metadata };
    this.#objects.set(name, object);
    this.#broadcast(type, object);
    return object;
  }

  remove(name: string): void {
    const object = this.#objects.get(name);
    if (object === undefined) throw new Error(`no object ${name}`);
    this.#objects.delete(name);
    const metadata = { ...object.metadata, resourceVersion: String(++this.#version) };
    this.#broadcast('DELETED', { ...object, metadata });
  }

  names(): string[] {
    return [...this.#objects.keys()];
  }

  /** To every open watch, as it is. */
  send(text: string): void {
    for (const watch of this.watches) watch.send(text);
  }

  closeWatches(error?: Error): void {
    for (const watch of this.watches) watch.close(error);
    this.watches.clear();
  }

  async request(request: TransportRequest): Promise<FakeResponse> {
    this.requests.push(request);
    const intercepted = await this.intercept?.(request, this.requests.length);
    if (intercepted !== undefined) return intercepted;
    if (request.query?.watch !== 'true') return answer(200, this.listBody(request));
    const stream = new Stream();
    this.watches.add(stream);
    if (request.query.sendInitialEvents === 'true') {
      for (const object of this.#objects.values())
        stream.send(`${JSON.stringify({ type: 'ADDED', object })}\n`);
      stream.send(this.initialEventsEnd());
    }
    return { status: 200, headers: new Headers(), body: stream.body(request.signal) };
  }

  /** Of what the path names; only ConfigMaps say that their list is one. */
  listBody({ path, headers }: Partial<TransportRequest> = {}): string {
    const metadataOnly = headers?.accept?.includes('as=PartialObjectMetadataList');
    const [, apiVersion = 'v1', plural = 'configmaps'] =
      /^\/apis?\/((?:[^/]+\/)?v[^/]*)\/(?:namespaces\/[^/]+\/)?([^/]+)$/.exec(path ?? '') ?? [];
    const head = metadataOnly
      ? { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata' }
      : { apiVersion, kind: 'ConfigMap' };
    const items = [...this.#objects.values()].map((object) => ({ ...object, ...head }));
    const said = metadataOnly || plural === 'configmaps';
    return JSON.stringify({
      ...(said ? { kind: `${head.kind}List`, apiVersion: head.apiVersion } : {}),
      metadata: { resourceVersion: String(this.#version) },
      items,
    });
  }

  /** The frame that ends the initial events of a streamed list. */
  initialEventsEnd(value = 'true'): string {
    const metadata = {
      resourceVersion: String(this.#version),
      annotations: { 'k8s.io/initial-events-end': value },
    };
    const object = { kind: 'ConfigMap', apiVersion: 'v1', metadata };
    return `${JSON.stringify({ type: 'BOOKMARK', object })}\n`;
  }

  #broadcast(type: string, object: ConfigMap): void {
    this.send(`${JSON.stringify({ type, object })}\n`);
  }
}
