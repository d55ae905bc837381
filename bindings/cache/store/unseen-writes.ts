/**
 * Unseen writes: objects that this process has written and that the cache does not have yet. If
 * such an object is deleted in a gap of the watch, the next list does not contain it and no event
 * comes; only this process knows that it existed.
 *
 * Invariants: handlers get one tombstone for such an object, once a list has taken the cache past
 * its version without it; none if they get the deletion anyway; the memory is bounded. Versions are
 * compared as decimal numbers; if a server's are not, nothing is remembered, which is reported
 * once.
 */
import { CapstanError, show } from '../../base/errors.ts';
import { deepFreeze } from '../../base/freeze.ts';
import { handleError } from '../../base/handle-error.ts';
import type { KubeObject } from '../../base/object.ts';
import { type ExpectedKind, withKind } from '../decode/decoder.ts';
import type { DecoderOptions } from '../decode/limits.ts';
import { trimOf, trimValue } from '../decode/trim.ts';
import type { TransformFunc } from '../queue/queue.ts';
import { type Selection, selectionMatcher } from '../reflector/selection.ts';
import type { HashRanges } from '../rest/hash-ranges.ts';
import {
  DeletedFinalStateUnknown,
  deletionHandlingMetaNamespaceKeyFunc,
  metaNamespaceKeyFunc,
} from '../rest/keys.ts';
import { compareResourceVersion, isComparableResourceVersion } from '../rest/resource-version.ts';

/** The part of a cache that is used here. */
export interface StoreView {
  getByKey(key: string): object | undefined;
  /** The resourceVersion of the last change; "" before any. */
  lastStoreSyncResourceVersion(): string;
}

export interface UnseenWritesOptions<T> {
  /** The selection of the cache; called at the first write. */
  selection(): Selection & { readonly metadataOnly: boolean };
  /** The ranges that the cache has; undefined: all. */
  ranges?(): HashRanges | undefined;
  /** The kind of its objects. */
  expected: ExpectedKind;
  /** The members that it drops. */
  limits: Pick<DecoderOptions, 'drop' | 'keepManagedFields'>;
  /** The transformer of the cache. */
  transformer: TransformFunc<T>;
  onDeleted(tombstone: DeletedFinalStateUnknown<T>): void;
  /** `v1 ConfigMap`, for messages. */
  describe?: string | undefined;
  max?: number | undefined;
  maxText?: number | undefined;
}

interface Unseen {
  readonly version: string;
  /**
   * The object as JSON, because the program may change the object that it got. It is parsed only
   * for a tombstone, which is rare.
   */
  readonly json: string;
}

/**
 * Limits of the objects and of their characters. Beyond them the oldest are dropped; their missed
 * deletions stay missed.
 */
const MAX = 4096;
const MAX_TEXT = 16 * 1024 * 1024;
/** The part that is kept then, so that the next writes need not search through all others. */
const KEPT_PART = 3 / 4;

export class UnseenWrites<T extends object> {
  readonly #store: StoreView;
  readonly #options: UnseenWritesOptions<T>;
  readonly #max: number;
  readonly #maxText: number;
  #selection: (Selection & { readonly metadataOnly: boolean }) | undefined;
  #belongs: (object: KubeObject) => boolean | undefined = () => true;
  #reportedOpaque = false;
  /** By key, in the order of the writes. */
  readonly #byKey = new Map<string, Unseen>();
  #text = 0;
  #sweepAt = 64;
  /**
   * The versions before and of the last list: no events came for the versions between them. Equal
   * before the first list.
   */
  #gap = { after: '', upTo: '' };
  /** During a list: deletions that handlers get after it. */
  #missed: { key: string; json: string; isLate: boolean }[] | undefined;
  /** Keys whose deletion handlers have got since that list began. */
  readonly #deletionsNotified = new Set<string>();

  constructor(store: StoreView, options: UnseenWritesOptions<T>) {
    this.#store = store;
    this.#options = options;
    this.#max = options.max ?? MAX;
    this.#maxText = options.maxText ?? MAX_TEXT;
  }

  size(): number {
    return this.#byKey.size;
  }

  /**
   * Remembers a write, unless the cache has it already.
   *
   * @param object as the server answered it
   * @throws CapstanError INVALID_ARGUMENT for a value without `metadata.name`
   */
  wrote(object: KubeObject): void {
    const key = metaNamespaceKeyFunc(object);
    const { uid, resourceVersion: version } = object.metadata as {
      uid?: string;
      resourceVersion?: string;
    };
    if (this.#selection === undefined) {
      const selection = this.#options.selection();
      this.#belongs = selectionMatcher(selection);
      this.#selection = selection;
    }
    // If it is unknown whether the cache selects the object, its absence from a list does not mean
    // a deletion.
    if (version === undefined || !this.#belongs(object)) return;
    if (this.#options.ranges?.()?.hasKey(key) === false) return;
    if (!isComparableResourceVersion(version)) {
      this.#reportOpaque(version);
      return;
    }
    const cached = this.#store.getByKey(key) as { metadata?: { uid?: string } } | undefined;
    // The deletion of a cached object is found by the list; a replaced object of the same name gets
    // its own tombstone.
    if (cached !== undefined && (cached.metadata?.uid === undefined || cached.metadata.uid === uid))
      return;
    if (!this.#isPast(version)) this.#keep(key, { version, json: JSON.stringify(object) });
    else if (cached === undefined && this.#isInGap(version) && !this.#deletionsNotified.has(key))
      this.#notify(key, JSON.stringify(object), true); // the answer came after the list
  }

  /** Forgets writes outside of the ranges, which other caches have. */
  keepRanges(kept: HashRanges): void {
    for (const key of this.#byKey.keys()) if (!kept.hasKey(key)) this.#forget(key);
  }

  #reportOpaque(version: string): void {
    if (this.#reportedOpaque) return;
    this.#reportedOpaque = true;
    const { describe = 'objects' } = this.#options;
    const message =
      `resource versions of ${describe} are no decimal numbers, as ${show(version)}: reads of ` +
      'own writes wait for exactly that version, and handlers may not be called if another ' +
      'program deletes an object soon after this one wrote it';
    handleError(new CapstanError('DECODE', message), 'informer');
  }

  /** Call this when handlers get a deletion. */
  deleted(object: T | DeletedFinalStateUnknown<T>): void {
    if (this.#selection === undefined) return;
    this.#deletionsNotified.add(deletionHandlingMetaNamespaceKeyFunc(object));
    if (this.#deletionsNotified.size <= this.#max) return;
    this.#deletionsNotified.clear();
    this.#gap = { after: this.#gap.upTo, upTo: this.#gap.upTo };
  }

  /**
   * Call this before a list replaces the content of the cache. From then on deletions wait until
   * `notifyMissed`. @returns the argument for `replaced`
   */
  replacing(): string {
    this.#missed = [];
    this.#deletionsNotified.clear();
    return this.#store.lastStoreSyncResourceVersion();
  }

  /** Call this once the cache has the list. @param before the result of `replacing` */
  replaced(before: string): void {
    const upTo = this.#store.lastStoreSyncResourceVersion();
    // Before the first write no deletions were recorded, so a late answer cannot be compared with
    // them.
    this.#gap = { after: this.#selection === undefined ? upTo : before, upTo };
    for (const [key, { version, json }] of this.#byKey) {
      if (!this.#isPast(version)) continue;
      this.#forget(key);
      if (isAfter(version, before) && this.#store.getByKey(key) === undefined)
        this.#notify(key, json);
    }
  }

  /** Call this when handlers have got the list, or the list has failed. */
  notifyMissed(): void {
    const missed = this.#missed ?? [];
    this.#missed = undefined;
    for (const { key, json, isLate } of missed)
      if (!isLate || !this.#deletionsNotified.has(key)) this.#notify(key, json);
  }

  #notify(key: string, json: string, isLate = false): void {
    if (this.#missed !== undefined) {
      this.#missed.push({ key, json, isLate });
      return;
    }
    const { transformer, onDeleted, limits, expected } = this.#options;
    this.#deletionsNotified.add(key);
    const object = JSON.parse(json) as KubeObject;
    const kept = this.#selection?.metadataOnly ? { metadata: object.metadata } : object;
    trimValue(kept, trimOf(limits.drop ?? [], limits.keepManagedFields ?? false));
    onDeleted(
      new DeletedFinalStateUnknown(
        key,
        deepFreeze(transformer(withKind(kept as T, expected.shown ?? expected))),
      ),
    );
  }

  /** Answers of the server may arrive out of order. */
  #keep(key: string, unseen: Unseen): void {
    const known = this.#byKey.get(key);
    if (known !== undefined && !isAfter(unseen.version, known.version)) return;
    this.#forget(key);
    this.#byKey.set(key, unseen);
    this.#text += unseen.json.length;
    if (this.#byKey.size >= this.#sweepAt || this.#text > this.#maxText) this.#sweep();
  }

  #forget(key: string): void {
    this.#text -= this.#byKey.get(key)?.json.length ?? 0;
    this.#byKey.delete(key);
  }

  /** Drops writes that the cache has reached by events. Runs when their number has doubled. */
  #sweep(): void {
    const part = this.#byKey.size > this.#max || this.#text > this.#maxText ? KEPT_PART : 1;
    for (const [key, { version }] of this.#byKey) if (this.#isPast(version)) this.#forget(key);
    for (const key of this.#byKey.keys()) {
      if (this.#byKey.size <= this.#max * part && this.#text <= this.#maxText * part) break;
      this.#forget(key);
    }
    this.#sweepAt = Math.max(64, Math.min(this.#byKey.size * 2, this.#max + 1));
  }

  #isPast(version: string): boolean {
    return !isAfter(version, this.#store.lastStoreSyncResourceVersion());
  }

  #isInGap(version: string): boolean {
    const { after, upTo } = this.#gap;
    return isAfter(version, after) && !isAfter(version, upTo);
  }
}

/** Whether a version is newer than `other`. True if `other` is not a version. */
function isAfter(version: string, other: string): boolean {
  return !isComparableResourceVersion(other) || compareResourceVersion(version, other) > 0;
}
