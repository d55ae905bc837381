/** handlers: the requests of an event with their priorities, on a queue. */
import {
  type EventHandler,
  enqueueRequestForObject,
  enqueueRequestForOwner,
} from 'capstan/controller';
import {
  FakeClock,
  PriorityQueue,
  type Request,
  requestKey,
  setErrorHandler,
} from 'capstan/workqueue';
import type { Observed, TraceStep, TraceSubject } from '../runner.ts';
import { flagField, textField, unknownOp } from './fields.ts';
import { eventOf } from './metadata-events.ts';

/** The only API version in the RESTMapper of the recording. */
const versions = ['v1'];

function handlerOf(step: TraceStep): EventHandler<object> {
  const handler = step.handler as TraceStep;
  switch (handler.type) {
    case 'forObject':
      return enqueueRequestForObject();
    case 'forOwner': {
      const kind = textField(handler, 'kind');
      const owner = { group: textField(handler, 'group'), kind, namespaced: kind !== 'Node' };
      return enqueueRequestForOwner(owner, {
        onlyController: flagField(handler, 'onlyController'),
        versions,
      });
    }
    default:
      throw new TypeError(`unknown handler ${JSON.stringify(handler.type)}`);
  }
}

function replay(step: TraceStep): Observed {
  if (step.op !== 'handle') throw unknownOp(step);
  const handler = handlerOf(step);
  const event = eventOf(step);
  const queue = new PriorityQueue<Request>(undefined, { key: requestKey, clock: new FakeClock() });
  // many owner references are wrong, and are reported
  const previous = setErrorHandler(() => undefined);
  try {
    if (event.kind === 'create') handler.create?.(event.event, queue);
    else if (event.kind === 'update') handler.update?.(event.event, queue);
    else if (event.kind === 'delete') handler.delete?.(event.event, queue);
    else handler.generic?.(event.event, queue);
    const place = ({ item: { namespace, name } }: { item: Request }): string =>
      `${namespace}/${name}`;
    const keys = [...queue.snapshot().keys].sort((a, b) => (place(a) < place(b) ? -1 : 1));
    return {
      want: keys.map(({ item: { namespace, name }, priority }) => ({ namespace, name, priority })),
    };
  } finally {
    setErrorHandler(previous);
    queue.dispose();
  }
}

export const handlers: TraceSubject = { observes: ['want'], begin: () => ({ step: replay }) };
