/** bindings/workqueue/limiters.ts, with either key table. */
import { limiterCases } from './cases/limiters.ts';
import { implementations } from './implementations.ts';

for (const implementation of implementations) limiterCases(implementation);
