/**
 * The report at the end of a run: what happened and what was verified, as text and as one line of
 * JSON.
 */
import type { Churn } from './churn.ts';
import type { Histogram } from './histogram.ts';
import type { Latencies, Measurements } from './measurements.ts';
import { milliseconds, whole } from './progress.ts';
import type { Verdict } from './verifier.ts';

/** A wait in the queue that a machine with enough time does not have without faults. */
const SLOW_MS = 500;

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
  /** The churn before the first fault, and everything from the first fault on. */
  withoutFaults: { p50Ms: number; p99Ms: number };
  withFaults: { p50Ms: number; p99Ms: number };
  longestWithoutWatchMs: number;
}

export interface Run {
  churn: Churn;
  measurements: Measurements;
  faults: ReadonlyMap<string, number>;
  /** The longest time in which the controller had no watch on a kind. */
  longestGap: { readonly ms: number; readonly plural: string };
  /** `undefined` if the run was interrupted before. */
  verdict: Verdict | undefined;
  durationMs: number;
}

export function summaryOf({ churn, measurements, longestGap, verdict, durationMs }: Run): Summary {
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
    withoutFaults: percentilesOf(measurements.withoutFaults),
    withFaults: percentilesOf(measurements.withFaults),
    longestWithoutWatchMs: Math.round(longestGap.ms),
  };
}

function percentilesOf({ eventToReconcile }: Latencies): { p50Ms: number; p99Ms: number } {
  return {
    p50Ms: rounded(eventToReconcile.percentile(0.5)),
    p99Ms: rounded(eventToReconcile.percentile(0.99)),
  };
}

export function reportOf(run: Run): string {
  const { churn, measurements, faults, verdict, durationMs } = run;
  const { creates, updates, deletes, breakages } = churn.counts;
  const { ok, reconciles, retries, overlapped, lost } = summaryOf(run);
  const { madeToFail, failed } = measurements;
  const lines = [
    '',
    'What happened',
    row(
      'writes',
      `${whole(creates)} Websites created, ${whole(updates)} changed, ${whole(deletes)} deleted; ` +
        `${whole(breakages)} times a child was broken or deleted`,
    ),
    row(
      'reconciles',
      `${whole(reconciles)}; ${whole(madeToFail)} were made to fail, ` +
        `${whole(failed)} failed because of the faults, ${whole(retries)} retries`,
    ),
    ...[...faults].map(([name, count], i) => row(i === 0 ? 'faults' : '', `${count} × ${name}`)),
    '',
    ...latencyLines(run),
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
      `nothing was lost: all ${whole(kept)} Websites have the Deployment and the Service that ` +
        'their last spec asks for',
    ),
    check(
      lost === 0,
      `all ${whole(gone)} Websites that were deleted for good are gone, with their children`,
    ),
    check(
      left <= 0 && verdict.services <= kept,
      `nothing is left over: ${whole(verdict.deployments)} ` +
        `Deployments and ${whole(verdict.services)} Services`,
    ),
    check(
      overlapped === 0,
      `nothing ran twice at once: in ${whole(reconciles)} reconciles, no Website had two`,
    ),
  );
  if (lost > 0) {
    lines.push('', `${whole(lost)} lost:`);
    for (const [key, problem] of [...verdict.problems].slice(0, 10))
      lines.push(`  ${key} ${problem}`);
    if (lost > 10) lines.push(`  and ${whole(lost - 10)} more`);
  }
  lines.push(
    '  How it was checked: at the end, all objects were listed from the API server and compared',
    '  with the record of what was written. Each call of the reconcile function was watched.',
    '',
    'What to look at next',
    '  examples/website/           the controller that ran here',
    '  docs/guides/live-page.md    what the live page shows',
    '  npm run demo -- --help      more objects, more workers, or a cluster of yours',
    '  npx capstan init my-app     a controller of your own',
  );
  lines.push('', `${ok ? 'ok' : 'NOT OK'}, in ${(durationMs / 1000).toFixed(1)} s`, '');
  return lines.join('\n');
}

const row = (name: string, text: string) => `  ${name.padEnd(20)}${text}`;
const check = (ok: boolean, text: string) => `  ${ok ? '✓' : '✗'} ${text}`;
const rounded = (ms: number) => Math.round(ms * 1000) / 1000;

/** Both parts of the churn side by side, and why the second one is slower. */
function latencyLines({ measurements, longestGap }: Run): string[] {
  const { withoutFaults, withFaults } = measurements;
  const line = (name: string, of: (part: Latencies) => Histogram, share: number): string => {
    const [calm, faulty] = [withoutFaults, withFaults].map((part) =>
      milliseconds(of(part).percentile(share)).padStart(14),
    );
    return `  ${`${name}, p${share * 100}`.padEnd(46)}${calm}  ${faulty}`;
  };
  const isBusy = withoutFaults.eventToReconcile.percentile(0.99) > SLOW_MS;
  const event = (part: Latencies): Histogram => part.eventToReconcile;
  const write = (part: Latencies): Histogram => part.writeToReconcile;
  const counts = [withoutFaults, withFaults].map((part) => whole(event(part).count()).padStart(14));
  return [
    'How long a change waited for its reconcile'.padEnd(48) +
      `${'without faults'.padStart(14)}  ${'with faults'.padStart(14)}`,
    line('in the queue', event, 0.5),
    line('in the queue', event, 0.99),
    line('from the write to the server', write, 0.5),
    line('from the write to the server', write, 0.99),
    `  ${'reconciles that were measured'.padEnd(46)}${counts.join('  ')}`,
    '  Why faults cost that much: after a failed watch an informer waits before the next try,',
    '  0.8 s at first and doubled up to 30 s, as in client-go. ' +
      (longestGap.ms > 0
        ? `Here ${longestGap.plural} had no watch for ${milliseconds(longestGap.ms)}.`
        : 'Here no watch was interrupted.'),
    '  Until then the cache is old: a worker waits for its own write to show up there for 250 ms,',
    '  then reads from the server, and the other keys wait behind it. No change is lost meanwhile.',
    ...(isBusy
      ? [
          '  It was slow without faults too: this machine is busy, or slow for so much work.',
          '  Compare both columns only on a machine that has time; --objects 500 makes less work.',
        ]
      : []),
  ];
}
