/**
 * Faults on request: which requests they hit, how often, and what happens then. A request meets the
 * first fault that was injected and matches it; a fault that only alters how the request is
 * answered (a delay, a changed stream) is followed by the next one that matches, so that several
 * can be combined. Only where there is another answer in place of the request's own is the request
 * never carried out.
 */
import { CapstanError, invalid, requireInteger, show } from '../../base/errors.ts';
import { namesOf, requireNames } from '../../base/names.ts';

/** Requests that a fault can be for, as the API server names them. */
export type FaultVerb = 'list' | 'watch' | 'get' | 'create' | 'update' | 'patch' | 'delete';

/** Where in a watch something happens. */
export interface WatchPoint {
  /** After that many frames, bookmarks included. 0, the default, is right after the headers. */
  afterEvents?: number;
}

/** The faults within the stream of a watch; see {@link Fault}. */
export type StreamFault =
  | ({ do: 'insert'; bytes: string | Uint8Array } & WatchPoint)
  | ({ do: 'error'; status: number; reason?: string; retryAfter?: number } & WatchPoint)
  | ({ do: 'end' | 'hang'; frameBytes?: number } & WatchPoint)
  | { do: 'omit'; what: 'bookmarks' | 'initial-events-end' | 'version' | 'newline' }
  | { do: 'replay'; lastEvents: number }
  | { do: 'swap' };

/**
 * A fault to inject. It hits requests of `verb` (any, when left out; a deletecollection counts as
 * `delete`) whose path, without the query, contains `path` (a substring, such as `/configmaps`,
 * `/namespaces/prod/` or a name) and whose query, as it was sent, contains `query` (such as
 * `continue=`), `times` times (without end, when left out). A fault without verb also hits requests
 * that are no verb on a resource (`/version`).
 *
 * Another answer instead of the request's own:
 * - `status`: that status, as a `Status` object with the reason that is usual for it, or `reason`;
 *   `retryAfter`, in milliseconds like all times here, goes into the header and into
 *   `details.retryAfterSeconds` as whole seconds, rounded up.
 * - `refuse`: no connection. Without verb, path, query and times the port is closed and all
 *   connections are cut, as when an API server restarts: every connect is refused (ECONNREFUSED). A
 *   fault with any of them cannot be known before the request is read: requests of `transport()`
 *   fail as refused before a byte is sent; to any other client the connection is reset before an
 *   answer.
 * - `stall`: the request is never answered; a watch gets its headers and then silence. Until the
 *   client or `dropConnections()` ends it.
 * - `reset`: the connection is reset (RST) instead of an answer. A transport with a pool, such as
 *   `httpTransport`, takes that on a connection that it had used before for one that the server had
 *   closed, and sends a GET once more; requests of `transport()` fail each time.
 * - `garbage`: status 200 with exactly these bytes as its body, which then ends cleanly. Also the
 *   way to send events that a test makes up.
 *
 * The request is carried out, and:
 * - `drop`: the connection is cut after `afterBytes` bytes of the answer's body (0: right after the
 *   headers), in the middle of an event or of a character if it falls so. A body that is shorter is
 *   sent whole.
 * - `delay`: it is answered after `ms` milliseconds.
 * - `split`: the body comes in HTTP chunks of `chunkBytes` bytes, one in a turn of the event loop.
 *
 * The request is a watch, which is begun, and in its stream:
 * - `insert`: these bytes come between two frames, and the watch goes on.
 * - `error`: an ERROR event with a `Status`, as above, ends it.
 * - `end`: it ends in order; with `frameBytes` after that many bytes of the next frame, which is
 *   then never completed.
 * - `hang`: from there on silence, without bookmarks and without an end, as behind a network that
 *   forgot the connection; with `frameBytes` in the middle of the next frame.
 * - `omit`: `bookmarks` are not sent, or none that ends the initial events, or objects come without
 *   resourceVersion (`version`; a list and its items too), or frames without a line feed between
 *   them.
 * - `replay`: it begins with the last `lastEvents` events before the version that it was asked
 *   from, once more.
 * - `swap`: the first two events that are of two objects change places.
 */
export type Fault = { verb?: FaultVerb; path?: string; query?: string; times?: number } & (
  | { do: 'status'; status: number; reason?: string; retryAfter?: number }
  | { do: 'refuse' | 'stall' | 'reset' }
  | { do: 'drop'; afterBytes: number }
  | { do: 'delay'; ms: number }
  | { do: 'split'; chunkBytes: number }
  | { do: 'garbage'; bytes: string }
  | StreamFault
);

/** What is there instead of the request's own answer. */
export type AnswerFault = Extract<
  Fault,
  { do: 'status' | 'refuse' | 'stall' | 'reset' | 'garbage' }
>;

const ANSWERS: readonly string[] = ['status', 'refuse', 'stall', 'reset', 'garbage'];

export const isAnswer = (fault: Fault): fault is AnswerFault => ANSWERS.includes(fault.do);

const STREAMS: readonly string[] = ['insert', 'error', 'end', 'hang', 'omit', 'replay', 'swap'];

export const isOfStream = (fault: Fault): fault is Fault & StreamFault =>
  STREAMS.includes(fault.do);

/** What a fault is matched against. */
export interface FaultTarget {
  verb: FaultVerb | undefined;
  path: string;
  /** As it was sent. */
  search: string;
}

interface Active {
  fault: Fault;
  left: number;
}

/** Every connection is refused while one of these is active. */
export const closesPort = (fault: Fault): boolean =>
  fault.do === 'refuse' &&
  [fault.verb, fault.path, fault.query, fault.times].every((filter) => filter === undefined);

function matches(fault: Fault, target: FaultTarget): boolean {
  if (fault.verb !== undefined && fault.verb !== target.verb) return false;
  if (fault.path !== undefined && !target.path.includes(fault.path)) return false;
  if (fault.query !== undefined && !target.search.includes(fault.query)) return false;
  // A stream is altered where there is one; objects without a version are met in lists too.
  if (!isOfStream(fault) || target.verb === 'watch') return true;
  return target.verb === 'list' && fault.do === 'omit' && fault.what === 'version';
}

export class Faults {
  readonly #active = new Set<Active>();

  /** Gives the function that takes the fault back; calling it again has no effect. */
  add(fault: Fault): () => void {
    checkFault(fault);
    const active: Active = { fault: { ...fault }, left: fault.times ?? Number.POSITIVE_INFINITY };
    this.#active.add(active);
    return () => void this.#active.delete(active);
  }

  /**
   * The faults this request meets: any that alter its answer, then at most one that replaces it.
   * They count as used.
   * @param only looks for faults of this kind alone, when one of them is what the request would
   *   meet
   */
  take(target: FaultTarget, only?: AnswerFault['do']): Fault[] {
    const met = this.#met(target);
    if (only !== undefined && met.at(-1)?.fault.do !== only) return [];
    // Asked for one kind alone, those before it are left for a request that comes to be answered.
    const used = only === undefined ? met : met.slice(-1);
    for (const active of used) {
      active.left--;
      if (active.left <= 0) this.#active.delete(active);
    }
    return used.map((active) => active.fault);
  }

  /** Whether a fault of this kind is what the request would meet; none counts as used. */
  meets(target: FaultTarget, kind: AnswerFault['do']): boolean {
    return this.#met(target).at(-1)?.fault.do === kind;
  }

  #met(target: FaultTarget): Active[] {
    const met: Active[] = [];
    for (const active of this.#active) {
      if (!matches(active.fault, target)) continue;
      met.push(active);
      if (isAnswer(active.fault)) break;
    }
    return met;
  }

  /** Those that were to hit a number of times and have not yet. */
  unmet(): Fault[] {
    return [...this.#active].map(({ fault }) => fault).filter(({ times }) => times !== undefined);
  }

  /** Whether the port is to be closed. */
  portClosed(): boolean {
    return [...this.#active].some((active) => closesPort(active.fault));
  }
}

// A fault that makes no sense is refused at once and by name: misspelt, it would never hit.

const NAMES = namesOf<Fault>()({
  do: 1,
  verb: 1,
  path: 1,
  query: 1,
  times: 1,
  status: 1,
  reason: 1,
  retryAfter: 1,
  afterBytes: 1,
  ms: 1,
  bytes: 1,
  chunkBytes: 1,
  afterEvents: 1,
  frameBytes: 1,
  what: 1,
  lastEvents: 1,
});
const VERBS = ['list', 'watch', 'get', 'create', 'update', 'patch', 'delete'];
const OMITTED = ['bookmarks', 'initial-events-end', 'version', 'newline'];

function requireTime(name: string, ms: unknown): void {
  if (typeof ms !== 'number' || !(ms >= 0 && ms < Number.POSITIVE_INFINITY))
    throw invalid(name, 'milliseconds >= 0', ms);
}

function requireText(name: string, text: unknown): void {
  if (text !== undefined && typeof text !== 'string') throw invalid(name, 'a string', text);
}

function requireStatus({ status, retryAfter }: { status: number; retryAfter?: number }): void {
  requireInteger('fault.status', status, 200);
  if (status > 599) throw invalid('fault.status', 'an HTTP status of 200 to 599', status);
  if (retryAfter !== undefined) requireTime('fault.retryAfter', retryAfter);
}

/** Throws CapstanError INVALID_ARGUMENT. */
function checkFault(fault: Fault): void {
  requireNames('fault', fault, 'member of a fault', NAMES);
  if (fault.verb !== undefined && !VERBS.includes(fault.verb))
    throw invalid('fault.verb', VERBS.join(', '), fault.verb);
  requireText('fault.path', fault.path);
  requireText('fault.query', fault.query);
  if (fault.times !== undefined) requireInteger('fault.times', fault.times, 1);
  const { afterEvents } = fault as WatchPoint;
  if (afterEvents !== undefined) requireInteger('fault.afterEvents', afterEvents, 0);
  switch (fault.do) {
    case 'status':
      requireStatus(fault);
      return;
    case 'error':
      requireStatus(fault);
      return;
    case 'drop':
      requireInteger('fault.afterBytes', fault.afterBytes, 0);
      return;
    case 'delay':
      requireTime('fault.ms', fault.ms);
      return;
    case 'split':
      requireInteger('fault.chunkBytes', fault.chunkBytes, 1);
      return;
    case 'garbage':
      if (typeof fault.bytes !== 'string') throw invalid('fault.bytes', 'a string', fault.bytes);
      return;
    case 'insert':
      if (typeof fault.bytes !== 'string' && !(fault.bytes instanceof Uint8Array))
        throw invalid('fault.bytes', 'a string or bytes', fault.bytes);
      return;
    case 'end':
    case 'hang':
      if (fault.frameBytes !== undefined) requireInteger('fault.frameBytes', fault.frameBytes, 1);
      return;
    case 'omit':
      if (!OMITTED.includes(fault.what))
        throw invalid('fault.what', OMITTED.join(', '), fault.what);
      return;
    case 'replay':
      requireInteger('fault.lastEvents', fault.lastEvents, 1);
      return;
    case 'refuse':
    case 'stall':
    case 'reset':
    case 'swap':
      return;
    default: {
      const kinds =
        'status, refuse, stall, reset, drop, delay, split, garbage, insert, error, end, hang, omit, replay or swap';
      throw new CapstanError(
        'INVALID_ARGUMENT',
        `"fault.do" expected ${kinds}, got ${show((fault as { do: unknown }).do)}`,
      );
    }
  }
}
