/**
 * The soak of starts and stops: a manager with controllers, sources, election and client, on the
 * embedded server over loopback HTTP, is stopped at a random point: in the start, before the caches
 * are full, while it becomes leader, in a reconcile, in a write. Then the next one starts.
 *
 * After each cycle: the start has resolved, or rejected with the planned failure; no socket,
 * server, timer or open request is left on either side; the signal that stopped it has no listener;
 * no rejection was unhandled; names and leases are free. After all cycles: heap and external
 * memory, after collections, are about the same as after a fifth of the cycles.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { getEventListeners } from 'node:events';
import type { ServerResponse } from 'node:http';
import { defineResource, type KubeObject } from 'capstan/cache';
import { type Client, createOrUpdate, newClient, setControllerReference } from 'capstan/client';
import {
  channelSource,
  EventChannel,
  enqueueRequestForObject,
  type Logger,
  newControllerManagedBy,
  type Result,
  TerminalError,
  timerSource,
} from 'capstan/controller';
import { type ControllerManager, newManager } from 'capstan/manager';
import { ApiServer } from 'capstan/testing';
import { setErrorHandler } from 'capstan/workqueue';

interface Thing extends KubeObject {
  data?: Record<string, string>;
}

const core = { group: '', version: 'v1', namespaced: true } as const;
const ConfigMaps = defineResource<Thing>()({ ...core, kind: 'ConfigMap', plural: 'configmaps' });
const Secrets = defineResource<Thing>()({ ...core, kind: 'Secret', plural: 'secrets' });

/**
 * A logger that ignores the failures of reconciles, which are planned. Any other error goes to the
 * error hook and is a problem.
 */
const nothing = (): void => undefined;
const failures: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

const LOCAL = '127.0.0.1:0';
const NAMESPACE = 'default';
const OBJECTS = 8;
/** The number of cycles between two checks. */
const BATCH = 10;

export interface StartStopOptions {
  readonly cycles: number;
  /** Returns numbers in [0, 1), the same ones for a seed. */
  readonly random: () => number;
  /** Collects garbage. */
  readonly collect: () => void;
  readonly progress?: (done: number, bytes: number) => void;
  /** How long to wait for what is still closing, in milliseconds. Default 10 000. */
  readonly patience?: number;
}

export interface StartStopReport {
  /** Empty if all invariants held. */
  readonly problems: string[];
  readonly reconciles: number;
  /**
   * The number of cycles with a reconcile, of those with a lease, and of those that a runnable's
   * failure ended.
   */
  readonly worked: number;
  readonly led: number;
  readonly failed: number;
  /**
   * Bytes of the heap and outside of it, after collections, at a fifth of the cycles and at the
   * end.
   */
  readonly early: number;
  readonly late: number;
}

/**
 * In bytes. After a fifth of a thousand cycles memory grew by 0.8 MiB, most of it in the first
 * half.
 */
const MOST_GROWTH = 2 * 1024 * 1024;

export const grewTooMuch = ({ early, late }: StartStopReport): boolean =>
  late - early > MOST_GROWTH;

export async function startStop({
  cycles,
  random,
  collect,
  progress,
  patience = 10_000,
}: StartStopOptions): Promise<StartStopReport> {
  const watch = new Watchman();
  const server = await ApiServer.start({ historySize: 100 });
  const soak = new Soak(server, random, watch);
  let early = 0;
  let late = 0;
  try {
    await soak.fill();
    const before = await resources();
    for (let done = 1; done <= cycles; done++) {
      await soak.cycle(done);
      if (done % BATCH !== 0 && done !== cycles) continue;
      await watch.expectNoMore(before, `after cycle ${done}`, patience);
      late = await bytes(collect);
      if (done * 5 <= cycles || early === 0) early = late;
      progress?.(done, late);
    }
    return { problems: watch.problems, ...soak.counts, early, late };
  } finally {
    watch.end();
    await server.stop();
  }
}

/**
 * Records problems: errors in the error hook, unhandled rejections, and requests that the server
 * has not answered.
 */
class Watchman {
  readonly problems: string[] = [];
  #open = 0;
  readonly #previous = setErrorHandler((error, what) => this.problem(`${what}: ${String(error)}`));
  readonly #unhandled = (error: unknown): void =>
    this.problem(`unhandled rejection: ${String(error)}`);
  readonly #request = (message: unknown): void => {
    const { response } = message as { response: ServerResponse };
    this.#open++;
    response.once('close', () => this.#open--);
  };

  constructor() {
    process.on('unhandledRejection', this.#unhandled);
    subscribe('http.server.request.start', this.#request);
  }

  problem(text: string): void {
    if (this.problems.length < 20) this.problems.push(text);
  }

  /**
   * Reports what is left after `patience` milliseconds. On a busy machine sockets close late, and a
   * test runner's timers wait for its main process.
   */
  async expectNoMore(
    before: Record<string, number>,
    when: string,
    patience: number,
  ): Promise<void> {
    let left: string[] = [];
    for (const end = performance.now() + patience; performance.now() < end; ) {
      const now = await resources();
      left = Object.keys(now).filter((kind) => (now[kind] ?? 0) > (before[kind] ?? 0));
      if (this.#open > 0) left.push(`${this.#open} requests that the server still answers`);
      if (left.length === 0) return;
    }
    this.problem(`${when} there is more than before: ${left.join(', ')}`);
  }

  end(): void {
    setErrorHandler(this.#previous);
    process.off('unhandledRejection', this.#unhandled);
    unsubscribe('http.server.request.start', this.#request);
  }
}

/**
 * Counts sockets, servers and timers by kind, after closing handles have had some turns to close.
 */
async function resources(): Promise<Record<string, number>> {
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  const counts: Record<string, number> = {};
  for (const kind of process
    .getActiveResourcesInfo()
    .filter((each) => /TCP|Timeout|Pipe/.test(each)))
    counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

/** Some turns and collections: finalizers give Wasm memory back only after the first. */
async function bytes(collect: () => void): Promise<number> {
  for (let i = 0; i < 3; i++) {
    collect();
    await new Promise(setImmediate);
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

class Soak {
  readonly counts = { reconciles: 0, worked: 0, led: 0, failed: 0 };
  readonly #server: ApiServer;
  readonly #random: () => number;
  readonly #watch: Watchman;
  readonly #writer: Client;
  #writes = 0;

  constructor(server: ApiServer, random: () => number, watch: Watchman) {
    this.#server = server;
    this.#random = random;
    this.#watch = watch;
    this.#writer = newClient({ transport: server.transport() });
  }

  async fill(): Promise<void> {
    for (let i = 0; i < OBJECTS; i++) {
      await this.#writer.create(ConfigMaps, {
        metadata: { namespace: NAMESPACE, name: `object-${i}` },
      });
    }
  }

  async cycle(round: number): Promise<void> {
    const { counts } = this;
    const transport = this.#server.transport();
    const elects = this.#chance(0.5);
    const manager = newManager({
      transport,
      logger: failures,
      metrics: { bindAddress: this.#chance(0.2) ? LOCAL : '0' },
      ...(elects
        ? {
            leaderElection: {
              id: 'soak',
              namespace: NAMESPACE,
              identity: 'me',
              releaseOnCancel: true,
            },
          }
        : {}),
    });
    const planned = this.#chance(0.2) ? new Error(`planned for ${round}`) : undefined;
    const fails = Promise.withResolvers<void>();
    manager.add({
      name: 'fails',
      start: ({ signal }) => endsWith(signal, fails.promise),
      needLeaderElection: () => false,
    });
    const before = counts.reconciles;
    for (let i = this.#upTo(2); i >= 0; i--) this.#controller(manager, i);
    let leads = false;
    void manager.elected().then(() => {
      leads = true;
    });

    const stop = new AbortController();
    const done = manager.start({ signal: stop.signal }).then(
      () => undefined,
      (error: unknown) => error,
    );
    await this.#untilChanceSays(before);
    if (planned === undefined) stop.abort();
    else fails.reject(planned);
    const error = await done;
    if (error !== planned) this.#watch.problem(`cycle ${round} ended with ${String(error)}`);
    const listeners = getEventListeners(stop.signal, 'abort').length;
    if (listeners > 0)
      this.#watch.problem(`cycle ${round}: ${listeners} listen to the signal that stopped it`);
    await transport.close?.();
    if (counts.reconciles > before) counts.worked++;
    if (elects && leads) counts.led++;
    if (planned !== undefined) counts.failed++;
  }

  /**
   * Stops after some microtasks, some turns of the event loop, or some reconciles, whose objects
   * are written meanwhile.
   */
  async #untilChanceSays(before: number): Promise<void> {
    const how = this.#upTo(4);
    if (how === 0) for (let left = this.#upTo(60); left > 0; left--) await undefined;
    else if (how === 1)
      for (let left = this.#upTo(60); left > 0; left--) await new Promise(setImmediate);
    else {
      const wanted = before + this.#upTo(30);
      for (let turns = 0; this.counts.reconciles < wanted && turns < 3000; turns++) {
        if (turns % 10 === 0) await this.#write();
        await new Promise(setImmediate);
      }
    }
  }

  async #write(): Promise<void> {
    const name = `object-${this.#upTo(OBJECTS)}`;
    const patch = { type: 'merge', body: { data: { write: String(++this.#writes) } } } as const;
    await this.#writer.patch(ConfigMaps, { namespace: NAMESPACE, name }, patch);
  }

  #controller(manager: ControllerManager, number: number): void {
    const { counts } = this;
    const builder = newControllerManagedBy(manager)
      .for(ConfigMaps)
      .owns(Secrets)
      .named(`soak-${number}`)
      .withOptions({
        maxConcurrentReconciles: 1 + this.#upTo(3),
        enableWarmup: this.#chance(0.3),
        debounceMs: this.#chance(0.2) ? 5 : 0,
        reconciliationTimeout: this.#chance(0.3) ? 1000 : 0,
        usePriorityQueue: this.#chance(0.7),
      });
    const request = { namespace: NAMESPACE, name: 'object-0' };
    if (this.#chance(0.3))
      builder.watchesRawSource(timerSource({ period: 3, requests: [request] }));
    if (this.#chance(0.3)) {
      const events = new EventChannel<Thing>();
      events.trySend({ metadata: request });
      builder.watchesRawSource(channelSource({ events, handler: enqueueRequestForObject() }));
    }
    builder.complete(async ({ namespace, name }, { signal }): Promise<Result | undefined> => {
      counts.reconciles++;
      switch (this.#upTo(8)) {
        case 0:
          return { requeueAfter: 1 + this.#upTo(20) };
        case 1:
          return { requeue: true };
        case 2:
          await endsWith(signal, new Promise((resolve) => setImmediate(resolve)));
          return undefined;
        case 3:
          throw new TerminalError('chance');
        default: {
          const found = await manager.client.get(ConfigMaps, { namespace, name }, { signal });
          const mutate = (secret: Thing): Thing =>
            setControllerReference(
              found,
              { ...secret, data: { of: btoa(found.data?.write ?? '') } },
              ConfigMaps,
            );
          await createOrUpdate(manager.client, Secrets, { namespace, name }, mutate, { signal });
          return undefined;
        }
      }
    });
  }

  #upTo(count: number): number {
    return Math.floor(this.#random() * count);
  }

  #chance(part: number): boolean {
    return this.#random() < part;
  }
}

/** Ends when the signal fires, or with the promise. */
function endsWith(signal: AbortSignal, promise: Promise<unknown>): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (): void => resolve();
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
    promise.then(end, reject).finally(() => signal.removeEventListener('abort', end));
  });
}
