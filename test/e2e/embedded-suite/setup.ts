/** Leaves out the tests of known.ts, with the reason. */
import { beforeEach } from 'vitest';
import { knownDifference } from './known.ts';

beforeEach(({ task, skip }) => {
  const why = knownDifference(task.fullTestName ?? task.name);
  if (why !== undefined) skip(why);
});
