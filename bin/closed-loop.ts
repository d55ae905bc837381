/**
 * Measures what the calls of a queue cost: adds, gets and dones as fast as one thread makes them,
 * with delays in virtual time.
 */
import { CapstanError, FakeClock } from 'capstan/workqueue';
import { HandoutCheck } from './bench-check.ts';
import type { BenchPeer } from './bench-queues.ts';
import type { Adds } from './bench-workload.ts';

/** How much virtual time passes after each group of adds, in milliseconds. */
const STEP_MS = 1;

/** Runs the adds once and checks every key. Returns how many keys were handed out. */
export function checkClosed(peer: BenchPeer, adds: Adds, workers: number, longest: number): number {
  const clock = new FakeClock();
  const check = new HandoutCheck(peer.name, true);
  const queue = peer.make({ clock });
  const group: string[] = [];
  const serve = (): boolean => {
    while (group.length < workers) {
      const key = queue.tryGet();
      if (key === undefined) break;
      check.handedOut(key, clock.now());
      group.push(key);
    }
    const some = group.length > 0;
    for (const key of group.splice(0)) {
      // Before the call: a queue may hand the key out again as soon as it is done.
      check.finished(key);
      queue.done(key);
    }
    return some;
  };
  try {
    for (let i = 0; i < adds.count; ) {
      for (const end = Math.min(i + workers, adds.count); i < end; i++) {
        const [key, delay = 0] = [adds.key(i), adds.delays[i]];
        check.added(key, delay, clock.now(), clock.now());
        if (delay === 0) queue.add(key);
        else queue.addAfter?.(key, delay);
      }
      if (longest > 0) clock.step(STEP_MS);
      serve();
    }
    if (longest > 0) clock.step(longest + STEP_MS);
    while (serve());
    check.requireComplete();
    return check.handouts;
  } finally {
    queue.dispose?.();
  }
}

/**
 * Runs the same adds without the check of every key. Returns nanoseconds per call of the queue.
 *
 * @throws CapstanError INVALID_ARGUMENT if not as many keys were handed out as with the check
 */
export function timeClosed(
  peer: BenchPeer,
  adds: Adds,
  workers: number,
  longest: number,
  expected: number,
): number {
  const clock = new FakeClock();
  const queue = peer.make({ clock });
  const { count, delays } = adds;
  const group: string[] = new Array(workers).fill('');
  let handouts = 0;
  const serve = (): number => {
    let got = 0;
    for (; got < workers; got++) {
      const key = queue.tryGet();
      if (key === undefined) break;
      group[got] = key;
    }
    for (let j = 0; j < got; j++) queue.done(group[j] as string);
    handouts += got;
    return got;
  };
  try {
    const start = process.hrtime.bigint();
    for (let i = 0; i < count; ) {
      for (const end = Math.min(i + workers, count); i < end; i++) {
        const delay = delays[i] as number;
        if (delay === 0) queue.add(adds.key(i));
        else queue.addAfter?.(adds.key(i), delay);
      }
      if (longest > 0) clock.step(STEP_MS);
      serve();
    }
    if (longest > 0) clock.step(longest + STEP_MS);
    while (serve() > 0);
    const ns = Number(process.hrtime.bigint() - start);
    if (handouts !== expected)
      throw new CapstanError(
        'INVALID_ARGUMENT',
        `the queue of ${peer.name} handed out ${handouts} keys, and ${expected} when each was ` +
          'checked: expected the same from the same adds',
      );
    return ns / (count + 2 * handouts);
  } finally {
    queue.dispose?.();
  }
}
