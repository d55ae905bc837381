/**
 * client-go's informer metrics, and ours beside them. An informer without a name has none, and of
 * informers with one name and one resource the first has them, as in client-go
 * (tools/cache/informer_metrics.go, identity.go): two would overwrite each other.
 */
import type { Clock } from '../../base/clock.ts';
import { CapstanError, invalid, requireFunction } from '../../base/errors.ts';
import { handleError, tell } from '../../base/handle-error.ts';
import type { Resource } from '../rest/resource.ts';

/** The labels of an informer's metrics. */
export interface InformerIdentity {
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

/** Figures of an informer at the moment of the call; `undefined` for what is not known. */
export interface InformerReadings {
  /** How many seconds ago the server last sent a byte. */
  lastSignOfLifeSeconds(): number | undefined;
  /** Bytes of the cached objects, where they are kept as bytes. */
  bytes(): number | undefined;
  /** Cached objects that have nothing but their metadata, where the informer may cut them. */
  metadataOnly(): number | undefined;
  /** Cached objects that are missing in an index, where there are index functions. */
  notIndexed(): number | undefined;
  /** How many notifications wait for each handler; handlers of one name are added up. */
  handlerBacklogs(): { handler: string; depth: number }[];
  /** How many calls of each handler threw or rejected; handlers of one name are added up. */
  handlerFailures(): { handler: string; failures: number }[];
}

/**
 * client-go's `cache.InformerMetricsProvider`. The three are called while events are processed;
 * what they throw or reject with is reported.
 *
 * @example
 * const metrics = new InformerPrometheusProvider();
 * const informer = new SharedIndexInformer(new ListWatch(transport, Pod), { name: 'web', metricsProvider: metrics });
 * void informer.run(); // no metrics before
 * await waitForCacheSync({}, informer);
 * console.log(metrics.text()); // informer_queued_items{name="web",group="",version="v1",resource="pods"} 0 …
 */
export interface InformerMetricsProvider {
  /** How many deltas wait to be processed. */
  newQueuedItemMetric(id: InformerIdentity): { set(value: number): void };
  /**
   * How long a delta took to process, in seconds: store, indices and the queues of the handlers.
   */
  newProcessingLatencyMetric(id: InformerIdentity): { observe(seconds: number): void };
  /** The last 15 digits of the store's resource version, so that they fit a float. */
  newStoreResourceVersionMetric(id: InformerIdentity): { set(value: number): void };
  /**
   * Beyond client-go: figures to read when metrics are asked for. Called when the informer starts;
   * what it returns when it ends.
   */
  addReadings?(id: InformerIdentity, readings: InformerReadings): () => void;
}

export function identityOf(
  name: string,
  { group, version, plural }: Resource<never, string>,
): InformerIdentity {
  return { name, group, version, resource: plural };
}

/** The names and resources that are taken, by provider. */
const taken = new WeakMap<InformerMetricsProvider, Set<string>>();

/** What an informer with metrics calls. */
export class InformerMeter {
  readonly #clock: Clock;
  readonly #queuedItems: { set(value: number): void };
  readonly #latency: { observe(seconds: number): void };
  readonly #resourceVersion: { set(value: number): void };
  readonly #release: () => unknown;
  #started = 0;
  #lastVersion = '';

  private constructor(
    provider: InformerMetricsProvider,
    id: InformerIdentity,
    clock: Clock,
    readings: InformerReadings,
    release: () => void,
  ) {
    this.#clock = clock;
    this.#queuedItems = provider.newQueuedItemMetric(id);
    this.#latency = provider.newProcessingLatencyMetric(id);
    this.#resourceVersion = provider.newStoreResourceVersionMetric(id);
    const forget: unknown = provider.addReadings?.(id, readings);
    if (forget !== undefined && typeof forget !== 'function')
      throw invalid('metricsProvider.addReadings()', 'a function', forget);
    this.#release = () => {
      release();
      return forget?.();
    };
  }

  /**
   * `undefined`, and a report, where the name is taken for this resource, or the provider throws.
   */
  static start(
    provider: InformerMetricsProvider,
    id: InformerIdentity,
    clock: Clock,
    readings: InformerReadings,
  ): InformerMeter | undefined {
    const names = taken.get(provider) ?? new Set();
    taken.set(provider, names);
    const key = JSON.stringify(id);
    try {
      if (names.has(key)) {
        const got = `an informer named "${id.name}" of ${id.resource} has metrics already`;
        throw new CapstanError(
          'INVALID_ARGUMENT',
          `${got}: give each informer of a resource a name of its own`,
        );
      }
      const meter = new InformerMeter(provider, id, clock, readings, () => names.delete(key));
      names.add(key);
      return meter;
    } catch (error) {
      handleError(error, 'informer metrics');
      return undefined;
    }
  }

  queued(items: number): void {
    call(() => this.#queuedItems.set(items));
  }

  /** Before a delta is processed. */
  begin(): void {
    this.#started = this.#clock.now();
  }

  /** After it, with what is left in the queue. */
  end(items: number): void {
    call(() => this.#latency.observe((this.#clock.now() - this.#started) / 1000));
    this.queued(items);
  }

  /**
   * What the store's version is after several of them: it is read out of an object, and only the
   * last one will be seen.
   */
  stored(resourceVersion: string): void {
    if (resourceVersion === this.#lastVersion) return;
    this.#lastVersion = resourceVersion;
    if (/^\d+$/.test(resourceVersion))
      call(() => this.#resourceVersion.set(Number(resourceVersion.slice(-15))));
  }

  stop(): void {
    this.queued(0);
    call(this.#release);
  }
}

/** One metric a call, as each may answer with a promise that rejects. */
function call(run: () => unknown): void {
  tell(run, 'informer metrics');
}

/** Throws CapstanError INVALID_ARGUMENT. */
export function requireMetrics(name: unknown, provider: InformerMetricsProvider | undefined): void {
  if (name !== undefined && (typeof name !== 'string' || name === ''))
    throw invalid('options.name', 'a string that is not empty', name);
  if (provider === undefined) return;
  for (const method of [
    'newQueuedItemMetric',
    'newProcessingLatencyMetric',
    'newStoreResourceVersionMetric',
  ] as const) {
    requireFunction(
      `options.metricsProvider.${method}`,
      (provider as Partial<InformerMetricsProvider>)[method],
    );
  }
  if (provider.addReadings !== undefined)
    requireFunction('options.metricsProvider.addReadings', provider.addReadings);
}
