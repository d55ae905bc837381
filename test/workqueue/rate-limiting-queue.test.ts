/** bindings/workqueue/rate-limiting-queue.ts, with either key table. */

import { implementations } from '../helpers/workqueue/implementations.ts';
import { rateLimitingQueueCases } from './cases/rate-limiting-queue.ts';

for (const implementation of implementations) rateLimitingQueueCases(implementation);
