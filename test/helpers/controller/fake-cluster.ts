/**
 * A small API server without a network: lists, and watches that last until the test ends them. In
 * virtual time only promises are pending, so everything has arrived when the clock has settled.
 */
import {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from 'capstan/cache';

export interface TestObject {
  apiVersion?: string;
  kind?: string;
  metadata: {
    name: string;
    namespace?: string;
    resourceVersion?: string;
    ownerReferences?: {
      apiVersion?: string;
      kind?: string;
      name?: string;
      uid?: string;
      controller?: boolean;
    }[];
  };
  spec?: Record<string, unknown>;
}

interface Watch {
  plural: string;
  namespace: string | undefined;
  metadataOnly: boolean;
  send(event: object): void;
}

export class FakeCluster implements Transport {
  readonly requests: TransportRequest[] = [];
  /** Plural → lists of it, streamed ones too, wait until the promise has settled. */
  readonly holdLists = new Map<string, Promise<void>>();
  readonly #objects = new Map<string, Map<string, TestObject>>();
  readonly #watches = new Set<Watch>();
  #version = 100;

  put(plural: string, object: TestObject): void {
    const all = this.#of(plural);
    const key = `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
    const type = all.has(key) ? 'MODIFIED' : 'ADDED';
    const stored = {
      ...object,
      metadata: { ...object.metadata, resourceVersion: String(++this.#version) },
    };
    all.set(key, stored);
    this.#send(plural, type, stored);
  }

  /** An update without any change, not even of its version, as after a relist. */
  touch(plural: string, name: string, namespace = 'default'): void {
    this.#send(plural, 'MODIFIED', this.#of(plural).get(`${namespace}/${name}`) as TestObject);
  }

  remove(plural: string, name: string, namespace = 'default'): void {
    const object = this.#of(plural).get(`${namespace}/${name}`) ?? this.#of(plural).get(`/${name}`);
    if (object === undefined) throw new Error(`no ${plural} ${namespace}/${name}`);
    this.#of(plural).delete(`${object.metadata.namespace ?? ''}/${name}`);
    this.#send(plural, 'DELETED', {
      ...object,
      metadata: { ...object.metadata, resourceVersion: String(++this.#version) },
    });
  }

  watches(): number {
    return this.#watches.size;
  }

  async request(request: TransportRequest): Promise<TransportResponse> {
    this.requests.push(request);
    const { path, query, signal, headers } = request;
    const metadataOnly = headers?.accept?.includes('PartialObjectMetadata') === true;
    const shown = (object: TestObject): object => (metadataOnly ? objectMetadata(object) : object);
    const [, namespace, plural = ''] =
      /^\/apis?\/.*?v1(?:\/namespaces\/([^/]+))?\/([^/]+)$/.exec(path) ?? [];
    const streams = query?.sendInitialEvents === 'true';
    if (query?.watch === 'true' && !streams)
      return this.#watch({ plural, namespace, metadataOnly }, signal, []);
    await this.holdLists.get(plural);
    const items = [...this.#of(plural).values()].filter(
      (one) => !namespace || one.metadata.namespace === namespace,
    );
    if (streams) {
      const annotations = { 'k8s.io/initial-events-end': 'true' };
      const end = {
        type: 'BOOKMARK',
        object: { metadata: { resourceVersion: String(this.#version), annotations } },
      };
      const added = items.map((object) => ({ type: 'ADDED', object: shown(object) }));
      return this.#watch({ plural, namespace, metadataOnly }, signal, [...added, end]);
    }
    const list = {
      ...(metadataOnly
        ? { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadataList' }
        : { kind: 'List' }),
      metadata: { resourceVersion: String(this.#version) },
      items: items.map(shown),
    };
    return answer(
      (async function* () {
        yield encode(list);
      })(),
    );
  }

  #watch(
    about: Omit<Watch, 'send'>,
    signal: AbortSignal | undefined,
    first: object[],
  ): TransportResponse {
    if (signal?.aborted)
      throw new TransportError('aborted', 'the watch was aborted before it began');
    const waiting = first.length === 0 ? [] : [encode(...first)];
    let wake = (): void => undefined;
    const watch: Watch = {
      ...about,
      send(event) {
        waiting.push(encode(event));
        wake();
      },
    };
    const watches = this.#watches;
    watches.add(watch);
    signal?.addEventListener('abort', () => {
      this.#watches.delete(watch); // also if nothing has read it yet
      wake();
    });
    return answer(
      (async function* () {
        try {
          for (;;) {
            if (signal?.aborted) throw new TransportError('aborted', 'the watch was aborted');
            const next = waiting.shift();
            if (next !== undefined) {
              yield next;
              continue;
            }
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          }
        } finally {
          watches.delete(watch);
        }
      })(),
    );
  }

  #send(plural: string, type: string, object: TestObject): void {
    for (const watch of this.#watches) {
      if (watch.plural !== plural) continue;
      const shown = watch.metadataOnly ? objectMetadata(object) : object;
      if (watch.namespace === undefined || watch.namespace === object.metadata.namespace)
        watch.send({ type, object: shown });
    }
  }

  #of(plural: string): Map<string, TestObject> {
    let all = this.#objects.get(plural);
    if (all === undefined) {
      all = new Map();
      this.#objects.set(plural, all);
    }
    return all;
  }
}

function objectMetadata({ metadata }: TestObject): object {
  return { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata };
}

function answer(body: AsyncIterable<Uint8Array>): TransportResponse {
  return { status: 200, headers: { get: () => null }, body };
}

const encode = (...values: object[]): Uint8Array =>
  new TextEncoder().encode(values.map((value) => `${JSON.stringify(value)}\n`).join(''));
