/**
 * One reconcile: what it is about, when it began and how it ended. Kept for a while after its end,
 * so it holds nothing but that.
 */
import { nameOfError, ownText, textOfError, wordsEnd } from '../base/error-text.ts';
import type { Request } from '../base/request.ts';
import { inTurn, type KnownCauses } from './causes.ts';
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
    { causes, moreCauses }: KnownCauses,
    now: number,
  ) {
    this.request = request;
    this.id = id;
    this.attempt = attempt;
    this.causes = inTurn(causes, now);
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

/** What is kept of an error: its text, not the error with all that it refers to. */
export interface FailureRecord {
  readonly name: string;
  readonly message: string;
  readonly at: number;
}

/** Messages of servers can be pages long. */
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
