/**
 * Informer metrics in the text format of Prometheus: those of client-go, with the names, labels and
 * buckets of Kubernetes, and our own, which begin with `capstan_` and are read when text() is
 * called.
 */
import {
  byName,
  emptyHistogram,
  type Histogram,
  labelPairs,
  MetricsText,
  observe,
} from '../../base/exposition.ts';
import type {
  InformerIdentity,
  InformerMetricsProvider,
  InformerReadings,
} from './informer-metrics.ts';

const LATENCY_BUCKETS: readonly number[] = [
  0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

interface Figures {
  /** Set once the informer runs. */
  queued?: number;
  resourceVersion?: number;
  latency?: Histogram;
  readings?: InformerReadings;
}

/**
 * Collects the metrics of all named informers that have this provider. The latencies of an informer
 * that has ended stay until another one ends; its other metrics go at once.
 *
 * @example
 * const metrics = new InformerPrometheusProvider();
 * const factory = newSharedInformerFactory(transport, { name: 'web', metricsProvider: metrics });
 * factory.informerFor(Pod);
 * factory.start(); // no metrics before
 * await factory.waitForCacheSync();
 * console.log(metrics.text());
 */
export class InformerPrometheusProvider implements InformerMetricsProvider {
  /** By labels. */
  readonly #informers = new Map<string, Figures>();

  newQueuedItemMetric(id: InformerIdentity): { set(value: number): void } {
    const figures = this.#of(id);
    figures.queued = 0;
    return {
      set: (value) => {
        figures.queued = value;
      },
    };
  }

  newProcessingLatencyMetric(id: InformerIdentity): { observe(seconds: number): void } {
    const figures = this.#of(id);
    // Continues the counts of an earlier informer of the same name: Prometheus takes a decreasing
    // counter for a restart.
    const counts = figures.latency ?? emptyHistogram(LATENCY_BUCKETS);
    figures.latency = counts;
    return { observe: (seconds) => observe(LATENCY_BUCKETS, counts, seconds) };
  }

  newStoreResourceVersionMetric(id: InformerIdentity): { set(value: number): void } {
    const figures = this.#of(id);
    return {
      set: (value) => {
        figures.resourceVersion = value;
      },
    };
  }

  /** When the returned function is called, only the histogram of latencies stays. */
  addReadings(id: InformerIdentity, readings: InformerReadings): () => void {
    this.#of(id).readings = readings;
    return () => {
      const { latency } = this.#of(id);
      const labels = labelsOf(id);
      this.#informers.delete(labels);
      this.#informers.set(labels, { latency });
      // The histograms of older informers are removed, so that short-lived names do not pile up.
      for (const [other, { queued }] of this.#informers)
        if (other !== labels && queued === undefined) this.#informers.delete(other);
    };
  }

  /** The metrics of all informers, in the text format of Prometheus (version 0.0.4). */
  text(): string {
    const text = new MetricsText(byName(this.#informers));
    text.number(
      'gauge',
      'capstan_informer_bytes',
      'Bytes of the objects that the informer keeps as bytes.',
      (of) => of.readings?.bytes(),
    );
    text.samples(
      'gauge',
      'capstan_informer_handler_backlog',
      'Number of notifications that wait for the handler.',
      ({ readings }, labels) =>
        (readings?.handlerBacklogs() ?? []).map(({ handler, depth }) => [
          `${labels},${labelPairs({ handler })}`,
          depth,
        ]),
    );
    text.samples(
      'counter',
      'capstan_informer_handler_failures_total',
      'Number of notifications for which the handler threw or rejected.',
      ({ readings }, labels) =>
        (readings?.handlerFailures() ?? []).map(({ handler, failures: count }) => [
          `${labels},${labelPairs({ handler })}`,
          count,
        ]),
    );
    text.number(
      'gauge',
      'capstan_informer_last_sign_of_life_seconds',
      'How many seconds ago the API server last sent a byte.',
      (of) => of.readings?.lastSignOfLifeSeconds(),
    );
    text.number(
      'gauge',
      'capstan_informer_metadata_only',
      'Number of cached objects that had room for their metadata alone.',
      (of) => of.readings?.metadataOnly(),
    );
    text.number(
      'gauge',
      'capstan_informer_not_indexed',
      'Number of cached objects that are missing in an index, as its function threw for them.',
      (of) => of.readings?.notIndexed(),
    );
    text.number(
      'counter',
      'capstan_informer_relists_total',
      'Number of lists after the first one, those that failed among them.',
      (of) => of.readings?.relists(),
    );
    text.samples(
      'counter',
      'capstan_shard_foreign_events_total',
      'Number of objects outside of the ranges of the informer that came and were dropped.',
      ({ readings }, labels) => {
        const count = readings?.outsideOfRanges();
        const dropper = labelPairs({ dropped_by: 'client' });
        return count === undefined ? [] : [[`${labels},${dropper}`, count]];
      },
    );
    text.histogram(
      'informer_processing_latency_seconds',
      '[ALPHA] Time taken to process events after they are popped from the informer queue, ' +
        'in seconds.',
      LATENCY_BUCKETS,
      (of) => of.latency,
    );
    text.number(
      'gauge',
      'informer_queued_items',
      '[ALPHA] Number of items that are queued in the informer and wait to be processed.',
      (of) => of.queued,
    );
    text.number(
      'gauge',
      'informer_store_resource_version',
      '[ALPHA] The last 15 digits of the resource version of the informer store.',
      (of) => of.resourceVersion,
    );
    return text.toString();
  }

  #of(id: InformerIdentity): Figures {
    const labels = labelsOf(id);
    let figures = this.#informers.get(labels);
    if (figures === undefined) {
      figures = {};
      this.#informers.set(labels, figures);
    }
    return figures;
  }
}

function labelsOf({ name, group, version, resource }: InformerIdentity): string {
  return labelPairs({ name, group, version, resource });
}
