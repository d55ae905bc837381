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
import { Faults } from './faults.ts';
import { FAILURE_RATE, Measurements } from './measurements.ts';
import { type DemoOptions, parseOptions, USAGE, UsageError } from './options.ts';
import { type Output, Progress, type Scene, whole } from './progress.ts';
import { Random } from './random.ts';
import { reportOf, type Summary, summaryOf } from './report.ts';
import { type Verdict, verify } from './verifier.ts';

/**
 * Time limits in milliseconds: for the controller to converge after the churn, and for the cleanup.
 */
const CONVERGENCE_MS = 60_000;
const CLEAN_UP_MS = 30_000;
const READ_OWN_WRITES_MS = 250;
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
  const manager = newManager({
    transport: cluster.controllerTransport,
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

  const start = performance.now();
  const scene: Scene = { phase: 'creating', done: 0, objects: 0, faults: faults.counts };
  const churnMs = options.duration * 1000;
  let churnStart = 0;
  const progress = new Progress(out, measurements, () => {
    scene.objects = churn.expected.size;
    if (scene.phase === 'creating') scene.done = churn.expected.size / options.objects;
    if (scene.phase === 'churn') scene.done = (performance.now() - churnStart) / churnMs;
    return scene;
  });
  progress.start();
  let summary: Summary;
  let report: string;
  try {
    await churn.fill(ending);
    churnStart = performance.now();
    scene.phase = 'churn';
    await Promise.all([churn.run(churnMs, ending), faults.run(churnMs, ending)]);
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
  const faults =
    cluster.server === undefined
      ? 'connections are cut'
      : 'cut connections, a restart, expired history, errors, resets and garbage';
  const row = (name: string, text: string) => `  ${name.padEnd(12)}${text}\n`;
  return [
    '\nCapstan demo: a Website controller that has to keep up, and may lose nothing\n\n',
    row('server', cluster.title),
    row(
      'objects',
      `${whole(options.objects)} Websites, each with a Deployment and a ` +
        `Service${cluster.paused ? ' (paused: no Pods start)' : ''}`,
    ),
    row('churn', `${options.duration} s of creates, changes and deletes, seed ${options.seed}`),
    row('faults', `${faults}; ${FAILURE_RATE * 100} % of the reconciles are made to fail`),
    row('workers', whole(options.workers)),
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
