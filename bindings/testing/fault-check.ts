/**
 * Whether an injected fault makes sense: refused at once and by name, as a misspelt one would
 * otherwise never hit.
 */
import { CapstanError, invalid, requireInteger, show } from '../base/errors.ts';
import { namesOf, requireNames } from '../base/names.ts';
import type { Fault, WatchPoint } from './faults.ts';

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
  afterEvents: 1,
  frameBytes: 1,
  what: 1,
  events: 1,
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
export function checkFault(fault: Fault): void {
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
      requireInteger('fault.bytes', fault.bytes, 1);
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
      requireInteger('fault.events', fault.events, 1);
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
