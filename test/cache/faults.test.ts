/**
 * What a watch meets, and what an informer makes of it: each fault is injected into the embedded server while writes go
 * on, and ends with the cache equal to the server's list. faults/rows.ts says which fault has which test.
 */
import { afterEach, describe, test } from 'vitest';
import { testSeed } from '../random.ts';
import { answers } from './faults/answers.ts';
import { connections } from './faults/connections.ts';
import { content } from './faults/content.ts';
import type { FaultCase } from './faults/fault-case.ts';
import { Rig } from './faults/harness.ts';
import { reports } from './told.ts';

const seed = testSeed();
console.log(`watch faults: CAPSTAN_SEED=${seed}`);
const reported = reports();
afterEach(({ task }) => {
  if (task.result?.state === 'fail') console.log('reported meanwhile:', reported);
});

async function play({ options, early, play, ...expected }: FaultCase, watchList: boolean): Promise<void> {
  const rig = await Rig.make({ ...options, watchList, seed });
  if (!early) await rig.run();
  await play(rig);
  await rig.finish(expected);
}

const HOWS = ['list', 'stream'] as const;

for (const how of HOWS) {
  describe(how === 'list' ? 'after a list' : 'after a stream of initial objects', () => {
    for (const [group, cases] of Object.entries({ connections, answers, content })) {
      describe(group, () => {
        const here = cases.filter(({ only = how }) => only === how);
        test.for(here.map((one) => [one.name, one] as const))('%s', ([, one]) => play(one, how === 'stream'));
      });
    }
  });
}
