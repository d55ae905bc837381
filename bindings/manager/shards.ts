/**
 * The shards of a manager: it warms the caches for a slot, opens it to the controllers, waits for
 * the work of a slot that closes, and tells who may write what. The protocol is in `shards/`.
 *
 * - A slot is open only while its objects are in all caches.
 * - Work of a slot is counted from before it begins: `close` resolves when there is none. Requests
 *   that write count as work too.
 * - When slots open, all of their objects are handled again, as at a start.
 */
import { hostname } from 'node:os';
import type { Clock } from '../base/clock.ts';
import { invalid, requireBoolean, requireObject } from '../base/errors.ts';
import { fnv1a64 } from '../base/fnv.ts';
import type { Logger } from '../base/logger.ts';
import type { Request } from '../base/request.ts';
import { abortable, deferred, sleep } from '../base/wait.ts';
import { ListWatch, type Resource, type Transport } from '../cache/index.ts';
import type { HashRange } from '../cache/rest/hash-ranges.ts';
import { resourceId } from '../cache/rest/resource.ts';
import type { EventSink } from '../client/index.ts';
import {
  notOwned,
  type ShardGate,
  type Shards,
  type ShardWorker,
  shardText,
} from '../controller/shards.ts';
import type { ShardEvent } from '../shards/plan.ts';
import { type ShardHost, ShardReplica, type ShardStatus } from '../shards/replica.ts';
import { SLOTS, type SlotRange, type WeighedHash } from '../shards/slots.ts';
import { inClusterNamespace } from './election.ts';
import type { ManagedCache } from './managed-cache.ts';
import type { ManagerSettings, ShardOptions } from './options.ts';

/** How often a cache that warms is looked at, in milliseconds. */
const LOOK_MS = 20;
/** After so long, what a slot still waits for is logged, and again after the same time. */
const LOG_MS = 10_000;
/** How long the first slots wait for controllers whose sources have not synced. */
const PREPARE_MS = 10_000;
/** How long a count of the objects is good, in milliseconds. */
const COUNTED_MS = 30_000;
const PAGE = 500;
const WARNINGS: ReadonlySet<ShardEvent['reason']> = new Set([
  'ShardReplicaLost',
  'ShardMoveAbandoned',
]);

/** The shards of a manager, with their state for reports. */
export interface ManagerShards extends Shards {
  /** The slots, their owners and moves, and the Leases, as this process sees them. */
  status(): ShardStatus;
}

export class ManagedShards implements ManagerShards, ShardGate, ShardHost {
  readonly replica: ShardReplica;
  readonly foreignReads: 'live' | 'error';
  readonly strictWrites: boolean;
  /** The map as `namespace/name`. */
  readonly map: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #transport: Transport;
  readonly #shared: ReadonlySet<string>;
  readonly #workers = new Set<ShardWorker>();
  readonly #ranges = new Map<number, SlotRange>();
  readonly #running = new Array<number>(SLOTS).fill(0);
  readonly #idle: (ReturnType<typeof deferred> | undefined)[] = new Array(SLOTS);
  /** Writes under way. */
  readonly #writes = new Set<{ readonly slot: number; readonly abort: AbortController }>();
  readonly #opened = new Set<number>();
  #cache: ManagedCache | undefined;
  #events: EventSink | undefined;
  #warming: Promise<void> | undefined;
  #startedAt = 0;
  #counted: number[] = new Array<number>(SLOTS).fill(0);
  #countedAt = Number.NEGATIVE_INFINITY;

  /** @throws CapstanError INVALID_ARGUMENT */
  constructor(
    options: ShardOptions,
    transport: Transport,
    { clock, logger, wallNow, cache }: ManagerSettings,
  ) {
    requireObject('options.shards', options);
    const { foreignReads = 'live', strictWrites = false, replica, ...more } = options;
    if (foreignReads !== 'live' && foreignReads !== 'error')
      throw invalid('options.shards.foreignReads', '"live" or "error"', foreignReads);
    requireBoolean('options.shards.strictWrites', strictWrites);
    if (cache.ranges !== undefined)
      throw invalid('options.cache.ranges', 'nothing, as shards set them', cache.ranges);
    const namespace = more.namespace ?? inClusterNamespace('options.shards.namespace');
    this.foreignReads = foreignReads;
    this.strictWrites = strictWrites;
    this.map = `${namespace}/${more.id}`;
    this.#clock = clock;
    this.#logger = logger;
    this.#transport = transport;
    this.#shared = new Set(
      [...(cache.perResource ?? [])].flatMap(([resource, { shared }]) =>
        shared ? [resourceId(resource)] : [],
      ),
    );
    this.replica = new ShardReplica(transport, {
      ...more,
      namespace,
      replica: replica ?? hostName(),
      clock,
      logger,
      wallNow,
      host: this,
    });
  }

  /**
   * @param cache whose ranges follow the slots
   * @param events that takes what the coordinator does, with a client that may write anything
   */
  bind(cache: ManagedCache, events: EventSink): void {
    this.#cache = cache;
    this.#events = events;
  }

  /**
   * Takes part until `signal`, then hands over; `now` and `at` as in {@link ShardReplica.run}. Call
   * it when the controllers have been started.
   */
  run(signals: Parameters<ShardReplica['run']>[0]): Promise<void> {
    this.#startedAt = this.#clock.now();
    return this.replica.run(signals);
  }

  // What users see.

  get slots(): readonly number[] {
    const slots: number[] = [];
    for (let slot = 0; slot < SLOTS; slot++) if (this.replica.mayStart(slot)) slots.push(slot);
    return slots;
  }

  owns(
    { namespace = '', name }: { readonly namespace?: string | undefined; readonly name: string },
    resource?: Resource<never, string>,
  ): boolean {
    const text = resource?.namespaced === false ? name : shardText({ namespace, name });
    const slot = this.replica.slotOf(text);
    return slot !== undefined && this.replica.mayStart(slot);
  }

  /** Why it is not ready, as text. */
  notReady(): string | undefined {
    const { map, replica } = this.replica.status();
    if (map === undefined) return 'no map of the shards was seen yet';
    if (map.floor > 0) return 'the slots of a new map are not shared out yet';
    if (!this.replica.isValid()) return 'the Lease of this replica is not valid';
    const ours = map.slots.flatMap((owner, slot) => (owner === replica ? [slot] : []));
    const closed = ours.filter((slot) => this.replica.stateOf(slot) !== 'open');
    return closed.length === 0 ? undefined : `slots ${closed.join(', ')} are not warm yet`;
  }

  async ready({ signal }: { signal?: AbortSignal | undefined } = {}): Promise<void> {
    const wait = signal ?? new AbortController().signal;
    while (this.notReady() !== undefined) {
      await sleep(this.#clock, LOOK_MS, wait);
      if (wait.aborted) await abortable(new Promise<void>(() => undefined), wait);
    }
  }

  status(): ShardStatus {
    return this.replica.status();
  }

  // What controllers and the client ask.

  join(worker: ShardWorker): () => void {
    this.#workers.add(worker);
    return () => this.#workers.delete(worker);
  }

  slotOf(request: Request): number | undefined {
    return this.replica.slotOf(shardText(request));
  }

  isOpen(request: Request): boolean {
    const slot = this.slotOf(request);
    return slot !== undefined && this.replica.stateOf(slot) === 'open';
  }

  hasObjects(request: Request): boolean {
    const slot = this.slotOf(request);
    return slot !== undefined && this.#isWarm(slot);
  }

  /** Whether the cache has the objects of a namespace. */
  hasNamespace(namespace: string): boolean {
    const slot = this.replica.slotOf(namespace);
    return slot !== undefined && this.#isWarm(slot);
  }

  isShared(resource: Resource<never, string>): boolean {
    return this.#shared.has(resourceId(resource));
  }

  enter(request: Request): number | undefined {
    const slot = this.slotOf(request);
    if (slot === undefined || this.replica.stateOf(slot) !== 'open') return undefined;
    this.#running[slot] = (this.#running[slot] as number) + 1;
    return slot;
  }

  leave(slot: number): void {
    this.#running[slot] = (this.#running[slot] as number) - 1;
    if (this.#running[slot] !== 0) return;
    this.#idle[slot]?.resolve();
    this.#idle[slot] = undefined;
  }

  /** Whether a namespace, or a cluster-scoped object's name, may be written at this moment. */
  mayWrite(text: string): boolean {
    const slot = this.replica.slotOf(text);
    return slot !== undefined && this.replica.mayWrite(slot);
  }

  /**
   * A write begins, which counts as work of its slot. Its signal fires when the Lease may have
   * expired. Call the function when the write has ended.
   */
  writing(text: string): { readonly signal: AbortSignal; readonly end: () => void } {
    const slot = this.replica.slotOf(text) ?? 0;
    const write = { slot, abort: new AbortController() };
    this.#writes.add(write);
    this.#running[slot] = (this.#running[slot] as number) + 1;
    const end = (): void => {
      if (this.#writes.delete(write)) this.leave(slot);
    };
    return { signal: write.abort.signal, end };
  }

  // What the protocol asks.

  async warm(slot: number, range: SlotRange, { signal }: { signal: AbortSignal }): Promise<void> {
    this.#ranges.set(slot, range);
    this.#warming ??= this.#warm();
    await abortable(this.#warming, signal);
  }

  open(slot: number): void {
    if (this.#opened.size === 0) queueMicrotask(() => this.#handleOpened());
    this.#opened.add(slot);
  }

  async close(slot: number, why: 'moved' | 'lapsed'): Promise<void> {
    if (why === 'lapsed') {
      const reason = notOwned(`slot ${slot}`);
      for (const write of this.#writes) if (write.slot === slot) write.abort.abort(reason);
      for (const worker of this.#workers)
        worker.abort((request) => this.slotOf(request) === slot, reason);
    }
    if (this.#running[slot] === 0) return;
    this.#idle[slot] ??= deferred();
    await this.#idle[slot].promise;
  }

  drop(slot: number): void {
    if (this.#ranges.delete(slot)) queueMicrotask(() => this.#setRanges());
  }

  /** What the coordinator has done becomes an event on the map. */
  event({ reason, note }: ShardEvent): void {
    const [namespace, name] = this.map.split('/') as [string, string];
    const { mapUid } = this.replica;
    const metadata = { namespace, name, ...(mapUid !== '' && { uid: mapUid }) };
    this.#events?.event(
      { apiVersion: 'v1', kind: 'ConfigMap', metadata },
      { type: WARNINGS.has(reason) ? 'Warning' : 'Normal', reason, action: 'ShareSlots', note },
    );
  }

  weight(slot: number): number {
    if (this.#clock.now() - this.#countedAt > COUNTED_MS) this.#count();
    return this.#counted[slot] as number;
  }

  async survey({ signal }: { signal: AbortSignal }): Promise<Iterable<WeighedHash>> {
    const weights = new Map<string, number>();
    const add = (text: string, weight: number): void =>
      void weights.set(text, (weights.get(text) ?? 0) + weight);
    try {
      // Those that are empty yet.
      await this.#survey(NAMESPACES, signal, ({ name }) => add(name, 0.1));
    } catch (error) {
      if (signal.aborted) throw error;
      this.#logger.debug('namespaces cannot be listed: slots are cut by the objects alone', {
        error,
      });
    }
    const resources = new Map<string, Resource<never, string>>();
    for (const { resource } of this.#workers)
      if (resource !== undefined && !this.isShared(resource))
        resources.set(resourceId(resource), resource);
    for (const resource of resources.values())
      await this.#survey(resource, signal, ({ namespace, name }) => add(namespace || name, 1));
    return [...weights].map(([text, weight]) => [fnv1a64(text), weight] as const);
  }

  /** Reads the keys of all objects by pages of their metadata. */
  async #survey(
    resource: Resource<never, string>,
    signal: AbortSignal,
    found: (key: { namespace: string; name: string }) => void,
  ): Promise<void> {
    const listWatch = new ListWatch<{ metadata?: { namespace?: string; name?: string } }, string>(
      this.#transport,
      resource as never,
      { metadataOnly: true },
    );
    let next = '';
    do {
      const page = await listWatch.list(
        { resourceVersion: '', limit: PAGE, continue: next },
        { clock: this.#clock, signal },
      );
      for (const { metadata } of page.items)
        found({ namespace: metadata?.namespace ?? '', name: metadata?.name ?? '' });
      next = page.continue;
    } while (next !== '');
  }

  /** Resolves when the caches have all ranges. Never rejects. */
  async #warm(): Promise<void> {
    await Promise.resolve(); // all slots of one turn together
    this.#setRanges();
    let logAt = this.#clock.now() + LOG_MS;
    for (;;) {
      const missing = this.#missing();
      if (missing.length === 0) break;
      if (this.#clock.now() >= logAt) {
        logAt += LOG_MS;
        this.#logger.warn('slots wait for caches', { missing });
      }
      await sleep(this.#clock, LOOK_MS, undefined);
      this.#setRanges();
    }
    this.#warming = undefined;
  }

  /** What the caches lack, by name. */
  #missing(): string[] {
    const late = [...this.#workers].filter((worker) => !worker.isPrepared());
    if (late.length > 0 && this.#clock.now() - this.#startedAt < PREPARE_MS)
      return late.map(({ name }) => `controller ${name}`);
    return this.#cache?.missingRanges() ?? [];
  }

  #setRanges(): void {
    const ranges: HashRange[] = [...this.#ranges.values()];
    this.#cache?.setRanges(ranges);
  }

  #handleOpened(): void {
    const slots = new Set(this.#opened);
    this.#opened.clear();
    this.#countedAt = Number.NEGATIVE_INFINITY;
    const has = (request: Request): boolean => slots.has(this.slotOf(request) ?? -1);
    for (const worker of this.#workers) worker.opened(has);
  }

  #isWarm(slot: number): boolean {
    const state = this.replica.stateOf(slot);
    return state !== 'idle' && state !== 'warming';
  }

  #count(): void {
    const counted = new Array<number>(SLOTS).fill(0);
    for (const text of this.#cache?.namespacesOfObjects() ?? []) {
      const slot = this.replica.slotOf(text);
      if (slot !== undefined) counted[slot] = (counted[slot] as number) + 1;
    }
    this.#counted = counted;
    this.#countedAt = this.#clock.now();
  }
}

const NAMESPACES: Resource<never, string> = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
  indexers: {},
};

function hostName(): string {
  try {
    return hostname();
  } catch {
    return 'replica'; // Deno without --allow-sys=hostname
  }
}
