/** bindings/workqueue/priority-queue.ts, with either key table. */

import { implementations } from '../helpers/workqueue/implementations.ts';
import { priorityQueueCases } from './cases/priority-queue.ts';

for (const implementation of implementations) priorityQueueCases(implementation);
