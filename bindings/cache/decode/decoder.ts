/**
 * The seam between bytes and the reflector: a watch's bytes → frames, a list's bytes → a page. What
 * a decoder accepts it has checked: an object of the resource with a name, a bookmark, a Status, or
 * an object of another kind; anything else is a DECODE error before it is applied, never later in
 * user code and never skipped.
 *
 * Objects are read-only to everyone: a decoder may hand out objects whose members are decoded when
 * first read.
 */
import { CapstanError, show } from '../../base/errors.ts';
import { isJsonObject } from '../../base/json-value.ts';
import { excerpt, fromJson } from '../../base/not-json.ts';
import type { KubeObject } from '../rest/keys.ts';
import { isBuiltInGroup } from '../rest/resource.ts';
import { isStatus, type Status } from '../rest/status-error.ts';
import { FrameDecoder, type RawFrame } from './frames.ts';
import type { DecoderOptions } from './limits.ts';
import { type Trim, trimOf, trimValue } from './trim.ts';

/**
 * One watch event. `foreign` is an object of another kind than the watch's: skipped, counted and
 * reported, never applied.
 */
export type Frame<T> =
  | { type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: T; resourceVersion: string }
  | { type: 'BOOKMARK'; resourceVersion: string; initialEventsEnd: boolean }
  | { type: 'ERROR'; status: Status }
  | { type: 'foreign'; apiVersion: string | undefined; kind: string | undefined };

/**
 * One watch stream. `push` takes the bytes (a copy, where it keeps them), `next` gives what they
 * complete.
 */
export interface FrameReader<T> {
  push(chunk: Uint8Array): void;
  /** `undefined` until more bytes come. Throws CapstanError DECODE; the stream is then unusable. */
  next(): Frame<T> | undefined;
  /** Frees what is held; a half frame is dropped. Again: no effect. */
  close(): void;
}

/** One page of a list, as the server cut it. */
export interface ListPage<T> {
  items: T[];
  resourceVersion: string;
  /** Empty on the last page. */
  continue: string;
}

/** One body of a list. */
export interface PageReader<T> {
  /** How long it may be, where nobody says otherwise, in bytes. */
  readonly mostBytes?: number;
  /** May throw CapstanError DECODE as soon as the bytes cannot become a list any more. */
  push(chunk: Uint8Array): void;
  /** The page, once all bytes are there. Throws CapstanError DECODE. */
  end(): ListPage<T>;
  /** Frees what is held, also before the end. Again: no effect. */
  close(): void;
}

/** Makes a reader for each exchange. */
export interface Decoder<T> {
  frames(): FrameReader<T>;
  page(): PageReader<T>;
  /**
   * Between true and false a list of everything is collected, by pages or by frames; what of it was
   * not handed on is not needed any more.
   */
  gather?(on: boolean): void;
  /** An object of those that are being collected is not wanted any more. */
  forget?(object: T): void;
}

/**
 * What objects are expected. A server that leaves kind or apiVersion out of an object is trusted.
 */
export interface ExpectedKind {
  apiVersion: string;
  kind: string;
  /**
   * Where it is set, no list of another kind will do; see `requireList` for where it is not.
   */
  listKind?: string;
  /** @internal A name of lists other than the usual one, which the server was seen to use. */
  otherListKind?: string;
  /**
   * What objects show in place of it: those that come as PartialObjectMetadata are still Pods.
   * controller-runtime: pkg/cache/internal/informers.go newGVKFixupWatcher.
   */
  shown?: { apiVersion: string; kind: string } | undefined;
}

/**
 * The object with its kind and apiVersion. API servers leave both out of the items of lists of
 * built-in kinds; there they come first, as an event of a watch has them. An object that says it is
 * of another kind stays as it is.
 *
 * @param object which JSON.parse gave, and nobody has seen
 */
export function withKind<T>(object: T, expected: ExpectedKind): T {
  if (!isOf(object as KubeObject, expected)) return object;
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
 * KEP-3157: the bookmark that ends the initial events of a streamed list. Only the value "true"
 * does.
 */
export const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';

/**
 * A decoder that gives plain objects, by JSON.parse. Without options they have all that was sent.
 * `maxObjectBytes` and `maxNesting` hold for watch events only, as a list is parsed whole.
 */
export function jsonDecoder<T>(expected: ExpectedKind, options?: DecoderOptions): Decoder<T> {
  const trim = options && trimOf(options.drop ?? [], options.keepManagedFields ?? false);
  return {
    frames: () => new JsonFrameReader<T>(expected, trim, new FrameDecoder(options)),
    page: () => new JsonPageReader<T>(expected, trim),
  };
}

class JsonFrameReader<T> implements FrameReader<T> {
  readonly #expected: ExpectedKind;
  readonly #trim: Trim | undefined;
  readonly #frames: FrameDecoder;

  constructor(expected: ExpectedKind, trim: Trim | undefined, frames: FrameDecoder) {
    this.#expected = expected;
    this.#trim = trim;
    this.#frames = frames;
  }

  push(chunk: Uint8Array): void {
    this.#frames.push(chunk);
  }

  next(): Frame<T> | undefined {
    const raw = this.#frames.next();
    if (raw === undefined) return undefined;
    const frame = toFrame<T>(raw, this.#expected);
    if (!('object' in frame)) return frame;
    if (this.#trim !== undefined) trimValue(frame.object, this.#trim);
    frame.object = withKind(frame.object, this.#expected);
    return frame;
  }

  close(): void {
    // Nothing but memory, which goes with the reader.
  }
}

interface WithAnnotations extends KubeObject {
  metadata?: KubeObject['metadata'] & { annotations?: Record<string, unknown> };
}

/** Judges an event whose JSON has been parsed; its object is as it came. Throws DECODE. */
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
  if (!isOf(object, expected)) return { type: 'foreign', apiVersion, kind };
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

/** Collects the text and parses it once. */
class JsonPageReader<T> implements PageReader<T> {
  readonly mostBytes = 2 ** 29; // the longest text of V8
  readonly #expected: ExpectedKind;
  readonly #trim: Trim | undefined;
  /** A byte order mark stays in the text, so that JSON.parse refuses it, as Go does. */
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  #text = '';

  constructor(expected: ExpectedKind, trim: Trim | undefined) {
    this.#expected = expected;
    this.#trim = trim;
  }

  push(chunk: Uint8Array): void {
    try {
      this.#text += this.#decoder.decode(chunk, { stream: true });
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
    const text = this.#text + this.#decoder.decode();
    this.#text = '';
    const what = `a list of ${describeKind(this.#expected)}`;
    const page = parseList(text, what, this.#expected);
    for (const [at, item] of page.items.entries()) {
      requireItem(item, at, this.#expected, what);
      if (this.#trim !== undefined) trimValue(item, this.#trim);
      page.items[at] = withKind(item, this.#expected);
    }
    return page as ListPage<T>;
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
    metadata?: { resourceVersion?: unknown; continue?: unknown };
  };
  const proven = Array.isArray(items) && saysKind(items[0], expected);
  requireList({ apiVersion, kind, items, proven }, expected, what);
  return {
    items: (items as unknown[] | null) ?? [],
    resourceVersion: textOf(metadata?.resourceVersion),
    continue: textOf(metadata?.continue),
  };
}

function isOf({ apiVersion, kind }: KubeObject, expected: ExpectedKind): boolean {
  return (
    (apiVersion ?? expected.apiVersion) === expected.apiVersion &&
    (kind ?? expected.kind) === expected.kind
  );
}

/** Whether an item itself says that it is of the expected kind. */
export function saysKind(item: unknown, expected: ExpectedKind): boolean {
  const { apiVersion, kind } = (item ?? {}) as KubeObject;
  return apiVersion === expected.apiVersion && kind === expected.kind;
}

/** What a list says of itself, and what is known of its items. */
interface ListHead {
  apiVersion: unknown;
  kind: unknown;
  /** undefined: the member is missing. */
  items: unknown;
  /** Whether the first item says the expected kind itself. */
  proven: boolean;
}

/**
 * Throws CapstanError DECODE for what is not the list that was asked for. Kubernetes names the list
 * of a kind by appending `List`; `v1 List` is any. A CustomResourceDefinition may name it
 * otherwise, which is believed where its items say their kind, and of an empty list until a list
 * with another name has come.
 */
export function requireList(head: ListHead, expected: ExpectedKind, what: string): void {
  const { items, proven } = head;
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
  const sameVersion = apiVersion === undefined || apiVersion === expected.apiVersion;
  if (kind === undefined && expected.listKind === undefined && sameVersion) return;
  if (kind === listKind && sameVersion) return;
  const hint =
    expected.listKind === undefined
      ? 'something between may have answered for another path'
      : 'the server sends whole objects';
  if (expected.listKind === undefined && typeof kind === 'string' && kind !== 'Status') {
    const group = expected.apiVersion.split('/').slice(0, -1).join('/');
    const empty = (items ?? []).length === 0 && kind.endsWith('List') && !isBuiltInGroup(group);
    if (proven || (empty && apiVersion === expected.apiVersion)) {
      expected.otherListKind ??= kind;
      if (proven || kind === expected.otherListKind) return;
    }
  }
  throw new CapstanError('DECODE', `${what}: expected a ${listKind}, got ${got}: ${hint}`);
}

/** Throws CapstanError DECODE for an item that is none, or is of another kind. */
export function requireItem(
  value: unknown,
  at: number,
  expected: ExpectedKind,
  what: string,
): asserts value is KubeObject {
  requireNamed(value, `${what}: items[${at}]`);
  const { apiVersion, kind } = value;
  if (isOf(value, expected)) return;
  throw new CapstanError('DECODE', `${what}: items[${at}] is a ${show(apiVersion)} ${show(kind)}`);
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Throws CapstanError DECODE for a value that no store could keep. */
export function requireNamed(value: unknown, where: string): asserts value is KubeObject {
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
