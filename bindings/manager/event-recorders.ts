/**
 * The event recorders of a manager, one for each name. What it keeps true: a recorder ends after the controllers that use it, so that what
 * they say last is written, and before the manager does. controller-runtime: pkg/internal/recorder.
 */
import { type Client, type EventRecorder, newEventRecorder } from '../client/index.ts';
import type { Clock } from '../clock.ts';
import { whenAborted } from './aborts.ts';
import type { GroupedRunnable } from './runnables.ts';

export class EventRecorders {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #add: (runnable: GroupedRunnable) => void;
  readonly #byName = new Map<string, EventRecorder>();

  constructor(client: Client, clock: Clock, add: (runnable: GroupedRunnable) => void) {
    this.#client = client;
    this.#clock = clock;
    this.#add = add;
  }

  /** Throws CapstanError INVALID_ARGUMENT; STOPPED once the manager is ending. */
  get(reportingController: string): EventRecorder {
    const known = this.#byName.get(reportingController);
    if (known !== undefined) return known;
    const recorder = newEventRecorder({ client: this.#client, clock: this.#clock, reportingController });
    // Caches end after all who work with them.
    this.#add({
      group: 'caches',
      name: `events of ${reportingController}`,
      async start({ signal }) {
        await whenAborted(signal);
        await recorder.shutdown();
      },
    });
    this.#byName.set(reportingController, recorder);
    return recorder;
  }
}
