/**
 * Faults on request: which requests they hit, how often, and what happens then. A request meets the first fault that
 * was injected and matches it; a `delay` is followed by the next one that matches. But for `delay` and `drop` the
 * request itself is never carried out.
 */
import { CapstanError, invalid, requireInteger, show } from '../errors.ts';

export type FaultVerb = 'list' | 'watch' | 'get' | 'create' | 'update' | 'patch' | 'delete';

/**
 * A fault to inject. It hits requests of `verb` (any, when left out; a deletecollection counts as `delete`) whose path,
 * without the query, contains `path` (a substring, such as `/configmaps`, `/namespaces/prod/` or a name), `times` times
 * (without end, when left out). A fault without verb also hits requests that are no verb on a resource (`/version`).
 *
 * - `status`: that status, as a `Status` object with the reason that is usual for it, or `reason`; `retryAfter`, in
 *   milliseconds like all times here, goes into the header and into `details.retryAfterSeconds` as whole seconds, rounded up.
 * - `refuse`: no connection. Without verb, path and times the port is closed and all connections are cut, as when an API
 *   server restarts: every connect is refused (ECONNREFUSED). A fault with any of them cannot be known before the
 *   request is read: requests of `transport()` fail as refused before a byte is sent; to any other client the
 *   connection is reset before an answer.
 * - `stall`: the request is never answered; a watch gets its headers and then silence. Until the client or
 *   `dropConnections()` ends it.
 * - `reset`: the connection is reset (RST) instead of an answer.
 * - `drop`: the request is carried out, and the connection is cut after `afterBytes` bytes of the answer's body (0: right
 *   after the headers), in the middle of an event or of a character if it falls so. A body that is shorter is sent whole.
 * - `delay`: carried out after `ms` milliseconds.
 * - `garbage`: status 200 with exactly these bytes as its body, which then ends cleanly. Also the way to send a client
 *   events of one's own making.
 */
export type Fault = { verb?: FaultVerb; path?: string; times?: number } & (
  | { do: 'status'; status: number; reason?: string; retryAfter?: number }
  | { do: 'refuse' | 'stall' | 'reset' }
  | { do: 'drop'; afterBytes: number }
  | { do: 'delay'; ms: number }
  | { do: 'garbage'; bytes: string }
);

/** What a fault is matched against. */
export interface FaultTarget {
  verb: FaultVerb | undefined;
  path: string;
}

interface Active {
  fault: Fault;
  left: number;
}

/** Every connection is refused while one of these is active. */
export const closesPort = (fault: Fault): boolean =>
  fault.do === 'refuse' && fault.verb === undefined && fault.path === undefined && fault.times === undefined;

export class Faults {
  readonly #active = new Set<Active>();

  /** Gives the function that takes the fault back; calling it again has no effect. */
  add(fault: Fault): () => void {
    check(fault);
    const active: Active = { fault: { ...fault }, left: fault.times ?? Number.POSITIVE_INFINITY };
    this.#active.add(active);
    return () => void this.#active.delete(active);
  }

  /**
   * The faults this request meets: any delays, then at most one other. They count as used.
   * @param only looks for faults of this kind alone, when one of them is what the request would meet
   */
  take(target: FaultTarget, only?: Fault['do']): Fault[] {
    const met: Active[] = [];
    for (const active of this.#active) {
      const { fault } = active;
      if (fault.verb !== undefined && fault.verb !== target.verb) continue;
      if (fault.path !== undefined && !target.path.includes(fault.path)) continue;
      met.push(active);
      if (fault.do !== 'delay') break;
    }
    if (only !== undefined && met.at(-1)?.fault.do !== only) return [];
    // Asked for one kind alone, the delays before it are left for a request that waits for them.
    const used = only === undefined ? met : met.slice(-1);
    for (const active of used) {
      active.left--;
      if (active.left <= 0) this.#active.delete(active);
    }
    return used.map((active) => active.fault);
  }

  /** Whether the port is to be closed. */
  portClosed(): boolean {
    return [...this.#active].some((active) => closesPort(active.fault));
  }
}

function requireTime(name: string, ms: unknown): void {
  if (typeof ms !== 'number' || !(ms >= 0 && ms < Number.POSITIVE_INFINITY))
    throw invalid(name, 'milliseconds >= 0', ms);
}

const VERBS: readonly (string | undefined)[] = [
  'list',
  'watch',
  'get',
  'create',
  'update',
  'patch',
  'delete',
  undefined,
];

function check(fault: Fault): void {
  if (typeof fault !== 'object' || fault === null) throw invalid('fault', 'an object', fault);
  if (!VERBS.includes(fault.verb)) throw invalid('fault.verb', VERBS.slice(0, -1).join(', '), fault.verb);
  if (fault.path !== undefined && typeof fault.path !== 'string') throw invalid('fault.path', 'a string', fault.path);
  if (fault.times !== undefined) requireInteger('fault.times', fault.times, 1);
  switch (fault.do) {
    case 'status':
      requireInteger('fault.status', fault.status, 200);
      if (fault.status > 599) throw invalid('fault.status', 'an HTTP status of 200 to 599', fault.status);
      if (fault.retryAfter !== undefined) requireTime('fault.retryAfter', fault.retryAfter);
      return;
    case 'drop':
      requireInteger('fault.afterBytes', fault.afterBytes, 0);
      return;
    case 'delay':
      requireTime('fault.ms', fault.ms);
      return;
    case 'garbage':
      if (typeof fault.bytes !== 'string') throw invalid('fault.bytes', 'a string', fault.bytes);
      return;
    case 'refuse':
    case 'stall':
    case 'reset':
      return;
    default: {
      const kinds = 'status, refuse, stall, reset, drop, delay or garbage';
      throw new CapstanError(
        'INVALID_ARGUMENT',
        `"fault.do" expected ${kinds}, got ${show((fault as { do: unknown }).do)}`,
      );
    }
  }
}
