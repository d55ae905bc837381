/** Batches, slots and what queues have beyond client-go, over each way to find keys. */

import { implementations } from '../helpers/workqueue/implementations.ts';
import { extensionCases } from './cases/extensions.ts';
import { slotCases } from './cases/slots.ts';

for (const implementation of implementations) {
  slotCases(implementation);
  extensionCases(implementation);
}
