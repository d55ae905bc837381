/**
 * The tests of one client. Its steps run on the embedded server, and on a real kube-apiserver if
 * KUBEBUILDER_ASSETS is set. Each step is a test that compares the output with that on the real
 * server, or with the recorded one.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ClientStep, record, recordedOf, short } from './answers.ts';
import { clientDifferences } from './differences.ts';
import { type Served, startEmbedded, startReal } from './servers.ts';

export interface TestedClient {
  /** The name of its file of recorded answers. */
  name: string;
  /** Why the client cannot run here; '' if it can. */
  missing: string;
  run(server: Served): Promise<ClientStep[]>;
}

const recording = process.env.CAPSTAN_CLIENTS_RECORD !== undefined;

export function clientTests({ name, missing, run }: TestedClient): void {
  const recorded = recordedOf(name);
  describe.skipIf(missing !== '')(name, () => {
    const started: Served[] = [];
    let embedded: ClientStep[] = [];
    let real: ClientStep[] | undefined;

    beforeAll(async () => {
      const [ours, theirs] = await Promise.all([startEmbedded(), startReal()]);
      started.push(ours, ...(theirs === undefined ? [] : [theirs]));
      if (recording && theirs === undefined)
        throw new Error('--record needs a real kube-apiserver: set KUBEBUILDER_ASSETS');
      [embedded, real] = await Promise.all([run(ours), theirs && run(theirs)]);
    });
    afterAll(async () => {
      for (const server of started) await server.stop();
    });

    const answerOf = (steps: readonly ClientStep[], step: string): string | undefined =>
      steps.find((each) => each.name === step)?.answer;

    if (recording) {
      test('the answers of a real server are recorded', () => record(name, real ?? []));
      return;
    }

    describe('output equal to that on a real server', () => {
      for (const { name: step, answer } of recorded) {
        const same = (): void => {
          const got = answerOf(embedded, step);
          if (real === undefined) expect(short(got ?? 'no answer')).toBe(answer);
          else expect(got).toBe(answerOf(real, step));
        };
        const why = clientDifferences.find(
          (each) => each.client === name && each.step === step,
        )?.why;
        if (why === undefined) test(step, same);
        // Fails once the difference is gone.
        else test.fails(`${step} (differs: ${why})`, same);
      }
    });

    test('the steps are the recorded ones', () => {
      expect(embedded.map((each) => each.name)).toEqual(recorded.map((each) => each.name));
      expect(new Set(recorded.map((each) => each.name)).size).toBe(recorded.length);
    });

    test('the recorded answers are those of the real server', ({ skip }) => {
      if (real === undefined) return skip('KUBEBUILDER_ASSETS is not set');
      expect(real.map((each) => ({ ...each, answer: short(each.answer) }))).toEqual(recorded);
    });
  });
}
