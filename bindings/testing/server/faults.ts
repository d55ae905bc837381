/**
 * Injected faults: which requests they hit, how often, and what they do. A request meets the first
 * injected fault that matches it. After a fault that only alters the answer (a delay, a changed
 * stream) the next one that matches follows, so that several can be combined. A request is not
 * carried out only if a fault replaces its answer.
 */
import { CapstanError, invalid, requireInteger, show } from '../../base/errors.ts';
import { namesOf, requireNames } from '../../base/names.ts';

/** The verbs of requests that a fault can hit, as the API server names them. */
export type FaultVerb = 'list' | 'watch' | 'get' | 'create' | 'update' | 'patch' | 'delete';

/** A point in a watch. */
export interface WatchPoint {
  /** After so many frames, bookmarks included. 0, the default: right after the headers. */
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
 * A fault to inject. It hits requests of `verb` (default: any; a deletecollection counts as
 * `delete`) whose path, without the query, contains `path` (a substring, such as `/configmaps`,
 * `/namespaces/prod/` or a name) and whose query, as it was sent, contains `query` (such as
 * `continue=`), `times` times (default: without limit). A fault without `verb` also hits requests
 * that have no verb on a resource (`/version`).
 *
 * The answer is replaced:
 * - `status`: that status, as a `Status` object with the usual reason of the code, or `reason`;
 *   `retryAfter`, in milliseconds like all times here, goes into the header and into
 *   `details.retryAfterSeconds` as whole seconds, rounded up.
 * - `refuse`: the connection is refused. Without verb, path, query and times the port is closed and
 *   all connections are cut, as when an API server restarts: every connect is refused
 *   (ECONNREFUSED). With any of them the server must first read the request: requests of
 *   `transport()` fail as refused before a byte is sent; for any other client the connection is
 *   reset before an answer.
 * - `stall`: the request is never answered; a watch gets its headers and nothing more, until the
 *   client or `dropConnections()` ends it.
 * - `reset`: the connection is reset (RST) instead of an answer. On a reused connection a transport
 *   with a pool, such as `httpTransport`, takes that for a connection that the server had closed,
 *   and sends a GET again; requests of `transport()` fail each time.
 * - `garbage`: status 200 with exactly these bytes as its body, which then ends in order. Also the
 *   way to send events that a test makes up.
 *
 * The request is carried out, and:
 * - `drop`: the connection is cut after `afterBytes` bytes of the answer's body (0: right after the
 *   headers), possibly within an event or a character. A shorter body is sent whole.
 * - `delay`: it is answered after `ms` milliseconds.
 * - `split`: the body comes in HTTP chunks of `chunkBytes` bytes, one in a turn of the event loop.
 *
 * The request is a watch, which starts, and in its stream:
 * - `insert`: these bytes come between two frames, and the watch goes on.
 * - `error`: an ERROR event with a `Status`, as above, ends it.
 * - `end`: it ends in order; with `frameBytes` after that many bytes of the next frame, which is
 *   never completed.
 * - `hang`: nothing more is sent, no bookmarks and no end, as when a network drops the packets of a
 *   connection; with `frameBytes` from that byte of the next frame on.
 * - `omit`: leaves out `bookmarks`, or the bookmark that ends the initial events
 *   (`initial-events-end`), or the resourceVersion of objects (`version`; also of a list and its
 *   items), or the line feed after frames (`newline`).
 * - `replay`: it starts by repeating the last `lastEvents` events before the requested
 *   resourceVersion.
 * - `swap`: the first two events of different objects change places.
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

/** The faults that replace the answer. */
export type AnswerFault = Extract<
  Fault,
  { do: 'status' | 'refuse' | 'stall' | 'reset' | 'garbage' }
>;

const ANSWERS: readonly string[] = ['status', 'refuse', 'stall', 'reset', 'garbage'];

export const isAnswer = (fault: Fault): fault is AnswerFault => ANSWERS.includes(fault.do);

const STREAMS: readonly string[] = ['insert', 'error', 'end', 'hang', 'omit', 'replay', 'swap'];

export const isOfStream = (fault: Fault): fault is Fault & StreamFault =>
  STREAMS.includes(fault.do);

/** The parts of a request that a fault is matched against. */
export interface FaultTarget {
  verb: FaultVerb | undefined;
  path: string;
  /** The query as it was sent. */
  search: string;
}

interface Active {
  fault: Fault;
  remaining: number;
}

/** While a fault like this is active, every connection is refused. */
export const closesPort = (fault: Fault): boolean =>
  fault.do === 'refuse' &&
  [fault.verb, fault.path, fault.query, fault.times].every((filter) => filter === undefined);

function matches(fault: Fault, target: FaultTarget): boolean {
  if (fault.verb !== undefined && fault.verb !== target.verb) return false;
  if (fault.path !== undefined && !target.path.includes(fault.path)) return false;
  if (fault.query !== undefined && !target.search.includes(fault.query)) return false;
  // The other faults of a stream hit watches only; `omit: 'version'` hits lists too.
  if (!isOfStream(fault) || target.verb === 'watch') return true;
  return target.verb === 'list' && fault.do === 'omit' && fault.what === 'version';
}

export class Faults {
  readonly #active = new Set<Active>();

  /** Returns the function that removes the fault; calling it again has no effect. */
  add(fault: Fault): () => void {
    checkFault(fault);
    const active: Active = {
      fault: { ...fault },
      remaining: fault.times ?? Number.POSITIVE_INFINITY,
    };
    this.#active.add(active);
    return () => void this.#active.delete(active);
  }

  /**
   * The faults that this request meets: any that alter its answer, then at most one that replaces
   * it. Counts them as used.
   *
   * @param only returns and counts only the fault that replaces the answer, and only if it is of
   *   this kind
   */
  take(target: FaultTarget, only?: AnswerFault['do']): Fault[] {
    const met = this.#met(target);
    if (only !== undefined && met.at(-1)?.fault.do !== only) return [];
    // With `only`, the faults before it are left for a request that is answered.
    const used = only === undefined ? met : met.slice(-1);
    for (const active of used) {
      active.remaining--;
      if (active.remaining <= 0) this.#active.delete(active);
    }
    return used.map((active) => active.fault);
  }

  /** Whether the request would meet a fault of this kind. Counts none as used. */
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

  /** The faults with `times` that have hit fewer requests. */
  unmet(): Fault[] {
    return [...this.#active].map(({ fault }) => fault).filter(({ times }) => times !== undefined);
  }

  /** Whether a fault closes the port. */
  portClosed(): boolean {
    return [...this.#active].some((active) => closesPort(active.fault));
  }
}

// A misspelt fault would never hit a request: it is refused when it is added.

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
        'status, refuse, stall, reset, drop, delay, split, garbage, insert, error, end, hang, ' +
        'omit, replay or swap';
      throw new CapstanError(
        'INVALID_ARGUMENT',
        `"fault.do" expected ${kinds}, got ${show((fault as { do: unknown }).do)}`,
      );
    }
  }
}
