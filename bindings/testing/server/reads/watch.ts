/**
 * Watches: a stream of events from a resourceVersion on, filtered by selectors. A watch is a cursor
 * into its store's history. While the socket accepts bytes the cursor moves with every event; while
 * it is full, the cursor stays and catches up from the history later, so that a slow reader costs
 * no memory. A watch whose cursor falls behind the history is cut off; one that is behind by more
 * than the watch buffer is ended in order, as the real server ends a watcher whose buffer is full.
 * apiserver: pkg/storage/cacher/cache_watcher.go.
 */

import type { Clock } from '../../../base/clock.ts';
import { type Output, warningHeader } from '../answers/output.ts';
import type { EncodedObject, View } from '../answers/views.ts';
import type { StreamFault } from '../faults.ts';
import { writeJson } from '../json.ts';
import type { ResourcePath } from '../paths.ts';
import type { Kind } from '../registry/kinds.ts';
import type { Registry } from '../registry/registry.ts';
import {
  type ResourceStore,
  type Stored,
  type StoreEvent,
  withVersion,
} from '../registry/store.ts';
import { queryBool, wantsInitialEvents } from '../request/list-options.ts';
import { ApiError, expired, TooLargeVersion } from '../status.ts';
import { EventStream, type FrameType, frameBytes, type SentFrame } from './event-stream.ts';
import type { Freshness } from './freshness.ts';
import { parseVersion, queryInteger } from './list.ts';
import { type ObjectPredicate, parseSelectors } from './selectors.ts';

/**
 * The shortest time of a watch without timeoutSeconds (apiserver: min-request-timeout). It ends
 * between this and twice this, so that not all watches end at once.
 */
const DEFAULT_TIMEOUT_SECONDS = 1800;

/**
 * A watch with bookmarks gets one this long before it ends, from which the next watch can start.
 */
const LAST_BOOKMARK_MS = 2000;

/**
 * The bytes of the latest event, made once for all watchers. A selector turns an event into an
 * ADDED, a MODIFIED or a DELETED, hence up to three frames.
 */
class Frames {
  event: StoreEvent | undefined;
  readonly #view: View;
  readonly #frames = new Map<FrameType, SentFrame>();

  constructor(view: View) {
    this.#view = view;
  }

  of(event: StoreEvent, type: FrameType): SentFrame {
    if (this.event !== event) {
      this.event = event;
      this.#frames.clear();
    }
    let frame = this.#frames.get(type);
    if (frame === undefined) {
      const encoded = type === 'DELETED' ? lastState(event) : (event.now as Stored);
      const json = eventOf(this.#view, encoded);
      frame = { type, key: event.key, bytes: frameBytes(type, json) };
      this.#frames.set(type, frame);
    }
    return frame;
  }
}

const eventOf = (view: View, encoded: EncodedObject): string =>
  view.event?.(encoded) ?? view.object(encoded);

/** The object of a DELETED event: its last state, with the resourceVersion of the event. */
function lastState(event: StoreEvent): EncodedObject {
  const object = withVersion((event.old as Stored).object, event.version);
  return { object, json: writeJson(object) };
}

/** The type of an event for a watcher's selector; undefined: not sent. */
function typeFor(event: StoreEvent, matches: ObjectPredicate | undefined): FrameType | undefined {
  const { old, now } = event;
  const before = old !== undefined && (matches === undefined || matches(old.object));
  const after = now !== undefined && (matches === undefined || matches(now.object));
  if (after) return before ? 'MODIFIED' : 'ADDED';
  return before ? 'DELETED' : undefined;
}

interface WatchOptions {
  kind: Kind;
  store: ResourceStore;
  view: View;
  prefix: string;
  matches: ObjectPredicate | undefined;
  output: Output;
  stream: EventStream;
  /** How many events the client may be behind. */
  buffer: number;
}

class Watch {
  readonly #options: WatchOptions;
  readonly #frames: Frames;
  #cursor: number;
  #full = false;
  /** Events of the store since the socket became full. */
  #behind = 0;
  #ended = false;
  #detach: () => void = () => {};

  constructor(options: WatchOptions, frames: Frames, from: number) {
    this.#options = options;
    this.#frames = frames;
    this.#cursor = from;
  }

  /** Sends the events of the history, then each new one. */
  start(): void {
    this.#detach = this.#options.store.watch({
      event: (event) => {
        if (this.#full) this.#behind++;
        else this.#sendEvent(event);
      },
      closed: () => {
        this.#catchUp();
        this.end();
      },
    });
    this.#options.output.onDrain(() => this.#catchUp());
    this.#catchUp();
  }

  /**
   * A bookmark promises that every event up to its resourceVersion was sent, so that none is sent
   * while the socket is full, except the one that ends the initial events, which are written
   * regardless. None is sent to a watch from a resourceVersion that does not exist yet: it gets 200
   * and no event until then (kube-apiserver 1.36).
   */
  bookmark(version: number, initialEventsEnd = false): void {
    if (this.#ended || (this.#full && !initialEventsEnd) || this.#cursor > version) return;
    const { kind, view } = this.#options;
    const annotations = initialEventsEnd
      ? { annotations: { 'k8s.io/initial-events-end': 'true' } }
      : {};
    const bytes = frameBytes(
      'BOOKMARK',
      view.bookmark(kind, { resourceVersion: String(version), ...annotations }),
    );
    this.write({ type: 'BOOKMARK', bytes, endsInitial: initialEventsEnd });
  }

  write(frame: SentFrame): void {
    if (this.#ended) return;
    if (!this.#options.view.watchable) this.end();
    else if (!this.#options.stream.send(frame)) this.#full = true;
  }

  end(): void {
    if (this.#ended) return;
    this.stop();
    this.#options.stream.end();
  }

  /** Called when the connection is closed. */
  stop(): void {
    this.#ended = true;
    this.#detach();
  }

  #sendEvent(event: StoreEvent): void {
    if (event.version <= this.#cursor) return;
    this.#cursor = event.version;
    if (!event.key.startsWith(this.#options.prefix)) return;
    const type = typeFor(event, this.#options.matches);
    if (type !== undefined) this.write(this.#frames.of(event, type));
  }

  #catchUp(): void {
    this.#full = this.#options.output.full;
    if (this.#ended || this.#full) return;
    if (this.#cursor < this.#options.store.oldest) {
      this.stop();
      this.#options.output.destroy();
      return;
    }
    if (this.#behind > this.#options.buffer) {
      this.end();
      return;
    }
    this.#behind = 0;
    for (const event of this.#options.store.eventsAfter(this.#cursor)) {
      this.#sendEvent(event);
      if (this.#full) return;
    }
  }
}

export interface WatchServingOptions {
  clock: Clock;
  bookmarkInterval: number;
  /** How many events a client may be behind before its watch is ended. */
  watchBuffer: number;
  /** Compresses streams for clients that accept gzip. */
  compressWatches: boolean;
}

/** Serves the watches of a server. */
export class Watches {
  readonly #registry: Registry;
  readonly #freshness: Freshness;
  readonly #options: WatchServingOptions;
  readonly #frames = new WeakMap<View, Frames>();

  constructor(registry: Registry, freshness: Freshness, options: WatchServingOptions) {
    this.#registry = registry;
    this.#freshness = freshness;
    this.#options = options;
  }

  /**
   * Answers a watch with 200 and a stream. For an expired resourceVersion the only event is an
   * ERROR. Resolves when the stream has started. With initial events it first waits for the
   * resourceVersion to exist.
   */
  async serve(
    path: ResourcePath,
    query: URLSearchParams,
    output: Output,
    how: { view: View; faults: readonly StreamFault[]; warnings: readonly string[] },
  ): Promise<void> {
    const { view, faults, warnings } = how;
    const kind = this.#registry.kinds.get(path.resource);
    const store = this.#registry.store(path.resource);
    const nameSelector = path.name === '' ? [] : [`metadata.name=${path.name}`];
    const fields = [query.get('fieldSelector') ?? '', ...nameSelector].filter(
      (term) => term !== '',
    );
    const seconds = queryInteger(query.get('timeoutSeconds'));
    let fresh = false;
    const matches = parseSelectors(kind, query.get('labelSelector'), fields.join(','), () => {
      fresh = wantsInitialEvents(query);
    });
    const version = parseVersion(
      query.get('resourceVersion') ?? '',
      (why) => new ApiError(500, why),
    );
    const prefix = path.namespace === '' ? '' : `${path.namespace}/`;
    const { versions } = this.#registry;
    if (fresh) await this.#freshness.waitFor(version, output);
    if (output.closed) return;

    const stream = new EventStream(output, faults);
    const headers = {
      'Content-Type': 'application/json',
      'Cache-Control': 'no-cache, private',
      ...(warnings.length === 0 ? {} : { Warning: warnings.map(warningHeader) }),
    };
    output.begin(200, headers, this.#options.compressWatches);
    stream.begin();
    const failure = this.#versionError(path, version, fresh);
    if (failure !== undefined) {
      stream.send({ type: 'ERROR', bytes: frameBytes('ERROR', JSON.stringify(failure.body)) });
      stream.end();
      return;
    }
    const { current } = versions;
    const start = fresh || version === 0 ? current : version;
    const replay = faults.find((fault) => fault.do === 'replay');
    const from = replay === undefined ? start : store.before(start, replay.lastEvents);
    const options = {
      kind,
      store,
      view,
      prefix,
      matches,
      output,
      stream,
      buffer: this.#options.watchBuffer,
    };
    const watch = new Watch(options, this.#framesOf(view), from);
    const bookmarks = queryBool(query.get('allowWatchBookmarks'));
    if (fresh) {
      for (const stored of store.asOf(current, path.namespace, '')) {
        if (matches !== undefined && !matches(stored.object)) continue;
        watch.write({
          type: 'ADDED',
          key: stored.key,
          bytes: frameBytes('ADDED', eventOf(view, stored)),
        });
      }
      if (bookmarks) watch.bookmark(current, true);
    }
    this.#schedule(watch, output, { bookmarks, seconds });
    watch.start();
  }

  /** The error for a resourceVersion from which a watch cannot start. */
  #versionError({ resource }: ResourcePath, version: number, fresh: boolean): ApiError | undefined {
    const { current } = this.#registry.versions;
    const store = this.#registry.store(resource);
    if (fresh)
      return version > current ? new TooLargeVersion(version, current, resource) : undefined;
    if (version === 0 || version >= store.oldest) return undefined;
    return expired(`too old resource version: ${version} (${store.oldest})`);
  }

  #framesOf(view: View): Frames {
    const frames = this.#frames.get(view) ?? new Frames(view);
    this.#frames.set(view, frames);
    return frames;
  }

  #schedule(watch: Watch, output: Output, options: { bookmarks: boolean; seconds: number }): void {
    const { clock, bookmarkInterval } = this.#options;
    const seconds =
      options.seconds > 0 ? options.seconds : DEFAULT_TIMEOUT_SECONDS * (1 + Math.random());
    const timers = new Set<unknown>();
    const after = (ms: number, run: () => void): void => {
      const timer = clock.setTimer(() => {
        timers.delete(timer);
        run();
      }, ms);
      timers.add(timer);
    };
    const bookmark = (): void => watch.bookmark(this.#registry.versions.current);
    after(seconds * 1000, () => watch.end());
    if (options.bookmarks) {
      if (seconds * 1000 > LAST_BOOKMARK_MS) after(seconds * 1000 - LAST_BOOKMARK_MS, bookmark);
      const repeat = (): void => {
        bookmark();
        after(bookmarkInterval, repeat);
      };
      after(bookmarkInterval, repeat);
    }
    output.onClose(() => {
      watch.stop();
      for (const timer of timers) clock.clearTimer(timer);
    });
  }
}
