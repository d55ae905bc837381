/**
 * Metrics of requests to the API server in Prometheus' text format, with the names and buckets of
 * Kubernetes. client-go: tools/metrics, rest/request.go; controller-runtime:
 * pkg/metrics/client_go_adapter.go.
 *
 * Requests are passed to the inner transport unchanged and without delay; a watch's body is not
 * touched.
 */
/// <reference lib="esnext.disposable" preserve="true" />

import { type Clock, systemClock } from '../base/clock.ts';
import {
  byName,
  emptyHistogram,
  expositionText,
  type Histogram,
  histogramSamples,
  labelPairs,
  metricFamily,
  observe,
} from '../base/exposition.ts';
import { namesOf, requireNames } from '../base/names.ts';
import {
  closeWith,
  requireTransport,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from '../cache/rest/transport.ts';
import { FlowMetrics, FlowNames } from './flow-metrics.ts';

/** Options of {@link instrumentTransport}. */
export interface InstrumentOptions {
  /** The label `host`. Default: the transport's. */
  host?: string | undefined;
  clock?: Clock | undefined;
  /**
   * Shows FlowSchemas and priority levels by their names instead of their UIDs. They are listed by
   * this transport when an unknown one comes, at most once a minute, which needs the permission to
   * `list` both in `flowcontrol.apiserver.k8s.io`. Default false.
   */
  flowNames?: boolean | undefined;
}

const NAMES = namesOf<InstrumentOptions>()({ host: 1, clock: 1, flowNames: 1 });

/** In seconds. component-base: metrics/prometheus/restclient. */
const BUCKETS: readonly number[] = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

/**
 * Counts requests by code, method and host, and measures by method and host how long they took.
 * What API Priority and Fairness made of them is counted by FlowSchema and priority level.
 *
 * @example
 * const metrics = new RestClientMetrics();
 * const measured = instrumentTransport(transport, metrics);
 * await measured.request({ method: 'GET', path: '/version' });
 * console.log(metrics.text()); // rest_client_requests_total{code="200",host="10.0.0.1:6443",method="GET"} 1 …
 */
export class RestClientMetrics {
  /** By label pairs. */
  readonly #requests = new Map<string, number>();
  readonly #seconds = new Map<string, Histogram>();
  /** By FlowSchema and priority level, as the API server's headers tell. */
  readonly flows: FlowMetrics = new FlowMetrics();

  /** @param code the status, or `<error>` if there was no answer */
  counted(code: string, method: string, host: string): void {
    const labels = labelPairs({ code, host, method });
    this.#requests.set(labels, (this.#requests.get(labels) ?? 0) + 1);
  }

  took(seconds: number, verb: string, host: string): void {
    const labels = labelPairs({ host, verb });
    let histogram = this.#seconds.get(labels);
    if (histogram === undefined) {
      histogram = emptyHistogram(BUCKETS);
      this.#seconds.set(labels, histogram);
    }
    observe(BUCKETS, histogram, seconds);
  }

  /** All metrics in the text format (version 0.0.4). */
  text(): string {
    return expositionText([
      ...this.flows.lines(),
      ...metricFamily(
        'counter',
        'rest_client_requests_total',
        'Number of HTTP requests, partitioned by status code, method, and host.',
        byName(this.#requests),
      ),
      ...metricFamily(
        'histogram',
        'rest_client_request_duration_seconds',
        'Request latency in seconds. Broken down by verb and host.',
        byName(this.#seconds).flatMap(([labels, histogram]) =>
          histogramSamples(labels, BUCKETS, histogram),
        ),
      ),
    ]);
  }
}

/**
 * Wraps a transport and counts its requests. The duration of a request ends when its answer has
 * been read. Each try counts; client-go adds up the tries of a call. Watches are counted but not
 * timed.
 *
 * @throws CapstanError INVALID_ARGUMENT
 */
export function instrumentTransport(
  transport: Transport,
  metrics: RestClientMetrics,
  options: InstrumentOptions = {},
): Transport & AsyncDisposable {
  requireTransport('transport', transport);
  requireNames('options', options, 'option of instrumentTransport()', NAMES);
  const { clock = systemClock, flowNames = false } = options;
  const names = flowNames ? new FlowNames(transport, metrics.flows, clock) : undefined;
  const hostOf = (): string => options.host ?? transport.host?.() ?? 'none';
  return {
    async request(request: TransportRequest): Promise<TransportResponse> {
      const { method } = request;
      const timed = !isWatch(request);
      const start = clock.now();
      const end = (): void => {
        if (timed) metrics.took((clock.now() - start) / 1000, method, hostOf());
      };
      let response: TransportResponse;
      try {
        response = await transport.request(request);
      } catch (error) {
        metrics.counted('<error>', method, hostOf());
        end();
        throw error;
      }
      metrics.counted(String(response.status), method, hostOf());
      const unnamed = metrics.flows.answered(response);
      void names?.find(unnamed);
      if (!timed) return response;
      const { status, headers, body } = response;
      return {
        status,
        headers,
        body: { [Symbol.asyncIterator]: () => measured(body[Symbol.asyncIterator](), end) },
      };
    },
    host: hostOf,
    waitsFor: () => transport.waitsFor?.(),
    ...closeWith(transport),
  };
}

function isWatch({ query }: TransportRequest): boolean {
  return query?.watch === 'true' || query?.watch === '1';
}

/** Calls `end` once: at the end of the body, at its failure, or when its reader leaves. */
function measured(inner: AsyncIterator<Uint8Array>, end: () => void): AsyncIterator<Uint8Array> {
  let ended = false;
  const finish = (): void => {
    if (!ended) end();
    ended = true;
  };
  return {
    async next() {
      try {
        const result = await inner.next();
        if (result.done) finish();
        return result;
      } catch (error) {
        finish();
        throw error;
      }
    },
    async return() {
      finish();
      return (await inner.return?.()) ?? { done: true, value: undefined };
    },
  };
}
