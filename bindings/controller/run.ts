/**
 * One reconcile: its request, its id, when it began and how it ended. It is kept in the run
 * history, so it holds no other data.
 */
import { nameOfError, ownText, textOfError, wordsEnd } from '../base/error-text.ts';
import type { Request } from '../base/request.ts';
import { dueFirst, type RunCauses } from './causes.ts';
import type { Outcome } from './reconcile.ts';
import type { ErrorReport, RunReport } from './report.ts';
import type { Cause } from './source.ts';

export class Run {
  readonly request: Request;
  readonly id: string;
  readonly attempt: number;
  readonly causes: readonly Cause[];
  readonly moreCauses: number;
  readonly startedAt: number;
  endedAt = 0;
  outcome: Outcome['kind'] = 'success';
  requeueAfterMs: number | undefined;
  error: FailureRecord | undefined;

  constructor(
    request: Request,
    id: string,
    attempt: number,
    { causes, moreCauses }: RunCauses,
    now: number,
  ) {
    this.request = request;
    this.id = id;
    this.attempt = attempt;
    this.causes = dueFirst(causes, now);
    this.moreCauses = moreCauses;
    this.startedAt = now;
  }

  end(outcome: Outcome, now: number): void {
    this.endedAt = now;
    this.outcome = outcome.kind;
    if (outcome.kind === 'requeueAfter') this.requeueAfterMs = outcome.ms;
    if (outcome.kind === 'error' || outcome.kind === 'terminal')
      this.error = recordOf(outcome.error, now);
  }

  report(now: number): RunReport {
    const { request, id, attempt, moreCauses, requeueAfterMs, error } = this;
    return {
      namespace: request.namespace,
      name: request.name,
      reconcileId: id,
      outcome: this.outcome,
      ...(requeueAfterMs === undefined ? {} : { requeueAfterMs }),
      attempt,
      agoMs: Math.max(now - this.endedAt, 0),
      tookMs: this.endedAt - this.startedAt,
      ...(error === undefined ? {} : { error: errorReport(error, now) }),
      causes: [...this.causes],
      moreCauses,
    };
  }
}

/** The text of an error. The error itself is not kept, because it may refer to large objects. */
export interface FailureRecord {
  readonly name: string;
  readonly message: string;
  readonly at: number;
}

/** In UTF-16 code units. Messages of servers can be pages long. */
const LONGEST_MESSAGE = 1000;

function recordOf(error: unknown, at: number): FailureRecord {
  const text = textOfError(error);
  const end = wordsEnd(text, LONGEST_MESSAGE);
  return {
    name: nameOfError(error),
    message: ownText(end < text.length ? `${text.slice(0, end)}…` : text),
    at,
  };
}

export function errorReport({ name, message, at }: FailureRecord, now: number): ErrorReport {
  return { name, message, agoMs: Math.max(now - at, 0) };
}

/**
 * How many UUIDs are made at once. Making one takes 140 ns in a loop of its own and 600 ns between
 * the other work of a reconcile (measured by leaving it out).
 */
const AT_ONCE = 64;
const made: string[] = [];

export function newReconcileId(): string {
  if (made.length === 0) for (let i = 0; i < AT_ONCE; i++) made.push(uuid());
  return made.pop() as string;
}

/**
 * Browsers have `randomUUID` only in secure contexts, and `getRandomValues` everywhere. Node 18 has
 * no global `crypto`; an id is for logs, so it need not be secret.
 */
function uuid(): string {
  const { crypto } = globalThis as { crypto?: Crypto };
  if (typeof crypto?.randomUUID === 'function') return crypto.randomUUID();
  const bytes = new Uint8Array(16);
  return uuidOf(crypto?.getRandomValues(bytes) ?? bytes.map(() => Math.random() * 256));
}

/** RFC 9562: version 4, variant 10. */
export function uuidOf(bytes: Uint8Array): string {
  const hex = Array.from(bytes, (byte, i) => {
    const value = i === 6 ? (byte & 0x0f) | 0x40 : i === 8 ? (byte & 0x3f) | 0x80 : byte;
    return value.toString(16).padStart(2, '0');
  }).join('');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-');
}
