/**
 * The event recorders of a manager, one for each name. What it keeps true: a recorder ends after
 * the controllers that use it, so that what they say last is written, and before the manager does:
 * what is not written by the deadline is given up, and counted as lost. controller-runtime:
 * pkg/internal/recorder.
 */

import { silentLogger } from '../base/logger.ts';
import { whenAborted } from '../base/wait.ts';
import {
  type Client,
  type EventRecorder,
  type EventRecorderOptions,
  newEventRecorder,
} from '../client/index.ts';
import type { ManagerSettings } from './options.ts';
import type { GroupedRunnable } from './runnables.ts';

export class EventRecorders {
  readonly #options: Omit<EventRecorderOptions, 'reportingController'>;
  readonly #deadline: AbortSignal;
  readonly #add: (runnable: GroupedRunnable) => void;
  readonly #byName = new Map<string, EventRecorder>();

  constructor(
    client: Client,
    { clock, logger, wallNow }: Pick<ManagerSettings, 'clock' | 'logger' | 'wallNow'>,
    deadline: AbortSignal,
    add: (runnable: GroupedRunnable) => void,
  ) {
    // Silence is no answer for what is lost: the hook is told then.
    this.#options = {
      client,
      clock,
      wallNow,
      logger: logger === silentLogger ? undefined : logger,
    };
    this.#deadline = deadline;
    this.#add = add;
  }

  /** Throws CapstanError INVALID_ARGUMENT; STOPPED once the manager is ending. */
  get(reportingController: string): EventRecorder {
    const known = this.#byName.get(reportingController);
    if (known !== undefined) return known;
    const deadline = this.#deadline;
    const recorder = newEventRecorder({ ...this.#options, reportingController });
    const discard = (): Promise<void> => recorder.shutdown({ signal: deadline });
    // Caches end after all who work with them.
    this.#add({
      group: 'caches',
      name: `events of ${reportingController}`,
      discard,
      async start({ signal }) {
        await whenAborted(signal);
        await discard();
      },
    });
    this.#byName.set(reportingController, recorder);
    return recorder;
  }
}
