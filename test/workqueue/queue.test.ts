/** bindings/workqueue/queue.ts, over each way to find keys. */

import { implementations } from '../helpers/workqueue/implementations.ts';
import { queueCases } from './cases/queue.ts';
import { queueLimitCases } from './cases/queue-limits.ts';

for (const implementation of implementations) {
  queueCases(implementation);
  queueLimitCases(implementation);
}
