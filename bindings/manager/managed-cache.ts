/**
 * The informers of a manager. Informers that are requested before the manager starts its caches
 * start with them; later ones start at once. All end with the group of caches. controller-runtime:
 * pkg/cache/internal/informers.go.
 */

import type { Clock } from '../base/clock.ts';
import { type Logger, silentLogger } from '../base/logger.ts';
import { whenAborted } from '../base/wait.ts';
import type {
  FactoryOptions,
  InformerSelection,
  Resource,
  SharedIndexInformer,
  Transport,
  WatchErrorHandler,
} from '../cache/index.ts';
import { SharedInformerFactory } from '../cache/informer/factory.ts';
import { isWorthReporting } from '../cache/reflector/reflector-errors.ts';
import { goesOn, isLongWait } from '../cache/rest/rest.ts';

/** How often the manager logs which caches have not synced, in milliseconds. */
const LOG_MS = 10_000;

export class ManagedCache extends SharedInformerFactory {
  readonly #clock: Clock;
  readonly #logger: Logger;
  /**
   * Whether failures of lists and watches are logged: there is a logger, and `watchErrorHandler` is
   * not set.
   */
  readonly #logsFailures: boolean;
  #signal: AbortSignal | undefined;

  constructor(transport: Transport, options: FactoryOptions, clock: Clock, logger: Logger) {
    super(transport, options);
    this.#clock = clock;
    this.#logger = logger;
    this.#logsFailures = logger !== silentLogger && options.watchErrorHandler === undefined;
  }

  /**
   * After the manager has started its caches, a new informer starts by itself at the end of the
   * current turn, so that handlers added in it get all objects.
   */
  override informerFor<T extends object, I extends string = never>(
    resource: Resource<T, I>,
    selection?: InformerSelection,
  ): SharedIndexInformer<T, I> {
    const isNew = !this.has(resource, selection);
    const informer = super.informerFor(resource, selection);
    if (isNew && this.#logsFailures)
      informer.setWatchErrorHandler(this.#failureLogger(resource, selection));
    if (this.#signal !== undefined) queueMicrotask(() => this.start());
    return informer;
  }

  /**
   * Informers always end with the manager, so a caller cannot pass a signal. Before the manager's
   * start this has no effect.
   */
  override start(): void {
    if (this.#signal !== undefined) super.start({ signal: this.#signal });
  }

  /**
   * Logs as often as an informer without a handler reports. Failures that do not end by themselves
   * are errors, others are warnings.
   */
  #failureLogger<T extends object>(
    resource: Resource<T, never>,
    selection: InformerSelection = {},
  ): WatchErrorHandler {
    const name = this.nameOf(resource, selection);
    let parked = false;
    return (error, failure) => {
      const again = parked && failure.next === 'park';
      parked = failure.next === 'park';
      if (again || !isWorthReporting(error, failure)) return;
      const level = failure.class === 'auth' || failure.class === 'decode' ? 'error' : 'warn';
      const when = isLongWait(failure.afterMs) ? goesOn(failure.afterMs, this.#clock) : '';
      this.#logger[level](`list or watch failed${when}`, { resource: name, ...failure, error });
    };
  }

  /** Starts the informers. Resolves when all of them have ended after the signal. */
  async run({ signal }: { signal: AbortSignal }): Promise<void> {
    this.#signal = signal;
    this.start();
    await whenAborted(signal);
    await this.shutdown();
  }

  /** The informers that run and lack objects of their ranges, by name. */
  missingRanges(): string[] {
    return [...this.informers()].flatMap(([name, informer]) => {
      if (!informer.hasStarted() || informer.isStopped() || informer.hasRanges()) return [];
      // A kind that is served no longer has no objects.
      return informer.status().state === 'parked' ? [] : [name];
    });
  }

  /** The namespace of each object, or the name of one without, once for each object. */
  *namespacesOfObjects(): Generator<string> {
    for (const informer of this.informers().values())
      for (const key of informer.getIndexer().listKeys()) {
        const slash = key.indexOf('/');
        yield slash < 0 ? key : key.slice(0, slash);
      }
  }

  /** Resolves when the informers have synced. Meanwhile it logs which have not. */
  async ready({ signal }: { signal: AbortSignal }): Promise<void> {
    const log = (): void => {
      const missing = [...this.informers()].flatMap(([name, informer]) =>
        informer.hasSynced() ? [] : [name],
      );
      this.#logger.warn('waiting for caches to sync', { missing });
      timer = this.#clock.setTimer(log, LOG_MS);
    };
    let timer = this.#clock.setTimer(log, LOG_MS);
    try {
      await this.waitForCacheSync({ signal });
    } finally {
      this.#clock.clearTimer(timer);
    }
  }
}
