/**
 * The recorded scenarios of controller-runtime's controller: the same outcomes must lead to the same reconciles at the same times. Those of its
 * handlers and predicates are replayed in test/conformance/.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
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
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { vectorFiles } from '../conformance/files.ts';
import { FakeCluster, type TestObject } from './fake-cluster.ts';

const vectors = fileURLToPath(new URL('../conformance/vectors', import.meta.url));

/** The lines of a subject, each with the place where it stands. */
function lines<T>(subject: string): (T & { at: string })[] {
  return vectorFiles(vectors)
    .filter((path) => path.endsWith(`/${subject}.jsonl`))
    .flatMap((path) =>
      readFileSync(path, 'utf8')
        .trim()
        .split('\n')
        .map((line, i) => ({ at: `${path.slice(vectors.length + 1)}:${i + 1}`, ...(JSON.parse(line) as T) }))
        .slice(1),
    );
}

let previous: ReturnType<typeof setErrorHandler>;
beforeEach(() => {
  previous = setErrorHandler(() => undefined);
});
afterEach(() => {
  setErrorHandler(previous);
  vi.restoreAllMocks();
});

interface Reconciliation {
  key: string;
  startMs: number;
  endMs?: number;
}

interface Scenario {
  name: string;
  config: { workers: number; limiter: unknown; stopAtMs: number };
  enqueues: { atMs: number; key: string; priority: number }[];
  outcomes: Record<string, { takesMs: number; kind: string; requeueAfterMs?: number; priority?: number }[]>;
  want: { reconciles: Reconciliation[]; numRequeues: Record<string, number>; stoppedAtMs: number };
}

const Thing = defineResource<TestObject>()({
  group: 'example.com',
  version: 'v1',
  kind: 'Thing',
  plural: 'things',
  namespaced: true,
});
const requestOf = (key: string): Request => ({ namespace: '', name: key });

/** One worker has one order; with several it is chance which of one moment comes first. */
function inOrder(reconciles: Reconciliation[], workers: number): Reconciliation[] {
  if (workers === 1) return reconciles;
  return reconciles.sort((a, b) => a.startMs - b.startMs || (a.key < b.key ? -1 : Number(a.key > b.key)));
}

function answerOf(kind: string, requeueAfter: number | undefined, priority: number | undefined): Result | undefined {
  const rest = priority === undefined ? {} : { priority };
  if (kind === 'success') return undefined;
  if (kind === 'requeue') return { requeue: true, ...rest };
  if (kind === 'requeueAfter' && requeueAfter !== undefined) return { requeueAfter, ...rest };
  if (kind === 'terminalError') throw new TerminalError('recorded');
  // An error wins over a result, and a panic is one.
  if (['error', 'panic', 'errorAndRequeueAfter'].includes(kind)) throw new Error('recorded');
  return expect.fail(`no outcome is called ${kind}`);
}

async function replay({ config, enqueues, outcomes, want }: Scenario): Promise<Scenario['want']> {
  expect(config.limiter).toMatchObject({ type: 'exponential', base: { ms: 5 }, max: { ms: 1_000_000 } });
  const clock = new FakeClock();
  const limiter = new ItemExponentialFailureRateLimiter<Request>(5, 1_000_000, { key: requestKey });
  const left = new Map(Object.entries(outcomes).map(([key, list]) => [key, [...list]]));
  const reconciles: Reconciliation[] = [];
  // What is enqueued has any priority: not by notifications then, but into the controller's own queue.
  const gets = vi.spyOn(PriorityQueue.prototype, 'getWithPriority');
  const controller = createController<TestObject>({
    transport: new FakeCluster(),
    for: Thing,
    clock,
    rateLimiter: limiter,
    maxConcurrentReconciles: config.workers,
    async reconcile({ name }) {
      const reconciliation: Reconciliation = { key: name, startMs: clock.now() };
      reconciles.push(reconciliation);
      const { takesMs, kind, requeueAfterMs, priority } = left.get(name)?.shift() ?? { takesMs: 0, kind: 'success' };
      if (takesMs > 0) await new Promise<void>((resolve) => clock.setTimer(resolve, takesMs));
      reconciliation.endMs = clock.now();
      return answerOf(kind, requeueAfterMs, priority);
    },
  });
  let stoppedAtMs = -1;
  const run = controller.run().then(() => {
    stoppedAtMs = clock.now();
  });
  await clock.settle();
  const queue = gets.mock.contexts[0] as unknown as PriorityQueue<Request>;
  gets.mockRestore();
  for (const { atMs, key, priority } of enqueues) {
    if (atMs < config.stopAtMs) clock.setTimer(() => queue.addWithOpts({ priority }, requestOf(key)), atMs);
  }
  clock.setTimer(() => void controller.stop(), config.stopAtMs);
  await clock.run(Math.max(config.stopAtMs, want.stoppedAtMs) + 1);
  await run;
  const counts = Object.keys(want.numRequeues).map((key) => [key, limiter.numRequeues(requestOf(key))] as const);
  limiter.dispose();
  return { reconciles: inOrder(reconciles, config.workers), numRequeues: Object.fromEntries(counts), stoppedAtMs };
}

test('every recorded scenario of the controller has the same reconciles at the same times', async () => {
  const scenarios = lines<Scenario>('controller');
  expect(scenarios).toHaveLength(224);
  for (const { at, ...scenario } of scenarios) {
    const { reconciles, ...want } = scenario.want;
    expect(await replay(scenario), `${at}: ${scenario.name}`).toEqual({
      ...want,
      reconciles: inOrder(reconciles, scenario.config.workers),
    });
  }
});
