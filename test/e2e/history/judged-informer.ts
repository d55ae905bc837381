/** An informer whose history is recorded from its first request to its end, and judged. */
import {
  type KubeObject,
  ListWatch,
  SharedIndexInformer,
  type Transport,
  waitForCacheSync,
} from 'capstan/cache';
import { expect } from 'vitest';
import { eventually, within } from '../../helpers/control-plane/conditions.ts';
import { objectState, type ServerLogEntry, truthOf } from '../../helpers/history/content.ts';
import { type History, listsOf } from '../../helpers/history/history.ts';
import { judgeHistory, report } from '../../helpers/history/judge.ts';
import { RecordingHandler, RecordingTransport } from '../../helpers/history/recorder.ts';
import { resourceOf } from '../informer/checked-informer.ts';
import type { ResourceType } from '../same-answers/resources.ts';

const SYNC_MS = 30_000;
const CATCH_UP_MS = 40_000;
const STOP_MS = 10_000;

export class JudgedInformer {
  readonly name: string;
  readonly type: ResourceType;
  readonly watchList: boolean;
  /** The errors that its error handler received. */
  readonly errors: unknown[] = [];
  readonly #transport: RecordingTransport;
  readonly #informer: SharedIndexInformer<KubeObject, 'shard'>;
  readonly #handlers: RecordingHandler[] = [];
  readonly #abort = new AbortController();
  #running: Promise<void> | undefined;

  constructor(
    transport: Transport,
    type: ResourceType,
    namespace: string,
    options: { watchList: boolean },
  ) {
    this.type = type;
    this.watchList = options.watchList;
    this.name = `${type.plural}, ${options.watchList ? 'streamed list' : 'list and watch'}`;
    this.#transport = new RecordingTransport(transport);
    const listWatch = new ListWatch<KubeObject, 'shard'>(this.#transport, resourceOf(type), {
      namespace,
    });
    this.#informer = new SharedIndexInformer(listWatch, {
      ...options,
      random: () => 0, // no jitter: the back-off that doubles is slow enough
      watchErrorHandler: (error) => this.errors.push(error),
    });
    this.addHandler('early');
  }

  /** Adds a handler, at any time. */
  addHandler(name: string): void {
    const handler = new RecordingHandler(name, { late: this.#running !== undefined });
    this.#handlers.push(handler);
    this.#informer.addEventHandler(handler);
  }

  async start(): Promise<void> {
    this.#running = this.#informer.run({ signal: this.#abort.signal });
    const signal = AbortSignal.timeout(SYNC_MS);
    expect(await waitForCacheSync({ signal }, this.#informer), `${this.name} synced`).toBe(true);
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await within(STOP_MS, `the informer of ${this.name} stops`, Promise.resolve(this.#running));
  }

  /** The number of full lists. */
  get lists(): number {
    return listsOf(this.#transport.requests).length;
  }

  /** How many of them were streamed by a watch. */
  get streamedLists(): number {
    return listsOf(this.#transport.requests.filter(({ type }) => type === 'watch')).length;
  }

  /** How often the server answered that the resourceVersion is expired. */
  get expirations(): number {
    return this.#transport.requests.filter(
      (request) =>
        request.status === 410 ||
        (request.type === 'watch' &&
          request.frames.some((frame) => frame.type === 'ERROR' && frame.code === 410)),
    ).length;
  }

  /** The number of watches, of their events, and of notifications. */
  get counts(): { watches: number; events: number; told: number } {
    const watches = this.#transport.requests.flatMap((request) =>
      request.type === 'watch' ? [request] : [],
    );
    const told = this.#handlers.reduce((sum, handler) => sum + handler.told.length, 0);
    return {
      watches: watches.length,
      events: watches.reduce((sum, watch) => sum + watch.frames.length, 0),
      told,
    };
  }

  /** Waits until cache and handlers have the last write, then judges the whole history. */
  async expectTruth(log: readonly ServerLogEntry[]): Promise<void> {
    const truth = truthOf(log);
    const expected = new Map([...truth.asOf()].map(([key, { version }]) => [key, version]));
    const same = (picture: ReadonlyMap<string, bigint>): boolean | string => {
      const wrong = [...expected].filter(([key, version]) => picture.get(key) !== version).length;
      return (
        (wrong === 0 && picture.size === expected.size) ||
        `${picture.size} of ${expected.size}, ${wrong} wrong`
      );
    };
    const pictures = (): string => {
      const cache = same(new Map(this.#cache().map(({ key, version }) => [key, version])));
      const behind = cache === true ? [] : [`cache: ${cache}`];
      for (const handler of this.#handlers) {
        const told = same(handler.picture());
        if (told !== true) behind.push(`handler ${handler.record.name}: ${told}`);
      }
      return behind.join('; ');
    };
    // A handler that does not catch up is judged too: that tells which write was lost, and how.
    await eventually(this.name, () => pictures() === '' || pictures(), CATCH_UP_MS).catch(
      () => undefined,
    );
    const history: History = {
      requests: this.#transport.requests,
      handlers: this.#handlers.map(({ record }) => record),
      cache: this.#cache(),
      order: 'total',
    };
    expect(
      report(judgeHistory(truth, history)),
      `${this.name}; at the end: ${pictures() || 'all caught up'}`,
    ).toBe('');
  }

  #cache() {
    return this.#informer
      .getIndexer()
      .list()
      .map((object) => objectState(object));
  }
}
