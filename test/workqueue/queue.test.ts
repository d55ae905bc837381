/** bindings/workqueue/queue.ts, with either key table. */
import { queueCases } from './cases/queue.ts';
import { queueLimitCases } from './cases/queue-limits.ts';
import { implementations } from './implementations.ts';

for (const implementation of implementations) {
  queueCases(implementation);
  queueLimitCases(implementation);
}
