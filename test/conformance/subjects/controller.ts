/**
 * controller: the trace has the adds and the results of each reconcile; the same reconciles must
 * begin and end at the same times. Requests are added to the controller's own queue, because events
 * could not give them every priority.
 */
import { defineResource } from 'capstan/cache';
import { createController, type Result, TerminalError } from 'capstan/controller';
import {
  FakeClock,
  ItemExponentialFailureRateLimiter,
  PriorityQueue,
  type Request,
  requestKey,
  setErrorHandler,
} from 'capstan/workqueue';
import { FakeCluster, type TestObject } from '../../helpers/controller/fake-cluster.ts';
import type { Observed, TraceStep, TraceSubject } from '../runner.ts';
import { sameValue } from '../same-value.ts';
import { unknownOp } from './fields.ts';

interface Reconciliation {
  readonly key: string;
  readonly startMs: number;
  endMs?: number;
}

interface Outcome {
  readonly takesMs: number;
  readonly kind: string;
  readonly requeueAfterMs?: number;
  readonly priority?: number;
}

interface Scenario {
  readonly config: {
    readonly workers: number;
    readonly limiter: unknown;
    readonly stopAtMs: number;
  };
  readonly enqueues: readonly {
    readonly atMs: number;
    readonly key: string;
    readonly priority: number;
  }[];
  readonly outcomes: Readonly<Record<string, readonly Outcome[]>>;
  readonly want: {
    readonly reconciles: readonly Reconciliation[];
    readonly numRequeues: Readonly<Record<string, number>>;
    readonly stoppedAtMs: number;
  };
}

/** All scenarios have controller-runtime's default limiter. */
const LIMITER = {
  type: 'exponential',
  base: { ns: '5000000', ms: 5 },
  max: { ns: '1000000000000', ms: 1_000_000 },
};

const Thing = defineResource<TestObject>()({
  group: 'example.com',
  version: 'v1',
  kind: 'Thing',
  plural: 'things',
  namespaced: true,
});
const requestOf = (key: string): Request => ({ namespace: '', name: key });

function answerOf({ kind, requeueAfterMs, priority }: Outcome): Result | undefined {
  const rest = priority === undefined ? {} : { priority };
  if (kind === 'success') return undefined;
  if (kind === 'requeue') return { requeue: true, ...rest };
  if (kind === 'requeueAfter' && requeueAfterMs !== undefined)
    return { requeueAfter: requeueAfterMs, ...rest };
  if (kind === 'terminalError') throw new TerminalError('recorded');
  throw new Error('recorded'); // an error, a panic, or both an error and a result: the error wins
}

const KINDS: ReadonlySet<string> = new Set([
  'success',
  'requeue',
  'requeueAfter',
  'terminalError',
  'error',
  'panic',
  'errorAndRequeueAfter',
]);

/**
 * One worker has one order; with several workers the order within one moment is random, and the
 * recorded one is used.
 */
function inOrder(
  seen: readonly Reconciliation[],
  want: readonly Reconciliation[],
  workers: number,
): unknown {
  if (workers === 1) return seen;
  const sorted = (list: readonly Reconciliation[]): Reconciliation[] =>
    [...list].sort((a, b) => a.startMs - b.startMs || (a.key < b.key ? -1 : Number(a.key > b.key)));
  return sameValue(sorted(seen), sorted(want)) ? want : seen;
}

async function replay({ config, enqueues, outcomes, want }: Scenario): Promise<Observed> {
  if (!sameValue(config.limiter, LIMITER))
    throw new TypeError(`no limiter is known but ${JSON.stringify(LIMITER)}`);
  const strange = Object.values(outcomes)
    .flat()
    .find(({ kind }) => !KINDS.has(kind));
  if (strange !== undefined) throw new TypeError(`no outcome is called ${strange.kind}`);
  const clock = new FakeClock();
  const limiter = new ItemExponentialFailureRateLimiter<Request>(5, 1_000_000, { key: requestKey });
  const queue = new PriorityQueue<Request>(limiter, { key: requestKey, clock });
  const left = new Map(Object.entries(outcomes).map(([key, list]) => [key, [...list]]));
  const reconciles: Reconciliation[] = [];
  const controller = createController<TestObject>({
    transport: new FakeCluster(),
    for: Thing,
    clock,
    rateLimiter: limiter,
    newQueue: () => queue,
    maxConcurrentReconciles: config.workers,
    async reconcile({ name }) {
      const reconciliation: Reconciliation = { key: name, startMs: clock.now() };
      reconciles.push(reconciliation);
      const outcome = left.get(name)?.shift() ?? { takesMs: 0, kind: 'success' };
      if (outcome.takesMs > 0)
        await new Promise<void>((resolve) => clock.setTimer(resolve, outcome.takesMs));
      reconciliation.endMs = clock.now();
      return answerOf(outcome);
    },
  });
  let stoppedAtMs: number | null = null;
  const run = controller.run().then(() => {
    stoppedAtMs = clock.now();
  });
  await clock.settle();
  for (const { atMs, key, priority } of enqueues) {
    if (atMs < config.stopAtMs)
      clock.setTimer(() => queue.addWithOpts({ priority }, requestOf(key)), atMs);
  }
  clock.setTimer(() => void controller.stop(), config.stopAtMs);
  await clock.run(Math.max(config.stopAtMs, want.stoppedAtMs) + 1);
  if (stoppedAtMs === null) throw new Error(`the controller runs on after ${clock.now()} ms`);
  await run;
  const counts = Object.keys(want.numRequeues).map(
    (key) => [key, limiter.numRequeues(requestOf(key))] as const,
  );
  queue.dispose();
  limiter.dispose();
  return {
    want: {
      reconciles: inOrder(reconciles, want.reconciles, config.workers),
      numRequeues: Object.fromEntries(counts),
      stoppedAtMs,
    },
  };
}

export const controllerSubject: TraceSubject = {
  observes: ['want'],
  begin: () => ({
    async step(step: TraceStep): Promise<Observed> {
      if (step.op !== 'scenario') throw unknownOp(step);
      const scenario = step as unknown as Scenario;
      const previous = setErrorHandler(() => undefined); // the error of the recorded outcomes
      try {
        return await replay(scenario);
      } finally {
        setErrorHandler(previous);
      }
    },
  }),
};
