/**
 * Measures the run from outside of the controller: the queue by its metrics, each reconcile by a
 * wrapper around the reconcile function. The wrapper also injects failures.
 */
import type { ControllerOptions } from 'capstan/controller';
import { type MetricsProvider, requestKey } from 'capstan/workqueue';
import type { WebsiteObject } from '../website/resources.ts';
import { Histogram } from './histogram.ts';
import type { Random } from './random.ts';

type Reconcile = ControllerOptions<WebsiteObject>['reconcile'];

/** The share of reconciles with an injected failure. */
export const FAILURE_RATE = 0.03;

/** Latencies of a part of the run. */
export class Latencies {
  /** From the queue's add to the start of the reconcile, in milliseconds. */
  readonly eventToReconcile = new Histogram();
  /** From sending a write to the API server to the start of the first reconcile that saw it. */
  readonly writeToReconcile = new Histogram();
}

export class InjectedFailure extends Error {
  override readonly name = 'InjectedFailure';
}

export class Measurements {
  /** The queue's metrics depth, adds and retries, as in client-go. */
  depth = 0;
  adds = 0;
  retries = 0;
  reconciles = 0;
  running = 0;
  /** How often a reconcile of a key began while another one of it was running. Must stay 0. */
  overlapped = 0;
  madeToFail = 0;
  failed = 0;
  /** From the queue's add to the start of the reconcile, in milliseconds. */
  readonly eventToReconcile = new Histogram();
  /** The same since the last read. */
  recent = new Histogram();
  /** From sending a write to the API server to the start of the first reconcile that saw it. */
  readonly writeToReconcile = new Histogram();
  /** The churn before the first fault, and everything from the first fault on. */
  readonly withoutFaults = new Latencies();
  readonly withFaults = new Latencies();
  /** Where the latencies count too; undefined while the Websites are created. */
  part: Latencies | undefined;
  readonly #keys = new Set<string>();
  /** The newest generation that a reconcile has seen and the time when it did, by uid. */
  readonly #seen = new Map<string, { generation: number; at: number }>();
  readonly #written = new Map<string, { generation: number; at: number }>();
  readonly #random: Random;
  #failing = false;

  constructor(random: Random) {
    this.#random = random;
  }

  takeRecent(): Histogram {
    const { recent } = this;
    this.recent = new Histogram();
    return recent;
  }

  startFailing(): void {
    this.#failing = true;
  }

  stopFailing(): void {
    this.#failing = false;
  }

  /** Records that the server accepted a write sent at `at` as this generation. */
  written(uid: string, generation: number, at: number): void {
    const seen = this.#seen.get(uid);
    if (seen !== undefined && seen.generation >= generation)
      this.#sawWrite(Math.max(seen.at - at, 0));
    else this.#written.set(uid, { generation, at });
  }

  /**
   * Wraps a reconcile function: counts and measures each call, and fails some, half of them before
   * the call and half after it.
   */
  wrap(reconcile: Reconcile): Reconcile {
    return async (request, context) => {
      const key = requestKey(request);
      if (this.#keys.has(key)) this.overlapped++;
      this.#keys.add(key);
      this.reconciles++;
      this.running++;
      this.#saw(context.get(request));
      const fails = this.#failing && this.#random.chance(FAILURE_RATE);
      const early = fails && this.#random.chance(0.5);
      try {
        if (early) throw new InjectedFailure(`${key} is made to fail before its reconcile`);
        const result = await reconcile(request, context);
        if (fails) throw new InjectedFailure(`${key} is made to fail after its reconcile`);
        return result;
      } catch (error) {
        if (error instanceof InjectedFailure) this.madeToFail++;
        else this.failed++;
        throw error;
      } finally {
        this.running--;
        this.#keys.delete(key);
      }
    };
  }

  provider(): MetricsProvider {
    const ignored = {
      inc: () => undefined,
      dec: () => undefined,
      set: () => undefined,
      observe: () => undefined,
    };
    return {
      newDepthMetric: () => ({ inc: () => void this.depth++, dec: () => void this.depth-- }),
      newAddsMetric: () => ({ inc: () => void this.adds++ }),
      newRetriesMetric: () => ({ inc: () => void this.retries++ }),
      newLatencyMetric: () => ({
        observe: (seconds) => {
          this.eventToReconcile.record(seconds * 1000);
          this.recent.record(seconds * 1000);
          this.part?.eventToReconcile.record(seconds * 1000);
        },
      }),
      newWorkDurationMetric: () => ignored,
      newUnfinishedWorkSecondsMetric: () => ignored,
      newLongestRunningProcessorSecondsMetric: () => ignored,
    };
  }

  #sawWrite(ms: number): void {
    this.writeToReconcile.record(ms);
    this.part?.writeToReconcile.record(ms);
  }

  #saw(website: WebsiteObject | undefined): void {
    const { uid, generation = 0 } = website?.metadata ?? {};
    if (uid === undefined) return;
    const at = performance.now();
    const written = this.#written.get(uid);
    if (written !== undefined && generation >= written.generation) {
      this.#sawWrite(at - written.at);
      this.#written.delete(uid);
    }
    if (generation > (this.#seen.get(uid)?.generation ?? 0))
      this.#seen.set(uid, { generation, at });
  }
}
