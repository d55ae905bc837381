/**
 * A small manager: it keeps the runnables that are added, starts them when the test says so, and
 * has a lease that the test controls.
 */
import { newSharedInformerFactory } from 'capstan/cache';
import type { Client } from 'capstan/client';
import {
  type Collector,
  type ControllerDefaults,
  type LogFields,
  type Logger,
  type Manager,
  type Runnable,
  silentLogger,
  type Tracer,
} from 'capstan/controller';
import { FakeClock, type MetricsProvider } from 'capstan/workqueue';
import { onTestFinished } from 'vitest';
import { FakeCluster } from './fake-cluster.ts';

const unused = (): never => {
  throw new Error('no client in this test');
};
const subresource = { get: unused, create: unused, update: unused, patch: unused, apply: unused };
const noClient: Client = {
  ...{ get: unused, list: unused, create: unused, update: unused, patch: unused, apply: unused },
  ...{
    delete: unused,
    deleteAllOf: unused,
    status: () => subresource,
    subResource: () => subresource,
  },
};

export interface FakeManagerOptions {
  controllerDefaults?: ControllerDefaults;
  logger?: Logger;
  tracer?: Tracer;
  queueMetrics?: MetricsProvider;
  client?: Client;
}

/** Its caches and the runnables that it has started end with the test. */
export class FakeManager implements Manager {
  readonly transport = new FakeCluster();
  readonly clock = new FakeClock();
  readonly cache = newSharedInformerFactory(this.transport, { clock: this.clock });
  readonly client: Client;
  readonly logger: Logger;
  readonly tracer: Tracer | undefined;
  readonly controllerDefaults: ControllerDefaults;
  readonly queueMetrics: MetricsProvider | undefined;
  readonly runnables: Runnable[] = [];
  readonly collectors = new Set<Collector>();
  /** What the started runnables rejected with. */
  readonly errors: unknown[] = [];
  holds = true;
  readonly #end = new AbortController();

  constructor(options: FakeManagerOptions = {}) {
    this.client = options.client ?? noClient;
    this.logger = options.logger ?? silentLogger;
    this.tracer = options.tracer;
    this.controllerDefaults = options.controllerDefaults ?? {};
    this.queueMetrics = options.queueMetrics;
    onTestFinished(async () => {
      this.stop();
      await Promise.all(this.ended);
      await this.cache.shutdown();
    });
  }

  readonly ended: Promise<void>[] = [];

  add(runnable: Runnable): void {
    this.runnables.push(runnable);
  }

  addCollector(collector: Collector): void {
    this.collectors.add(collector);
  }

  elected(): Promise<void> {
    return Promise.resolve();
  }

  holdsLease(): boolean {
    return this.holds;
  }

  /** Starts the runnables and lets pending promises settle. */
  async start(): Promise<void> {
    for (const runnable of this.runnables)
      this.ended.push(
        runnable
          .start({ signal: this.#end.signal })
          .catch((error: unknown) => void this.errors.push(error)),
      );
    await this.clock.settle();
  }

  async warmup(): Promise<void> {
    await Promise.all(
      this.runnables.map((runnable) => runnable.warmup?.({ signal: this.#end.signal })),
    );
  }

  stop(): void {
    this.#end.abort();
  }
}

/** A logger that records its calls. */
export class RecordingLogger implements Logger {
  readonly lines: { level: string; message: string; fields: LogFields | undefined }[] = [];

  debug(message: string, fields?: LogFields): void {
    this.lines.push({ level: 'debug', message, fields });
  }

  info(message: string, fields?: LogFields): void {
    this.lines.push({ level: 'info', message, fields });
  }

  warn(message: string, fields?: LogFields): void {
    this.lines.push({ level: 'warn', message, fields });
  }

  error(message: string, fields?: LogFields): void {
    this.lines.push({ level: 'error', message, fields });
  }
}
