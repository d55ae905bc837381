/**
 * The tests of one client: its steps are run on the embedded server, and on a real kube-apiserver
 * where KUBEBUILDER_ASSETS says where it is. Each step is a test, which compares what the client
 * printed: with what it printed on the real server, or with what was recorded of that.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { record, recordedOf, type Step, short } from './answers.ts';
import { differences } from './differences.ts';
import { type Served, startEmbedded, startReal } from './servers.ts';

export interface Client {
  /** The name of its file of recorded answers. */
  name: string;
  /** Why it cannot be run here; '' where it can. */
  missing: string;
  run(server: Served): Promise<Step[]>;
}

const recording = process.env.CAPSTAN_CLIENTS_RECORD !== undefined;

export function clientTests({ name, missing, run }: Client): void {
  const recorded = recordedOf(name);
  describe.skipIf(missing !== '')(name, () => {
    const started: Served[] = [];
    let embedded: Step[] = [];
    let real: Step[] | undefined;

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

    const answerOf = (steps: readonly Step[], step: string): string | undefined =>
      steps.find((each) => each.name === step)?.answer;

    if (recording) {
      test('the answers of a real server are recorded', () => record(name, real ?? []));
      return;
    }

    describe('answers as a real server', () => {
      for (const { name: step, answer } of recorded) {
        const same = (): void => {
          const got = answerOf(embedded, step);
          if (real === undefined) expect(short(got ?? 'no answer')).toBe(answer);
          else expect(got).toBe(answerOf(real, step));
        };
        const why = differences.find((each) => each.client === name && each.step === step)?.why;
        if (why === undefined) test(step, same);
        // It fails once the difference is gone.
        else test.fails(`${step} (differs: ${why})`, same);
      }
    });

    test('the steps are those that were recorded', () => {
      expect(embedded.map((each) => each.name)).toEqual(recorded.map((each) => each.name));
      expect(new Set(recorded.map((each) => each.name)).size).toBe(recorded.length);
    });

    test('what was recorded is what a real server answers', ({ skip }) => {
      if (real === undefined) return skip('KUBEBUILDER_ASSETS is not set');
      expect(real.map((each) => ({ ...each, answer: short(each.answer) }))).toEqual(recorded);
    });
  });
}
