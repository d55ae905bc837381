/**
 * Measures the delays of the event loop and the time in garbage collections while a function runs.
 */
import { monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';

export interface LoopFigures {
  /** By how many milliseconds a timer of 1 ms fired late: percentiles. */
  p50: number;
  p99: number;
  p999: number;
  max: number;
  /**
   * Milliseconds for which garbage collections stopped the thread, and the number of collections.
   */
  gcMs: number;
  gcCount: number;
  gcMax: number;
  /** Milliseconds of CPU of the whole process, including the collector's threads. */
  cpuMs: number;
}

export const TICK_MS = 1;

export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, ms));

/** Watches the loop while `run` runs. */
export async function observeLoop(run: () => Promise<void>): Promise<LoopFigures> {
  let [gcMs, gcCount, gcMax] = [0, 0, 0];
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) {
      gcMs += duration;
      gcCount++;
      gcMax = Math.max(gcMax, duration);
    }
  });
  observer.observe({ entryTypes: ['gc'] });
  const histogram = monitorEventLoopDelay({ resolution: TICK_MS });
  histogram.enable();
  const cpu = process.cpuUsage();
  await run();
  histogram.disable();
  const used = process.cpuUsage(cpu);
  await pause(50); // until the observer has the last collections
  observer.disconnect();
  const late = (ns: number): number => Math.max(ns / 1e6 - TICK_MS, 0);
  return {
    p50: late(histogram.percentile(50)),
    p99: late(histogram.percentile(99)),
    p999: late(histogram.percentile(99.9)),
    max: late(histogram.max),
    gcMs,
    gcCount,
    gcMax,
    cpuMs: (used.user + used.system) / 1000,
  };
}
