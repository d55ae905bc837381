/** bindings/workqueue/delaying-queue.ts, with either key table. */
import { delayingQueueCases } from './cases/delaying-queue.ts';
import { implementations } from './implementations.ts';

for (const implementation of implementations) delayingQueueCases(implementation);
