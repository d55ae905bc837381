/** bindings/workqueue/rate-limiting-queue.ts, over each way to find keys. */

import { implementations } from '../helpers/workqueue/implementations.ts';
import { rateLimitingQueueCases } from './cases/rate-limiting-queue.ts';

for (const implementation of implementations) rateLimitingQueueCases(implementation);
