/**
 * An informer under faults: each fault is injected into the embedded server while writes go on, and
 * at the end the cache must equal the server's list. faults/rows.ts lists the tests of each fault.
 */
import { afterEach, describe, test } from 'vitest';
import { testSeed } from '../../helpers/random.ts';
import { collectErrors } from '../../helpers/reported-errors.ts';
import { answers } from './answers.ts';
import { connections } from './connections.ts';
import { content } from './content.ts';
import type { FaultCase } from './fault-case.ts';
import { Rig, type RigOptions } from './harness.ts';

const seed = testSeed();
console.log(`watch faults: CAPSTAN_SEED=${seed}`);
const reported = collectErrors();
afterEach(({ task }) => {
  if (task.result?.state === 'fail') console.log('reported meanwhile:', reported);
});

type Run = Pick<RigOptions, 'watchList' | 'overFetch' | 'decodedBehind'>;

async function play({ options, early, play, ...expected }: FaultCase, run: Run): Promise<void> {
  const rig = await Rig.make({ ...options, ...run, seed });
  if (!early) await rig.run();
  await play(rig);
  await rig.finish(expected);
}

const RUNS: readonly (readonly [string, Run])[] = [
  ['after a list', { watchList: false }],
  ['after a stream of initial objects', { watchList: true }],
  ['over fetch', { watchList: true, overFetch: true }],
  ['with decoded objects', { watchList: true, decodedBehind: 'real' }],
  ['with a DeltaFIFO', { watchList: false, decodedBehind: 'delta' }],
];

describe.each(RUNS)('%s', (_, run) => {
  describe.each(Object.entries({ connections, answers, content }))('%s', (_, cases) => {
    const here = cases.filter(
      ({ only }) => only === undefined || (only === 'stream') === run.watchList,
    );
    test.for(here.map((one) => [one.name, one] as const))('%s', ([, one]) => play(one, run));
  });
});
