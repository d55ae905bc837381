/**
 * Measures how long a key waits: adds at a constant pace in real time, and workers that hold each
 * key for its service time. An add counts from when it was due, so that a pause delays all adds
 * that fall into it.
 */
import type { Clock } from 'capstan/workqueue';
import { HandoutCheck } from './bench-check.ts';
import type { BenchPeer } from './bench-queues.ts';
import type { Adds } from './bench-workload.ts';

export interface OpenLoopOptions {
  /** Adds per second. */
  readonly rate: number;
  readonly workers: number;
  readonly clock: Clock;
  /** Calls back in the next turn of the event loop. */
  readonly turn: (run: () => void) => void;
}

/** Milliseconds without progress after which the keys that were not handed out count as lost. */
const PATIENCE_MS = 2_000;

interface Job {
  readonly key: string;
  readonly until: number;
}

/** Resolves to the waits of all handed out keys, in milliseconds, sorted. */
export function runOpen(
  peer: BenchPeer,
  adds: Adds,
  { rate, workers, clock, turn }: OpenLoopOptions,
): Promise<Float64Array> {
  const check = new HandoutCheck(peer.name, false);
  const queue = peer.make({ clock });
  const waits: number[] = [];
  const start = clock.now();
  let jobs: Job[] = [];
  let next = 0;
  let progressAt = start;

  const serve = (now: number): void => {
    const running = jobs.filter(({ until }) => until > now);
    if (running.length < jobs.length) {
      for (const { key, until } of jobs) {
        if (until > now) continue;
        check.finished(key);
        queue.done(key);
      }
      jobs = running;
    }
    while (jobs.length < workers) {
      const key = queue.tryGet();
      if (key === undefined) return;
      const at = clock.now();
      const service = adds.services[check.handouts % adds.count] ?? 0;
      waits.push(at - check.handedOut(key, at));
      progressAt = at;
      if (service > 0) jobs.push({ key, until: at + service });
      else {
        check.finished(key);
        queue.done(key);
      }
    }
  };

  return new Promise((resolve, reject) => {
    const pass = (): void => {
      try {
        const now = clock.now();
        for (; next < adds.count; next++) {
          const due = start + (next * 1000) / rate;
          if (due > now) break;
          const [key, delay = 0] = [adds.key(next), adds.delays[next]];
          check.added(key, delay, due, now);
          if (delay === 0) queue.add(key);
          else queue.addAfter?.(key, delay);
          progressAt = now;
        }
        serve(now);
        if (next === adds.count && jobs.length === 0) {
          const isLate = now > Math.max(progressAt, check.lastWait()) + PATIENCE_MS;
          if (check.isComplete || isLate) {
            check.requireComplete();
            queue.dispose?.();
            resolve(Float64Array.from(waits).sort());
            return;
          }
        }
        turn(pass);
      } catch (error) {
        queue.dispose?.();
        reject(error);
      }
    };
    pass();
  });
}
