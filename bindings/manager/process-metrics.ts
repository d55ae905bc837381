/**
 * The metrics of the process, with the names of Prometheus' client libraries (process_*) and of
 * prom-client (nodejs_*). They are read on each scrape; only the event-loop delay is sampled by
 * Node between `start` and `close`.
 */
/// <reference lib="esnext.disposable" preserve="true" />
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { expositionText, metricFamily } from '../base/exposition.ts';
import type { Collector } from '../controller/index.ts';

/** Milliseconds between two samples of the event loop. */
const RESOLUTION_MS = 10;

type Write = (
  type: 'counter' | 'gauge',
  name: string,
  help: string,
  value: number,
  labels?: string,
) => void;

/**
 * Collects the metrics of this process. A manager has one; without a manager, add it to your own
 * `/metrics`.
 */
export class ProcessMetrics implements Collector, Disposable {
  #delay: ReturnType<typeof monitorEventLoopDelay> | undefined;

  /** Starts to sample the event loop. */
  start(): void {
    this.#delay ??= monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    this.#delay.enable();
  }

  /** Ends the samples. */
  close(): void {
    this.#delay?.disable();
  }

  /** The same as `close()`. */
  [Symbol.dispose](): void {
    this.close();
  }

  text(): string {
    const { user, system } = process.cpuUsage();
    const memory = process.memoryUsage();
    const lines: string[] = [];
    const metric: Write = (type, name, help, value, labels = '') => {
      lines.push(...metricFamily(type, name, help, [[labels, value]]));
    };
    metric(
      'counter',
      'process_cpu_seconds_total',
      'Total user and system CPU time spent in seconds.',
      (user + system) / 1e6,
    );
    metric('gauge', 'process_resident_memory_bytes', 'Resident memory size in bytes.', memory.rss);
    metric(
      'gauge',
      'process_start_time_seconds',
      'Start time of the process since unix epoch in seconds.',
      performance.timeOrigin / 1000,
    );
    metric(
      'gauge',
      'nodejs_heap_size_total_bytes',
      'Process heap size from Node.js in bytes.',
      memory.heapTotal,
    );
    metric(
      'gauge',
      'nodejs_heap_size_used_bytes',
      'Process heap size used from Node.js in bytes.',
      memory.heapUsed,
    );
    metric(
      'gauge',
      'nodejs_external_memory_bytes',
      'Node.js external memory size in bytes.',
      memory.external,
    );
    this.#eventLoop(metric);
    const labels = `version="${process.version}"`;
    metric('gauge', 'nodejs_version_info', 'Node.js version info.', 1, labels);
    return expositionText(lines);
  }

  /** The delay since the last scrape. */
  #eventLoop(metric: Write): void {
    const delay = this.#delay;
    if (delay === undefined || delay.count === 0) return;
    // A sample is the time between two timers, which is at least RESOLUTION_MS.
    const seconds = (nanoseconds: number): number =>
      Math.max(nanoseconds / 1e9 - RESOLUTION_MS / 1000, 0);
    const what = 'of the recorded event loop delays since the last scrape.';
    metric('gauge', 'nodejs_eventloop_lag_mean_seconds', `The mean ${what}`, seconds(delay.mean));
    metric(
      'gauge',
      'nodejs_eventloop_lag_p99_seconds',
      `The 99th percentile ${what}`,
      seconds(delay.percentile(99)),
    );
    metric('gauge', 'nodejs_eventloop_lag_max_seconds', `The maximum ${what}`, seconds(delay.max));
    delay.reset();
  }
}
