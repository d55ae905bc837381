/**
 * The driver of one replica: it executes the outputs of the machine. It sends requests to the API
 * server, each with its own timeout, and has the host warm, open, close and drop slots. It lives as
 * long as its process: if its Lease was taken over, it joins again under another name.
 *
 * Two watches report changes early. Nothing depends on them, as the machine also polls.
 */
import { guardRandom } from '../base/backoff.ts';
import { type Clock, systemClock, wallNowOf } from '../base/clock.ts';
import { CapstanError, invalid, isAbort, requireFunction, requireString } from '../base/errors.ts';
import { fnv1a64 } from '../base/fnv.ts';
import { handleError, tell } from '../base/handle-error.ts';
import { type Logger, requireLogger, silentLogger } from '../base/logger.ts';
import { namesOf, requireMembers, requireNames } from '../base/names.ts';
import type { Resource } from '../base/resource.ts';
import { deferred, onAbort, sleep, whenAborted } from '../base/wait.ts';
import { SharedIndexInformer } from '../cache/informer/informer.ts';
import { ListWatch } from '../cache/reflector/list-watch.ts';
import { isTombstone } from '../cache/rest/keys.ts';
import { isStatusError } from '../cache/rest/status-error.ts';
import { requireTransport, type Transport } from '../cache/rest/transport.ts';
import type { LeaseView } from './cluster-view.ts';
import type { CloseReason, SlotState } from './local-slots.ts';
import {
  type EndReason,
  type MachineSettings,
  type ReadKind,
  type ShardInput,
  ShardMachine,
  type ShardOutput,
  type ShardWrite,
} from './machine.ts';
import {
  GROUP_LABEL,
  leaseViewOf,
  mapViewOf,
  SHARD_LEASES,
  SHARD_MAPS,
  type ShardObject,
  versionNumber,
} from './objects.ts';
import { overviewOf, type ShardReport } from './overview.ts';
import { MOVE_REASONS, type MoveReason, type ShardEvent } from './plan.ts';
import { ShardRequests } from './requests.ts';
import type { Move, ShardMap } from './shard-map.ts';
import { rangeOfSlot, SLOTS, type SlotRange, slotOfHash, type WeighedHash } from './slots.ts';
import { UnownedSlots } from './unowned.ts';

/** What a program does with the slots of its process. */
export interface ShardHost {
  /**
   * Gets the objects of a slot, and resolves when all of them are in the caches. The signal fires
   * when the slot is no longer needed. If it rejects, it is called again after a retry period.
   */
  warm(slot: number, range: SlotRange, options: { signal: AbortSignal }): Promise<void>;
  /** Work of the slot may begin from now on. The host handles all objects of the slot. */
  open(slot: number): void;
  /**
   * No work of the slot may begin from now on. Resolves when no work is under way. With `'lapsed'`
   * the Lease may have expired, and work under way must be aborted; this may be a second call. If
   * it rejects, it is called again after a retry period.
   */
  close(slot: number, why: CloseReason): Promise<void>;
  /** Forgets the objects of the slot, without reporting deletions. */
  drop(slot: number): void;
  /** The number of objects of the slot in the caches. */
  weight(slot: number): number;
  /**
   * The names that exist, with weights, to choose the edges between slots. Called by the
   * coordinator when there is no map, and when most objects are in few slots. If it rejects, it is
   * called again after a retry period.
   */
  survey(options: { signal: AbortSignal }): Promise<Iterable<WeighedHash>>;
  /** Receives what the coordinator has done, for operators. Called in the coordinator only. */
  event?(event: ShardEvent): void;
}

const HOST_NAMES = namesOf<ShardHost>()({
  warm: 1,
  open: 1,
  close: 1,
  drop: 1,
  weight: 1,
  survey: 1,
  event: 1,
});

/** Times are in milliseconds. */
export interface ShardReplicaOptions {
  /**
   * The name of the map and of the coordinator's Lease, and the prefix of the replicas' Leases. It
   * is also the value of a label, so it has at most 63 of a-z, 0-9 and "-".
   */
  readonly id: string;
  /** The namespace of the map and the Leases. */
  readonly namespace: string;
  /** The start of this replica's name. A random part follows. */
  readonly replica: string;
  /**
   * How long the coordinator waits, after a renewal, before it takes over the Lease of a replica;
   * rounded down to whole seconds. Default 15 000.
   */
  readonly leaseDuration?: number | undefined;
  /** How long this replica relies on a renewal of its Lease. Default 10 000. */
  readonly renewDeadline?: number | undefined;
  /** The time between two renewals. Default 2000. */
  readonly retryPeriod?: number | undefined;
  /** How long a move of a slot may take before it is abandoned. Default 60 000. */
  readonly moveTimeout?: number | undefined;
  /** No rebalance begins for so long after one has ended. Default 30 000. */
  readonly quiet?: number | undefined;
  readonly host: ShardHost;
  /** Default: nothing is logged. */
  readonly logger?: Logger | undefined;
  readonly clock?: Clock | undefined;
  /** Milliseconds since 1970, for the times in Leases. Default: the clock's. */
  readonly wallNow?: (() => number) | undefined;
  /** A number in [0, 1) for jitter. Default `Math.random`. */
  readonly random?: (() => number) | undefined;
  /** Returns the random part of a name. Default: 8 digits of a UUID. */
  readonly suffix?: (() => string) | undefined;
}

const NAMES = namesOf<ShardReplicaOptions>()({
  id: 1,
  namespace: 1,
  replica: 1,
  leaseDuration: 1,
  renewDeadline: 1,
  retryPeriod: 1,
  moveTimeout: 1,
  quiet: 1,
  host: 1,
  logger: 1,
  clock: 1,
  wallNow: 1,
  random: 1,
  suffix: 1,
});

/** The state of a replica, and what it knows of the others. */
export interface ShardStatus {
  readonly id: string;
  readonly namespace: string;
  /** The name of this replica. It changes after its Lease was taken over. */
  readonly replica: string;
  /** Whether its Lease is valid now. */
  readonly isValid: boolean;
  /** Whether it is the coordinator, which writes the map. */
  readonly isCoordinator: boolean;
  /** All slots; empty before a map was seen. */
  readonly slots: readonly SlotStatus[];
  /** The slots of each owner, sorted. */
  readonly owners: ReadonlyMap<string, readonly number[]>;
  readonly moves: readonly Move[];
  /** The newest map that was seen. */
  readonly map: ShardMap | undefined;
  readonly leases: readonly LeaseStatus[];
}

export interface SlotStatus extends SlotRange {
  readonly slot: number;
  /** The state in this process. */
  readonly state: SlotState;
  /** The name of a replica; empty for none. */
  readonly owner: string;
  /** The number of objects in the caches of this process. */
  readonly weight: number;
}

export interface LeaseStatus {
  /** The name of the replica. */
  readonly replica: string;
  /** `undefined` if the Lease is gone. */
  readonly lease: LeaseView | undefined;
  /** For how long the Lease has not changed, as this process sees it. */
  readonly ageMs: number;
}

const LEAST_TIMEOUT_MS = 1000;
/** The greatest number of moves at a time. */
const MOST_MOVES = 16;
const THRESHOLD = 0.1;
const ALL = Array.from({ length: SLOTS }, (_, slot) => slot);
/** The shortest time between two choices of edges. */
const RECUT_PAUSE_MS = 600_000;
/** Timers are late by up to this part of a retry period, so that replicas do not act in step. */
const JITTER = 0.05;
/** The greatest number of names whose slots are cached. */
const MOST_KNOWN = 4096;

type Settings = MachineSettings &
  Required<
    Pick<ShardReplicaOptions, 'namespace' | 'replica' | 'host' | 'logger' | 'clock' | 'suffix'>
  >;

export class ShardReplica {
  readonly #transport: Transport;
  readonly #settings: Settings;
  readonly #requests: ShardRequests;
  readonly #random: () => number;
  #life: Life;
  /** The counts of the lives before. */
  readonly #moves: Record<MoveReason, number> = { assigned: 0, died: 0, leaving: 0, rebalance: 0 };
  readonly #unowned: UnownedSlots;
  readonly #known = new Map<string, number>();
  #knownEdges: readonly bigint[] | undefined;
  /** The requests that failed the last time. Only the first failure is logged as a warning. */
  readonly #failing = new Set<string>();
  #hasRun = false;
  #leave: 'no' | 'after hand-over' | 'now' = 'no';

  /** @throws CapstanError INVALID_ARGUMENT */
  constructor(transport: Transport, options: ShardReplicaOptions) {
    requireTransport('transport', transport);
    requireNames('options', options, 'option of shards', NAMES);
    this.#transport = transport;
    const { clock = systemClock, wallNow = wallNowOf(clock), random = Math.random } = options;
    this.#settings = settingsOf(options, clock);
    const { leaseDuration, maxClockSkewRatio } = this.#settings;
    const timeout = Math.max(leaseDuration / maxClockSkewRatio / 3, LEAST_TIMEOUT_MS);
    this.#random = guardRandom(random);
    this.#requests = new ShardRequests(transport, { ...this.#settings, timeout, wallNow });
    this.#unowned = new UnownedSlots(this.#settings.id);
    this.#life = this.#begin();
  }

  /** The name of this replica. It changes after its Lease was taken over. */
  get replica(): string {
    return this.#life.name;
  }

  /** The uid of the map's ConfigMap; empty if there is none. */
  get mapUid(): string {
    return this.#life.machine.view.mapObject?.uid ?? '';
  }

  /** Whether the Lease of this replica is valid by the clock now. */
  isValid(): boolean {
    return this.#life.machine.isValid(this.#settings.clock.now());
  }

  /**
   * The slot of a namespace, or of the name of an object without one. `undefined` before there is a
   * map.
   */
  slotOf(text: string): number | undefined {
    const { edges } = this.#life.machine.slots;
    if (edges.length === 0) return undefined;
    if (edges !== this.#knownEdges || this.#known.size >= MOST_KNOWN) this.#known.clear();
    this.#knownEdges = edges;
    let slot = this.#known.get(text);
    if (slot === undefined) {
      slot = slotOfHash(edges, fnv1a64(text));
      this.#known.set(text, slot);
    }
    return slot;
  }

  stateOf(slot: number): SlotState {
    return this.#life.machine.slots.state(slot);
  }

  /** Whether work of a slot may begin now. */
  mayStart(slot: number): boolean {
    return this.#life.machine.mayStart(slot, this.#settings.clock.now());
  }

  /** Whether objects of a slot may be written now: while it is open, and while it drains. */
  mayWrite(slot: number): boolean {
    return this.#life.machine.mayWrite(slot, this.#settings.clock.now());
  }

  status(): ShardStatus {
    const { id, namespace, host, clock } = this.#settings;
    const { machine, name } = this.#life;
    const { map } = machine;
    const now = clock.now();
    const owners = new Map<string, number[]>();
    map?.slots.forEach((owner, slot) => {
      if (owner !== '') owners.set(owner, [...(owners.get(owner) ?? []), slot]);
    });
    return {
      id,
      namespace,
      replica: name,
      isValid: machine.isValid(now),
      isCoordinator: machine.isLeader(now),
      slots: (map?.slots ?? []).map((owner, slot) => ({
        slot,
        ...rangeOfSlot(map?.edges ?? [], slot),
        state: machine.slots.state(slot),
        owner,
        weight: host.weight(slot),
      })),
      owners,
      moves: map?.moving ?? [],
      map,
      leases: [...machine.members()].map(([replica, lease]) => ({
        replica,
        lease,
        ageMs: machine.view.age(`${id}-${replica}`, now),
      })),
    };
  }

  /** The state of the shards for the live page and the metrics. */
  report(): ShardReport {
    const { id, namespace, clock } = this.#settings;
    const { machine, name } = this.#life;
    const { view } = machine;
    const now = clock.now();
    this.#unowned.observe(view, now);
    const leases = [...machine.members().values()].filter((lease) => lease !== undefined);
    const overview = overviewOf({
      id,
      namespace,
      map: view.mapObject,
      leases,
      coordinator: view.lease(id)?.holder ?? '',
      age: (lease) => view.age(lease.name, now),
    });
    const states = ALL.map((slot) => machine.slots.state(slot));
    const isValid = machine.isValid(now);
    const moves = { ...this.#moves };
    for (const reason of MOVE_REASONS) moves[reason] += machine.moves[reason];
    return {
      ...overview,
      replica: name,
      isValid,
      isReady:
        isValid &&
        machine.map !== undefined &&
        overview.slots.every(({ slot, owner }) => owner !== name || states[slot] === 'open'),
      states,
      unownedMs: this.#unowned.longest(now),
      moves,
    };
  }

  /**
   * Takes part until `signal` fires. Then it hands over its slots, releases its Lease and resolves.
   * When `now` fires, it closes its slots and releases its Lease without waiting for new owners.
   * When `at` fires, it ends at once and leaves its Lease to expire.
   *
   * @throws CapstanError SHARD_OUTDATED when a later release has written the map, and this replica
   * has released its Lease; ALREADY_STARTED
   */
  async run(options: {
    readonly signal: AbortSignal;
    readonly now?: AbortSignal | undefined;
    readonly at?: AbortSignal | undefined;
  }): Promise<void> {
    if (this.#hasRun)
      throw new CapstanError('ALREADY_STARTED', 'a ShardReplica runs once: make a new one');
    this.#hasRun = true;
    const over = new AbortController();
    const unlisten = [
      onAbort(options.signal, () => this.#leaveBy('after hand-over')),
      onAbort(options.now, () => this.#leaveBy('now')),
      onAbort(options.at, () => over.abort()),
    ];
    const watches = this.#watch(over.signal);
    try {
      for (;;) {
        const ended = await this.#live(this.#life, over.signal);
        if (ended === 'outdated')
          throw new CapstanError(
            'SHARD_OUTDATED',
            `the map ${this.#settings.namespace}/${this.#settings.id} was written by a later ` +
              'release and cannot be read by this one: this replica has released its Lease',
          );
        if (ended !== 'lost' || over.signal.aborted || this.#leave !== 'no') return;
        const { name, machine } = this.#life;
        for (const reason of MOVE_REASONS) this.#moves[reason] += machine.moves[reason];
        this.#life = this.#begin();
        this.#settings.logger.warn('the Lease of this replica was taken over: it joins again', {
          replica: name,
          next: this.#life.name,
        });
      }
    } finally {
      over.abort();
      for (const end of unlisten) end();
      this.#life.end.abort();
      await watches;
    }
  }

  #begin(): Life {
    const { replica, suffix, host } = this.#settings;
    const name = `${replica}-${suffix()}`;
    const weight = (slot: number): number => host.weight(slot);
    return new Life(name, new ShardMachine({ ...this.#settings, member: name }, weight));
  }

  #leaveBy(how: 'after hand-over' | 'now'): void {
    this.#leave = how;
    if (this.#hasRun && this.#life.isRunning)
      this.#step(this.#life, { type: 'leave', isNow: how === 'now' });
  }

  /** Runs one machine. Resolves when it has ended, or the signal has fired. */
  async #live(life: Life, signal: AbortSignal): Promise<EndReason | undefined> {
    life.isRunning = true;
    const stop = (): void => life.stop(undefined);
    const unlisten = onAbort(signal, stop);
    try {
      if (this.#leave === 'no') this.#step(life);
      else this.#step(life, { type: 'leave', isNow: this.#leave === 'now' });
      await life.ended.promise;
    } finally {
      unlisten();
      life.stop(undefined);
      this.#settings.clock.clearTimer(life.timer);
    }
    if (life.failure !== undefined) throw life.failure.error;
    return life.why;
  }

  #step(life: Life, input?: ShardInput): void {
    if (!life.isRunning) return;
    const { clock, retryPeriod } = this.#settings;
    clock.clearTimer(life.timer);
    try {
      const outputs = life.machine.step(clock.now(), input);
      for (const output of outputs) this.#carryOut(life, output);
    } catch (error) {
      life.failure = { error };
      life.stop(undefined);
      return;
    }
    if (!life.isRunning) return;
    const now = clock.now();
    if (life.machine.view.revision !== life.observed) {
      life.observed = life.machine.view.revision;
      this.#unowned.observe(life.machine.view, now);
    }
    const late = JITTER * retryPeriod * this.#random();
    const ms = Math.max(0, life.machine.wakeAt(now) - now) + late;
    life.timer = clock.setTimer(() => this.#step(life), ms);
  }

  #carryOut(life: Life, output: ShardOutput): void {
    const { host, logger } = this.#settings;
    switch (output.type) {
      case 'read':
        void this.#read(life, output.what);
        return;
      case 'write':
        void this.#write(life, output);
        return;
      case 'warm':
        void this.#warm(life, output.slot, output.token, output.range);
        return;
      case 'open':
        logger.debug('a slot opens', { slot: output.slot });
        tell(() => host.open(output.slot), `shards: open slot ${output.slot}`);
        return;
      case 'close':
        logger.debug('a slot closes', { slot: output.slot, why: output.why });
        void this.#close(life, output.slot, output.token, output.why);
        return;
      case 'drop':
        life.warming[output.slot]?.abort();
        tell(() => host.drop(output.slot), `shards: drop slot ${output.slot}`);
        return;
      case 'survey':
        void this.#survey(life);
        return;
      case 'event':
        logger.info(output.note, { reason: output.reason });
        tell(
          () => host.event?.({ reason: output.reason, note: output.note }),
          'shards: the event function',
        );
        return;
      case 'ended':
        life.stop(output.why);
    }
  }

  async #warm(life: Life, slot: number, token: number, range: SlotRange): Promise<void> {
    const { host } = this.#settings;
    life.warming[slot]?.abort();
    const abort = new AbortController();
    life.warming[slot] = abort;
    const { signal } = abort;
    await this.#until(life, signal, `warm slot ${slot}`, () => host.warm(slot, range, { signal }));
    if (!signal.aborted) this.#step(life, { type: 'warmed', slot, token });
  }

  async #close(life: Life, slot: number, token: number, why: CloseReason): Promise<void> {
    const { host } = this.#settings;
    await this.#until(life, life.end.signal, `close slot ${slot}`, () => host.close(slot, why));
    this.#step(life, { type: 'drained', slot, token });
  }

  async #survey(life: Life): Promise<void> {
    const { host } = this.#settings;
    const { signal } = life.end;
    let names: readonly WeighedHash[] = [];
    await this.#until(life, signal, 'find the names that exist', async () => {
      names = [...(await host.survey({ signal }))];
    });
    if (!signal.aborted) this.#step(life, { type: 'surveyed', names });
  }

  /** Calls a function of the host until it succeeds, or the signal fires. Never rejects. */
  async #until(
    life: Life,
    signal: AbortSignal,
    what: string,
    call: () => Promise<void>,
  ): Promise<void> {
    const { clock, retryPeriod } = this.#settings;
    const either = AbortSignal.any([signal, life.end.signal]);
    while (!either.aborted) {
      try {
        await call();
        return;
      } catch (error) {
        if (either.aborted && isAbort(error)) return;
        handleError(error, `shards: ${what}`, `, again in ${retryPeriod} ms`);
      }
      await sleep(clock, retryPeriod, either);
    }
  }

  // Requests.

  async #read(life: Life, what: ReadKind): Promise<void> {
    const sentAt = this.#settings.clock.now();
    let input: ShardInput;
    try {
      input = await this.#requests.read(what, sentAt, life.end.signal);
      this.#failing.delete(`read ${what}`);
    } catch (error) {
      input = { type: 'read-failed', what };
      this.#failed(life, `read ${what}`, error);
    }
    this.#step(life, input);
  }

  async #write(life: Life, write: ShardWrite): Promise<void> {
    const { id } = write;
    const what = `${write.verb} ${write.kind === 'map' ? 'the map' : `Lease ${write.name}`}`;
    let input: ShardInput;
    try {
      input = await this.#requests.write(write, life.end.signal);
      this.#failing.delete(what);
    } catch (error) {
      const isRefused = isStatusError(error) && (error.status === 409 || error.status === 404);
      input = { type: 'answer', id, result: isRefused ? 'refused' : 'unknown' };
      if (!isRefused) this.#failed(life, what, error);
    }
    this.#step(life, input);
  }

  #failed(life: Life, what: string, error: unknown): void {
    if (life.end.signal.aborted) return;
    const { logger, replica } = this.#settings;
    const level = this.#failing.has(what) ? 'debug' : 'warn';
    this.#failing.add(what);
    logger[level](`shards: could not ${what}`, { replica, error });
  }

  /** Watches the Leases and the map for the machine. Never rejects. */
  async #watch(signal: AbortSignal): Promise<void> {
    const { namespace, id, clock, retryPeriod } = this.#settings;
    const tellLease = (object: ShardObject, isDeleted: boolean): void =>
      this.#step(this.#life, { type: 'lease-event', lease: leaseViewOf(object), isDeleted });
    const tellMap = (object: ShardObject, isDeleted: boolean): void =>
      this.#step(this.#life, {
        type: 'map',
        version: versionNumber(object.metadata.resourceVersion),
        object: isDeleted ? undefined : mapViewOf(object),
      });
    const start = async (
      resource: Resource<ShardObject>,
      selection: { labelSelector?: string; fieldSelector?: string },
      told: (object: ShardObject, isDeleted: boolean) => void,
    ): Promise<void> => {
      const options = { clock, backoff: { duration: retryPeriod / 2, cap: retryPeriod } };
      const informer = new SharedIndexInformer(
        new ListWatch(this.#transport, resource, { namespace, ...selection }),
        options,
      );
      informer.setWatchErrorHandler(() => undefined); // `#failed` reports the same failures
      const plain = (object: ShardObject): ShardObject => JSON.parse(JSON.stringify(object));
      informer.addEventHandler({
        onAdd: (object) => told(plain(object), false),
        onUpdate: (_, object) => told(plain(object), false),
        onDelete: (object) => {
          if (!isTombstone(object)) told(plain(object), true);
        },
      });
      await informer.run({ signal });
    };
    try {
      await Promise.all([
        start(SHARD_LEASES, { labelSelector: `${GROUP_LABEL}=${id}` }, tellLease),
        start(SHARD_MAPS, { fieldSelector: `metadata.name=${id}` }, tellMap),
      ]);
    } catch (error) {
      handleError(error, 'the watches of the shards; it still polls');
      await whenAborted(signal);
    }
  }
}

/** A machine with its name and its work under way. */
class Life {
  readonly name: string;
  readonly machine: ShardMachine;
  /** Ends the requests and calls of this life. */
  readonly end = new AbortController();
  readonly ended = deferred();
  readonly warming: (AbortController | undefined)[] = new Array(SLOTS);
  timer: unknown;
  isRunning = false;
  /** The revision of the view when `#unowned` observed it last. */
  observed = -1;
  why: EndReason | undefined;
  failure: { readonly error: unknown } | undefined;

  constructor(name: string, machine: ShardMachine) {
    this.name = name;
    this.machine = machine;
  }

  stop(why: EndReason | undefined): void {
    this.why ??= why;
    this.isRunning = false;
    this.end.abort();
    this.ended.resolve();
  }
}

function settingsOf(options: ShardReplicaOptions, clock: Clock): Settings {
  const { id, namespace, replica, host, logger = silentLogger } = options;
  if (typeof id !== 'string' || !/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(id))
    throw invalid('options.id', 'at most 63 of a-z, 0-9 and "-", as the value of a label', id);
  if (typeof namespace !== 'string' || namespace === '')
    throw invalid('options.namespace', 'a namespace', namespace);
  requireString('options.replica', replica);
  requireMembers('options.host', host, 'member of a host', HOST_NAMES, true);
  for (const name of ['warm', 'open', 'close', 'drop', 'weight', 'survey'] as const)
    requireFunction(`options.host.${name}`, host[name]);
  requireLogger('options.logger', logger);
  const { leaseDuration = 15_000, renewDeadline = 10_000, retryPeriod = 2000 } = options;
  const { moveTimeout = 60_000, quiet = 30_000 } = options;
  const durations = { leaseDuration, renewDeadline, retryPeriod, moveTimeout, quiet };
  for (const [name, value] of Object.entries(durations))
    if (typeof value !== 'number' || !(value > 0) || value === Number.POSITIVE_INFINITY)
      throw invalid(`options.${name}`, 'milliseconds > 0', value);
  const recorded = Math.floor(leaseDuration / 1000) * 1000;
  if (recorded <= renewDeadline)
    throw invalid(
      'options.leaseDuration',
      `whole seconds, more than renewDeadline (${renewDeadline} ms)`,
      leaseDuration,
    );
  if (renewDeadline < 2 * retryPeriod)
    throw invalid(
      'options.renewDeadline',
      `at least twice retryPeriod (${retryPeriod} ms)`,
      renewDeadline,
    );
  return {
    id,
    namespace,
    replica: nameOf(replica),
    host,
    logger,
    clock,
    suffix: options.suffix ?? (() => crypto.randomUUID().slice(0, 8)),
    member: '',
    leaseDuration: recorded,
    retryPeriod,
    maxClockSkewRatio: recorded / renewDeadline,
    joinDelay: retryPeriod,
    moveTimeout,
    quiet,
    threshold: THRESHOLD,
    mostMoves: MOST_MOVES,
    recutPause: RECUT_PAUSE_MS,
  };
}

/** Makes a name of an object from a host name. */
const nameOf = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 150) || 'replica';
