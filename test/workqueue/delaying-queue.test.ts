/** bindings/workqueue/delaying-queue.ts, with either key table. */

import { implementations } from '../helpers/workqueue/implementations.ts';
import { delayingQueueCases } from './cases/delaying-queue.ts';

for (const implementation of implementations) delayingQueueCases(implementation);
