/** What a worker does when its queue is unusable, and whether its request is added again. */
import { type ControllerOptions, TerminalError } from 'capstan/controller';
import {
  CapstanError,
  type ErrorCode,
  FakeClock,
  ItemExponentialFailureRateLimiter,
  PriorityQueue,
  type RateLimiter,
  type Request,
  requestKey,
} from 'capstan/workqueue';
import { expect, test } from 'vitest';
import { fail, requestOf, rig } from '../helpers/controller/controller-rig.ts';
import { collectErrorValues } from '../helpers/reported-errors.ts';

const reported = collectErrorValues();

/** Queues with one method that throws. */
class DeadQueue extends PriorityQueue<Request> {
  dead: { method: 'get' | 'forget' | 'add'; error: unknown } | undefined;

  override async getWithPriority(...args: Parameters<PriorityQueue<Request>['getWithPriority']>) {
    if (this.dead?.method === 'get') throw this.dead.error;
    return super.getWithPriority(...args);
  }

  override addWithOpts(...args: Parameters<PriorityQueue<Request>['addWithOpts']>): void {
    if (this.dead?.method === 'add') throw this.dead.error;
    super.addWithOpts(...args);
  }

  override forget(request: Request): void {
    if (this.dead?.method === 'forget') throw this.dead.error;
    super.forget(request);
  }
}

const queueOf = (limiter?: RateLimiter<Request>) =>
  new DeadQueue(limiter, { key: requestKey, clock: new FakeClock() });

// A worker that treated such an error as its own would retry every second for ever.
test.each(
  (['POISONED', 'DISPOSED'] as const).flatMap((code: ErrorCode) =>
    (['get', 'forget'] as const).map((method) => [code, method] as const),
  ),
)('a queue that is %s (%s) ends the controller', async (code, method) => {
  const queue = queueOf();
  const error = new CapstanError(code, 'no more');
  const { source, errors, clock, start } = rig(
    () => {
      queue.dead = { method, error };
    },
    { newQueue: () => queue },
  );
  await start();
  source.add('a');
  await clock.settle();
  expect(errors).toEqual([error]);
});

// An error of that add would hide the panic.
test('a request whose panic ends the controller is not added again', async () => {
  const queue = queueOf();
  const bug = (): never => {
    queue.dead = { method: 'add', error: new CapstanError('OUT_OF_MEMORY', 'no room') };
    throw new RangeError('a bug');
  };
  const { source, errors, clock, start } = rig(bug, { newQueue: () => queue, recoverPanic: false });
  await start();
  source.add('a');
  await clock.settle();
  expect(errors).toMatchObject([{ name: 'RangeError', message: 'a bug' }]);
});

test('a terminal error is no panic, whatever wraps it', async () => {
  const wrapped = new RangeError('out of range', { cause: new TerminalError('for good') });
  const { source, errors, calls, clock, start } = rig(() => Promise.reject(wrapped), {
    recoverPanic: false,
  });
  await start();
  source.add('a');
  await clock.run(10_000);
  expect([calls, errors, reported]).toEqual([['a@0'], [], [wrapped]]);
});

// A limiter may be shared, and outlive its controller.
test.each([true, false])(
  'a limiter hears nothing of what fails as the controller ends (%s)',
  async (usePriorityQueue) => {
    const gate = Promise.withResolvers<undefined>();
    const rateLimiter = new ItemExponentialFailureRateLimiter<Request>(7, 60_000);
    const options: Partial<ControllerOptions<object>> = { rateLimiter, usePriorityQueue };
    const { source, clock, start, controller } = rig(() => gate.promise.then(fail), options);
    await start();
    source.add('a');
    await clock.settle();
    const stopped = controller.stop();
    gate.resolve(undefined);
    await stopped;
    expect(rateLimiter.numRequeues(requestOf('a'))).toBe(0);
  },
);
