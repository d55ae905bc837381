/** Delays of the event loop and time in collections over a stretch of time. */
import { monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';

export interface LoopFigures {
  /** Milliseconds that a timer of 1 ms came late. */
  p50: number;
  p99: number;
  p999: number;
  max: number;
  /**
   * Milliseconds in which the thread stood still for a collection, all, and how many there were.
   */
  gcMs: number;
  gcCount: number;
  gcMax: number;
  /** Milliseconds of CPU of the whole process, the collector's threads among them. */
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
