/**
 * What is written down about one informer, so that it can be judged afterwards: what the server
 * wrote, what came over the wire, and what handlers were told. Plain values; nothing here knows how
 * they were got. Versions are numbers here although they are opaque to clients: a checker has to
 * know the server's order, and on etcd it is that of the revisions.
 */

/** An object at a version. `content` is whatever identifies the rest of it, see `contentOf`. */
export interface State {
  readonly key: string;
  readonly version: bigint;
  readonly content: string;
}

/**
 * What the server wrote at a version. Without content: the object was removed, or left what a
 * selector shows.
 */
export interface Write {
  readonly key: string;
  readonly version: bigint;
  readonly content: string | undefined;
}

export type ObjectFrame = State & { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' };

export type Frame =
  | ObjectFrame
  | { readonly type: 'BOOKMARK'; readonly version: bigint; readonly initialEventsEnd: boolean }
  | { readonly type: 'ERROR'; readonly code: number };

/** A list, all its pages together. */
export interface ListRecord {
  readonly type: 'list';
  /** The resourceVersion of the request. */
  readonly asked: string;
  /** Of the last page; `undefined` where no answer came. */
  status: number | undefined;
  /** Of the first page. */
  version: bigint | undefined;
  readonly items: State[];
  /** The last page is there. */
  complete: boolean;
}

export interface WatchRecord {
  readonly type: 'watch';
  /** The resourceVersion of the request. */
  readonly from: string;
  /** It asked for the initial events (WatchList). */
  readonly initial: boolean;
  status: number | undefined;
  /** Complete ones, as far as they could be read, in the order in which the client got them. */
  readonly frames: Frame[];
}

export type RequestRecord = ListRecord | WatchRecord;

/**
 * One call of a handler. A delete carries the version at which the object is gone; a tombstone the
 * last one that was told.
 */
export type Told = State &
  (
    | { readonly type: 'add'; readonly initial: boolean }
    | { readonly type: 'update'; readonly old: bigint }
    | { readonly type: 'delete' | 'tombstone' }
  );

export interface HandlerRecord {
  readonly name: string;
  /**
   * Was added while the informer ran: it began with a snapshot of the cache and not with the first
   * list.
   */
  readonly late: boolean;
  /** Asked for resyncs, so that it is told of unchanged objects at any time. */
  readonly resync: boolean;
  readonly told: readonly Told[];
}

export interface History {
  /** In the order in which they were sent. */
  readonly requests: readonly RequestRecord[];
  readonly handlers: readonly HandlerRecord[];
  /** The cache at the end. */
  readonly cache: readonly State[];
  /**
   * `total`: one stream's events are told in the stream's order (RealFIFO). `per key`: only those
   * of one object (DeltaFIFO).
   */
  readonly order: 'total' | 'per key';
}

/** What breaks a rule, with enough to find it in the history. */
export interface Violation {
  readonly rule: string;
  readonly message: string;
}

export const stateName = ({ key, version }: { key: string; version: bigint }): string =>
  `${key}@${version}`;

export function isObject(frame: Frame): frame is ObjectFrame {
  return frame.type !== 'BOOKMARK' && frame.type !== 'ERROR';
}

/**
 * A whole list as the client took it over: by pages, or streamed and closed by its end bookmark.
 */
export interface Listed {
  readonly version: bigint;
  readonly items: readonly State[];
}

/** The part of a watch that continues a version: from where, and what came. */
export interface Stretch {
  readonly from: bigint;
  readonly frames: readonly Frame[];
}

/** Every list that came whole, in order. */
export function listsOf(requests: readonly RequestRecord[]): Listed[] {
  return requests.flatMap((request) => {
    if (request.type === 'watch') return streamedList(request) ?? [];
    const { version, items, complete } = request;
    return complete && version !== undefined ? [{ version, items }] : [];
  });
}

/**
 * What a watch with initial events put together before its end bookmark; nothing while that has not
 * come.
 */
export function streamedList(watch: WatchRecord): Listed | undefined {
  const end = endOfInitial(watch);
  const bookmark = watch.frames[end];
  if (!watch.initial || bookmark?.type !== 'BOOKMARK') return undefined;
  const items = new Map<string, State>();
  for (const frame of watch.frames.slice(0, end).filter(isObject)) {
    if (frame.type === 'DELETED') items.delete(frame.key);
    else items.set(frame.key, frame);
  }
  return { version: bookmark.version, items: [...items.values()] };
}

/**
 * What can be held to continue a known version. Not a watch from "" or "0": its first events are
 * made up, in any order; and not initial events, which are a list.
 */
export function stretchOf(watch: WatchRecord): Stretch | undefined {
  if (watch.initial) {
    const list = streamedList(watch);
    return list && { from: list.version, frames: watch.frames.slice(endOfInitial(watch) + 1) };
  }
  return watch.from === '' || watch.from === '0'
    ? undefined
    : { from: BigInt(watch.from), frames: watch.frames };
}

function endOfInitial(watch: WatchRecord): number {
  return watch.frames.findIndex((frame) => frame.type === 'BOOKMARK' && frame.initialEventsEnd);
}
