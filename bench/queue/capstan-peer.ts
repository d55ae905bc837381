/**
 * Capstan as a peer of the workloads in peers/naive-ts: the same calls, through the public names
 * and the built package, so that the figures are what users get. Works with delays use a fake
 * clock.
 */
import {
  DelayingQueue,
  FakeClock,
  ItemExponentialFailureRateLimiter,
  type Request,
  requestKey,
  WorkQueue,
} from 'capstan/workqueue';
import type { Peer } from '../peers/naive-ts/workloads.mjs';

let made: { dispose(): void }[] = [];

function keep<Q extends { dispose(): void }>(queue: Q): Q {
  made.push(queue);
  return queue;
}

export const capstan: Peer = {
  peer: 'capstan',
  queue: () => keep(new WorkQueue()),
  requestQueue: () => keep(new WorkQueue<Request>({ key: requestKey })),
  delaying: () => {
    const clock = new FakeClock();
    const queue = keep(new DelayingQueue({ clock }));
    return {
      addAfter: (item, ms) => queue.addAfter(item, ms),
      advance: (ms) => clock.step(ms),
      queue,
    };
  },
  limiter: () => keep(new ItemExponentialFailureRateLimiter(5, 1_000_000)),
};

/**
 * Called between repetitions, outside of the timing: disposes of the queues of the last one, as the
 * collector does for the other peers.
 */
export function release(): void {
  for (const queue of made) queue.dispose();
  made = [];
}
