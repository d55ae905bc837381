/**
 * Informer metrics: those of client-go, and our own. An informer without a name has none. Of
 * several informers with the same name and resource only the first has metrics, as in client-go
 * (tools/cache/informer_metrics.go, identity.go), because they would overwrite each other.
 */
import type { Clock } from '../../base/clock.ts';
import { CapstanError, invalid, requireFunction } from '../../base/errors.ts';
import { handleError, reportRejection, tell } from '../../base/handle-error.ts';
import type { Resource } from '../../base/resource.ts';

/** The labels of an informer's metrics. */
export interface InformerIdentity {
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

/** Current figures of an informer; `undefined` if unknown. */
export interface InformerReadings {
  /** How many seconds ago the server last sent a byte. */
  lastSignOfLifeSeconds(): number | undefined;
  /** Bytes of the cached objects, if they are kept as bytes. */
  bytes(): number | undefined;
  /** Cached objects with metadata only, with `whenFull: 'metadata'`. */
  metadataOnly(): number | undefined;
  /** Cached objects that are missing in an index, if there are index functions. */
  notIndexed(): number | undefined;
  /** Lists after the first one, those that failed among them. */
  relists(): number | undefined;
  /** Objects that came from outside of the ranges, and were dropped, if there are ranges. */
  outsideOfRanges(): number | undefined;
  /** The backlog of each handler; handlers with the same name are added up. */
  handlerBacklogs(): { handler: string; depth: number }[];
  /** Failed calls of each handler; handlers with the same name are added up. */
  handlerFailures(): { handler: string; failures: number }[];
}

/**
 * Creates the metrics of informers. Metrics are set while events are processed; their errors and
 * rejections are reported. client-go: tools/cache/informer_metrics.go InformerMetricsProvider.
 *
 * @example
 * const metrics = new InformerPrometheusProvider();
 * const listWatch = new ListWatch(transport, Pod);
 * const options = { name: 'web', metricsProvider: metrics };
 * const informer = new SharedIndexInformer(listWatch, options);
 * void informer.run(); // no metrics before
 * await waitForCacheSync({}, informer);
 * console.log(metrics.text());
 * // informer_queued_items{name="web",group="",version="v1",resource="pods"} 0 …
 */
export interface InformerMetricsProvider {
  /** The number of queued deltas. */
  newQueuedItemMetric(id: InformerIdentity): { set(value: number): void };
  /** The time to process a delta, in seconds: store, indices and the backlogs of the handlers. */
  newProcessingLatencyMetric(id: InformerIdentity): { observe(seconds: number): void };
  /** The last 15 digits of the store's resourceVersion, which fit a float. */
  newStoreResourceVersionMetric(id: InformerIdentity): { set(value: number): void };
  /**
   * Beyond client-go: figures to read when metrics are collected. Called when the informer starts;
   * the returned function is called when it ends.
   */
  addReadings?(id: InformerIdentity, readings: InformerReadings): () => void;
}

export function identityOf(
  name: string,
  { group, version, plural }: Resource<never, string>,
): InformerIdentity {
  return { name, group, version, resource: plural };
}

/** The identities that have metrics, by provider. */
const identities = new WeakMap<InformerMetricsProvider, Set<string>>();

/** Updates the metrics of one informer. */
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
   * Creates the metrics. If this identity has metrics already, or the provider throws, that is
   * reported, and the result is `undefined`.
   */
  static start(
    provider: InformerMetricsProvider,
    id: InformerIdentity,
    clock: Clock,
    readings: InformerReadings,
  ): InformerMeter | undefined {
    const names = identities.get(provider) ?? new Set();
    identities.set(provider, names);
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
      handleError(error, WHAT);
      return undefined;
    }
  }

  queued(items: number): void {
    try {
      reportIfPending(this.#queuedItems.set(items));
    } catch (error) {
      handleError(error, WHAT);
    }
  }

  /** Before a delta is processed. */
  begin(): void {
    this.#started = this.#clock.now();
  }

  /** After a delta was processed, with the number of queued deltas. */
  end(items: number): void {
    try {
      const seconds = (this.#clock.now() - this.#started) / 1000;
      reportIfPending(this.#latency.observe(seconds));
    } catch (error) {
      handleError(error, WHAT);
    }
    this.queued(items);
  }

  /** The store's version, once after several deltas, because reading it may decode an object. */
  stored(resourceVersion: string): void {
    if (resourceVersion === this.#lastVersion) return;
    this.#lastVersion = resourceVersion;
    if (!areDigits(resourceVersion)) return;
    try {
      const last = resourceVersion.length > 15 ? resourceVersion.slice(-15) : resourceVersion;
      reportIfPending(this.#resourceVersion.set(Number(last)));
    } catch (error) {
      handleError(error, WHAT);
    }
  }

  stop(): void {
    this.queued(0);
    call(this.#release);
  }
}

const WHAT = 'informer metrics';

/** Sets one metric; errors and rejections are reported. */
function call(run: () => unknown): void {
  tell(run, WHAT);
}

/**
 * Whether a text has only digits. With few events, a regular expression takes a microsecond,
 * because its code is no longer in the CPU's caches.
 */
function areDigits(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x30 || code > 0x39) return false;
  }
  return text !== '';
}

/** Reports the rejection of a metric's result, which is nearly always `undefined`. */
function reportIfPending(answer: unknown): void {
  if (answer !== undefined) reportRejection(answer, WHAT);
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
