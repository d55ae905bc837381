/**
 * The event recorders of a manager, one for each name and API. controller-runtime:
 * pkg/internal/recorder.
 *
 * Invariant: a recorder ends after the controllers that use it, so that their last events are sent,
 * and before the manager. Events that are not sent by the deadline are dropped and counted as lost.
 */

import { silentLogger } from '../base/logger.ts';
import { whenAborted } from '../base/wait.ts';
import {
  type Client,
  type EventAPI,
  EventRecorder,
  type EventRecorderOptions,
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
    // With a silent logger, lost events are reported to the error handler.
    this.#options = {
      client,
      clock,
      wallNow,
      logger: logger === silentLogger ? undefined : logger,
    };
    this.#deadline = deadline;
    this.#add = add;
  }

  /** Throws CapstanError INVALID_ARGUMENT; STOPPED if the manager is stopping. */
  get(reportingController: string, api: EventAPI = 'events.k8s.io/v1'): EventRecorder {
    const key = `${api} ${reportingController}`;
    const known = this.#byName.get(key);
    if (known !== undefined) return known;
    const deadline = this.#deadline;
    const recorder = new EventRecorder({ ...this.#options, reportingController, api });
    const discard = (): Promise<void> => recorder.close({ signal: deadline });
    // In the group of caches, which stops after the controllers.
    this.#add({
      group: 'caches',
      name: `events of ${reportingController}`,
      discard,
      async start({ signal }) {
        await whenAborted(signal);
        await discard();
      },
    });
    this.#byName.set(key, recorder);
    return recorder;
  }
}
