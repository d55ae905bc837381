/**
 * `npm run demo`: a real controller (../website/controller.ts) on an API server with constant
 * writes and frequent network faults; at the end it verifies that no write was lost.
 *
 * It ends by itself. Ctrl-C ends it early after a cleanup (exit code 130); a second Ctrl-C ends it
 * at once.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { newManager } from 'capstan/manager';
import { setErrorHandler } from 'capstan/workqueue';
import { addWebsiteController } from '../website/controller.ts';
import { Churn } from './churn.ts';
import { type Cluster, connect } from './cluster.ts';
import { Faults, faultLines } from './faults.ts';
import { FAILURE_RATE, Measurements } from './measurements.ts';
import { type DemoOptions, parseOptions, USAGE, UsageError } from './options.ts';
import { type Output, Progress, type Scene, whole } from './progress.ts';
import { Random } from './random.ts';
import { reportOf, type Summary, summaryOf } from './report.ts';
import { type Verdict, verify } from './verifier.ts';
import { WatchGaps } from './watch-gaps.ts';

/**
 * Time limits in milliseconds: for the controller to converge after the churn, and for the cleanup.
 */
const CONVERGENCE_MS = 60_000;
const CLEAN_UP_MS = 30_000;
const READ_OWN_WRITES_MS = 250;
/** The share of the churn that has no faults. */
const CALM_SHARE = 1 / 3;
const CALM_END_MS = 3_000;
const PAGE_MS = 5_000;
const INTERRUPTED = 130;
/** One Ctrl-C may arrive twice: from the terminal and from npm. Milliseconds. */
const ONE_PRESS_MS = 500;

process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  let options: DemoOptions | undefined;
  try {
    options = parseOptions(args, process.env);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`${error.message}\n\n${USAGE}\n`);
    return 2;
  }
  if (options === undefined) {
    process.stdout.write(`${USAGE}\n`);
    return 0;
  }
  const out: Output = options.json ? process.stderr : process.stdout;
  const interrupt = new AbortController();
  let interruptedAt = 0;
  const onSignal = (): void => {
    if (!interrupt.signal.aborted) {
      interruptedAt = performance.now();
      interrupt.abort();
      out.write('\nStopping; once more to stop at once.\n');
    } else if (performance.now() - interruptedAt > ONE_PRESS_MS) process.exit(INTERRUPTED);
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  // The reader has closed the pipe (`| head`): end as after Ctrl-C.
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', () => interrupt.abort());
  try {
    return await run(options, out, interrupt.signal);
  } catch (error) {
    if (interrupt.signal.aborted) return INTERRUPTED;
    out.write(`\n${error instanceof Error ? messageWithCauses(error) : String(error)}\n`);
    return 1;
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  }
}

async function run(options: DemoOptions, out: Output, signal: AbortSignal): Promise<number> {
  const cluster = await connect(options, signal);
  const random = new Random(options.seed);
  const measurements = new Measurements(random.fork());
  const rate = Math.min(Math.max(options.objects / 8, 5), 250);
  const { namespaces, paused } = cluster;
  const churn = new Churn(
    cluster.api,
    { namespaces, paused, objects: options.objects, rate, lag: () => measurements.depth },
    random.fork(),
    (...write) => measurements.written(...write),
  );
  const faults = new Faults(cluster, random.fork());
  out.write(introduction(options, cluster));

  // Failures are expected in this run: they are counted, not printed.
  const reported = new Map<string, number>();
  const previousHandler = setErrorHandler((error) => {
    const name = String(error).replace(/[\w.-]+\/site-\d+/g, '…');
    reported.set(name, (reported.get(name) ?? 0) + 1);
  });
  const gaps = new WatchGaps(cluster.controllerTransport);
  const manager = newManager({
    transport: gaps,
    debugPage: { bindAddress: '127.0.0.1:0' },
    cache: { namespace: cluster.namespace },
    // Watches are often cut here, so a worker should soon read from the server instead of waiting
    // for its own write in the cache.
    client: { readYourWritesTimeout: READ_OWN_WRITES_MS },
  });
  addWebsiteController(manager, {
    maxConcurrentReconciles: options.workers,
    metricsProvider: measurements.provider(),
    wrap: (reconcile) => measurements.wrap(reconcile),
  });
  const stop = new AbortController();
  const failed = new AbortController(); // fires if the manager ends by itself
  const ending = AbortSignal.any([signal, failed.signal]);
  let failure: unknown;
  const running = manager.start({ signal: stop.signal }).catch((error: unknown) => {
    failure = error;
    failed.abort();
  });

  const page = await eventually(() => manager.url('debugPage'), PAGE_MS, ending);
  if (page !== undefined) out.write(`Live page while this runs: ${pageAddress(page)}\n\n`);

  const start = performance.now();
  const scene: Scene = { phase: 'creating', done: 0, objects: 0, faults: faults.counts };
  const churnMs = options.duration * 1000;
  const lengths: Record<string, number> = {
    'no faults': churnMs * CALM_SHARE,
    faults: churnMs * (1 - CALM_SHARE),
  };
  let churnStart = 0;
  const progress = new Progress(out, measurements, () => {
    scene.objects = churn.expected.size;
    if (scene.phase === 'creating') scene.done = churn.expected.size / options.objects;
    if (scene.phase in lengths)
      scene.done = (performance.now() - churnStart) / (lengths[scene.phase] ?? 1);
    return scene;
  });
  progress.start();
  let summary: Summary;
  let report: string;
  try {
    await churn.fill(ending);
    const isQuiet = (): boolean => measurements.depth + measurements.running === 0;
    await eventually(isQuiet, CALM_END_MS, ending);
    churnStart = performance.now();
    scene.phase = 'no faults';
    measurements.part = measurements.withoutFaults;
    await churn.run(lengths[scene.phase] ?? 0, ending);
    await churn.rest();
    // What waits from before the first fault belongs to this part.
    await eventually(isQuiet, CALM_END_MS, ending);
    churnStart = performance.now();
    scene.phase = 'faults';
    measurements.part = measurements.withFaults;
    measurements.startFailing();
    const faultsMs = lengths[scene.phase] ?? 0;
    await Promise.all([churn.run(faultsMs, ending), faults.run(faultsMs, ending)]);
    scene.phase = 'settling';
    scene.done = undefined;
    faults.end();
    measurements.stopFailing();
    await churn.rest();
    await churn.fill(ending);
    const verdict = await converge(cluster, churn, measurements, ending);
    // Before the cleanup, which deletes the counted objects.
    const finished = {
      churn,
      measurements,
      faults: faults.counts,
      longestGap: gaps.longest,
      verdict: signal.aborted ? undefined : verdict,
      durationMs: performance.now() - start,
    };
    summary = summaryOf(finished);
    report = reportOf(finished);
  } finally {
    faults.end();
    progress.stop();
    const cleaning = cleanUp(cluster, churn, stop, running, out);
    const late = sleep(CLEAN_UP_MS, 'late' as const, { ref: false });
    if ((await Promise.race([cleaning, late])) === 'late')
      out.write('Cleaning up takes too long; giving up on it.\n');
    setErrorHandler(previousHandler);
  }
  if (failure !== undefined) throw failure;

  out.write(report);
  if (!summary.ok && !signal.aborted) out.write(mostFrequent(reported));
  if (options.json) process.stdout.write(`${JSON.stringify(summary)}\n`);
  if (signal.aborted) return INTERRUPTED;
  return summary.ok ? 0 : 1;
}

/** The first result that is neither undefined nor false; undefined if there is none in time. */
async function eventually<T>(
  look: () => T | undefined | false,
  ms: number,
  signal: AbortSignal,
): Promise<T | undefined> {
  const deadline = performance.now() + ms;
  while (!signal.aborted && performance.now() < deadline) {
    const found = look();
    if (found !== undefined && found !== false) return found;
    await sleep(10, undefined, { signal }).catch(() => undefined);
  }
  return undefined;
}

function pageAddress(url: string): string {
  return url.endsWith('/debug/capstan') ? url : new URL('/debug/capstan', url).href;
}

/** The first verdict without problems, or the last one before the time limit. */
async function converge(
  cluster: Cluster,
  churn: Churn,
  measurements: Measurements,
  signal: AbortSignal,
): Promise<Verdict | undefined> {
  const deadline = performance.now() + CONVERGENCE_MS;
  let verdict: Verdict | undefined;
  while (!signal.aborted) {
    const late = performance.now() >= deadline;
    // Lists are expensive and cannot match while the queue is not empty.
    if (late || measurements.depth + measurements.running === 0) {
      try {
        verdict = await verify(cluster.api, cluster.namespaces, churn.expected, churn.deleted);
        if (verdict.problems.size === 0) return verdict;
      } catch (error) {
        if (late) throw error; // a server that restarts is unreachable for a while
      }
    }
    if (late) break;
    await sleep(250, undefined, { signal }).catch(() => undefined);
  }
  return verdict;
}

/**
 * Cleans up. Nothing to do for the embedded server; on a real one all Websites are deleted, by the
 * controller if it still runs.
 */
async function cleanUp(
  cluster: Cluster,
  churn: Churn,
  stop: AbortController,
  running: Promise<void>,
  out: Output,
): Promise<void> {
  try {
    if (cluster.server === undefined) {
      out.write('Removing the Websites.\n');
      await churn.removeAll(AbortSignal.timeout(CLEAN_UP_MS / 2));
    }
    stop.abort();
    await running;
    await cluster.close();
  } catch (error) {
    out.write(`Cleaning up failed: ${messageWithCauses(error as Error)}\n`);
  }
}

function introduction(options: DemoOptions, cluster: Cluster): string {
  const row = (name: string, text: string) => `  ${name.padEnd(12)}${text}\n`;
  const calm = Number((options.duration * CALM_SHARE).toFixed(1));
  const faulty = Number((options.duration - calm).toFixed(1));
  const faults = [
    ...faultLines(cluster.server !== undefined),
    `${FAILURE_RATE * 100} % of the reconciles are made to throw, before or after their work`,
    'after a failed watch an informer waits 0.8 s, doubled up to 30 s, as in client-go',
  ];
  return [
    '\nCapstan demo: a controller under faults. It may lose no change, and may not work on an\n',
    'object twice at once. Both are checked at the end.\n\n',
    row('server', cluster.title),
    row(
      'objects',
      `${whole(options.objects)} Websites; the controller gives each a Deployment and a ` +
        `Service${cluster.paused ? ' (paused: no Pods start)' : ''}`,
    ),
    row('workers', `${whole(options.workers)} reconciles at a time`),
    row('1. create', 'all Websites, as fast as the controller follows'),
    row('2. change', `${calm} s of creates, changes and deletes without faults`),
    row('3. faults', `${faulty} s of the same with faults:`),
    ...faults.map((text) => row('', text.startsWith(' ') ? text : `- ${text}`)),
    row('4. settle', 'without faults again, until everything is as asked, or 60 s have passed'),
    row('seed', `${options.seed}: CAPSTAN_SEED=${options.seed} repeats the random choices`),
    '\n',
  ].join('');
}

function mostFrequent(reported: ReadonlyMap<string, number>): string {
  const most = [...reported].sort((a, b) => b[1] - a[1]).slice(0, 8);
  return [
    'Most frequent errors:',
    ...most.map(([name, count]) => `  ${whole(count)} × ${name}`),
    '',
  ].join('\n');
}

function messageWithCauses(error: Error): string {
  const messages: string[] = [];
  for (
    let current: unknown = error;
    current instanceof Error && messages.length < 8;
    current = current.cause
  ) {
    if (!messages.includes(current.message)) messages.push(current.message);
  }
  return messages.join('\n  because: ');
}
