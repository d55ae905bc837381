/** bindings/workqueue/priority-queue.ts, with either key table. */
import { priorityQueueCases } from './cases/priority-queue.ts';
import { implementations } from './implementations.ts';

for (const implementation of implementations) priorityQueueCases(implementation);
