/** bindings/workqueue/rate-limiting-queue.ts, with either key table. */
import { rateLimitingQueueCases } from './cases/rate-limiting-queue.ts';
import { implementations } from './implementations.ts';

for (const implementation of implementations) rateLimitingQueueCases(implementation);
