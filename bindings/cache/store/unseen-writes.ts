/**
 * Objects that this process has written and that a cache has not shown yet. No list tells of an
 * object that came and went since the version before it, and no event comes after it; only who
 * wrote the object knows that it was there.
 *
 * Invariants: such an object is given once, as a tombstone, when a list has taken
 * the cache past its version without it; one whose deletion is told anyway is not given; what is
 * kept is bounded. Versions are compared as decimal numbers; where a server's are not, nothing is
 * kept, which is said once.
 */
import { CapstanError, show } from '../../base/errors.ts';
import { deepFreeze } from '../../base/freeze.ts';
import { handleError } from '../../base/handle-error.ts';
import { type ExpectedKind, withKind } from '../decode/decoder.ts';
import type { DecoderOptions } from '../decode/limits.ts';
import { trimOf, trimValue } from '../decode/trim.ts';
import type { TransformFunc } from '../queue/queue.ts';
import { type Selection, selectionMatcher } from '../reflector/selection.ts';
import {
  DeletedFinalStateUnknown,
  deletionHandlingMetaNamespaceKeyFunc,
  type KubeObject,
  metaNamespaceKeyFunc,
} from '../rest/keys.ts';
import { compareResourceVersion, isComparableResourceVersion } from '../rest/resource-version.ts';

/** The cache, as far as it is asked here. */
export interface ShowingStore {
  getByKey(key: string): object | undefined;
  /** The version of what it has taken over last; "" before anything. */
  lastStoreSyncResourceVersion(): string;
}

export interface UnseenWritesOptions<T> {
  /** What the cache is restricted to; asked for at the first write. */
  selection(): Selection & { readonly metadataOnly: boolean };
  /** What its objects show. */
  expected: ExpectedKind;
  /** What it leaves out of its objects. */
  limits: Pick<DecoderOptions, 'drop' | 'keepManagedFields'>;
  /** What objects go through on their way into the cache. */
  transformer: TransformFunc<T>;
  onGone(tombstone: DeletedFinalStateUnknown<T>): void;
  /** `v1 ConfigMap`, for messages. */
  describe?: string | undefined;
  most?: number | undefined;
  mostText?: number | undefined;
}

interface Unseen {
  readonly version: string;
  /**
   * The object as JSON, as the program may change the answer that it got. Nearly none is ever
   * parsed.
   */
  readonly json: string;
}

/**
 * Of more, or of more characters, the oldest are given up: then a missed deletion of them stays
 * missed.
 */
const MOST = 4096;
const MOST_TEXT = 16 * 1024 * 1024;
/**
 * What is left then: room for the next, so that not each of them has all the others gone through.
 */
const LEFT = 3 / 4;

export class UnseenWrites<T extends object> {
  readonly #store: ShowingStore;
  readonly #options: UnseenWritesOptions<T>;
  readonly #most: number;
  readonly #mostText: number;
  #selection: (Selection & { readonly metadataOnly: boolean }) | undefined;
  #belongs: (object: KubeObject) => boolean | undefined = () => true;
  #saidOpaque = false;
  /** By key, in the order in which they were written. */
  readonly #byKey = new Map<string, Unseen>();
  #text = 0;
  #sweepAt = 64;
  /**
   * What the last list brought: of the versions between these nothing was seen but what was in it.
   * Equal before the first one.
   */
  #gap = { after: '', upTo: '' };
  /**
   * Keys of which a deletion has been told since that list began; as long as there is a gap, and
   * somebody writes.
   */
  readonly #told = new Set<string>();

  constructor(store: ShowingStore, options: UnseenWritesOptions<T>) {
    this.#store = store;
    this.#options = options;
    this.#most = options.most ?? MOST;
    this.#mostText = options.mostText ?? MOST_TEXT;
  }

  size(): number {
    return this.#byKey.size;
  }

  /**
   * @param object as it was written
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
    // Where it cannot be told whether the cache gets the object, its absence from a list says
    // nothing of a deletion.
    if (version === undefined || !this.#belongs(object)) return;
    if (!isComparableResourceVersion(version)) {
      this.#sayOpaque(version);
      return;
    }
    const shown = this.#store.getByKey(key) as { metadata?: { uid?: string } } | undefined;
    // What is shown is missed when it goes; and what went to make room for this one has a tombstone
    // of its own.
    if (shown !== undefined && (shown.metadata?.uid === undefined || shown.metadata.uid === uid))
      return;
    if (!this.#isPast(version)) this.#keep(key, { version, json: JSON.stringify(object) });
    else if (shown === undefined && this.#isInGap(version) && !this.#told.has(key))
      this.#tell(key, JSON.stringify(object)); // the answer came after the list
  }

  #sayOpaque(version: string): void {
    if (this.#saidOpaque) return;
    this.#saidOpaque = true;
    const { describe = 'objects' } = this.#options;
    const message =
      `resource versions of ${describe} are no decimal numbers, as ${show(version)}: reads of own ` +
      'writes wait for that very version, and a deletion by others of an object that was just ' +
      'written may not be told';
    handleError(new CapstanError('DECODE', message), 'informer');
  }

  /** To be called when handlers are told that an object has gone. */
  gone(object: T | DeletedFinalStateUnknown<T>): void {
    if (this.#selection === undefined) return;
    this.#told.add(deletionHandlingMetaNamespaceKeyFunc(object));
    if (this.#told.size <= this.#most) return;
    this.#told.clear();
    this.#gap = { after: this.#gap.upTo, upTo: this.#gap.upTo };
  }

  /**
   * To be called before a list becomes the content of the cache. @returns what `replaced` asks for
   */
  replacing(): string {
    this.#told.clear();
    return this.#store.lastStoreSyncResourceVersion();
  }

  /** To be called when it has. @param before what `replacing` gave */
  replaced(before: string): void {
    const upTo = this.#store.lastStoreSyncResourceVersion();
    // An answer that comes now may be of an object that was told of before anybody wrote: nothing
    // was noted of that.
    this.#gap = { after: this.#selection === undefined ? upTo : before, upTo };
    for (const [key, { version, json }] of this.#byKey) {
      if (!this.#isPast(version)) continue;
      this.#forget(key);
      if (isAfter(version, before) && this.#store.getByKey(key) === undefined)
        this.#tell(key, json);
    }
  }

  #tell(key: string, json: string): void {
    const { transformer, onGone, limits, expected } = this.#options;
    this.#told.add(key);
    const object = JSON.parse(json) as KubeObject;
    const kept = this.#selection?.metadataOnly ? { metadata: object.metadata } : object;
    trimValue(kept, trimOf(limits.drop ?? [], limits.keepManagedFields ?? false));
    onGone(
      new DeletedFinalStateUnknown(
        key,
        deepFreeze(transformer(withKind(kept as T, expected.shown ?? expected))),
      ),
    );
  }

  /** Answers may come in another order than they were given. */
  #keep(key: string, unseen: Unseen): void {
    const known = this.#byKey.get(key);
    if (known !== undefined && !isAfter(unseen.version, known.version)) return;
    this.#forget(key);
    this.#byKey.set(key, unseen);
    this.#text += unseen.json.length;
    if (this.#byKey.size >= this.#sweepAt || this.#text > this.#mostText) this.#sweep();
  }

  #forget(key: string): void {
    this.#text -= this.#byKey.get(key)?.json.length ?? 0;
    this.#byKey.delete(key);
  }

  /** What events have taken the cache past was shown. Looked for when the number has doubled. */
  #sweep(): void {
    const part = this.#byKey.size > this.#most || this.#text > this.#mostText ? LEFT : 1;
    for (const [key, { version }] of this.#byKey) if (this.#isPast(version)) this.#forget(key);
    for (const key of this.#byKey.keys()) {
      if (this.#byKey.size <= this.#most * part && this.#text <= this.#mostText * part) break;
      this.#forget(key);
    }
    this.#sweepAt = Math.max(64, Math.min(this.#byKey.size * 2, this.#most + 1));
  }

  #isPast(version: string): boolean {
    return !isAfter(version, this.#store.lastStoreSyncResourceVersion());
  }

  #isInGap(version: string): boolean {
    const { after, upTo } = this.#gap;
    return isAfter(version, after) && !isAfter(version, upTo);
  }
}

/** Everything comes after what is no version. */
function isAfter(version: string, other: string): boolean {
  return !isComparableResourceVersion(other) || compareResourceVersion(version, other) > 0;
}
