/**
 * A MetricsProvider for priority queues, which records its calls. A request for a depth without
 * priorities is an error.
 */
import { RecordingProvider } from '../helpers/workqueue/recording-metrics.ts';

export class PriorityProvider extends RecordingProvider {
  readonly depth = new Map<number, number>();
  lowest = 0;

  override newDepthMetric(): never {
    throw new Error('expected newDepthMetricWithPriority to be called instead');
  }

  newDepthMetricWithPriority(name: string) {
    this.names.add(name);
    const change = (priority: number, by: number): void => {
      const depth = (this.depth.get(priority) ?? 0) + by;
      this.depth.set(priority, depth);
      this.lowest = Math.min(this.lowest, depth);
    };
    return {
      inc: (priority: number) => change(priority, 1),
      dec: (priority: number) => change(priority, -1),
    };
  }
}
