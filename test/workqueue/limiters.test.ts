/** bindings/workqueue/limiters.ts, with either key table. */

import { implementations } from '../helpers/workqueue/implementations.ts';
import { limiterCases } from './cases/limiters.ts';

for (const implementation of implementations) limiterCases(implementation);
