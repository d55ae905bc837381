/**
 * The cache of one resource, as a client reads it. Reads wait until it has synced, and until it has
 * this client's writes unless the reader opts out.
 */

import type { Clock } from '../base/clock.ts';
import { CapstanError } from '../base/errors.ts';
import { handleError } from '../base/handle-error.ts';
import type { Resource } from '../base/resource.ts';
import { sleep } from '../base/wait.ts';
import type { SharedInformerFactory } from '../cache/informer/factory.ts';
import type { InformerSelection } from '../cache/informer/factory-options.ts';
import type { SharedIndexInformer } from '../cache/informer/informer.ts';
import { type Selection, selectionMatcher } from '../cache/reflector/selection.ts';
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

/** How often a waiting read checks that the cache still follows the server, in milliseconds. */
const LOOK_MS = 200;

/**
 * Milliseconds. If the server takes longer to say whether it serves the kind, the informer goes on
 * without an answer.
 */
const SERVED_MS = 10_000;

/**
 * Up to this many deletions at unknown versions are looked up one by one. For more, one later
 * version is requested.
 */
const FEW = 4;

/** The most conflicts that are kept, each until the cache has the newer state. */
const MOST_REFUSED = 1024;

/**
 * How long a read waits for a version that cannot be compared, in milliseconds, before it asks the
 * server.
 */
const OPAQUE_MS = 1000;

/** False while the informer waits before a retry: then nothing arrives for up to half a minute. */
function follows(informer: AnyInformer): boolean {
  const { state } = informer.status();
  return state !== 'waiting' && state !== 'parked';
}

export class ResourceCache {
  readonly writes = new OwnWrites();
  readonly #options: ResourceCacheOptions;
  /** The namespace, if the cache has several. */
  readonly asked: InformerSelection;
  readonly #describe: string;
  #informer: AnyInformer | undefined;
  /**
   * Whether a watch has been opened. Before that the server may refuse it, and the cache would stay
   * behind.
   */
  #watched = false;
  #view: CacheView | undefined;
  #belongs: (object: WrittenObject) => boolean | undefined = () => true;
  /** Versions of writes that were conflicts, by key. */
  readonly #refused = new Map<string, string | undefined>();
  #selection: Selection = { namespace: '', labelSelector: '', fieldSelector: '' };

  constructor(resource: AnyResource, asked: InformerSelection, options: ResourceCacheOptions) {
    this.#options = options;
    this.asked = asked;
    this.#describe = options.factory.nameOf(resource as Resource<never, never>, asked);
  }

  /** The indexer if a read of the object needs no waiting, else undefined. */
  ready(key: ObjectKey): Indexer<never, string> | undefined {
    const informer = this.#informer;
    if (informer === undefined || !informer.hasSynced() || informer.isStopped()) return;
    if (!this.#watched || (this.#refused.size > 0 && this.#refused.has(cacheKey(key)))) return;
    return this.writes.isEmpty() || !this.writes.touches(cacheKey(key))
      ? informer.getIndexer()
      : undefined;
  }

  /** Whether the cache has the objects of a namespace; "" for all of its namespaces. */
  holds(namespace: string): boolean {
    return (
      namespace === '' ||
      this.#selection.namespace === '' ||
      namespace === this.#selection.namespace
    );
  }

  /** The selection of the cache. */
  selection(): Selection {
    return this.#selection;
  }

  /**
   * The function that removes what the cache leaves out of an object. Undefined if it keeps
   * everything or there is no informer yet.
   */
  kept(): ((object: object) => object) | undefined {
    this.look();
    return this.#informer?.keeps() as ((object: object) => object) | undefined;
  }

  /** The selectors of the cache, for messages; "" if there are none. */
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
   * Notes that the server refused a write as a conflict: the cached object is too old until the
   * cache has a newer version.
   *
   * @param version of the object that was written; undefined if it was taken not to exist
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

  /** Whether the server is known to have a newer state of the object. */
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

  /** Whether the cache's selectors select an object. True if that cannot be decided here. */
  belongs(object: WrittenObject): boolean {
    return this.#belongs(object) !== false;
  }

  /**
   * Starts the informer, adds the resource's indices, and waits until it has synced. Rejects with
   * CapstanError NOT_CACHED, CACHE_SYNC_TIMEOUT, STOPPED or ABORTED, with the server's 404 if it
   * does not serve the resource, and with its 403 while it forbids listing or watching.
   */
  async open<T extends object>(
    resource: Resource<T, string>,
    signal: AbortSignal | undefined,
  ): Promise<Indexer<T, string>> {
    const { factory, clock, syncTimeout, failOnMissingInformer } = this.#options;
    if (failOnMissingInformer && !factory.has(resource, this.asked)) {
      throw new CapstanError(
        'NOT_CACHED',
        `there is no informer for ${this.#describe}, and ` +
          'readerFailOnMissingInformer is set: ask the factory for one, or read ' +
          'live',
      );
    }
    const informer = factory.informerFor(resource, this.asked);
    this.#use(informer as unknown as AnyInformer);
    // Starts this informer alone, because others of the factory may not be meant to start yet. The
    // factory's shutdown ends it.
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
          `the cache of ${this.#describe} has not synced within ` +
            `${syncTimeout} ms: see the cause, and the informer's status()`,
          { cause: informer.status().lastFailure?.error },
        );
      }
      // The informer does not notify of failures.
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
   * Whether the server serves the resource; an informer would wait for it for ever. Asked before
   * the informer starts, and when it found nothing to list.
   */
  async isServed<T extends object>(
    resource: Resource<T, string>,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    // every read but the first takes this way, without the factory
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
   * Waits until the cache has this client's writes to the object or in the namespace. Resolves with
   * what is still missing after the time; rejects with ABORTED.
   *
   * @param where `patient`: waits also while the cache's watch is down, because the server cannot
   *   answer instead
   * @param ask asks the server for an object that was deleted at an unknown version; without a
   *   name, for the current version
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
    // The cache may never reach a version that cannot be compared.
    const most = missing.now.some(isOpaque) ? OPAQUE_MS : readYourWritesTimeout;
    const deadline = clock.now() + Math.min(most, readYourWritesTimeout);
    const inVain = (): boolean => missing.now.some((write) => write.late);
    for (
      let last = missing.now.at(-1);
      last !== undefined && !informer.isStopped() && !inVain();
    ) {
      // The cache usually gets the last write last. The others are checked after it.
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

  /**
   * The writes whose version cannot be compared and did not arrive, without those that have been
   * overwritten.
   */
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

  /** Replaces the writes that need a request by the server's answer. */
  async #known(view: CacheView, found: Missing, namespace: string, ask: Ask): Promise<Missing> {
    let missing = found;
    // Again for writes that the cache has reached meanwhile.
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

  /** The version up to which the cache is complete. */
  progress(): string {
    return this.#view?.progress() ?? '';
  }

  /**
   * Looks for the informer before a write is noted: others may have started it, and its selection
   * says which writes it will never show.
   */
  look(): void {
    const there =
      this.#informer === undefined && this.#options.factory.informers().get(this.#describe);
    if (there) this.#use(there);
  }

  /**
   * @param object after the write
   * @param whole false if it has the object's version and nothing else of it
   */
  wrote(object: WrittenObject, whole = true): void {
    const { name, namespace = '', uid, resourceVersion } = object.metadata ?? {};
    if (name === undefined || resourceVersion === undefined) return;
    const state = whole && isFullyDeleted(object) ? 'gone' : 'there';
    const belongs = whole ? this.#belongs(object) : undefined;
    const [expected, unsure] = [belongs !== false, belongs === undefined && this.#isRestricted()];
    this.#add({ namespace, name }, { uid, version: resourceVersion, state, expected, unsure });
  }

  /** Notes a change or deletion at a version that the server did not answer. */
  touched(key: ObjectKey): void {
    this.#add(key, { uid: undefined, version: undefined, state: 'there', expected: true });
  }

  /**
   * @param object the answer to the deletion: marked if a finalizer holds it, else its last state
   */
  wroteDeletion(object: WrittenObject): void {
    const { name, namespace, uid, resourceVersion, deletionTimestamp } = object.metadata ?? {};
    if (name === undefined) return;
    if (deletionTimestamp !== undefined && !isFullyDeleted(object)) this.wrote(object);
    else this.deleted({ namespace, name }, 'gone', uid, resourceVersion);
  }

  /** @param uid of the deleted object, if the server answered it */
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

  /** Whether the selection has more than a namespace. */
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
