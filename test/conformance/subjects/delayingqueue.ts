/** delayingqueue and ratelimitingqueue: the queues that wait on a clock. */
import { DelayingQueue, FakeClock, RateLimitingQueue } from 'capstan/workqueue';
import type { Observed, Trace, TraceStep, TraceSubject } from '../runner.ts';
import { numberField, textField, unknownOp } from './fields.ts';
import { type Items, withItems } from './items.ts';
import { type LimiterSpec, makeLimiter } from './limiters.ts';
import { queueStep } from './workqueue.ts';

async function timedStep<T>(
  queue: DelayingQueue<T>,
  clock: FakeClock,
  items: Items<T>,
  step: TraceStep,
): Promise<Observed | undefined> {
  switch (step.op) {
    case 'addAfter':
      queue.addAfter(items.make(textField(step, 'key')), numberField(step, 'ms'));
      return {};
    case 'step':
      clock.step(numberField(step, 'ms'));
      return {};
    default:
      return queueStep(queue, items, step);
  }
}

function limitedStep<T>(
  queue: RateLimitingQueue<T>,
  items: Items<T>,
  step: TraceStep,
): Observed | undefined {
  const item = () => items.make(textField(step, 'key'));
  switch (step.op) {
    case 'addRateLimited':
      queue.addRateLimited(item());
      return { want: queue.numRequeues(item()) };
    case 'forget':
      queue.forget(item());
      return {};
    case 'numRequeues':
      return { want: queue.numRequeues(item()) };
    default:
      return undefined;
  }
}

function trace<T>(
  queue: DelayingQueue<T>,
  clock: FakeClock,
  run: (step: TraceStep) => Observed | undefined | Promise<Observed | undefined>,
): Trace {
  return {
    async step(step) {
      const observed = await run(step);
      if (observed === undefined) throw unknownOp(step);
      return { ...observed, len: queue.len(), now: clock.now() };
    },
    end: () => queue.dispose(),
  };
}

export const delayingqueue: TraceSubject = {
  observes: ['want', 'len', 'now'],
  begin: (_step, { form }) =>
    withItems(form, <T>(items: Items<T>) => {
      const clock = new FakeClock();
      const queue = new DelayingQueue<T>({ clock, key: items.key });
      return trace(queue, clock, (step) => timedStep(queue, clock, items, step));
    }),
};

export const ratelimitingqueue: TraceSubject = {
  observes: ['want', 'len', 'now'],
  begin: (first, { form }) =>
    withItems(form, <T>(items: Items<T>) => {
      const clock = new FakeClock();
      const limiter = makeLimiter(first.limiter as LimiterSpec, clock, items);
      const queue = new RateLimitingQueue<T>(limiter, { clock, key: items.key });
      return trace(
        queue,
        clock,
        (step) => limitedStep(queue, items, step) ?? timedStep(queue, clock, items, step),
      );
    }),
};
