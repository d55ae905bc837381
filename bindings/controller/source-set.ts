/**
 * The sources of one controller: it starts them, waits until they have synced, and adds and removes
 * sources while the controller runs. controller-runtime: pkg/internal/controller/controller.go,
 * startEventSourcesAndQueueLocked and Watch.
 *
 * - A removed source can no longer add requests.
 * - Sources that were there at the start must start and sync within the timeout.
 * - Nothing waits for a source that is added later, but if it rejects, the controller ends.
 */

import { calls } from '../base/calls.ts';
import type { Clock } from '../base/clock.ts';
import { textOfError } from '../base/error-text.ts';
import { CapstanError, requireFunction, requireString } from '../base/errors.ts';
import { handleError } from '../base/handle-error.ts';
import type { Logger } from '../base/logger.ts';
import { requireMembers } from '../base/names.ts';
import type { Request } from '../base/request.ts';
import { abortable, onAbort, within } from '../base/wait.ts';
import type { AddOptions } from '../workqueue/index.ts';
import type { RequestCarrier } from './own-requests.ts';
import {
  type Cause,
  SOURCE_NAMES,
  type Source,
  type SourceQueue,
  type SourceStatus,
} from './source.ts';
import { isReplayable } from './sources/replay.ts';

/** A source with its place in a controller. */
export interface PlannedSource {
  readonly source: Source;
  /** `deployments.apps` if it watches a resource. Shown in messages. */
  readonly resource?: string;
  /** The cache has only those objects whose slots are here. */
  readonly isDivided?: boolean;
  /** Called once, when the source has synced. */
  readonly onSynced?: () => void;
  /** Wraps the queue that the source adds to. */
  readonly wrap?: (queue: SourceQueue, signal: AbortSignal) => SourceQueue;
}

export interface StartOptions {
  readonly controller: string;
  readonly queue: SourceQueue;
  /** Fires when the controller ends. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger | undefined;
  /** Undefined: the requests are ordinary ones. */
  readonly carrier: RequestCarrier<Request> | undefined;
  readonly timeoutMs: number;
  /** Called if a source that was added later fails to start. */
  readonly onFailure: (error: unknown) => void;
}

class SourceEntry implements SourceQueue {
  readonly plan: PlannedSource;
  readonly removed = new AbortController();
  #queue: SourceQueue | undefined;
  #carrier: RequestCarrier<Request> | undefined;
  #open = true;
  hasStarted = false;
  hasSynced = false;
  handled = 0;

  constructor(plan: PlannedSource) {
    this.plan = plan;
  }

  /** Called by the source. */
  addWithCause(options: AddOptions, request: Request, cause: Cause): void {
    if (!this.#open) return;
    this.handled++;
    const carried = this.#carrier === undefined ? request : this.#carrier.carry(request);
    this.#queue?.addWithCause(options, carried, cause);
  }

  /** Resolves when the source has synced. The signal only ends the wait. */
  async start({ queue, logger, carrier }: StartOptions, waiting: AbortSignal): Promise<void> {
    const { source, wrap } = this.plan;
    const { signal } = this.removed;
    this.#carrier = carrier;
    this.#queue = wrap === undefined ? queue : wrap(queue, signal);
    const ends = AbortSignal.any([signal, waiting]);
    await abortable(Promise.resolve(source.start({ queue: this, signal, logger })), ends);
    this.hasStarted = true;
    if (source.waitForSync !== undefined)
      await abortable(source.waitForSync({ signal: ends }), ends);
    this.hasSynced = true;
    if (!signal.aborted) this.plan.onSynced?.();
  }

  /** Handles the objects of slots that have opened. */
  opened(has: (request: Request) => boolean): void {
    const { source, isDivided = false } = this.plan;
    if (!this.#open || !isReplayable(source)) return;
    const queue: SourceQueue = {
      addWithCause: (options, request, cause) => {
        if (has(this.#carrier?.carry(request) ?? request))
          this.addWithCause(options, request, cause);
      },
    };
    source.replay({ queue, owner: this, has: isDivided ? has : () => true });
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

  /** The source with its failure, or with what it is waiting for. */
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

  /** If `status` throws, the caller must still get the error that it is describing. */
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
  readonly #entries = new Set<SourceEntry>();
  /** Removed sources with calls that are still running. */
  readonly #leaving = new Set<SourceEntry>();
  #started: StartOptions | undefined;

  /**
   * Adds a source. The returned function removes it: its signal fires, and it can no longer add
   * requests.
   */
  add(plan: PlannedSource): () => void {
    requireSource('source', plan.source);
    const entry = new SourceEntry(plan);
    this.#entries.add(entry);
    if (this.#started !== undefined) this.#startLate(entry, this.#started);
    return () => {
      this.#entries.delete(entry);
      this.#leaving.add(entry);
      void entry.idle().then(() => this.#leaving.delete(entry));
      entry.end(new CapstanError('STOPPED', `the source "${plan.source.name}" was removed`));
    };
  }

  /** Whether a handler of one of the sources is on the call stack. */
  isCalling(): boolean {
    return calls.some(
      (one) => this.#entries.has(one as SourceEntry) || this.#leaving.has(one as SourceEntry),
    );
  }

  /**
   * Resolves when no handler is running or when the time is over, with the names of the sources
   * whose handlers still run.
   */
  async idle(clock: Clock, ms: number): Promise<string[]> {
    const late = new Set([...this.#entries, ...this.#leaving]);
    const all = [...late].map((entry) => entry.idle().then(() => late.delete(entry)));
    await within(clock, ms, Promise.all(all));
    return [...late].map(({ plan }) => plan.source.name);
  }

  /** Starts all sources. Resolves to false if the controller was stopped meanwhile. */
  async start(options: StartOptions): Promise<boolean> {
    this.#started = options;
    const { signal, clock, timeoutMs, controller } = options;
    onAbort(signal, () => {
      for (const entry of this.#entries) entry.end(signal.reason);
    });

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

  /** Handles the objects of slots that have opened. Those of a source that starts come anyway. */
  opened(has: (request: Request) => boolean): void {
    for (const entry of this.#entries) entry.opened(has);
  }

  report(): readonly (SourceStatus & { readonly name: string })[] {
    return [...this.#entries].map((entry) => entry.report());
  }

  async #start(entry: SourceEntry, options: StartOptions, waiting: AbortSignal): Promise<void> {
    try {
      await entry.start(options, waiting);
    } catch (cause) {
      if (waiting.aborted) throw cause;
      if (entry.removed.signal.aborted) return; // it was removed meanwhile
      const failed = entry.hasStarted ? 'sync' : 'start';
      throw new CapstanError(
        'SOURCE_FAILED',
        `the controller "${options.controller}" has a source that could not ${failed}: ` +
          entry.describe(textOfError(cause)),
        { cause },
      );
    }
  }

  #startLate(entry: SourceEntry, options: StartOptions): void {
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
      `the controller "${controller}" waited ${ms} ms for its sources, and these have not ` +
        `synced: ${missing.join('; ')}. Is the resource served, and may this user list and watch ` +
        'it? Errors of the watches went to the logger, or to setErrorHandler.',
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
