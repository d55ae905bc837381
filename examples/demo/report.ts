/**
 * The report at the end of a run: what happened and what was verified, as text and as one line of
 * JSON.
 */
import type { Churn } from './churn.ts';
import type { Measurements } from './measurements.ts';
import { milliseconds, whole } from './progress.ts';
import type { Verdict } from './verifier.ts';

/** The last line of the output with --json. */
export interface Summary {
  ok: boolean;
  objects: number;
  reconciles: number;
  retries: number;
  lost: number;
  overlapped: number;
  p50Ms: number;
  p99Ms: number;
  durationMs: number;
}

export interface Run {
  churn: Churn;
  measurements: Measurements;
  faults: ReadonlyMap<string, number>;
  /** `undefined` if the run was interrupted before. */
  verdict: Verdict | undefined;
  durationMs: number;
}

export function summaryOf({ churn, measurements, verdict, durationMs }: Run): Summary {
  const objects = churn.expected.size;
  const lost = verdict?.problems.size ?? objects + churn.deleted.size;
  const { reconciles, retries, overlapped, eventToReconcile } = measurements;
  return {
    ok: verdict !== undefined && lost === 0 && overlapped === 0 && reconciles > 0,
    objects,
    reconciles,
    retries,
    lost,
    overlapped,
    p50Ms: rounded(eventToReconcile.percentile(0.5)),
    p99Ms: rounded(eventToReconcile.percentile(0.99)),
    durationMs: Math.round(durationMs),
  };
}

export function reportOf(run: Run): string {
  const { churn, measurements, faults, verdict, durationMs } = run;
  const { creates, updates, deletes, breakages } = churn.counts;
  const { ok, reconciles, retries, overlapped, lost } = summaryOf(run);
  const { eventToReconcile: event, writeToReconcile: write, madeToFail, failed } = measurements;
  const lines = [
    '',
    'What happened',
    row(
      'writes',
      `${whole(creates)} created, ${whole(updates)} changed, ${whole(deletes)} ` +
        `deleted, ${whole(breakages)} children broken or deleted`,
    ),
    row(
      'reconciles',
      `${whole(reconciles)}: ${whole(madeToFail)} made to fail, ` +
        `${whole(failed)} failed by the faults, ${whole(retries)} retries`,
    ),
    row(
      'event → reconcile',
      `${percentiles(event)}   all requests, bursts after relists ` +
        "too: from the queue's add to the start",
    ),
    row(
      'write → reconcile',
      `${percentiles(write)}   the churn's own writes to Websites: ` +
        'server, watch, cache and queue, outages included',
    ),
    ...[...faults].map(([name, count], i) => row(i === 0 ? 'faults' : '', `${count} × ${name}`)),
    '',
    'What was proven',
  ];
  if (verdict === undefined) return [...lines, '  nothing: the run was interrupted', ''].join('\n');
  const gone = [...churn.deleted].filter((key) => !churn.expected.has(key)).length;
  const kept = churn.expected.size;
  const left = verdict.deployments - kept;
  lines.push(
    check(
      lost === 0,
      `all ${whole(kept)} Websites have the Deployment and the Service that ` +
        'their last spec asks for, and say so in their status',
    ),
    check(
      lost === 0,
      `all ${whole(gone)} deleted Websites are gone, and their children before them`,
    ),
    check(
      left <= 0 && verdict.services <= kept,
      `nothing is left over: ${whole(verdict.deployments)} ` +
        `Deployments and ${whole(verdict.services)} Services`,
    ),
    check(
      overlapped === 0,
      `no key was reconciled twice at once, in ${whole(reconciles)} reconciles that were watched`,
    ),
  );
  if (lost > 0) {
    lines.push('', `${whole(lost)} lost:`);
    for (const [key, problem] of [...verdict.problems].slice(0, 10))
      lines.push(`  ${key} ${problem}`);
    if (lost > 10) lines.push(`  and ${whole(lost - 10)} more`);
  }
  lines.push('', `${ok ? 'ok' : 'NOT OK'}, in ${(durationMs / 1000).toFixed(1)} s`, '');
  return lines.join('\n');
}

const row = (name: string, text: string) => `  ${name.padEnd(20)}${text}`;
const check = (ok: boolean, text: string) => `  ${ok ? '✓' : '✗'} ${text}`;
const rounded = (ms: number) => Math.round(ms * 1000) / 1000;

function percentiles(histogram: { percentile(share: number): number }): string {
  const p50 = `p50 ${milliseconds(histogram.percentile(0.5))}`;
  return `${p50.padEnd(14)}p99 ${milliseconds(histogram.percentile(0.99))}`.padEnd(30);
}
