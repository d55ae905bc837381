/**
 * The harness of fault tests: an informer on the embedded server over real sockets, a writer that
 * keeps writing, and a recorder of all notifications. Server and informer share one fake clock,
 * which moves only while the test waits for something; nothing waits for real time.
 *
 * `finish` makes the final checks of all faults: the cache equals the server's list; the
 * notifications of each key are in the order of the writes, and none was skipped unless there was a
 * relist; every deletion was notified once; the informer is still running.
 */
import {
  defineResource,
  type FailureClass,
  fetchTransport,
  ListWatch,
  type ListWatchOptions,
  metaNamespaceKeyFunc,
  SharedIndexInformer,
  type Transport,
  type TransportRequest,
  type TransportResponse,
  type WatchFailure,
} from 'capstan/cache';
import { ApiServer, type ApiServerOptions, FakeClock, type Fault } from 'capstan/testing';
import { expect, onTestFinished } from 'vitest';
import { Random } from '../../helpers/random.ts';
import { GONE, Recorder, type RoundWidget, stateOf } from './recorder.ts';

export const RoundWidgets = defineResource<RoundWidget>()({
  group: 'example.com',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  namespaced: true,
  indexers: { byRound: 'spec.round' },
});

export const PATH = '/apis/example.com/v1/namespaces/default/widgets';
const NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
/** An object that random writes do not touch, for a deletion in a gap of the watch. */
export const UNSEEN = 'unseen';

export interface RigOptions {
  /** Use a watch list instead of a list. */
  watchList: boolean;
  seed: number;
  server?: ApiServerOptions;
  listWatch?: ListWatchOptions;
  /** Use fetchTransport. */
  overFetch?: boolean;
  /** The informer keeps decoded objects, behind this queue. */
  decodedBehind?: 'real' | 'delta';
}

/** Expectations of a fault, beside the common ones. */
export interface Expected {
  /** The number of lists and watch lists. */
  asked?: number;
  /** The object UNSEEN was deleted in a gap: there is one tombstone. Otherwise none. */
  missed?: boolean;
  /** The class of the reported failures, beside `network`; `none`: there is no failure. */
  told?: FailureClass | 'none';
  /** The server left resourceVersions out: they are not compared. */
  unversioned?: boolean;
}

/** The most time and steps of a wait; beyond them the informer has not recovered. */
const PATIENCE_MS = 20 * 60_000;
const LOOKS = 4000;

export class Rig {
  readonly clock = new FakeClock();
  readonly server: ApiServer;
  readonly informer: SharedIndexInformer<RoundWidget, 'byRound'>;
  readonly recorder = new Recorder();
  /** Every request of the informer. */
  readonly requests: TransportRequest[] = [];
  /** The failures that the watchErrorHandler got. */
  readonly failures: (WatchFailure & { error: unknown })[] = [];
  readonly watchList: boolean;
  /** The selected objects of the server, from the answers to the writes. */
  readonly written = new Map<string, RoundWidget>();
  readonly #log = new Map<string, string[]>();
  /** All objects of the server, also those that are not selected. */
  readonly #existing = new Set<string>();
  readonly #labelSelector: string | undefined;
  readonly #random: Random;
  readonly #writer: Transport;
  readonly #reader: Transport;
  /** Events may be repeated: then only the last state of each object is checked. */
  repeats = false;
  #round = 0;
  /** While it is set the informer gets no bytes. */
  #held: Promise<void> | undefined;
  #release = (): void => undefined;
  #running: Promise<void> | undefined;
  #ended = false;

  private constructor(server: ApiServer, clock: FakeClock, options: RigOptions) {
    this.clock = clock;
    this.server = server;
    this.watchList = options.watchList;
    this.#random = new Random(options.seed);
    this.#labelSelector = options.listWatch?.labelSelector;
    const as = (who: string) => ({ headers: { authorization: `Bearer ${who}` } });
    this.#writer = server.transport(as('writer'));
    this.#reader = options.overFetch
      ? fetchTransport(server.url, as('reader'))
      : server.transport(as('reader'));
    const transport: Transport = {
      request: (request) => {
        this.requests.push(request);
        return this.#reader
          .request(request)
          .then((response) => ({ ...response, body: this.#gated(response.body) }));
      },
    };
    this.informer = new SharedIndexInformer(
      new ListWatch(transport, RoundWidgets, options.listWatch),
      {
        clock,
        random: () => 0.5,
        watchList: options.watchList,
        ...(options.decodedBehind === undefined
          ? {}
          : { fifo: options.decodedBehind, transform: (object: RoundWidget) => object }),
        watchErrorHandler: (error, failure) => void this.failures.push({ ...failure, error }),
      },
    );
    this.informer.addEventHandler(this.recorder.handler);
  }

  /** Makes a server with some objects, and an informer that does not run yet. */
  static async make(options: RigOptions): Promise<Rig> {
    const clock = new FakeClock();
    const server = await ApiServer.start({ clock, ...options.server });
    const rig = new Rig(server, clock, options);
    onTestFinished(() => rig.#close());
    for (const name of [...NAMES.slice(0, 5), UNSEEN]) await rig.create(name);
    return rig;
  }

  /** The same, with the informer synced and its watch open. */
  static async start(options: RigOptions): Promise<Rig> {
    const rig = await Rig.make(options);
    await rig.run();
    return rig;
  }

  async run(): Promise<void> {
    this.#running = this.informer.run().finally(() => {
      this.#ended = true;
    });
    await this.until('the informer has synced', () => this.informer.hasSynced() && this.#equal());
  }

  inject(fault: Fault): () => void {
    return this.server.inject({ path: '/widgets', ...fault });
  }

  create(name: string, labels: Record<string, string> = SELECTED, text?: string): Promise<void> {
    const type = { apiVersion: 'example.com/v1', kind: 'Widget' };
    return this.#write('POST', PATH, {
      ...type,
      metadata: { name, labels },
      spec: this.#spec(text),
    });
  }

  update(name: string, labels: Record<string, string> = {}, text?: string): Promise<void> {
    return this.#write('PATCH', `${PATH}/${name}`, {
      metadata: { labels },
      spec: this.#spec(text),
    });
  }

  async delete(name: string): Promise<void> {
    await this.#request('DELETE', `${PATH}/${name}`);
    this.#existing.delete(name);
    if (this.written.delete(name)) this.#note(name, GONE);
  }

  /** Writes of all kinds, one after the other. */
  async churn(writes: number): Promise<void> {
    for (let left = writes; left > 0; left--) {
      const name = this.#random.pick(NAMES);
      const labels =
        this.#labelSelector === undefined || this.#random.chance(0.6) ? SELECTED : LEFT_OUT;
      if (!this.#existing.has(name)) await this.create(name, labels);
      else if (this.#random.chance(0.3)) await this.delete(name);
      else await this.update(name, labels);
    }
  }

  /** Moves the clock until the condition holds, optionally with writes meanwhile. */
  async until(
    what: string,
    holds: () => boolean,
    options: { writing?: boolean } = {},
  ): Promise<void> {
    const end = this.clock.now() + PATIENCE_MS;
    for (let look = 0; !holds(); look++) {
      if (look >= LOOKS || this.clock.now() >= end)
        throw new Error(`${what}: never\n${this.#story()}`);
      await this.clock.settle();
      if (holds()) return;
      if (options.writing) await this.churn(1);
      // Small steps first, because most things happen at once; then longer ones, for back-off.
      this.clock.step(look < 20 ? 10 : look < 40 ? 100 : 1000);
    }
  }

  /** Moves the clock in steps that do not time out a live connection. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 1000) {
      this.clock.step(Math.min(left, 1000));
      await this.clock.settle();
    }
  }

  /** Waits until the cache has all writes. */
  caughtUp(): Promise<void> {
    return this.until('the cache equals the server', () => this.#equal());
  }

  /** The number of lists and watch lists, including the first; pages of one list count once. */
  asked(): number {
    return this.requests.filter(({ query = {} }) => {
      if (isWatch(query)) return query.sendInitialEvents === 'true';
      // a request that only checks the version
      return query.continue === undefined && query.resourceVersionMatch === undefined;
    }).length;
  }

  watches(): number {
    return this.requests.filter(({ query }) => isWatch(query)).length;
  }

  /** The objects of the server, by a list. */
  async truth(): Promise<Map<string, unknown>> {
    const search =
      this.#labelSelector === undefined
        ? ''
        : `?labelSelector=${encodeURIComponent(this.#labelSelector)}`;
    const list = (await this.#request('GET', `${PATH}${search}`)) as unknown as {
      items: RoundWidget[];
    };
    return new Map(list.items.map((item) => [metaNamespaceKeyFunc(item), item]));
  }

  /** The informer gets no bytes until `release`. */
  hold(): void {
    this.#held = new Promise((resolve) => {
      this.#release = resolve;
    });
  }

  release(): void {
    this.#release();
    this.#held = undefined;
  }

  /** Deletes the resource with its objects; returns a function that restores it, empty. */
  removeResource(): () => void {
    const { group, version, plural } = RoundWidgets;
    const bringBack = this.server.removeResource({ group, version, plural });
    for (const name of this.written.keys()) this.#note(name, GONE);
    this.written.clear();
    this.#existing.clear();
    return bringBack;
  }

  /** Writes to another resource; returns the version. */
  async writeElsewhere(name: string): Promise<string> {
    const { metadata } = await this.#request('POST', '/api/v1/namespaces/default/configmaps', {
      metadata: { name },
    });
    return (metadata as RoundWidget['metadata']).resourceVersion;
  }

  /**
   * Breaks all connections of informer and writer; the next request is sent at once. Not within the
   * first second of a watch, which would then be a very short watch and have a back-off.
   */
  async cut(): Promise<void> {
    await this.pass(1500);
    this.server.dropConnections();
    await this.clock.settle();
  }

  async finish(expected: Expected = {}): Promise<void> {
    await this.churn(10);
    // Not after an object that was created and deleted last: the cache would equal the server
    // before a slow stream has brought both events.
    await this.create('the-end');
    await this.caughtUp();
    expect(this.#ended, 'the informer has ended').toBe(false);
    expect(this.server.unmetFaults(), 'faults that never hit').toEqual([]);
    expect(plain(this.#cached(), expected)).toEqual(plain(await this.truth(), expected));
    this.recorder.judge(this.#log, this.repeats ? 'last' : this.asked() === 1 ? 'all' : 'some');
    if (expected.asked !== undefined)
      expect(this.asked(), `how often everything was asked for\n${this.#story()}`).toBe(
        expected.asked,
      );
    if (expected.told !== undefined) {
      const told = new Set(this.failures.map((failure) => failure.class));
      // Most faults begin with a cut, which is a failure of class network.
      if (expected.told !== 'network' && expected.told !== 'none') told.delete('network');
      expect([...told], this.#story()).toEqual(expected.told === 'none' ? [] : [expected.told]);
    }
    const unseen = this.recorder.tombstones.filter((name) => name === UNSEEN);
    expect(unseen.length, 'tombstones of what was deleted unseen').toBe(expected.missed ? 1 : 0);
    await this.informer.stop();
    await this.#running;
  }

  #cached(): Map<string, unknown> {
    const objects = this.informer.getIndexer().list();
    return new Map(objects.map((object) => [metaNamespaceKeyFunc(object), object]));
  }

  #spec(text = 'é "quoted" \\ {braces} 名前😀'): RoundWidget['spec'] {
    return { round: ++this.#round, text };
  }

  async *#gated(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      await this.#held;
      yield chunk;
    }
  }

  async #write(method: string, path: string, body: object): Promise<void> {
    const object = (await this.#request(method, path, body)) as unknown as RoundWidget;
    const { name, labels } = object.metadata;
    this.#existing.add(name);
    if (this.#labelSelector === undefined || labels?.on === SELECTED.on) {
      this.written.set(name, object);
      this.#note(name, stateOf(object));
    } else if (this.written.delete(name)) {
      this.#note(name, GONE);
    }
  }

  #note(name: string, state: string): void {
    const states = this.#log.get(name) ?? [];
    this.#log.set(name, states);
    states.push(state);
  }

  async #request(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const response = await this.#writer.request({
      method,
      path,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': type } }),
    });
    const text = await textOf(response);
    if (response.status > 201) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text) as Record<string, unknown>;
  }

  #equal(): boolean {
    const indexer = this.informer.getIndexer();
    if (indexer.listKeys().length !== this.written.size) return false;
    for (const [name, object] of this.written) {
      const cached = indexer.getByKey(`default/${name}`);
      if (cached === undefined || stateOf(cached) !== stateOf(object)) return false;
    }
    return true;
  }

  #story(): string {
    const told = this.requests.map(
      ({ query }) => `${isWatch(query) ? 'watch' : 'list'} ${JSON.stringify(query)}`,
    );
    return [
      ...told.slice(-20),
      ...this.failures
        .slice(-10)
        .map((failure) => `${failure.class}, ${failure.next}: ${failure.error}`),
      `at ${this.clock.now()} ms`,
    ].join('\n');
  }

  async #close(): Promise<void> {
    await this.informer.stop();
    await this.#reader.close?.();
    await this.#writer.close?.();
    await this.server.stop();
  }
}

const isWatch = (query: Record<string, string> | undefined): boolean => query?.watch === 'true';

/** For tests with the selector `on=yes`. */
const SELECTED = { on: 'yes' };
const LEFT_OUT = { on: 'no' };

/** The objects as JSON, sorted by key, without managedFields. */
function plain(objects: Map<string, unknown>, { unversioned = false }: Expected): unknown {
  const text = JSON.stringify(
    [...objects].sort(([a], [b]) => (a < b ? -1 : 1)),
    (member, value: unknown) =>
      member === 'managedFields' || (unversioned && member === 'resourceVersion')
        ? undefined
        : value,
  );
  return JSON.parse(text);
}

async function textOf({ body }: TransportResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
