/**
 * The suite of every runtime: the behaviour cases of the queues over both key tables, the recorded traces in each form of item, and what is
 * asserted of the runtime itself. It runs on the built package and needs nothing of its host but to be a JavaScript runtime.
 */
import { cases, vectors } from 'capstan-test:given';
import { DelayingQueue } from 'capstan/workqueue';
import { hasNativeStrings } from '../../bindings/core.ts';
import { keyMode } from '../../bindings/keys.ts';
import { formatReport, type ItemForm, replayTexts } from '../conformance/runner.ts';
import { subjects } from '../conformance/subjects/index.ts';
import { canCollect } from '../workqueue/helpers.ts';
import { type Implementation, implementations } from '../workqueue/implementations.ts';
import { assertRuntime } from './identity.ts';
import type { SuiteMessage, SuiteReport } from './report.ts';
import { selfCheck } from './self-check.ts';
import { describe, expect, registry, test } from './shim/index.ts';
import { describeError } from './shim/registry.ts';

/** Subjects that know no other items than strings. */
const STRINGS_ONLY: ReadonlySet<string> = new Set(['keys', 'store']);
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
    for (const [name, subject] of subjects) {
      const files = vectors.filter(([file]) => file.endsWith(`/${name}.jsonl`));
      for (const form of STRINGS_ONLY.has(name) ? FORMS.slice(0, 1) : FORMS) {
        test(`${name} agrees on every step, items as ${form}s`, async () => {
          const report = await replayTexts(files, new Map([[name, subject]]), { form });
          if (!report.ok) expect.fail(formatReport(report));
        });
      }
    }
  });
}

function registerHost(expectedKeys: string): void {
  describe('the runtime', () => {
    test(`keeps keys in ${expectedKeys} by default`, () => {
      expect(keyMode()).toBe(expectedKeys);
    });

    test('lets the collector be called, so that no case about memory is left out', () => {
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
 * Runs it all and tells `send`. The self-check comes first: after it a pass means something.
 *
 * @param runtime the runtime that this must be
 * @param keys the key table that must be its default
 */
export async function runSuite(
  runtime: string,
  keys: string,
  send: (message: SuiteMessage) => void | Promise<void>,
): Promise<void> {
  let report: SuiteReport;
  try {
    const version = assertRuntime(runtime);
    await selfCheck();
    registerHost(keys);
    for (const [file, module] of cases) registerCases(file, module);
    registerVectors();
    registry.onBegin = (path) => void send({ kind: 'progress', path });
    const results = await registry.run();
    report = { kind: 'report', version, keys: keyMode(), nativeStrings: hasNativeStrings(), results };
  } catch (error) {
    await send({ kind: 'failure', message: describeError(error) });
    return;
  }
  await send(report);
}
