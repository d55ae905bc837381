/**
 * The suite of every runtime: the behaviour cases of the queues over each way to find keys, the
 * recorded traces in each form of item, and assertions about the runtime. It runs on the built
 * package and needs only a JavaScript runtime.
 */
import { cases, vectors } from 'capstan-test:given';
import { DelayingQueue, type WorkQueue } from 'capstan/workqueue';
import { CacheCore } from '../../bindings/wasm/cache-core.ts';
import { sharedCore } from '../../bindings/wasm/core.ts';
import { keyMode } from '../../bindings/wasm/key-mode.ts';
import { formatReport, type ItemForm, replayTexts } from '../conformance/runner.ts';
import { traceSubjects } from '../conformance/subjects/index.ts';
import { canCollect } from '../helpers/garbage-collection.ts';
import { exportsCalled } from '../helpers/workqueue/exports-called.ts';
import { type Implementation, implementations } from '../helpers/workqueue/implementations.ts';
import { drain } from '../helpers/workqueue/queue-items.ts';
import { informerCases } from './cache-cases.ts';
import { controllerCases } from './controller-cases.ts';
import { assertRuntime } from './identity.ts';
import type { Claims, SuiteMessage, SuiteReport } from './report.ts';
import { selfCheck } from './self-check.ts';
import { describe, expect, registry, test } from './shim/index.ts';
import { describeError } from './shim/registry.ts';

/** Subjects with one form of items. */
const STRINGS_ONLY: ReadonlySet<string> = new Set([
  'keys',
  'store',
  'deltafifo',
  'realfifo',
  'handlers',
  'predicates',
  'controller',
  'leaderelection',
  'informer',
  'informer-random',
]);
/**
 * Subjects that replay minutes of virtual time in steps of 10 ms, each settled in 64 turns of the
 * event loop. Where a turn takes a message (browsers, workerd) that is more than half a minute a
 * subject: there they are skipped, by name, and informers are only tested against a server
 * (cache-cases.ts).
 */
const IN_MANY_TURNS: ReadonlySet<string> = new Set(['informer', 'informer-random']);
/**
 * Only the first recordings of these are replayed, because they take seconds; `npm run
 * test:vectors` replays all.
 */
const SLOW: ReadonlySet<string> = new Set(['controller', 'informer-random']);
const RECORDINGS_OF_SLOW = 2;
/** For a replay, on a busy machine; the suite as a whole has another limit. */
const REPLAY_MS = 90_000;
const FORMS: readonly ItemForm[] = ['string', 'request', 'object'];

/** Every exported `…Cases` function of a file of cases, over every implementation. */
function registerCases(file: string, module: Readonly<Record<string, unknown>>): void {
  const suites = Object.entries(module).filter(
    ([name, value]) => name.endsWith('Cases') && typeof value === 'function',
  );
  for (const [, suite] of suites) {
    for (const implementation of implementations) {
      describe(file, () => (suite as (make: Implementation) => void)(implementation));
    }
  }
}

function registerVectors(): void {
  describe('recorded traces', () => {
    for (const [name, subject] of traceSubjects) {
      const replay =
        IN_MANY_TURNS.has(name) && typeof setImmediate !== 'function' ? test.skip : test;
      const all = vectors.filter(([file]) => file.endsWith(`/${name}.jsonl`));
      const files = SLOW.has(name) ? all.slice(0, RECORDINGS_OF_SLOW) : all;
      for (const form of STRINGS_ONLY.has(name) ? FORMS.slice(0, 1) : FORMS) {
        replay(
          `${name} agrees on every step, items as ${form}s`,
          async () => {
            const report = await replayTexts(files, new Map([[name, subject]]), { form });
            if (!report.ok) expect.fail(formatReport(report));
          },
          REPLAY_MS,
        );
      }
    }
  });
}

function fill(queue: WorkQueue): WorkQueue {
  queue.add('a');
  return queue;
}

function registerHost({ keys, strings }: Claims): void {
  describe('the runtime', () => {
    test(`has ${strings} strings and keeps keys of caches in ${keys} by default`, () => {
      const { nativeStrings } = new CacheCore();
      expect([nativeStrings ? 'native' : 'foreign', keyMode(nativeStrings)]).toEqual([
        strings,
        keys,
      ]);
    });

    // Bun once resolved the package to its sources, by the paths of a tsconfig.json in a parent
    // folder; all tables were one.
    test('runs the cases on one copy of the package, over different key tables', () => {
      const [bySample, , byMap] = implementations.map((make) =>
        exportsCalled(sharedCore(), () => drain(fill(make.queue()))),
      );
      expect(bySample?.has('queueAddHash')).toBe(true);
      expect(byMap?.has('queueAddHash')).toBe(false);
      expect(byMap?.has('keysSlotNew')).toBe(true);
    });

    test('can call the garbage collector, so that no case about memory is skipped', () => {
      expect(canCollect).toBe(true);
    });

    test('fires real timers: a delay on the system clock ends', async () => {
      const queue = new DelayingQueue();
      queue.addAfter('a', 5);
      expect(queue.len()).toBe(0);
      expect((await queue.get()).item).toBe('a');
      queue.dispose();
    });
  });
}

/**
 * Runs everything and reports by `send`. The self-check comes first: it shows that failures are
 * seen.
 */
export async function runSuite(
  claims: Claims,
  send: (message: SuiteMessage) => void | Promise<void>,
): Promise<void> {
  let report: SuiteReport;
  try {
    const version = assertRuntime(claims.runtime);
    await selfCheck();
    registerHost(claims);
    for (const [file, module] of cases) registerCases(file, module);
    registerVectors();
    informerCases(claims.cluster);
    controllerCases(claims.cluster);
    registry.onBegin = (path) => void send({ kind: 'progress', path });
    const results = await registry.run();
    report = { kind: 'report', version, results };
  } catch (error) {
    await send({ kind: 'failure', message: describeError(error) });
    return;
  }
  await send(report);
}
