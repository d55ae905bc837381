/**
 * The informers of a manager: they live as long as the group of caches does. What is asked for
 * before the manager starts its caches is started with them, and what is asked for later, at once.
 * controller-runtime: pkg/cache/internal/informers.go.
 */

import type { Clock } from '../base/clock.ts';
import { type Logger, silentLogger } from '../base/logger.ts';
import { whenAborted } from '../base/wait.ts';
import {
  type FactoryOptions,
  type InformerSelection,
  type Resource,
  type SharedIndexInformer,
  SharedInformerFactory,
  type Transport,
  type WatchErrorHandler,
} from '../cache/index.ts';
import { isWorthReporting } from '../cache/reflector/reflector-errors.ts';
import { goesOn, isLongWait } from '../cache/rest/rest.ts';

/** How long an informer that the start waits for may be silent, before that is said. */
const SAY_AFTER_MS = 10_000;

export class ManagedCache extends SharedInformerFactory {
  readonly #clock: Clock;
  readonly #logger: Logger;
  /**
   * The logger is told what the informers meet: there is one, and nobody else has asked to be told.
   */
  readonly #tells: boolean;
  #signal: AbortSignal | undefined;

  constructor(transport: Transport, options: FactoryOptions, clock: Clock, logger: Logger) {
    super(transport, options);
    this.#clock = clock;
    this.#logger = logger;
    this.#tells = logger !== silentLogger && options.watchErrorHandler === undefined;
  }

  /**
   * A new informer starts by itself once the manager has started its caches, after handlers that
   * are added in the same turn.
   */
  override informerFor<T extends object, I extends string = never>(
    resource: Resource<T, I>,
    selection?: InformerSelection,
  ): SharedIndexInformer<T, I> {
    const isNew = !this.has(resource, selection);
    const informer = super.informerFor(resource, selection);
    if (isNew && this.#tells) informer.setWatchErrorHandler(this.#telling(resource, selection));
    if (this.#signal !== undefined) queueMicrotask(() => this.start());
    return informer;
  }

  /**
   * Informers run until the manager ends, whoever asked for the start; before the manager's own
   * start: no effect.
   */
  override start(): void {
    if (this.#signal !== undefined) super.start({ signal: this.#signal });
  }

  /**
   * What an informer reports where nobody listens, and as rarely; an error is what does not end by
   * itself. What its cache refuses goes to the hook as well.
   */
  #telling<T extends object>(
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
      const when = isLongWait(failure.afterMs) ? goesOn(failure.afterMs) : '';
      this.#logger[level](`list or watch failed${when}`, { resource: name, ...failure, error });
    };
  }

  /** Starts what was asked for; resolves when all informers have ended after the signal. */
  async run({ signal }: { signal: AbortSignal }): Promise<void> {
    this.#signal = signal;
    this.start();
    await whenAborted(signal);
    await this.shutdown();
  }

  /**
   * Resolves when the informers that were asked for have synced. It waits for as long as that
   * takes, and says for which.
   */
  async ready({ signal }: { signal: AbortSignal }): Promise<void> {
    const say = (): void => {
      const missing = [...this.informers()].flatMap(([name, informer]) =>
        informer.hasSynced() ? [] : [name],
      );
      this.#logger.warn('waiting for caches to sync', { missing });
      timer = this.#clock.setTimer(say, SAY_AFTER_MS);
    };
    let timer = this.#clock.setTimer(say, SAY_AFTER_MS);
    try {
      await this.waitForCacheSync({ signal });
    } finally {
      this.#clock.clearTimer(timer);
    }
  }
}
