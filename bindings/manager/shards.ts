/**
 * The shards of a manager: it warms the caches for a slot, opens the slot for the controllers, and
 * closes it when their work has ended. It also tells the client and the transport which objects
 * this replica may read from the cache and write. The protocol is in `shards/`.
 *
 * - A slot is open only while its objects are in all caches.
 * - Reconciles and writing requests count as work of a slot. `close` resolves when there is none.
 * - When slots open, the controllers handle all objects of these slots again, as at a start.
 */
import { hostname } from 'node:os';
import type { Clock } from '../base/clock.ts';
import { invalid, requireBoolean, requireObject } from '../base/errors.ts';
import { fnv1a64 } from '../base/fnv.ts';
import type { Logger } from '../base/logger.ts';
import type { Request } from '../base/request.ts';
import { resourceId } from '../base/resource.ts';
import { abortable, deferred, sleep } from '../base/wait.ts';
import { ListWatch, type Resource, type Transport } from '../cache/index.ts';
import type { HashRange } from '../cache/rest/hash-ranges.ts';
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

/** How often warming caches are polled, in milliseconds. */
const LOOK_MS = 20;
/** How often a wait for caches is logged, in milliseconds. */
const LOG_MS = 10_000;
/** How long the first slots wait for the sources of controllers to sync, in milliseconds. */
const PREPARE_MS = 10_000;
/** How long a count of the objects is used, in milliseconds. */
const COUNTED_MS = 30_000;
const PAGE = 500;
const WARNINGS: ReadonlySet<ShardEvent['reason']> = new Set([
  'ShardReplicaLost',
  'ShardMoveAbandoned',
]);

/** The shards of a manager, with their state for reports. */
export interface ManagerShards extends Shards {
  /** The slots, owners, moves and Leases, as this process sees them. */
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
  /** The writing requests under way. */
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
   * @param cache the cache, whose ranges follow the slots
   * @param events the sink for Events of the coordinator, with a client that may write any object
   */
  bind(cache: ManagedCache, events: EventSink): void {
    this.#cache = cache;
    this.#events = events;
  }

  /**
   * Takes part until the signal fires: see {@link ShardReplica.run}. Call it after the controllers
   * have started.
   */
  run(signals: Parameters<ShardReplica['run']>[0]): Promise<void> {
    this.#startedAt = this.#clock.now();
    return this.replica.run(signals);
  }

  // For users.

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

  /** Why this replica is not ready; `undefined` if it is. */
  notReady(): string | undefined {
    const { map, replica } = this.replica.status();
    if (map === undefined) return 'the map of the shards has not been read yet';
    if (map.floor > 0)
      return 'the map of the shards is new, and not all of its slots have owners yet';
    if (!this.replica.isValid()) return 'the Lease of this replica is not valid';
    const ours = map.slots.flatMap((owner, slot) => (owner === replica ? [slot] : []));
    const closed = ours.filter((slot) => this.replica.stateOf(slot) !== 'open');
    return closed.length === 0 ? undefined : `slots ${closed.join(', ')} are not open yet`;
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

  // For controllers, the client and the transport.

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

  /** Whether the caches have all objects of a namespace. */
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

  /** @param text the namespace of the object, or its name if it is cluster-scoped */
  mayWrite(text: string): boolean {
    const slot = this.replica.slotOf(text);
    return slot !== undefined && this.replica.mayWrite(slot);
  }

  /**
   * Counts a write as work of its slot until `end` is called. The signal fires when the Lease may
   * have expired.
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

  // For the protocol: see ShardHost.

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

  /** Records an Event on the map. */
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
      // Empty namespaces count too, as they may soon have objects.
      await this.#survey(NAMESPACES, signal, ({ name }) => add(name, 0.1));
    } catch (error) {
      if (signal.aborted) throw error;
      this.#logger.debug(
        'namespaces cannot be listed: the edges of slots are chosen by the objects alone',
        {
          error,
        },
      );
    }
    const resources = new Map<string, Resource<never, string>>();
    for (const { resource } of this.#workers)
      if (resource !== undefined && !this.isShared(resource))
        resources.set(resourceId(resource), resource);
    for (const resource of resources.values())
      await this.#survey(resource, signal, ({ namespace, name }) => add(namespace || name, 1));
    return [...weights].map(([text, weight]) => [fnv1a64(text), weight] as const);
  }

  /** Lists the keys of all objects, metadata only and page by page. */
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

  /** Resolves when the caches have the objects of all ranges. Never rejects. */
  async #warm(): Promise<void> {
    await Promise.resolve(); // sets the ranges of all slots of one step at once
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

  /** The names of controllers that have not synced, or of what the caches do not have yet. */
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
    return 'replica'; // Deno throws without --allow-sys=hostname
  }
}
