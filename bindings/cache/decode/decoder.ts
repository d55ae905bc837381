/**
 * The interface `Decoder` between bytes and the reflector (a watch's bytes → frames, a list's bytes
 * → a page), and its implementation by JSON.parse. A decoder gives only checked values: an object
 * of the resource with a name, a bookmark, a Status, or an object of another kind. Anything else is
 * a DECODE error, thrown before anything is applied.
 *
 * Objects are read-only: a decoder may give objects whose members are decoded when they are first
 * read.
 */
import { CapstanError, show } from '../../base/errors.ts';
import { isJsonObject } from '../../base/json-value.ts';
import { excerpt, fromJson } from '../../base/not-json.ts';
import type { KubeObject } from '../../base/object.ts';
import { isBuiltInGroup } from '../../base/resource.ts';
import type { HashRanges } from '../rest/hash-ranges.ts';
import { isStatus, type Status } from '../rest/status-error.ts';
import { FrameDecoder, type RawFrame } from './frames.ts';
import type { DecoderOptions } from './limits.ts';
import { type Trim, trimOf, trimValue } from './trim.ts';

/**
 * One watch event. `foreign` is an object of another kind than the watch's: it is counted and
 * reported, but not applied. `OUTSIDE` is a change of an object outside of the ranges of the cache.
 */
export type Frame<T> =
  | { type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: T; resourceVersion: string }
  | { type: 'BOOKMARK'; resourceVersion: string; initialEventsEnd: boolean }
  | { type: 'OUTSIDE'; resourceVersion: string }
  | { type: 'ERROR'; status: Status }
  | { type: 'foreign'; apiVersion: string | undefined; kind: string | undefined };

/**
 * Decodes one watch stream. `push` takes bytes (and copies those that it keeps), `next` gives the
 * frames that they complete.
 */
export interface FrameReader<T> {
  push(chunk: Uint8Array): void;
  /** `undefined` until more bytes come. Throws CapstanError DECODE; the stream is then unusable. */
  next(): Frame<T> | undefined;
  /** Frees the memory; an incomplete frame is dropped. A second call has no effect. */
  close(): void;
}

/** One page of a list. */
export interface ListPage<T> {
  items: T[];
  resourceVersion: string;
  /** Empty on the last page. */
  continue: string;
  /** The server says that it has applied a shardSelector (metadata.shardInfo). */
  isSharded?: boolean;
}

/** Decodes the body of one page. */
export interface PageReader<T> {
  /** Default of the longest body, in bytes. */
  readonly mostBytes?: number;
  /** As of its {@link Decoder}. */
  readonly leavesOutManagedFields?: boolean;
  /** May throw CapstanError DECODE as soon as the bytes cannot be a list. */
  push(chunk: Uint8Array): void;
  /** The page; called after the last byte. Throws CapstanError DECODE. */
  end(): ListPage<T>;
  /** Frees the memory, also before the end. A second call has no effect. */
  close(): void;
}

/** Makes a reader for each list page and each watch. */
export interface Decoder<T> {
  frames(): FrameReader<T>;
  page(): PageReader<T>;
  /** `metadata.managedFields` are removed, so that the server need not send them. */
  readonly leavesOutManagedFields?: boolean;
  /**
   * Called with true before the reflector collects all objects, by pages or as a stream, and with
   * false after it; objects of that list that were not passed on are then no longer needed.
   *
   * @param isPart the list adds to what the store has
   */
  gather?(on: boolean, isPart?: boolean): void;
  /** An object of the list that is being collected is no longer needed. */
  forget?(object: T): void;
  /**
   * From now on leaves out objects outside of these ranges: items of lists, and events, which
   * become `OUTSIDE`. `undefined`: nothing is left out.
   */
  select?(ranges: HashRanges | undefined): void;
  /** How many objects of lists and events were left out by `select`. */
  readonly outside?: number;
}

/** The expected kind of the objects. An object without kind or apiVersion is taken to be of it. */
export interface ExpectedKind {
  apiVersion: string;
  kind: string;
  /** If set, the list must be of this kind; if not, see `requireList`. */
  listKind?: string;
  /** @internal Another kind of list that the server has sent. */
  otherListKind?: string;
  /**
   * The kind that objects show instead: those that come as PartialObjectMetadata show `Pod`.
   * controller-runtime: pkg/cache/internal/informers.go newGVKFixupWatcher.
   */
  shown?: { apiVersion: string; kind: string } | undefined;
}

/**
 * Adds kind and apiVersion, which API servers leave out of list items of built-in kinds. They come
 * first, as in a watch event. An object of another kind stays as it is.
 *
 * @param object an object that JSON.parse gave and that has not been handed out
 */
export function withKind<T>(object: T, expected: ExpectedKind): T {
  if (!hasKindOf(object as KubeObject, expected)) return object;
  const { apiVersion, kind } = object as KubeObject;
  const { shown = expected } = expected;
  if (apiVersion === shown.apiVersion && kind === shown.kind) return object;
  const head: KubeObject = {};
  if (kind === undefined) head.kind = shown.kind;
  if (apiVersion === undefined) head.apiVersion = shown.apiVersion;
  // the head comes first, and its values count where the object has null
  return { ...head, ...object, kind: shown.kind, apiVersion: shown.apiVersion };
}

/**
 * KEP-3157: the annotation of the bookmark that ends the initial events of a watch list. Only the
 * value "true" counts.
 */
const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';

/**
 * A decoder that gives plain objects, by JSON.parse. Without options they have all members.
 * `maxObjectBytes` and `maxNesting` apply to watch events only, as a list is parsed as a whole.
 */
export function jsonDecoder<T>(expected: ExpectedKind, options?: DecoderOptions): Decoder<T> {
  return new JsonDecoder(expected, options);
}

class JsonDecoder<T> implements Decoder<T> {
  readonly expected: ExpectedKind;
  readonly trim: Trim | undefined;
  readonly leavesOutManagedFields: boolean;
  readonly #options: DecoderOptions | undefined;
  #ranges: HashRanges | undefined;
  outside = 0;

  constructor(expected: ExpectedKind, options: DecoderOptions | undefined) {
    this.expected = expected;
    this.trim = options && trimOf(options.drop ?? [], options.keepManagedFields ?? false);
    this.leavesOutManagedFields = options !== undefined && !(options.keepManagedFields ?? false);
    this.#options = options;
  }

  frames(): FrameReader<T> {
    return new JsonFrameReader<T>(this, new FrameDecoder(this.#options));
  }

  page(): PageReader<T> {
    return new JsonPageReader<T>(this);
  }

  select(ranges: HashRanges | undefined): void {
    this.#ranges = ranges;
  }

  /** Whether an object is left out, which is counted. */
  leavesOut(object: unknown): boolean {
    if (this.#ranges?.hasObject(object as KubeObject) ?? true) return false;
    this.outside++;
    return true;
  }
}

class JsonFrameReader<T> implements FrameReader<T> {
  readonly #decoder: JsonDecoder<T>;
  readonly #frames: FrameDecoder;

  constructor(decoder: JsonDecoder<T>, frames: FrameDecoder) {
    this.#decoder = decoder;
    this.#frames = frames;
  }

  push(chunk: Uint8Array): void {
    this.#frames.push(chunk);
  }

  next(): Frame<T> | undefined {
    const raw = this.#frames.next();
    if (raw === undefined) return undefined;
    const { expected, trim } = this.#decoder;
    const frame = toFrame<T>(raw, expected);
    if (!('object' in frame)) return frame;
    if (this.#decoder.leavesOut(frame.object))
      return { type: 'OUTSIDE', resourceVersion: frame.resourceVersion };
    if (trim !== undefined) trimValue(frame.object, trim);
    frame.object = withKind(frame.object, expected);
    return frame;
  }

  close(): void {
    // It holds only JavaScript memory.
  }
}

interface WithAnnotations extends KubeObject {
  metadata?: KubeObject['metadata'] & { annotations?: Record<string, unknown> };
}

/** Checks a parsed event; its object is as the server sent it. Throws CapstanError DECODE. */
export function toFrame<T>({ type, object }: RawFrame, expected: ExpectedKind): Frame<T> {
  const what = `a watch of ${describeKind(expected)}`;
  if (type === 'ERROR') {
    if (!isStatus(object))
      throw new CapstanError('DECODE', `${what}: an ERROR event expected a Status`);
    return { type, status: object };
  }
  if (type !== 'ADDED' && type !== 'MODIFIED' && type !== 'DELETED' && type !== 'BOOKMARK') {
    throw new CapstanError('DECODE', `${what}: an event of unknown type ${show(type)}`);
  }
  const { apiVersion, kind, metadata } = object as WithAnnotations;
  if (!hasKindOf(object, expected)) return { type: 'foreign', apiVersion, kind };
  const resourceVersion = textOf(metadata?.resourceVersion);
  if (type === 'BOOKMARK') {
    return {
      type,
      resourceVersion,
      initialEventsEnd: metadata?.annotations?.[INITIAL_EVENTS_END] === 'true',
    };
  }
  requireNamed(object, what);
  return { type, object: object as T, resourceVersion };
}

/** Collects the text and parses it at the end. */
class JsonPageReader<T> implements PageReader<T> {
  readonly mostBytes = 2 ** 29; // the longest text of V8
  readonly leavesOutManagedFields: boolean;
  readonly #decoder: JsonDecoder<T>;
  readonly #expected: ExpectedKind;
  /** A byte order mark stays in the text, so that JSON.parse refuses it, as Go does. */
  readonly #utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
  #text = '';

  constructor(decoder: JsonDecoder<T>) {
    this.#decoder = decoder;
    this.#expected = decoder.expected;
    this.leavesOutManagedFields = decoder.leavesOutManagedFields;
  }

  push(chunk: Uint8Array): void {
    try {
      this.#text += this.#utf8.decode(chunk, { stream: true });
    } catch (error) {
      // 512 MiB in V8: kube-apiserver ignores the limit of a list that it answers from its watch
      // cache.
      const advice = 'longer than a string can be: stream it (watchList) or select less';
      throw new CapstanError('DECODE', `a list of ${describeKind(this.#expected)} is ${advice}`, {
        cause: error,
      });
    }
  }

  end(): ListPage<T> {
    const text = this.#text + this.#utf8.decode();
    this.#text = '';
    const what = `a list of ${describeKind(this.#expected)}`;
    const page = parseList(text, what, this.#expected);
    const { trim } = this.#decoder;
    const items: T[] = [];
    for (const [at, item] of page.items.entries()) {
      requireItem(item, at, this.#expected, what);
      if (this.#decoder.leavesOut(item)) continue;
      if (trim !== undefined) trimValue(item, trim);
      items.push(withKind(item as T, this.#expected));
    }
    return { ...page, items };
  }

  close(): void {
    this.#text = '';
  }
}

function parseList(text: string, what: string, expected: ExpectedKind): ListPage<unknown> {
  const body = fromJson(`${what}: the body`, text);
  if (!isJsonObject(body))
    throw new CapstanError('DECODE', `${what}: expected a list with items, got ${excerpt(text)}`);
  const { apiVersion, kind, items, metadata } = body as {
    apiVersion?: unknown;
    kind?: unknown;
    items?: unknown;
    metadata?: ListMetaValues;
  };
  const itemsHaveKind = Array.isArray(items) && hasExpectedKind(items[0], expected);
  requireList({ apiVersion, kind, items, itemsHaveKind }, expected, what);
  return {
    items: (items as unknown[] | null) ?? [],
    ...listMetadata(metadata),
  };
}

/** The members of a list's metadata that are read. */
export interface ListMetaValues {
  resourceVersion?: unknown;
  continue?: unknown;
  shardInfo?: unknown;
}

export function listMetadata(
  metadata: ListMetaValues | null | undefined,
): Omit<ListPage<never>, 'items'> {
  return {
    resourceVersion: textOf(metadata?.resourceVersion),
    continue: textOf(metadata?.continue),
    ...(isJsonObject(metadata?.shardInfo) && { isSharded: true }),
  };
}

function hasKindOf({ apiVersion, kind }: KubeObject, expected: ExpectedKind): boolean {
  return (
    (apiVersion ?? expected.apiVersion) === expected.apiVersion &&
    (kind ?? expected.kind) === expected.kind
  );
}

/** Whether an item has the expected apiVersion and kind; missing members do not count. */
export function hasExpectedKind(item: unknown, expected: ExpectedKind): boolean {
  const { apiVersion, kind } = (item ?? {}) as KubeObject;
  return apiVersion === expected.apiVersion && kind === expected.kind;
}

/** The type of a list, and what is known of its items. */
interface ListHead {
  apiVersion: unknown;
  kind: unknown;
  /** undefined: the member is missing. */
  items: unknown;
  /** Whether the first item has the expected apiVersion and kind. */
  itemsHaveKind: boolean;
}

/**
 * Throws CapstanError DECODE unless the body is a list of the expected kind. Kubernetes appends
 * `List` to the kind; `v1 List` may hold any kind. A CustomResourceDefinition may set another name,
 * which is accepted if the first item has the expected kind, and for an empty list as long as the
 * server uses only one such name.
 */
export function requireList(head: ListHead, expected: ExpectedKind, what: string): void {
  const { items, itemsHaveKind } = head;
  const isGeneric = head.kind === 'List' && (head.apiVersion ?? 'v1') === 'v1';
  const apiVersion = isGeneric ? undefined : (head.apiVersion ?? undefined);
  const kind = isGeneric ? undefined : (head.kind ?? undefined);
  const listKind = expected.listKind ?? `${expected.kind}List`;
  const got = kind === undefined ? 'a body' : `a ${show(apiVersion)} ${show(kind)}`;
  if (!Array.isArray(items) && (items !== null || kind === undefined))
    throw new CapstanError(
      'DECODE',
      `${what}: expected a ${listKind} with items, got ${got} with items ${excerpt(items)}`,
    );
  const isSameVersion = apiVersion === undefined || apiVersion === expected.apiVersion;
  if (kind === undefined && expected.listKind === undefined && isSameVersion) return;
  if (kind === listKind && isSameVersion) return;
  const hint =
    expected.listKind === undefined
      ? 'something between may have answered for another path'
      : 'the server sends whole objects';
  if (expected.listKind === undefined && typeof kind === 'string' && kind !== 'Status') {
    const group = expected.apiVersion.split('/').slice(0, -1).join('/');
    const empty = (items ?? []).length === 0 && kind.endsWith('List') && !isBuiltInGroup(group);
    if (itemsHaveKind || (empty && apiVersion === expected.apiVersion)) {
      expected.otherListKind ??= kind;
      if (itemsHaveKind || kind === expected.otherListKind) return;
    }
  }
  throw new CapstanError('DECODE', `${what}: expected a ${listKind}, got ${got}: ${hint}`);
}

/**
 * Throws CapstanError DECODE for an item that is not an object, has no name, or is of another kind.
 */
export function requireItem(
  value: unknown,
  at: number,
  expected: ExpectedKind,
  what: string,
): asserts value is KubeObject {
  requireNamed(value, `${what}: items[${at}]`);
  const { apiVersion, kind } = value;
  if (hasKindOf(value, expected)) return;
  throw new CapstanError('DECODE', `${what}: items[${at}] is a ${show(apiVersion)} ${show(kind)}`);
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Throws CapstanError DECODE for a value without a name, which has no key. */
function requireNamed(value: unknown, where: string): asserts value is KubeObject {
  const name: unknown = (value as KubeObject | null)?.metadata?.name;
  const namespace: unknown = (value as KubeObject | null)?.metadata?.namespace;
  if (
    typeof name === 'string' &&
    (namespace === undefined || namespace === null || typeof namespace === 'string')
  )
    return;
  throw new CapstanError(
    'DECODE',
    `${where} expected objects with metadata.name, got ${excerpt(value)}`,
  );
}

/** `v1 ConfigMap`, for messages. */
export function describeKind({ apiVersion, kind }: ExpectedKind): string {
  return `${apiVersion} ${kind}`;
}
