/**
 * The cache of one resource, as a client reads it. What it keeps true: nothing is read before the
 * cache has synced, and nothing that is older than what the client itself wrote, unless the reader
 * asked for that.
 */

import type { Clock } from '../base/clock.ts';
import { CapstanError } from '../base/errors.ts';
import { handleError } from '../base/handle-error.ts';
import { sleep } from '../base/wait.ts';
import type { InformerSelection, SharedInformerFactory } from '../cache/informer/factory.ts';
import type { SharedIndexInformer } from '../cache/informer/informer.ts';
import { type Selection, selectionMatcher } from '../cache/reflector/selection.ts';
import type { Resource } from '../cache/rest/resource.ts';
import {
  compareResourceVersion,
  isComparableResourceVersion,
} from '../cache/rest/resource-version.ts';
import { isForbidden, isNotFound } from '../cache/rest/status-error.ts';
import type { Indexer } from '../cache/store/store.ts';
import { waitForChange } from './change-wait.ts';
import {
  type CacheView,
  isFullyDeleted,
  isLost,
  isMissing,
  isOpaque,
  type Missing,
  type OwnWrite,
  OwnWrites,
  type WrittenObject,
} from './read-your-writes.ts';
import type { AnyResource, ObjectKey } from './types.ts';

export interface ResourceCacheOptions {
  readonly factory: SharedInformerFactory;
  readonly clock: Clock;
  /** Milliseconds. */
  readonly syncTimeout: number;
  readonly failOnMissingInformer: boolean;
  /** Milliseconds. */
  readonly readYourWritesTimeout: number;
}

type Ask = (
  key: ObjectKey,
) => Promise<{ object: WrittenObject | undefined; version: string | undefined }>;

type AnyInformer = SharedIndexInformer<never, string>;

/** How often a read that waits for a write looks whether the cache still follows the server. */
const LOOK_MS = 200;

/**
 * Milliseconds. A server that takes longer to say whether it has a kind is left to the informer,
 * which has its own ways with it.
 */
const SERVED_MS = 10_000;

/**
 * So many deletions at no known version are asked for one by one; for more, one version from after
 * all of them does.
 */
const FEW = 4;

/** So many conflicts are remembered, each until the cache shows what led to it. */
const MOST_REFUSED = 1024;

/** Milliseconds that a read waits for a version that cannot be compared, until the server is asked. */
const OPAQUE_MS = 1000;

/**
 * Not while the informer waits before it tries again: until then nothing will come, for as long as
 * half a minute.
 */
function follows(informer: AnyInformer): boolean {
  const { state } = informer.status();
  return state !== 'waiting' && state !== 'parked';
}

export class ResourceCache {
  readonly writes = new OwnWrites();
  readonly #options: ResourceCacheOptions;
  /** Its namespace, where the resource is cached by namespaces. */
  readonly asked: InformerSelection;
  readonly #describe: string;
  #informer: AnyInformer | undefined;
  /** A watch has been opened: before, the server may yet refuse it, and the cache would be blind. */
  #watched = false;
  #view: CacheView | undefined;
  #belongs: (object: WrittenObject) => boolean | undefined = () => true;
  /** Versions of writes that the server refused as conflicts, by key. */
  readonly #refused = new Map<string, string | undefined>();
  #selection: Selection = { namespace: '', labelSelector: '', fieldSelector: '' };

  constructor(resource: AnyResource, asked: InformerSelection, options: ResourceCacheOptions) {
    this.#options = options;
    this.asked = asked;
    this.#describe = options.factory.nameOf(resource as Resource<never, never>, asked);
  }

  /**
   * The indexer where nothing has to be waited for to read an object, not even what was written;
   * else undefined.
   */
  ready(key: ObjectKey): Indexer<never, string> | undefined {
    const informer = this.#informer;
    if (informer === undefined || !informer.hasSynced() || informer.isStopped()) return;
    if (!this.#watched || (this.#refused.size > 0 && this.#refused.has(cacheKey(key)))) return;
    return this.writes.isEmpty() || !this.writes.touches(cacheKey(key))
      ? informer.getIndexer()
      : undefined;
  }

  /** Whether the cache has the objects of a namespace; "" is all that it has. */
  holds(namespace: string): boolean {
    return (
      namespace === '' ||
      this.#selection.namespace === '' ||
      namespace === this.#selection.namespace
    );
  }

  /** What the cache is restricted to. */
  selection(): Selection {
    return this.#selection;
  }

  /**
   * What the cache keeps of an object of the server; `undefined`: all of it, or there is no cache
   * yet that an object could be from.
   */
  kept(): ((object: object) => object) | undefined {
    this.look();
    return this.#informer?.keeps() as ((object: object) => object) | undefined;
  }

  /** What leaves objects out of the cache, in words; "" is nothing. */
  selectors(): string {
    const { labelSelector, fieldSelector, others = {} } = this.#selection;
    const more = Object.entries(others).map(([name, value]) => `${name} ${value}`);
    return [
      labelSelector && `labels ${labelSelector}`,
      fieldSelector && `fields ${fieldSelector}`,
      ...more,
    ]
      .filter((selector) => selector !== '')
      .join(' and ');
  }

  /**
   * The server has refused a write as a conflict: what the cache shows of the object is too old,
   * until it shows something newer.
   *
   * @param version of the object that was written; undefined: it was taken not to be there
   */
  refused(key: ObjectKey, version: string | undefined): void {
    const of = cacheKey(key);
    this.#refused.delete(of);
    this.#refused.set(of, version);
    if (this.#refused.size <= MOST_REFUSED) return;
    for (const [oldest] of this.#refused) {
      this.#refused.delete(oldest);
      return;
    }
  }

  hasRefused(): boolean {
    return this.#refused.size > 0;
  }

  /** Whether it is known that the server has a newer state of an object than this one. */
  isStale(key: string, object: WrittenObject | undefined): boolean {
    if (this.#refused.size === 0 || !this.#refused.has(key)) return false;
    const version = this.#refused.get(key);
    const shown = object?.metadata?.resourceVersion;
    if (shown === undefined || shown === version) return true;
    const isOlder =
      isComparableResourceVersion(shown) &&
      isComparableResourceVersion(version) &&
      compareResourceVersion(shown, version) < 0;
    if (!isOlder) this.#refused.delete(key);
    return isOlder;
  }

  /** Whether the selectors of the cache select an object; true where that cannot be told here. */
  belongs(object: WrittenObject): boolean {
    return this.#belongs(object) !== false;
  }

  /**
   * Makes and starts the informer where that has not been done, adds the indices of the resource to
   * it, and waits until it has synced. Rejects with CapstanError NOT_CACHED, CACHE_SYNC_TIMEOUT,
   * STOPPED or ABORTED, with the server's 404 where it turns out not to have the resource, and with
   * its 403 as long as it forbids to list or to watch it.
   */
  async open<T extends object>(
    resource: Resource<T, string>,
    signal: AbortSignal | undefined,
  ): Promise<Indexer<T, string>> {
    const { factory, clock, syncTimeout, failOnMissingInformer } = this.#options;
    if (failOnMissingInformer && !factory.has(resource, this.asked)) {
      throw new CapstanError(
        'NOT_CACHED',
        `there is no informer for ${this.#describe}, and readerFailOnMissingInformer is set: ask the factory for one, or read live`,
      );
    }
    const informer = factory.informerFor(resource, this.asked);
    this.#use(informer as unknown as AnyInformer);
    // By itself, as others of the factory may not be meant to start yet. Who shuts the factory down
    // ends it too.
    if (!informer.hasStarted())
      informer.run().catch((error) => handleError(error, `informer of ${this.#describe}`));
    const deadline = clock.now() + syncTimeout;
    let judged: unknown;
    for (;;) {
      if (informer.isStopped())
        throw new CapstanError(
          'STOPPED',
          `the informer of ${this.#describe} has been stopped: read live, or earlier`,
        );
      if (this.#watched) break;
      const { watches, lastFailure } = informer.status();
      this.#watched = informer.hasSynced() && watches > 0;
      if (!this.#watched && isForbidden(lastFailure?.error)) throw lastFailure?.error;
      if (informer.hasSynced()) break;
      const left = deadline - clock.now();
      if (left <= 0) {
        throw new CapstanError(
          'CACHE_SYNC_TIMEOUT',
          `the cache of ${this.#describe} has not synced within ${syncTimeout} ms: see the cause, and the informer's status()`,
          { cause: informer.status().lastFailure?.error },
        );
      }
      // Of a failure nobody is told.
      const ms = Math.min(left, LOOK_MS);
      await waitForChange(
        informer,
        () => informer.hasSynced() || informer.isStopped(),
        clock,
        ms,
        signal,
      );
      const failure = informer.status().lastFailure?.error;
      if (failure === judged || !isNotFound(failure)) continue;
      judged = failure;
      if (!(await this.isServed(resource, signal))) throw failure;
    }
    return informer.getIndexer() as unknown as Indexer<T, string>;
  }

  /**
   * Whether the server has the resource, for which an informer would wait in vain otherwise. It is
   * asked before there is one, and when that has found nothing to list.
   */
  async isServed<T extends object>(
    resource: Resource<T, string>,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    // as for every read but the first, without a look for it in the factory
    if (this.#informer?.hasSynced()) return true;
    const { factory, clock, failOnMissingInformer } = this.#options;
    const there = factory.has(resource, this.asked);
    if (failOnMissingInformer && !there) return true; // which is another error
    const informer = there ? factory.informerFor(resource, this.asked) : undefined;
    if (informer?.hasSynced()) return true;
    if (informer !== undefined && !isNotFound(informer.status().lastFailure?.error)) return true;
    const over = new AbortController();
    const either = signal === undefined ? over.signal : AbortSignal.any([signal, over.signal]);
    const asking = factory.isServed(resource as Resource<T, never>, {
      selection: this.asked,
      signal: either,
    });
    const served = await Promise.race([asking, sleep(clock, SERVED_MS, either)]);
    over.abort();
    return served !== false;
  }

  /**
   * Waits until the cache has what this client has written, to the object or in the namespace, so
   * far. Resolves with what it still does not have when the time is over; rejects with ABORTED.
   *
   * @param where `patient`: nobody else can tell, so that a cache whose watch is down is waited for
   *   as well
   * @param ask asks the server for an object that was deleted at no known version; without a name,
   *   at which version there is whatever there is
   */
  async catchUp(
    where: { key: string } | { namespace: string; patient: boolean },
    ask: Ask,
    signal: AbortSignal | undefined,
  ): Promise<OwnWrite[]> {
    const informer = this.#informer;
    const view = this.#view;
    if (informer === undefined || view === undefined || this.writes.isEmpty()) return [];
    const namespace = ('namespace' in where && where.namespace) || this.#selection.namespace;
    const known = (found: Missing): Promise<Missing> => this.#known(view, found, namespace, ask);
    let missing = await known(
      'key' in where
        ? this.writes.missing(view, where.key)
        : this.writes.missingIn(view, where.namespace),
    );
    const { clock, readYourWritesTimeout } = this.#options;
    const patient = 'patient' in where && where.patient;
    // A version that cannot be compared may be one that the cache never shows.
    const most = missing.now.some(isOpaque) ? OPAQUE_MS : readYourWritesTimeout;
    const deadline = clock.now() + Math.min(most, readYourWritesTimeout);
    const inVain = (): boolean => missing.now.some((write) => write.late);
    for (
      let last = missing.now.at(-1);
      last !== undefined && !informer.isStopped() && !inVain();
    ) {
      // Of the one that was written last the cache nearly always hears last: the others are gone
      // through when it has.
      const write = last;
      const come = (): boolean => informer.isStopped() || write.late || !isMissing(view, write);
      await waitForChange(informer, come, clock, Math.min(deadline - clock.now(), LOOK_MS), signal);
      const over = clock.now() >= deadline || !(patient || follows(informer));
      if (!over && !come() && !inVain()) continue;
      missing = await known(this.writes.stillMissing(view, missing.all));
      last = missing.now.at(-1);
      if (over) for (const each of missing.now) each.late = true;
    }
    return this.#stillThere(view, missing.now, ask);
  }

  /** Of versions that cannot be compared and did not come, less those that are no longer the last. */
  async #stillThere(view: CacheView, late: OwnWrite[], ask: Ask): Promise<OwnWrite[]> {
    const opaque = late.filter(isOpaque);
    if (opaque.length === 0 || opaque.length > FEW) return late;
    const asked = late.map((write) => (isOpaque(write) ? this.#ask(write, ask) : write));
    const { now } = this.writes.stillMissing(view, await Promise.all(asked));
    for (const each of now) each.late = true;
    return now;
  }

  async #ask(write: OwnWrite, ask: Ask): Promise<OwnWrite> {
    const { namespace, key } = write;
    const name = key.slice(key.indexOf('/') + 1);
    return this.writes.resolve(write, await ask({ namespace, name }));
  }

  /** With what the server says in place of what takes asking. */
  async #known(view: CacheView, found: Missing, namespace: string, ask: Ask): Promise<Missing> {
    let missing = found;
    // A second time for those that the cache shows meanwhile.
    while (missing.unknown.length > 0) {
      const unknown = new Set(missing.unknown);
      const lost = new Set(missing.all.filter((write) => isLost(view, write)));
      const now = lost.size > FEW ? await ask({ namespace, name: '' }) : undefined;
      const asked = missing.all.map(async (write) => {
        if (now !== undefined && lost.has(write)) return this.writes.resolve(write, now, 'lost');
        return unknown.has(write) ? this.#ask(write, ask) : write;
      });
      missing = this.writes.stillMissing(view, await Promise.all(asked));
    }
    return missing;
  }

  /** The version up to which the cache shows everything. */
  progress(): string {
    return this.#view?.progress() ?? '';
  }

  /**
   * Before a write is noted: others may have made the informer, and what it is restricted to says
   * which writes it will never show.
   */
  look(): void {
    const there =
      this.#informer === undefined && this.#options.factory.informers().get(this.#describe);
    if (there) this.#use(there);
  }

  /**
   * @param object as it is now
   * @param whole false: it has the version of the object, and nothing else by which it could be
   *   judged
   */
  wrote(object: WrittenObject, whole = true): void {
    const { name, namespace = '', uid, resourceVersion } = object.metadata ?? {};
    if (name === undefined || resourceVersion === undefined) return;
    const state = whole && isFullyDeleted(object) ? 'gone' : 'there';
    const belongs = whole ? this.#belongs(object) : undefined;
    const [expected, unsure] = [belongs !== false, belongs === undefined && this.#isRestricted()];
    this.#add({ namespace, name }, { uid, version: resourceVersion, state, expected, unsure });
  }

  /** It was changed, or deleted, at a version that the server did not say. */
  touched(key: ObjectKey): void {
    this.#add(key, { uid: undefined, version: undefined, state: 'there', expected: true });
  }

  /** @param object the answer to its deletion: marked if something holds it, else its last state */
  wroteDeletion(object: WrittenObject): void {
    const { name, namespace, uid, resourceVersion, deletionTimestamp } = object.metadata ?? {};
    if (name === undefined) return;
    if (deletionTimestamp !== undefined && !isFullyDeleted(object)) this.wrote(object);
    else this.deleted({ namespace, name }, 'gone', uid, resourceVersion);
  }

  /** @param uid of the object that was deleted, where the server said it */
  deleted(
    key: ObjectKey,
    state: 'gone' | 'deleting',
    uid: string | undefined,
    version?: string,
  ): void {
    const cached = this.#view?.object(cacheKey(key))?.metadata;
    const had =
      version ?? (uid !== undefined && cached?.uid === uid ? cached.resourceVersion : undefined);
    this.#add(key, { uid, version: had, state, expected: true });
  }

  /** By more than its namespace. */
  #isRestricted(): boolean {
    const { labelSelector, fieldSelector, isUnknown = false } = this.#selection;
    return labelSelector !== '' || fieldSelector !== '' || isUnknown;
  }

  #add(
    key: ObjectKey,
    write: Pick<OwnWrite, 'uid' | 'version' | 'state' | 'expected' | 'unsure'>,
  ): void {
    const { namespace = '' } = key;
    if (!this.holds(namespace)) return;
    const synced = this.#informer?.hasSynced() && !this.#informer.isStopped();
    this.writes.add({ namespace, key: cacheKey(key), ...write }, synced ? this.#view : undefined);
  }

  #use(informer: AnyInformer): void {
    if (informer === this.#informer) return;
    this.#informer = informer;
    this.#watched = false;
    const indexer = informer.getIndexer() as unknown as Indexer<WrittenObject, string>;
    this.#view = {
      object: (key) => indexer.getByKey(key),
      progress: () => indexer.lastStoreSyncResourceVersion(),
    };
    this.#selection = informer.selection();
    this.#belongs = selectionMatcher(this.#selection);
  }
}

/** client-go: tools/cache/store.go MetaNamespaceKeyFunc. */
export function cacheKey({ namespace, name }: ObjectKey): string {
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;
}
