/** bindings/workqueue/limiters.ts, over each way to find keys. */

import { implementations } from '../helpers/workqueue/implementations.ts';
import { limiterCases } from './cases/limiters.ts';

for (const implementation of implementations) limiterCases(implementation);
