/**
 * The kind source watches a resource through the cache's shared informer; the informer source uses
 * an informer that the caller runs. controller-runtime: pkg/internal/source/kind.go.
 *
 * Invariants:
 * - The handler gets each existing object as a create event before the source has synced.
 * - At the end of the source its handler is removed from the informer, which goes on for others.
 * - A kind that the server does not serve gets no informer: the source asks the server again every
 *   10 s.
 */

import { textOfError } from '../../base/error-text.ts';
import { CapstanError, requireFunction } from '../../base/errors.ts';
import { handleError } from '../../base/handle-error.ts';
import { namesOf, requireNames } from '../../base/names.ts';
import type { FromServer } from '../../base/object.ts';
import type { Request } from '../../base/request.ts';
import { notResource, type Resource } from '../../base/resource.ts';
import { abortable, deferred, sleep } from '../../base/wait.ts';
import type { SharedInformerFactory } from '../../cache/informer/factory.ts';
import { type InformerSelection, SELECTION_NAMES } from '../../cache/informer/factory-options.ts';
import type { Registration } from '../../cache/informer/handler.ts';
import type { SharedIndexInformer } from '../../cache/informer/informer.ts';
import type { Source, SourceStart, SourceStatus } from '../source.ts';
import { EventPipe, PIPE_NAMES, type PipeOptions } from './event-pipe.ts';
import { type Replay, type Replayable, replayObjects } from './replay.ts';

/** Options of {@link kindSource}. */
export interface KindSourceOptions<T extends object, R = Request>
  extends PipeOptions<FromServer<NoInfer<T>>, R> {
  /** The factory that has the informer, or makes and starts it. */
  cache: SharedInformerFactory;
  resource: Resource<T, string>;
  /**
   * Restricts the objects, or watches only their metadata. Default: everything that the cache is
   * restricted to. If the cache has several namespaces, each needs a source of its own with a
   * selection of `cache.namespacesOf(resource)`; controllers make these themselves.
   */
  selection?: InformerSelection | undefined;
}

const KIND_NAMES = namesOf<KindSourceOptions<never>>()({
  ...PIPE_NAMES,
  cache: 1,
  resource: 1,
  selection: SELECTION_NAMES,
});

/** In milliseconds. controller-runtime: kind.go, the interval of PollUntilContextCancel. */
const POLL_MS = 10_000;
/** In milliseconds. A definition that is installed together with its controller is not reported. */
const REPORT_UNSERVED_MS = 5000;

/**
 * Makes a source of a resource's objects: a create event for each existing object
 * (`isInInitialList`), then their changes. Its default name is `kind Pod`.
 *
 * If the kind is not served, for example because its CustomResourceDefinition is installed later,
 * the source asks the server again every 10 s, logs that, and shows it as `status().problem`. The
 * controller gives up after `cacheSyncTimeout`. controller-runtime: source.Kind.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const source = kindSource({
 *   cache: newSharedInformerFactory(transport),
 *   resource: Pod,
 *   handler: enqueueRequestForObject(),
 *   predicates: [generationChangedPredicate()],
 * });
 */
export function kindSource<T extends object, R = Request>(
  options: KindSourceOptions<T, R>,
): Source<R> {
  requireNames('options', options, 'option of kindSource()', KIND_NAMES);
  const { cache, resource, selection = {} } = options;
  requireFunction('options.cache.informerFor', cache?.informerFor);
  if (typeof resource?.kind !== 'string') throw notResource('options.resource', resource);
  const newPipe = (): EventPipe<FromServer<T>> =>
    new EventPipe<FromServer<T>>({
      ...options,
      kind: resource.kind,
      name: options.name ?? `kind ${resource.kind}`,
    });
  const key = cache.nameOf(resource, selection); // throws for an invalid selection
  const isServed = (signal: AbortSignal): Promise<boolean> =>
    cache.isServed(resource, { selection, signal });
  const servedInstead = (signal: AbortSignal): Promise<string> =>
    cache.servedInstead(resource, signal);
  const informer = (): SharedIndexInformer<T, never> => {
    const informer = cache.informerFor(resource as Resource<T, never>, selection);
    cache.start();
    return informer;
  };
  return new InformerSource<T>(newPipe, {
    key,
    informer,
    isServed,
    servedInstead,
    kind: resource.kind,
  }) as Source<never>;
}

/** Options of {@link informerSource}. */
export interface InformerSourceOptions<T extends object, I extends string, R = Request>
  extends PipeOptions<FromServer<NoInfer<T>>, R> {
  /** The source neither starts nor stops it. */
  informer: SharedIndexInformer<T, I>;
}

/**
 * Makes a source of the objects of an informer that the caller starts and stops. Its default name
 * is `informer`. controller-runtime: source.Informer.
 *
 * @throws CapstanError INVALID_ARGUMENT
 */
export function informerSource<T extends object, I extends string = never, R = Request>(
  options: InformerSourceOptions<T, I, R>,
): Source<R> {
  requireNames('options', options, 'option of informerSource()', INFORMER_NAMES);
  const { informer } = options;
  requireFunction('options.informer.addEventHandler', informer?.addEventHandler);
  const newPipe = (): EventPipe<FromServer<T>> =>
    new EventPipe<FromServer<T>>({ ...options, name: options.name ?? 'informer' });
  return new InformerSource<T>(newPipe, {
    informer: () => informer as unknown as SharedIndexInformer<T, never>,
  }) as Source<never>;
}

const INFORMER_NAMES = namesOf<InformerSourceOptions<never, never>>()({
  ...PIPE_NAMES,
  informer: 1,
});

/** How a source gets its informer. */
interface InformerAccess<T extends object> {
  informer(): SharedIndexInformer<T, never>;
  isServed?(signal: AbortSignal): Promise<boolean>;
  /** What the server serves instead, as text. */
  servedInstead?(signal: AbortSignal): Promise<string>;
  /** The informer's key in reports. */
  key?: string;
  kind?: string;
}

class InformerSource<T extends object> implements Replayable {
  readonly name: string;
  readonly #newPipe: () => EventPipe<FromServer<T>>;
  readonly #pipe: EventPipe<FromServer<T>>;
  /** Of replays under way. */
  readonly #replays = new Set<EventPipe<FromServer<T>>>();
  readonly #access: InformerAccess<T>;
  readonly #started = deferred();
  #signal: AbortSignal | undefined;
  #informer: SharedIndexInformer<T, never> | undefined;
  #registration: Registration | undefined;
  #unserved = false;
  /** What the server serves instead, as text. */
  #servedInstead = '';
  #reportedUnserved = false;
  /** The error with which the source failed to start. */
  #failure: { error: unknown } | undefined;

  constructor(newPipe: () => EventPipe<FromServer<T>>, access: InformerAccess<T>) {
    this.#newPipe = newPipe;
    this.#pipe = newPipe();
    this.name = this.#pipe.name;
    this.#access = access;
  }

  async start(start: SourceStart): Promise<void> {
    this.#pipe.open(start);
    this.#signal = start.signal;
    // Not awaited: the server may be slow, or may not serve the kind yet.
    void this.#begin(start.signal)
      .catch((error) => (this.#failure = { error }))
      .then(() => this.#started.resolve());
  }

  async #begin(signal: AbortSignal): Promise<void> {
    await this.#untilServed(signal);
    if (signal.aborted) return;
    const informer = this.#access.informer();
    const registration = informer.addEventHandler(this.#pipe.informerHandler(), {
      name: this.name,
    });
    this.#informer = informer;
    this.#registration = registration;
    signal.addEventListener('abort', () => informer.removeEventHandler(registration), {
      once: true,
    });
  }

  async #untilServed(signal: AbortSignal): Promise<void> {
    const { clock } = this.#pipe;
    const { isServed } = this.#access;
    while (isServed !== undefined && !signal.aborted) {
      const over = new AbortController();
      const either = AbortSignal.any([signal, over.signal]);
      const pause = sleep(clock, POLL_MS, either);
      // The server is asked only until the pause ends: without a response the informer is started,
      // which handles a failing server itself.
      this.#unserved = (await Promise.race([isServed(either), pause])) === false;
      if (this.#unserved) {
        await Promise.race([this.#reportUnserved(either), pause]);
        await pause;
      }
      over.abort();
      if (!this.#unserved) return;
    }
  }

  /** Warns each time; without a logger, reports once and only after {@link REPORT_UNSERVED_MS}. */
  async #reportUnserved(signal: AbortSignal): Promise<void> {
    const { logger, clock } = this.#pipe;
    if (logger === undefined && this.#reportedUnserved) return;
    if (logger === undefined) await sleep(clock, REPORT_UNSERVED_MS, signal);
    if (!this.#reportedUnserved)
      this.#servedInstead = (await this.#access.servedInstead?.(signal)) ?? '';
    if (signal.aborted) return;
    this.#reportedUnserved = true;
    const problem = this.#problem(false) ?? '';
    if (logger !== undefined) logger.warn(problem, { source: this.name });
    else handleError(new CapstanError('SOURCE_FAILED', problem), `source "${this.name}"`);
  }

  /**
   * Rejects with ABORTED when a signal fires, and with the error with which the source failed to
   * start.
   */
  async waitForSync({ signal }: { signal: AbortSignal }): Promise<void> {
    const either = this.#signal === undefined ? signal : AbortSignal.any([signal, this.#signal]);
    await abortable(this.#started.promise, either);
    if (this.#failure !== undefined) throw this.#failure.error;
    if (this.#registration !== undefined)
      await abortable(this.#registration.hasSyncedChecker().done, either);
  }

  replay({ queue, owner, has }: Replay): void {
    const informer = this.#informer as SharedIndexInformer<FromServer<T>, never> | undefined;
    const signal = this.#signal;
    if (informer === undefined || signal === undefined || signal.aborted) return;
    const pipe = this.#newPipe();
    pipe.open({ queue, signal, logger: this.#pipe.logger }, owner);
    this.#replays.add(pipe);
    void replayObjects(informer, pipe, has, signal).then(() => this.#replays.delete(pipe));
  }

  async idle(): Promise<void> {
    await Promise.all([this.#pipe, ...this.#replays].map((pipe) => pipe.idle()));
  }

  status(): SourceStatus {
    const synced = this.#registration?.hasSynced() ?? false;
    const problem = this.#problem(synced);
    const { key: informer } = this.#access;
    return {
      synced,
      events: this.#pipe.events(),
      ...(informer !== undefined && { informer }),
      ...(problem !== undefined && { problem }),
    };
  }

  #problem(synced: boolean): string | undefined {
    if (this.#failure !== undefined) return textOfError(this.#failure.error);
    if (this.#unserved) {
      const advice =
        this.#servedInstead === ''
          ? 'Is the CustomResourceDefinition installed?'
          : `But ${this.#servedInstead}: did you mean that?`;
      const { key } = this.#access;
      return `the server does not serve ${key}: it is asked again every 10 s. ${advice}`;
    }
    if (this.#informer === undefined) return undefined;
    if (!this.#informer.hasStarted()) return 'its informer has not been started';
    if (this.#informer.isStopped()) return 'its informer has been stopped';
    const { lastFailure, state } = this.#informer.status();
    if (state === 'parked')
      return 'the server no longer serves its kind: the cache is empty until it does';
    return synced || lastFailure === undefined ? undefined : textOfError(lastFailure.error);
  }
}
