/**
 * What the tests of the manager share: one without a server to talk to, runnables that say what
 * became of them, and turns to let pass.
 */
import { type Transport, TransportError } from 'capstan/cache';
import type { Runnable } from 'capstan/controller';
import { type ControllerManager, type ManagerOptions, newManager } from 'capstan/manager';
import { FakeClock } from 'capstan/workqueue';

/** Nobody is there. */
export const noServer: Transport = {
  request: () => Promise.reject(new TransportError('refused', 'nobody is there')),
};

export interface Started {
  readonly manager: ControllerManager;
  readonly clock: FakeClock;
  /** Ends the manager. */
  readonly stop: () => void;
  /** What `start` becomes. */
  readonly done: Promise<void>;
}

export function managerOf(options: Partial<ManagerOptions> = {}): {
  manager: ControllerManager;
  clock: FakeClock;
} {
  const clock = new FakeClock();
  return { manager: newManager({ transport: noServer, clock, ...options }), clock };
}

/** Starts it; its failures are for who awaits `done`. */
export function start(manager: ControllerManager, clock: FakeClock): Started {
  const stopper = new AbortController();
  const done = manager.start({ signal: stopper.signal });
  done.catch(() => undefined);
  return { manager, clock, done, stop: () => stopper.abort() };
}

/**
 * A runnable that writes to the log when it is started, told to end, and ends; `finish` lets it
 * end.
 */
export function recorded(
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
