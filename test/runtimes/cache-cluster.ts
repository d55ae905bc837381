/** The suite's side: a server for each case, an informer on it over fetch, and accelerated time. */
import {
  DeletedFinalStateUnknown,
  defineResource,
  fetchTransport,
  type KubeObject,
  ListWatch,
  type Registration,
  type ResourceEventHandler,
  SharedIndexInformer,
  type Transport,
} from 'capstan/cache';
import type { Clock } from 'capstan/workqueue';
import { expect } from 'vitest';
import type { ServerCall, ServerOptions, StartedServer } from './cluster-protocol.ts';
import type { ClusterClaims } from './report.ts';

export interface CaseConfigMap extends KubeObject {
  metadata: { name: string; namespace?: string; resourceVersion?: string; uid?: string };
  data?: Record<string, string>;
}

export const CaseConfigMaps = defineResource<CaseConfigMap>()({
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
  indexers: { byColour: 'data.colour' },
});

/** The seconds of the informer in a second of the host. */
const SPEED = 20;

/** Back-off of seconds would make a suite of minutes. */
export const fastClock: Clock = {
  now: () => performance.now() * SPEED,
  setTimer: (run, ms) => setTimeout(run, Math.min(ms / SPEED, 2 ** 31 - 1)),
  clearTimer: (timer) => clearTimeout(timer as ReturnType<typeof setTimeout>),
};

/** In milliseconds of the host, for a case that takes tens of them, on a busy machine. */
const PATIENCE = 20_000;

/** Resolves when `done` returns true. It polls, because bytes change an informer at any time. */
export async function until(what: string, done: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + PATIENCE;
  while (!(await done())) {
    if (performance.now() > end) throw new Error(`still not so after ${PATIENCE} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const OBJECTS = '/api/v1/namespaces/default/configmaps';

export class CaseServer {
  readonly url: string;
  /** The informer's requests in order. A watch that asks for all objects first is a list. */
  readonly requests: ('list' | 'watch')[] = [];
  /** Watches that the server has accepted. */
  opened = 0;
  readonly #control: string;
  readonly #writer: Transport;

  private constructor(url: string, control: string) {
    this.url = url;
    this.#control = control;
    this.#writer = fetchTransport(url);
  }

  static async start(
    { url, through }: ClusterClaims,
    options: ServerOptions = {},
  ): Promise<CaseServer> {
    const answer = await fetch(`${url}/start`, { method: 'POST', body: JSON.stringify(options) });
    const { name, direct, proxied } = (await answer.json()) as StartedServer;
    return new CaseServer(through === 'proxy' ? proxied : direct, `${url}/${name}/call`);
  }

  async call(what: ServerCall): Promise<void> {
    const answer = await fetch(this.#control, { method: 'POST', body: JSON.stringify(what) });
    if (!answer.ok) throw new Error(`${what.do}: ${answer.status} ${await answer.text()}`);
  }

  /** Counts the requests of the informer. */
  transport(): Transport {
    const inner = fetchTransport(this.url);
    return {
      request: async (request) => {
        const { watch, sendInitialEvents } = request.query ?? {};
        this.requests.push(watch === 'true' && sendInitialEvents !== 'true' ? 'watch' : 'list');
        const answer = await inner.request(request);
        if (watch === 'true' && answer.status === 200) this.opened++;
        return answer;
      },
    };
  }

  /** The informer's requests of a verb. */
  count(verb: 'list' | 'watch'): number {
    return this.requests.filter((one) => one === verb).length;
  }

  create(name: string, data: Record<string, string> = {}): Promise<void> {
    return this.#write('POST', OBJECTS, { metadata: { name }, data });
  }

  update(name: string, data: Record<string, string>): Promise<void> {
    return this.#write('PUT', `${OBJECTS}/${name}`, { metadata: { name }, data });
  }

  delete(name: string): Promise<void> {
    return this.#write('DELETE', `${OBJECTS}/${name}`);
  }

  /** Name and resourceVersion of every object on the server. */
  async truth(): Promise<string[]> {
    const { items } = JSON.parse(await this.#ask('GET', OBJECTS)) as { items: CaseConfigMap[] };
    return items.map(nameAndVersion).sort();
  }

  async #write(method: string, path: string, object?: object): Promise<void> {
    const body = object && JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', ...object });
    await this.#ask(method, path, body);
  }

  async #ask(method: string, path: string, body?: string): Promise<string> {
    const headers = body === undefined ? undefined : { 'content-type': 'application/json' };
    const answer = await this.#writer.request({ method, path, body, headers });
    const decoder = new TextDecoder();
    let text = '';
    for await (const chunk of answer.body) text += decoder.decode(chunk, { stream: true });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text;
  }
}

const nameAndVersion = ({ metadata }: CaseConfigMap): string =>
  `${metadata.name} ${metadata.resourceVersion}`;

export interface WatchedOptions {
  readonly idleTimeout?: number;
  /** The initial objects come as a stream. */
  readonly watchList?: boolean;
}

/** A running informer, and the calls of its handler. */
export class WatchedInformer {
  readonly server: CaseServer;
  readonly informer: SharedIndexInformer<CaseConfigMap, 'byColour'>;
  /** `add a`, `update a`, `delete a`, `tombstone a`. */
  readonly told: string[] = [];
  /** The reasons of its relists; lost connections that it resumed are left out. */
  readonly errors: unknown[] = [];
  readonly #handler: Registration;
  readonly #running: Promise<void>;

  constructor(server: CaseServer, { watchList = false, ...options }: WatchedOptions = {}) {
    this.server = server;
    const listWatch = new ListWatch(server.transport(), CaseConfigMaps, {
      namespace: 'default',
      ...options,
    });
    this.informer = new SharedIndexInformer(listWatch, {
      clock: fastClock,
      watchList,
      watchErrorHandler: (error, { next }) => {
        if (next !== 'rewatch' && next !== 'repeat') this.errors.push(error);
      },
    });
    const handler: ResourceEventHandler<CaseConfigMap> = {
      onAdd: ({ metadata }, initial) =>
        void this.told.push(`${initial ? 'initial' : 'add'} ${metadata.name}`),
      onUpdate: (old, now) => {
        if (old.metadata.resourceVersion !== now.metadata.resourceVersion)
          this.told.push(`update ${now.metadata.name}`);
      },
      onDelete: (object) =>
        void this.told.push(
          object instanceof DeletedFinalStateUnknown
            ? `tombstone ${object.key.split('/')[1]}`
            : `delete ${object.metadata.name}`,
        ),
    };
    this.#handler = this.informer.addEventHandler(handler);
    this.#running = this.informer.run();
  }

  /**
   * Synced, and the watch is open, so that later writes and faults meet it. The handler has had the
   * whole list, which on a busy machine takes more turns of the loop than filling the cache.
   */
  async synced(): Promise<this> {
    await until('the handler is synced', () => this.#handler.hasSynced() && this.server.opened > 0);
    return this;
  }

  held(): string[] {
    return this.informer.getIndexer().list().map(nameAndVersion).sort();
  }

  /** Resolves when the cache equals the server's objects; nothing is written meanwhile. */
  async equal(): Promise<void> {
    const truth = await this.server.truth();
    await until(
      'the cache equals the server',
      () => JSON.stringify(this.held()) === JSON.stringify(truth),
    ).catch(() => undefined);
    expect(this.held()).toEqual(truth);
  }

  /** Resolves after that many watch requests. */
  async watches(n: number): Promise<void> {
    await until(`${n} watches`, () => this.server.count('watch') >= n);
  }

  /**
   * Cuts the running watch, when it has lived for more than a second of the informer's: one that
   * ends sooner causes a list.
   */
  async drop(
    how: () => Promise<void> = () => this.server.call({ do: 'dropConnections' }),
  ): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 1500 / SPEED));
    await how();
  }

  async stop(): Promise<void> {
    await this.informer.stop();
    await this.#running;
    await this.server.call({ do: 'stop' });
  }
}
