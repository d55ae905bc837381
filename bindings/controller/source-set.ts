/**
 * The sources of one controller: started together, waited for together, added and taken away while
 * it runs. controller-runtime: pkg/internal/controller/controller.go,
 * startEventSourcesAndQueueLocked and Watch.
 *
 * A source that was taken away adds nothing any more, whatever it still does. One that was there at
 * the start must have begun and synced within the time; one that is added later is waited for by
 * nobody, but what it rejects with ends the controller all the same.
 */

import { calls } from '../base/calls.ts';
import type { Clock } from '../base/clock.ts';
import { textOfError } from '../base/error-text.ts';
import { CapstanError, requireFunction, requireString } from '../base/errors.ts';
import { handleError } from '../base/handle-error.ts';
import type { Logger } from '../base/logger.ts';
import { requireMembers } from '../base/names.ts';
import type { Request } from '../base/request.ts';
import { abortable, within } from '../base/wait.ts';
import type { AddOptions } from '../workqueue/index.ts';
import {
  type Cause,
  SOURCE_NAMES,
  type Source,
  type SourceQueue,
  type SourceStatus,
} from './source.ts';

/** A source, and what it is called in messages beside its name. */
export interface PlannedSource {
  readonly source: Source;
  /** `deployments.apps`, where it watches a resource. */
  readonly resource?: string;
  /** What its requests go through on their way to the queue. */
  readonly through?: (queue: SourceQueue, signal: AbortSignal) => SourceQueue;
}

export interface StartOptions {
  readonly controller: string;
  readonly queue: SourceQueue;
  /** Fires when the controller ends. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger | undefined;
  readonly timeoutMs: number;
  /** A source that was added later could not start. */
  readonly onFailure: (error: unknown) => void;
}

class Entry implements SourceQueue {
  readonly plan: PlannedSource;
  readonly removed = new AbortController();
  #queue: SourceQueue | undefined;
  #open = true;
  hasStarted = false;
  hasSynced = false;
  handled = 0;

  constructor(plan: PlannedSource) {
    this.plan = plan;
  }

  addWithCause(options: AddOptions, request: Request, cause: Cause): void {
    if (!this.#open) return;
    this.handled++;
    this.#queue?.addWithCause(options, request, cause);
  }

  /** Resolves when it has synced; the signal ends only the waiting. */
  async start({ queue, logger }: StartOptions, waiting: AbortSignal): Promise<void> {
    const { source, through } = this.plan;
    const { signal } = this.removed;
    this.#queue = through === undefined ? queue : through(queue, signal);
    const ends = AbortSignal.any([signal, waiting]);
    await abortable(Promise.resolve(source.start({ queue: this, signal, logger })), ends);
    this.hasStarted = true;
    if (source.waitForSync !== undefined)
      await abortable(source.waitForSync({ signal: ends }), ends);
    this.hasSynced = true;
  }

  /** Never rejects. */
  async idle(): Promise<void> {
    const { source } = this.plan;
    try {
      await source.idle?.();
    } catch (error) {
      handleError(error, `the calls of the source "${source.name}"`);
    }
  }

  end(reason: unknown): void {
    this.#open = false;
    this.removed.abort(reason);
  }

  /** With what it failed with, or else with what it is waiting for. */
  describe(failure?: string): string {
    const { source, resource } = this.plan;
    const problem = failure ?? this.#status()?.problem;
    return [
      source.name,
      resource === undefined ? '' : ` (${resource})`,
      this.hasStarted || failure !== undefined
        ? ''
        : ', which has not started: its start() must not wait',
      problem === undefined ? '' : `: ${problem}`,
    ].join('');
  }

  /** A source that cannot say how far it is must not hide the error that it is asked for. */
  #status(): SourceStatus | undefined {
    const { source } = this.plan;
    try {
      return source.status?.();
    } catch (error) {
      handleError(error, `the status of the source "${source.name}"`);
      return undefined;
    }
  }

  report(): SourceStatus & { name: string } {
    const { source } = this.plan;
    const events = { handled: this.handled, filtered: 0, failed: 0 };
    return { name: source.name, ...(this.#status() ?? { synced: this.hasSynced, events }) };
  }
}

export class SourceSet {
  readonly #entries = new Set<Entry>();
  /** Those that were taken away, while calls of them are under way. */
  readonly #leaving = new Set<Entry>();
  #started: StartOptions | undefined;

  /**
   * The function it returns takes the source away: its signal fires, and it adds nothing any more.
   */
  add(plan: PlannedSource): () => void {
    requireSource('source', plan.source);
    const entry = new Entry(plan);
    this.#entries.add(entry);
    if (this.#started !== undefined) this.#startLate(entry, this.#started);
    return () => {
      this.#entries.delete(entry);
      this.#leaving.add(entry);
      void entry.idle().then(() => this.#leaving.delete(entry));
      entry.end(new CapstanError('STOPPED', `the source "${plan.source.name}" was removed`));
    };
  }

  /** Whether a handler of one of them is being called at this moment. */
  isCalling(): boolean {
    return calls.some((one) => this.#entries.has(one as Entry) || this.#leaving.has(one as Entry));
  }

  /**
   * After the end: resolves when no call of their handlers is under way, or when the time is over,
   * with the names of those that have some then.
   */
  async idle(clock: Clock, ms: number): Promise<string[]> {
    const late = new Set([...this.#entries, ...this.#leaving]);
    const all = [...late].map((entry) => entry.idle().then(() => late.delete(entry)));
    await within(clock, ms, Promise.all(all));
    return [...late].map(({ plan }) => plan.source.name);
  }

  /** Starts them all. False: the controller ended meanwhile. */
  async start(options: StartOptions): Promise<boolean> {
    this.#started = options;
    const { signal, clock, timeoutMs, controller } = options;
    const endAll = (): void => {
      for (const entry of this.#entries) entry.end(signal.reason);
    };
    if (signal.aborted) endAll();
    else signal.addEventListener('abort', endAll, { once: true });

    const expired = new AbortController();
    const timer = clock.setTimer(() => expired.abort(), timeoutMs);
    const waiting = AbortSignal.any([signal, expired.signal]);
    const starts = [...this.#entries].map((entry) => this.#start(entry, options, waiting));
    const all = Promise.all(starts);
    try {
      await abortable(all, waiting);
      return !signal.aborted;
    } catch (error) {
      all.catch(() => undefined);
      if (signal.aborted) return false;
      throw expired.signal.aborted ? this.#timeout(controller, timeoutMs) : error;
    } finally {
      clock.clearTimer(timer);
    }
  }

  report(): readonly (SourceStatus & { readonly name: string })[] {
    return [...this.#entries].map((entry) => entry.report());
  }

  async #start(entry: Entry, options: StartOptions, waiting: AbortSignal): Promise<void> {
    try {
      await entry.start(options, waiting);
    } catch (cause) {
      if (waiting.aborted) throw cause;
      if (entry.removed.signal.aborted) return; // taken away meanwhile: nobody waits for it
      throw new CapstanError(
        'SOURCE_FAILED',
        `the controller "${options.controller}" has a source that could not ${entry.hasStarted ? 'sync' : 'start'}: ${entry.describe(textOfError(cause))}`,
        { cause },
      );
    }
  }

  #startLate(entry: Entry, options: StartOptions): void {
    if (options.signal.aborted) {
      entry.end(options.signal.reason);
      return;
    }
    this.#start(entry, options, options.signal).catch((error) => {
      if (!options.signal.aborted) options.onFailure(error);
    });
  }

  #timeout(controller: string, ms: number): CapstanError {
    const missing = [...this.#entries]
      .filter((entry) => !entry.hasSynced)
      .map((entry) => entry.describe());
    return new CapstanError(
      'CACHE_SYNC_TIMEOUT',
      `the controller "${controller}" waited ${ms} ms for its sources, and these have not synced: ${missing.join('; ')}. ` +
        'Is the resource served, and may this user list and watch it? Errors of the watches went to the logger, or to setErrorHandler.',
    );
  }
}

/** Throws CapstanError INVALID_ARGUMENT. */
export function requireSource(name: string, source: Source): void {
  requireMembers(name, source, 'member of a source', SOURCE_NAMES, true);
  requireFunction(`${name}.start`, source.start);
  if (source.waitForSync !== undefined) requireFunction(`${name}.waitForSync`, source.waitForSync);
  requireString(`${name}.name`, source.name);
}
