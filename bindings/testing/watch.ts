/**
 * Watches: a stream of events from a version on, seen through selectors. A watch is a cursor into its store's history:
 * as long as the socket takes bytes it is moved with every event; when the socket is full it stands still and catches
 * up from the history later, so a slow reader costs no memory. One that has fallen behind the history is cut off, as
 * the real server cuts off a watcher whose buffer is full. apiserver: pkg/storage/cacher/cache_watcher.go.
 */
import type { Clock } from '../clock.ts';
import { integer, parseVersion } from './list.ts';
import type { Output } from './output.ts';
import type { ResourcePath } from './paths.ts';
import type { Kind } from './registry/kinds.ts';
import type { Registry } from './registry/registry.ts';
import { type ResourceStore, type Stored, type StoreEvent, withVersion } from './registry/store.ts';
import { type Predicate, parseSelectors } from './selectors.ts';
import { ApiError, expired, type FieldError, fieldForbidden, fieldNotSupported, invalidOptions } from './status.ts';
import type { Shown, View } from './views.ts';

type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** Between these a watch without timeoutSeconds ends; apiserver: min-request-timeout, spread so that not all end at once. */
const DEFAULT_TIMEOUT_SECONDS = 1800;

/** A watch that asked for bookmarks gets one this long before it ends, so that the next one can start from it. */
const LAST_BOOKMARK_MS = 2000;

const frame = (type: string, json: string): Buffer => Buffer.from(`{"type":"${type}","object":${json}}\n`);

/**
 * The bytes of one event, made once for all watchers that are told of it in the same turn. Which of the three a watcher
 * gets depends on its selector.
 */
class Frames {
  event: StoreEvent | undefined;
  readonly #view: View;
  readonly #made = new Map<EventType, Buffer>();

  constructor(view: View) {
    this.#view = view;
  }

  of(event: StoreEvent, type: EventType): Buffer {
    if (this.event !== event) {
      this.event = event;
      this.#made.clear();
    }
    let bytes = this.#made.get(type);
    if (bytes === undefined) {
      bytes = frame(type, this.#view.object(type === 'DELETED' ? lastState(event) : (event.now as Stored)));
      this.#made.set(type, bytes);
    }
    return bytes;
  }
}

/** Removed, or no longer matched: the object as it last was, with the version at which it is gone. */
function lastState(event: StoreEvent): Shown {
  const object = withVersion((event.old as Stored).object, event.version);
  return { object, json: JSON.stringify(object) };
}

/** What an event means to a watcher; undefined: nothing. */
function typeFor(event: StoreEvent, matches: Predicate | undefined): EventType | undefined {
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
  matches: Predicate | undefined;
  output: Output;
}

class Watch {
  readonly #options: WatchOptions;
  readonly #frames: Frames;
  #cursor: number;
  #full = false;
  #ended = false;
  #detach: () => void = () => {};

  constructor(options: WatchOptions, frames: Frames, from: number) {
    this.#options = options;
    this.#frames = frames;
    this.#cursor = from;
  }

  /** Sends what the history has, and from now on what happens. */
  start(): void {
    this.#detach = this.#options.store.watch((event) => {
      if (!this.#full) this.#tell(event);
    });
    this.#options.output.onDrain(() => this.#catchUp());
    this.#catchUp();
  }

  /** A bookmark promises that all up to its version has been sent, so there is none while the socket is full. */
  bookmark(version: number, initialEventsEnd = false): void {
    if (this.#full || this.#ended) return;
    const { kind, view } = this.#options;
    const at = Math.max(version, this.#cursor);
    const annotations = initialEventsEnd ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {};
    const object = { ...view.bookmark(kind), metadata: { resourceVersion: String(at), ...annotations } };
    this.write(frame('BOOKMARK', JSON.stringify(object)));
  }

  write(bytes: Buffer): void {
    if (this.#ended) return;
    if (!this.#options.output.write(bytes)) this.#full = true;
  }

  end(): void {
    if (this.#ended) return;
    this.stop();
    this.#options.output.end();
  }

  /** The connection is gone. */
  stop(): void {
    this.#ended = true;
    this.#detach();
  }

  #tell(event: StoreEvent): void {
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
    for (const event of this.#options.store.eventsAfter(this.#cursor)) {
      this.#tell(event);
      if (this.#full) return;
    }
  }
}

/** Serves the watches of one server. */
export class Watches {
  readonly #registry: Registry;
  readonly #clock: Clock;
  readonly #bookmarkInterval: number;
  readonly #frames = new Map<View, Frames>();

  constructor(registry: Registry, clock: Clock, bookmarkInterval: number) {
    this.#registry = registry;
    this.#clock = clock;
    this.#bookmarkInterval = bookmarkInterval;
  }

  /** Answers a watch: 200 and a stream, of which a version that is too old is the first and last event. */
  serve(path: ResourcePath, query: URLSearchParams, output: Output, view: View): void {
    const kind = this.#registry.kinds.get(path.resource);
    const store = this.#registry.store(path.resource);
    const matches = parseSelectors(kind, query.get('labelSelector'), query.get('fieldSelector'));
    const seconds = integer(query.get('timeoutSeconds'));
    const initial = checkOptions(query);
    const asked = query.get('resourceVersion') ?? '';
    const version = parseVersion(asked, (why) => new ApiError(500, why));
    const prefix = path.namespace === '' ? '' : `${path.namespace}/`;
    output.begin(200, { 'Content-Type': 'application/json', 'Cache-Control': 'no-cache, private' });

    const fresh = initial ?? version === 0;
    if (!fresh && version !== 0 && version < store.oldest) {
      const { body } = expired(`too old resource version: ${version} (${store.oldest})`);
      output.write(frame('ERROR', JSON.stringify(body)));
      output.end();
      return;
    }
    const current = this.#registry.versions.current;
    const from = fresh || version === 0 ? current : version;
    const watch = new Watch({ kind, store, view, prefix, matches, output }, this.#framesOf(view), from);
    const bookmarks = isTrue(query.get('allowWatchBookmarks'));
    if (fresh) {
      for (const stored of store.asOf(current, path.namespace, '')) {
        if (matches === undefined || matches(stored.object)) watch.write(frame('ADDED', view.object(stored)));
      }
      if (initial === true && bookmarks) watch.bookmark(current, true);
    }
    this.#schedule(watch, output, { bookmarks, seconds });
    watch.start();
  }

  #framesOf(view: View): Frames {
    const frames = this.#frames.get(view) ?? new Frames(view);
    this.#frames.set(view, frames);
    return frames;
  }

  #schedule(watch: Watch, output: Output, options: { bookmarks: boolean; seconds: number }): void {
    const seconds = options.seconds > 0 ? options.seconds : DEFAULT_TIMEOUT_SECONDS * (1 + Math.random());
    const timers = new Set<unknown>();
    const after = (ms: number, run: () => void): void => {
      const timer = this.#clock.setTimer(() => {
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
        after(this.#bookmarkInterval, repeat);
      };
      after(this.#bookmarkInterval, repeat);
    }
    output.onClose(() => {
      watch.stop();
      for (const timer of timers) this.#clock.clearTimer(timer);
    });
  }
}

/** Whether initial events are asked for explicitly; undefined when nothing is said. */
function checkOptions(query: URLSearchParams): boolean | undefined {
  const match = query.get('resourceVersionMatch') ?? '';
  const text = query.get('sendInitialEvents');
  const initial = text === null || text === '' ? undefined : isTrue(text);
  const errors: FieldError[] = [];
  const field = 'resourceVersionMatch';
  if (query.get('continue'))
    errors.push(fieldForbidden(field, 'resourceVersionMatch is forbidden when continue is provided'));
  if (initial !== undefined && match !== 'NotOlderThan') {
    errors.push(fieldForbidden(field, 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'));
  }
  if (initial === undefined && match !== '') {
    errors.push(
      fieldForbidden(field, 'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided'),
    );
    if (match !== 'NotOlderThan') errors.push(fieldNotSupported(field, match, ['NotOlderThan']));
  }
  if (errors.length > 0) throw invalidOptions('ListOptions', errors);
  return initial;
}

/** apimachinery: Convert_Slice_string_To_bool: anything but these is true, an empty value too. */
export function isTrue(value: string | null): boolean {
  return value !== null && value.toLowerCase() !== 'false' && value !== '0';
}
