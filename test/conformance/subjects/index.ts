/**
 * The covered subjects, by the name in a file's first line. A file of another subject is listed,
 * not replayed.
 */
import type { TraceSubject } from '../runner.ts';
import { controllerSubject } from './controller.ts';
import { delayingqueue, ratelimitingqueue } from './delayingqueue.ts';
import { deltafifo, realfifo } from './fifos.ts';
import { handlers } from './handlers.ts';
import { informer } from './informer.ts';
import { keys } from './keys.ts';
import { leaderelection } from './leaderelection.ts';
import { ratelimiters } from './limiters.ts';
import { predicates } from './predicates.ts';
import { priorityqueue } from './priorityqueue.ts';
import { store } from './store.ts';
import { workqueue } from './workqueue.ts';
import { workqueueBlocking } from './workqueue-blocking.ts';

export const traceSubjects: ReadonlyMap<string, TraceSubject> = new Map([
  ['controller', controllerSubject],
  ['delayingqueue', delayingqueue],
  ['deltafifo', deltafifo],
  ['handlers', handlers],
  ['informer', informer],
  ['informer-random', informer],
  ['keys', keys],
  ['leaderelection', leaderelection],
  ['predicates', predicates],
  ['priorityqueue', priorityqueue],
  ['ratelimiters', ratelimiters],
  ['ratelimitingqueue', ratelimitingqueue],
  ['realfifo', realfifo],
  ['store', store],
  ['workqueue', workqueue],
  ['workqueue-blocking', workqueueBlocking],
]);
