/** A MetricsProvider as a user writes one: it records each call. */
import type { MetricsProvider } from 'capstan/workqueue';

export class RecordingProvider implements MetricsProvider {
  readonly values = {
    depth: 0,
    adds: 0,
    latency: [] as number[],
    workDuration: [] as number[],
    unfinished: undefined as number | undefined,
    longest: undefined as number | undefined,
    ticks: 0,
    retries: 0,
  };
  readonly names = new Set<string>();
  lowestDepth = 0;

  newDepthMetric(name: string) {
    this.names.add(name);
    return {
      inc: () => void this.values.depth++,
      dec: () => {
        this.values.depth--;
        this.lowestDepth = Math.min(this.lowestDepth, this.values.depth);
      },
    };
  }

  newAddsMetric(name: string) {
    this.names.add(name);
    return { inc: () => void this.values.adds++ };
  }

  newLatencyMetric(name: string) {
    this.names.add(name);
    return { observe: (seconds: number) => void this.values.latency.push(seconds) };
  }

  newWorkDurationMetric(name: string) {
    this.names.add(name);
    return { observe: (seconds: number) => void this.values.workDuration.push(seconds) };
  }

  newUnfinishedWorkSecondsMetric(name: string) {
    this.names.add(name);
    return {
      set: (seconds: number) => {
        this.values.unfinished = seconds;
        this.values.ticks++;
      },
    };
  }

  newLongestRunningProcessorSecondsMetric(name: string) {
    this.names.add(name);
    return {
      set: (seconds: number) => {
        this.values.longest = seconds;
      },
    };
  }

  newRetriesMetric(name: string) {
    this.names.add(name);
    return { inc: () => void this.values.retries++ };
  }
}
