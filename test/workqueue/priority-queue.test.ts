/** bindings/workqueue/priority-queue.ts, over each way to find keys. */

import { implementations } from '../helpers/workqueue/implementations.ts';
import { priorityQueueCases } from './cases/priority-queue.ts';

for (const implementation of implementations) priorityQueueCases(implementation);
