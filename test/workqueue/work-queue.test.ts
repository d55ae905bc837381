/** bindings/workqueue/work-queue.ts and the extensions beyond client-go, with either key table. */

import { implementations } from '../helpers/workqueue/implementations.ts';
import { extensionCases } from './cases/extensions.ts';
import { slotCases } from './cases/slots.ts';

for (const implementation of implementations) {
  slotCases(implementation);
  extensionCases(implementation);
}
