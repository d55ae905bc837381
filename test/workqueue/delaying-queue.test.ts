/** bindings/workqueue/delaying-queue.ts, over each way to find keys. */

import { implementations } from '../helpers/workqueue/implementations.ts';
import { delayingQueueCases } from './cases/delaying-queue.ts';

for (const implementation of implementations) delayingQueueCases(implementation);
