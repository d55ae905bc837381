/**
 * The decoder that keeps objects as bytes: the core checks events and lists, splits them into
 * objects and keeps these; members are decoded when they are read. Everything else is decoded by
 * JSON.parse, whose errors say what is wrong with it: bookmarks, Status, other kinds, and objects
 * with a member twice, escapes in names, or text that is not UTF-8.
 */

import { CapstanError } from '../../base/errors.ts';
import { deepFreeze } from '../../base/freeze.ts';
import { fromJson } from '../../base/not-json.ts';
import type { KubeObject } from '../../base/object.ts';
import {
  END,
  ESCAPED_NAMES,
  EVENT_TYPE,
  EXPECTED_ROOM,
  HAS_OBJECT,
  INSIDE,
  ITEMS,
  MEMBER,
  MORE,
  NAME_END,
  NAME_START,
  OUTSIDE,
  PLAIN,
  RAW,
  STAGED,
  STAGED_OBJECT,
  STAGED_SHAPES,
  TYPE_ADDED,
  TYPE_DELETED,
  TYPE_MODIFIED,
  VALUE_END,
  VALUE_START,
  VERSION_END,
  VERSION_START,
} from '../../generated/abi.ts';
import type { CacheCore } from '../../wasm/cache-core.ts';
import {
  type Decoder,
  describeKind,
  type ExpectedKind,
  type Frame,
  type FrameReader,
  hasExpectedKind,
  type ListMetaValues,
  type ListPage,
  listMetadata,
  type PageReader,
  requireItem,
  requireList,
  textOf,
  toFrame,
  withKind,
} from '../decode/decoder.ts';
import { rawFrame } from '../decode/frames.ts';
import {
  type Budget,
  type DecoderOptions,
  MAX_DEPTH,
  MAX_OBJECT_BYTES,
  type Packing,
} from '../decode/limits.ts';
import { type Trim, trimOf, trimToMetadata, trimValue } from '../decode/trim.ts';
import type { HashRanges } from '../rest/hash-ranges.ts';
import { ByteBudget } from './budget.ts';
import { lazyObject, storedObjectOf } from './lazy.ts';
import type { StoredObject } from './stored-object.ts';
import type { StoredObjects } from './stored-objects.ts';
import { ByteStream, type ValueLimits } from './stream.ts';
import { jsonAt } from './text.ts';
import { TrimBlock } from './trim-block.ts';

/** By EVENT_TYPE of the report. */
type Change = 'ADDED' | 'MODIFIED' | 'DELETED';
const TYPES: readonly (Change | undefined)[] = Object.assign(new Array(4).fill(undefined), {
  [TYPE_ADDED]: 'ADDED',
  [TYPE_MODIFIED]: 'MODIFIED',
  [TYPE_DELETED]: 'DELETED',
});

export interface ByteDecoderOptions extends DecoderOptions, Budget, Packing {
  /**
   * Events and lists give a StoredObject in place of each object, until a store has taken it over
   * (lazy.ts `toObject`).
   */
  storedObjects?: boolean | undefined;
}

export class ByteDecoder<T extends object> implements Decoder<T> {
  readonly core: CacheCore;
  readonly storedObjects: StoredObjects;
  readonly expected: ExpectedKind;
  readonly limits: ValueLimits;
  readonly leavesOutManagedFields: boolean;
  readonly #trim: Trim;
  /** The members to cut besides managedFields, which are found while an object is scanned. */
  readonly #drop: TrimBlock | undefined;
  readonly #budget: ByteBudget | undefined;
  readonly #givesVersions: boolean;
  #ranges: HashRanges | undefined;
  outside = 0;

  constructor(
    core: CacheCore,
    storedObjects: StoredObjects,
    expected: ExpectedKind,
    options: ByteDecoderOptions = {},
  ) {
    this.core = core;
    this.storedObjects = storedObjects;
    this.expected = expected;
    const {
      keepManagedFields = false,
      drop = [],
      maxObjectBytes = MAX_OBJECT_BYTES,
      maxNesting = MAX_DEPTH,
    } = options;
    this.limits = { maxObjectBytes, maxNesting };
    this.leavesOutManagedFields = !keepManagedFields;
    this.#givesVersions = options.storedObjects ?? false;
    storedObjects.pack(options.pack ?? true);
    this.#trim = trimOf(drop, keepManagedFields);
    this.#drop = drop.length === 0 ? undefined : new TrimBlock(core, this.#trim);
    this.#budget = budgetOf(core, storedObjects, options, this.#trim, describeKind(expected));
    core.exports.scanKeepManaged(keepManagedFields);
    core.exports.jsonDepth(maxNesting);
    expect(core, expected);
  }

  /**
   * The handle of the objects to which the core adds plain objects of events by itself. 0 while
   * each object needs more steps: members are cut out, there is a limit of bytes, or a list is
   * being collected.
   */
  get objects(): number {
    return this.#drop === undefined && this.#budget === undefined && !this.storedObjects.gathering
      ? this.storedObjects.handle
      : 0;
  }

  frames(): FrameReader<T> {
    return new ByteFrameReader<T>(this);
  }

  page(): PageReader<T> {
    return new BytePageReader<T>(this);
  }

  select(ranges: HashRanges | undefined): void {
    this.#ranges = ranges;
    selectIn(this.core, ranges);
  }

  /** Whether a decoded object is outside of the ranges; such objects are counted. */
  leavesOut(object: object): boolean {
    if (this.#ranges?.hasObject(object as KubeObject) ?? true) return false;
    this.outside++;
    return true;
  }

  /** The same for the plain object scanned last; `undefined`: it has to be decoded first. */
  leavesOutScanned(): boolean | undefined {
    if (this.#ranges === undefined) return false;
    const place = this.core.exports.scannedPlace();
    if (place === OUTSIDE) this.outside++;
    return place === OUTSIDE || (place === INSIDE ? false : undefined);
  }

  gather(on: boolean, isPart = false): void {
    this.storedObjects.gather(on);
    // The objects that came before the one that did not fit would stay in memory until the next
    // list.
    if (!on && this.#budget?.refused) this.storedObjects.settle();
    this.#budget?.begin(isPart ? this.storedObjects.bytes().live : 0);
  }

  forget(object: T): void {
    const stored = storedObjectOf(object);
    if (stored === undefined || stored.owner !== this.storedObjects || stored.staged < 0) return;
    this.#budget?.forget(stored);
    this.storedObjects.unwanted(stored);
  }

  /**
   * Whether what was scanned last is an object that can stay as it is: apiVersion and kind are
   * absent or the expected, byte by byte.
   */
  isPlain(report: number): boolean {
    return this.core.words()[report + PLAIN] === 1;
  }

  /**
   * Keeps the plain object that was scanned last, less what is dropped. `undefined`: it has to be
   * decoded.
   *
   * @param leaves the object comes with a deletion, so the limit does not apply
   */
  stage(leaves: boolean): StoredObject | undefined {
    if (this.#drop !== undefined && this.#drop.apply() === undefined) return undefined;
    return this.#budget === undefined || leaves ? this.storedObjects.stage() : this.#budget.stage();
  }

  objectOf(stored: StoredObject): T {
    return (this.#givesVersions ? stored : lazyObject(stored)) as T;
  }

  /**
   * Makes an object that JSON.parse decoded equal to one that is kept as bytes: trimmed, with its
   * kind, frozen.
   */
  finish<O extends object>(object: O): O {
    trimValue(object, this.#trim);
    return deepFreeze(withKind(object, this.expected));
  }
}

function budgetOf(
  core: CacheCore,
  storedObjects: StoredObjects,
  options: Budget,
  trim: Trim,
  what: string,
): ByteBudget | undefined {
  if (options.maxBytes === undefined) return undefined;
  const toMetadata = new TrimBlock(core, trimToMetadata(trim));
  return new ByteBudget(storedObjects, options.maxBytes, options, () => toMetadata.apply(), what);
}

/**
 * Sets the apiVersion and kind of the objects that the core may keep. If the names are too long for
 * its memory, objects that have these members are decoded by JSON.parse.
 */
function expect(core: CacheCore, { apiVersion, kind }: ExpectedKind): void {
  const [first, second] = [apiVersion, kind].map((text) =>
    new TextEncoder().encode(JSON.stringify(text)),
  ) as [Uint8Array, Uint8Array];
  if (Math.max(first.length, second.length) > EXPECTED_ROOM) {
    core.exports.scanExpect(0, 0);
    return;
  }
  const at = core.exports.scanExpected() >>> 0;
  core.bytes().set(first, at);
  core.bytes().set(second, at + EXPECTED_ROOM);
  core.exports.scanExpect(first.length, second.length);
}

/** Sets the ranges of hashes whose objects the core keeps. */
function selectIn(core: CacheCore, ranges: HashRanges | undefined): void {
  const at = (core.exports.rangesRoom() >>> 0) >>> 2;
  const words = core.words();
  ranges?.ranges.forEach(({ from, to }, i) => {
    for (const [place, hash] of [from, to].entries()) {
      const word = at + i * 4 + place * 2;
      words[word] = Number(hash & 0xffffffffn);
      words[word + 1] = Number((hash >> 32n) & 0xffffffffn); // the end, 2^64, is 0
    }
  });
  core.exports.rangesSet(ranges?.ranges.length ?? -1, ranges?.byName ?? false);
}

/** A class instead of a literal, because one is made for each event: see copy.ts. */
class ObjectFrame<T> {
  readonly type: Change;
  readonly object: T;
  readonly resourceVersion: string;

  constructor(type: Change, object: T, resourceVersion: string) {
    this.type = type;
    this.object = object;
    this.resourceVersion = resourceVersion;
  }
}

class ByteFrameReader<T extends object> implements FrameReader<T> {
  readonly #decoder: ByteDecoder<T>;
  readonly #stream: ByteStream;
  readonly #report: number;
  /** No byte has come after the last event. */
  #isEmpty = false;

  constructor(decoder: ByteDecoder<T>) {
    this.#decoder = decoder;
    this.#stream = new ByteStream(
      decoder.core,
      `a watch of ${describeKind(decoder.expected)}`,
      decoder.limits,
    );
    this.#report = this.#stream.report();
  }

  push(chunk: Uint8Array): void {
    this.#isEmpty = false;
    this.#stream.push(chunk);
  }

  next(): Frame<T> | undefined {
    if (this.#isEmpty) return undefined;
    const decoder = this.#decoder;
    const stream = this.#stream;
    const code = stream.nextEvent(decoder.objects);
    if (code === MORE) return undefined;
    if (code === STAGED) return this.#staged();
    if (code === OUTSIDE) {
      decoder.outside++;
      return this.#outside(decoder.core.words());
    }
    const report = stream.report();
    const words = decoder.core.words();
    // The report of an event without an object still has values of an earlier scan; a name with an
    // escape may be a second `type` or `object`.
    const isEvent =
      code !== RAW && words[report + HAS_OBJECT] === 1 && words[report + ESCAPED_NAMES] === 0;
    const type = isEvent ? TYPES[words[report + EVENT_TYPE] as number] : undefined;
    if (type === undefined || !decoder.isPlain(report)) return this.#parsed(report);
    const leftOut = decoder.leavesOutScanned();
    if (leftOut === undefined) return this.#parsed(report);
    if (leftOut) {
      stream.take();
      return this.#outside(decoder.core.words());
    }
    const resourceVersion = textOf(this.#versionIn(words, report));
    const stored = decoder.stage(type === 'DELETED');
    if (stored === undefined) return this.#parsed(report);
    stream.take();
    return new ObjectFrame(type, decoder.objectOf(stored), resourceVersion);
  }

  /** The event that the core has staged and taken. */
  #staged(): Frame<T> {
    const { core, storedObjects } = this.#decoder;
    const report = this.#report;
    const words = core.words();
    const type = TYPES[words[report + EVENT_TYPE] as number] as Change;
    const resourceVersion = this.#versionIn(words, report);
    this.#isEmpty = this.#stream.isEmptyFrom(words[report + VALUE_END] as number);
    const text = typeof resourceVersion === 'string' ? resourceVersion : undefined;
    const stored = storedObjects.staged(
      words[report + STAGED_OBJECT] as number,
      words[report + STAGED_SHAPES] as number,
      text,
    );
    return new ObjectFrame(type, this.#decoder.objectOf(stored), text ?? textOf(resourceVersion));
  }

  #outside(words: Uint32Array): Frame<T> {
    return { type: 'OUTSIDE', resourceVersion: textOf(this.#versionIn(words, this.#report)) };
  }

  /** The resourceVersion as the object has it; `undefined` if it has none. */
  #versionIn(words: Uint32Array, report: number): unknown {
    const start = words[report + VERSION_START] as number;
    return start === 0
      ? undefined
      : jsonAt(this.#decoder.core.bytes(), start, words[report + VERSION_END] as number);
  }

  close(): void {
    this.#stream.close();
  }

  #parsed(report: number): Frame<T> {
    const words = this.#decoder.core.words();
    const text = this.#stream.text(
      words[report + VALUE_START] as number,
      words[report + VALUE_END] as number,
    );
    this.#stream.take();
    const { expected } = this.#decoder;
    const what = `a watch of ${describeKind(expected)}: a frame`;
    const frame = toFrame<T>(rawFrame(what, fromJson(what, text)), expected);
    if (!('object' in frame)) return frame;
    if (this.#decoder.leavesOut(frame.object))
      return { type: 'OUTSIDE', resourceVersion: frame.resourceVersion };
    frame.object = this.#decoder.finish(frame.object);
    return frame;
  }
}

class BytePageReader<T extends object> implements PageReader<T> {
  readonly leavesOutManagedFields: boolean;
  readonly #decoder: ByteDecoder<T>;
  readonly #stream: ByteStream;
  readonly #what: string;
  #items: T[] | undefined;
  /** The number of items so far, including those that are left out. */
  #seen = 0;
  /** The value of `items` if it is not an array. */
  #otherItems: unknown;
  /** The first item says the expected kind itself. */
  #itemsHaveKind = false;
  #metadata: unknown;
  #apiVersion: unknown;
  #kind: unknown;

  constructor(decoder: ByteDecoder<T>) {
    this.#decoder = decoder;
    this.leavesOutManagedFields = decoder.leavesOutManagedFields;
    this.#what = `a list of ${describeKind(decoder.expected)}`;
    this.#stream = new ByteStream(decoder.core, this.#what, decoder.limits);
  }

  push(chunk: Uint8Array): void {
    const stream = this.#stream;
    stream.push(chunk);
    for (;;) {
      const code = stream.nextOfList(this.#items && this.#seen);
      if (code === MORE || code === END) return;
      if (code === ITEMS) {
        this.#items = [];
        this.#seen = 0;
      } else {
        if (code === MEMBER) this.#member();
        else this.#item(code === RAW);
        stream.take();
      }
    }
  }

  end(): ListPage<T> {
    if (!this.#stream.listEnded())
      throw new CapstanError('DECODE', `${this.#what}: the body ended early`);
    requireList(
      {
        apiVersion: this.#apiVersion,
        kind: this.#kind,
        items: this.#items ?? this.#otherItems,
        itemsHaveKind: this.#itemsHaveKind,
      },
      this.#decoder.expected,
      this.#what,
    );
    const page = {
      items: this.#items ?? [],
      ...listMetadata(this.#metadata as ListMetaValues | null | undefined),
    };
    this.#items = undefined;
    return page;
  }

  close(): void {
    this.#stream.close();
  }

  #member(): void {
    const stream = this.#stream;
    const report = stream.report();
    const words = this.#decoder.core.words();
    const name: unknown = JSON.parse(
      stream.text(
        (words[report + NAME_START] as number) - 1,
        (words[report + NAME_END] as number) + 1,
      ),
    );
    if (!['metadata', 'items', 'kind', 'apiVersion'].includes(name as string)) return;
    const value: unknown = JSON.parse(
      stream.text(words[report + VALUE_START] as number, words[report + VALUE_END] as number),
    );
    if (name === 'metadata') this.#metadata = value;
    else if (name === 'kind') this.#kind = value;
    else if (name === 'apiVersion') this.#apiVersion = value;
    else if (Array.isArray(value)) {
      this.#itemsHaveKind = hasExpectedKind(value[0], this.#decoder.expected);
      this.#items = value.flatMap((item, at) => this.#parsed(item, at));
    } else {
      this.#items = undefined;
      this.#otherItems = value;
    }
  }

  #item(raw: boolean): void {
    const decoder = this.#decoder;
    const report = this.#stream.report();
    const items = this.#items ?? [];
    const at = this.#seen++;
    // In every list, because its kind and apiVersion may come again after the items.
    if (at === 0) this.#itemsHaveKind = hasExpectedKind(this.#json(), decoder.expected);
    if (!raw && decoder.isPlain(report)) {
      const leftOut = decoder.leavesOutScanned();
      if (leftOut) return;
      const stored = leftOut === undefined ? undefined : decoder.stage(false);
      if (stored !== undefined) {
        items.push(decoder.objectOf(stored));
        return;
      }
    }
    items.push(...this.#parsed(this.#json(), at));
  }

  /** The item that was scanned last. */
  #json(): unknown {
    const report = this.#stream.report();
    const words = this.#decoder.core.words();
    const text = this.#stream.text(
      words[report + VALUE_START] as number,
      words[report + VALUE_END] as number,
    );
    return fromJson(`${this.#what}: an item`, text);
  }

  /** None if it is left out. */
  #parsed(item: unknown, at: number): T[] {
    requireItem(item, at, this.#decoder.expected, this.#what);
    return this.#decoder.leavesOut(item) ? [] : [this.#decoder.finish(item) as T];
  }
}
