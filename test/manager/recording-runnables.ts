/**
 * Helpers of the manager tests: a manager without an API server, and runnables that record what
 * happens to them.
 */
import { type Transport, TransportError } from 'capstan/cache';
import type { Runnable } from 'capstan/controller';
import { type ControllerManager, type ManagerOptions, newManager } from 'capstan/manager';
import { FakeClock } from 'capstan/workqueue';

/** A transport without a server. */
export const noServer: Transport = {
  request: () => Promise.reject(new TransportError('refused', 'nobody is there')),
};

export interface Started {
  readonly manager: ControllerManager;
  readonly clock: FakeClock;
  /** Stops the manager. */
  readonly stop: () => void;
  /** The promise of `start`. */
  readonly done: Promise<void>;
}

export function managerOf(options: Partial<ManagerOptions> = {}): {
  manager: ControllerManager;
  clock: FakeClock;
} {
  const clock = new FakeClock();
  return { manager: newManager({ transport: noServer, clock, ...options }), clock };
}

/** Starts the manager; await `done` for its failures. */
export function startManager(manager: ControllerManager, clock: FakeClock): Started {
  const stopper = new AbortController();
  const done = manager.start({ signal: stopper.signal });
  done.catch(() => undefined);
  return { manager, clock, done, stop: () => stopper.abort() };
}

/** A runnable that logs its start, its signal and its end; `finish` lets it end. */
export function recordedRunnable(
  log: string[],
  name: string,
  more: Partial<Runnable> & { endsBySignal?: boolean; [key: string]: unknown } = {},
): Runnable & { finish(): void } {
  const { endsBySignal = true, ...rest } = more;
  const finished = Promise.withResolvers<void>();
  return {
    name,
    async start({ signal }) {
      log.push(`${name} starts`);
      await new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => {
          log.push(`${name} is stopped`);
          resolve();
        });
      });
      if (!endsBySignal) await finished.promise;
      log.push(`${name} ends`);
    },
    finish: () => finished.resolve(),
    ...rest,
  };
}

export const others = { needLeaderElection: () => false };
