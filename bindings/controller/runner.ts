/**
 * Runs the reconcile function for one request after another and applies its outcome to the queue,
 * the metrics, the log and the run history. controller-runtime:
 * pkg/internal/controller/controller.go, reconcileHandler.
 *
 * Invariants:
 * - Each call has exactly one outcome.
 * - A request is afterwards added again, forgotten, dropped by a terminal error, or dropped at the
 *   end of the controller.
 * - If anything else fails (the user's clock, rate limiter or logger), the request is not lost.
 */

import { CapstanError, hasCode } from '../base/errors.ts';
import { handleError } from '../base/handle-error.ts';
import { type Logger, silentLogger, withFields } from '../base/logger.ts';
import type { Request } from '../base/request.ts';
import { isThenable, onAbort } from '../base/wait.ts';
import { onWritten } from '../client/written.ts';
import type { AddOptions } from '../workqueue/index.ts';
import type { Causes, RunCauses } from './causes.ts';
import { HotLoops } from './hot-loops.ts';
import type { ResolvedSettings } from './options.ts';
import { requestText } from './own-requests.ts';
import {
  type CachedGet,
  isPanic,
  type Outcome,
  outcomeOf,
  outcomeOfError,
  type Reconcile,
  type ReconcileContext,
} from './reconcile.ts';
import type { RequestQueue } from './request-queue.ts';
import { newReconcileId, Run } from './run.ts';
import type { RunHistory } from './run-history.ts';
import type { Cause } from './source.ts';
import { traced } from './trace.ts';

/**
 * The delay of a request whose rate limiter threw, so that it is neither lost nor retried in a
 * tight loop.
 */
const LIMITER_FAILED_MS = 1000;

/** An error that ends the controller, because no worker can continue after it. */
export class Fatal {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }

  /** `error` as a Fatal if it means that the queue is unusable, or if it is one already. */
  static from(error: unknown): Fatal | undefined {
    if (error instanceof Fatal) return error;
    const isDead = hasCode(error, 'POISONED') || hasCode(error, 'DISPOSED');
    return isDead ? new Fatal(error) : undefined;
  }
}

export interface RunnerParts<T extends object> {
  readonly settings: ResolvedSettings;
  readonly reconcile: Reconcile<T>;
  readonly get: CachedGet<T>;
  readonly queue: RequestQueue;
  readonly causes: Causes;
  readonly history: RunHistory;
  /** Fires when the controller ends. It aborts the signals of all runs. */
  readonly stop: AbortSignal;
}

/**
 * Adds a request that must not be lost. If the queue fails too, the controller ends: a restart
 * lists the object again.
 */
export function addOrEnd(queue: RequestQueue, options: AddOptions, request: Request): void {
  try {
    queue.addWithOpts(options, request);
  } catch (error) {
    throw new Fatal(error);
  }
}

/** The outcomes that change the metrics and the queue. */
type CountedOutcome = Exclude<Outcome, { kind: 'aborted' }>;

const HOT_LOOP_ADVICE =
  'write only what has changed (createOrUpdate, a status without times), or filter the events ' +
  'of own writes (generationChangedPredicate)';

/** A running reconcile. */
class Call {
  readonly run: Run;
  readonly abort: AbortController;
  /** Its index in `#calls`. */
  index: number;

  constructor(run: Run, abort: AbortController, index: number) {
    this.run = run;
    this.abort = abort;
    this.index = index;
  }
}

export class ReconcileRunner<T extends object> {
  readonly #parts: RunnerParts<T>;
  readonly #settings: ResolvedSettings;
  readonly #queue: RequestQueue;
  readonly hotLoops: HotLoops;
  /** Unordered. */
  readonly #calls: Call[] = [];
  /** When the last run began. */
  startedAt = 0;

  constructor(parts: RunnerParts<T>) {
    this.#parts = parts;
    this.#settings = parts.settings;
    this.#queue = parts.queue;
    const { stop } = parts;
    onAbort(stop, () => {
      for (const { abort } of [...this.#calls]) abort.abort(stop.reason);
    });
    this.hotLoops = this.#newHotLoops();
    onAbort(
      stop,
      onWritten((written) => this.hotLoops.wrote(written)),
    );
  }

  /** The running reconciles. */
  running(): Run[] {
    return this.#calls.map(({ run }) => run);
  }

  /** Aborts runs whose requests this process no longer has; they do not count as failures. */
  abort(which: (request: Request) => boolean, reason: CapstanError): void {
    for (const { abort, run } of [...this.#calls]) if (which(run.request)) abort.abort(reason);
  }

  #newHotLoops(): HotLoops {
    const { clock, figures, groupKind, logOf, name } = this.#settings;
    const get = this.#parts.get as CachedGet<object>;
    return new HotLoops({
      clock,
      groupKind,
      running: () => this.running(),
      cached: (key, resource) => {
        try {
          return get(key, resource);
        } catch {
          return undefined; // the controller does not watch that resource
        }
      },
      onLoopWrite: () => {
        figures.hotLoopWrites++;
      },
      onLoop: ({ object, paths, writes }, request) => {
        const message =
          `Reconciles write ${object} again and again, each because of the previous write: ` +
          HOT_LOOP_ADVICE;
        if (logOf !== undefined) logOf(request).warn(message, { object, paths, writes });
        else {
          const detail = `${paths.join(', ')}, ${writes} writes`;
          const about = `${requestText(request)}: ${message} (${detail})`;
          handleError(new CapstanError('HOT_LOOP', about), `controller "${name}"`);
        }
      },
    });
  }

  /**
   * Reconciles one request and applies the outcome. Throws or rejects with an error that is not the
   * request's own; the request has then been added again, unless the error is a {@link Fatal}.
   *
   * @returns a promise only if the reconcile function does
   */
  reconcile(request: Request, priority: number, causes: RunCauses): Promise<void> | undefined {
    const { figures, clock } = this.#settings;
    figures.active++;
    let later: Promise<void> | undefined;
    try {
      const attempt = this.#queue.numRequeues(request) + 1;
      const now = clock.now();
      this.startedAt = now;
      const run = new Run(request, newReconcileId(), attempt, causes, now);
      const outcome = this.#call(run);
      if (outcome instanceof Promise) later = this.#endLater(run, outcome, priority);
      else this.#ended(run, outcome, priority);
    } catch (error) {
      throw this.#notReconciled(request, priority, error);
    } finally {
      if (later === undefined) figures.active--;
    }
    return later;
  }

  async #endLater(run: Run, outcome: Promise<Outcome>, priority: number): Promise<void> {
    try {
      this.#ended(run, await outcome, priority);
    } catch (error) {
      throw this.#notReconciled(run.request, priority, error);
    } finally {
      this.#settings.figures.active--;
    }
  }

  /** The error to throw, once the request has been added again. */
  #notReconciled(request: Request, priority: number, error: unknown): unknown {
    if (Fatal.from(error) === undefined)
      addOrEnd(this.#queue, { after: this.#settings.restartDelay, priority }, request);
    return error;
  }

  #ended(run: Run, outcome: Outcome, priority: number): void {
    const { clock, figures, recoverPanic } = this.#settings;
    const now = clock.now();
    run.end(outcome, now);
    this.#parts.history.add(run);
    if (outcome.kind === 'aborted') {
      this.#log(run)?.debug('Reconcile aborted by the end of the controller', {
        reconcileId: run.id,
        error: outcome.error,
      });
      return;
    }
    figures.observe(now - run.startedAt);
    if (outcome.kind === 'error' && isPanic(outcome.error)) {
      figures.panics++;
      if (!recoverPanic) throw new Fatal(outcome.error);
    }
    this.#settle(run, outcome, priority);
  }

  /** Throws, or rejects, only if the clock throws. */
  #call(run: Run): Outcome | Promise<Outcome> {
    const { reconciliationTimeout, tracer } = this.#settings;
    const abort = new AbortController();
    const call = new Call(run, abort, this.#calls.length);
    this.#calls.push(call);
    if (reconciliationTimeout > 0 || tracer !== undefined) return this.#callInTime(call);
    const outcome = this.#outcome(run, abort.signal);
    if (outcome instanceof Promise) return this.#removeAfter(call, outcome);
    this.#remove(call);
    return outcome;
  }

  /** With a time limit, or traced. */
  async #callInTime(call: Call): Promise<Outcome> {
    const { clock, figures, reconciliationTimeout, tracer, name } = this.#settings;
    const { run, abort } = call;
    const { signal } = abort;
    const onTimeout = (): void => {
      if (signal.aborted) return;
      figures.timeouts++;
      abort.abort(timeout(run.request, reconciliationTimeout));
    };
    let timer: unknown;
    try {
      if (reconciliationTimeout > 0) timer = clock.setTimer(onTimeout, reconciliationTimeout);
      return await (tracer === undefined
        ? this.#outcome(run, signal)
        : traced(tracer, name, run, async () => this.#outcome(run, signal)));
    } finally {
      if (timer !== undefined) clock.clearTimer(timer);
      this.#remove(call);
    }
  }

  async #removeAfter(call: Call, outcome: Promise<Outcome>): Promise<Outcome> {
    try {
      return await outcome;
    } finally {
      this.#remove(call);
    }
  }

  #remove({ index }: Call): void {
    const last = this.#calls.pop() as Call;
    if (last.index === index) return;
    this.#calls[index] = last;
    last.index = index;
  }

  /**
   * Returns a promise only if the reconcile function does, because an await costs 50 ns. Never
   * throws or rejects.
   */
  #outcome(run: Run, signal: AbortSignal): Outcome | Promise<Outcome> {
    const { logOf, wallNow: now } = this.#settings;
    const { reconcile, get } = this.#parts;
    const { request, id, attempt, causes, moreCauses } = run;
    try {
      // All are own properties, so that a context can be spread into another object.
      const context: ReconcileContext<T> = {
        signal,
        attempt,
        get,
        now,
        logger:
          logOf === undefined ? silentLogger : withFields(logOf(request), { reconcileId: id }),
        reconcileId: id,
        causes,
        moreCauses,
      };
      const result: unknown = reconcile(request, context);
      return isThenable(result) ? this.#settled(result, signal) : outcomeOf(result);
    } catch (error) {
      return outcomeOfError(error, this.#ending(signal));
    }
  }

  async #settled(result: PromiseLike<unknown>, signal: AbortSignal): Promise<Outcome> {
    try {
      return outcomeOf(await result);
    } catch (error) {
      return outcomeOfError(error, this.#ending(signal));
    }
  }

  /** The reason of the signal unless a timeout fired it: an end, a slot or a namespace. */
  #ending(signal: AbortSignal): unknown {
    const { stop } = this.#parts;
    if (hasCode(signal.reason, 'SHARD_NOT_OWNED') || hasCode(signal.reason, 'NAMESPACE_REMOVED'))
      return signal.reason;
    return stop.aborted && signal.reason === stop.reason ? stop.reason : undefined;
  }

  /** Applies every outcome except `aborted`. A request that comes again keeps its priority. */
  #settle(run: Run, outcome: CountedOutcome, priority: number): void {
    const { figures } = this.#settings;
    switch (outcome.kind) {
      case 'success':
        figures.success++;
        this.#forget(run);
        return;
      case 'requeueAfter':
        figures.requeueAfter++;
        this.#forget(run);
        this.#addAgain({ after: outcome.ms, priority: outcome.priority ?? priority }, run);
        return;
      case 'requeue':
        figures.requeue++;
        this.#addAgain({ rateLimited: true, priority: outcome.priority ?? priority }, run);
        return;
      case 'error':
        figures.errors++;
        try {
          this.#addAgain({ rateLimited: true, priority }, run);
        } finally {
          this.#report(run, outcome.error);
        }
        return;
      case 'terminal':
        figures.errors++;
        figures.terminal++;
        this.#report(run, outcome.error);
        return;
    }
  }

  #forget(run: Run): void {
    try {
      this.#queue.forget(run.request);
    } catch (error) {
      if (Fatal.from(error) !== undefined) throw error;
      this.#report(run, error);
    }
  }

  #addAgain(options: AddOptions, run: Run): void {
    if (this.#parts.stop.aborted) return;
    const { request } = run;
    try {
      this.#queue.addWithOpts(options, request);
    } catch (error) {
      this.#report(run, error);
      addOrEnd(this.#queue, { after: LIMITER_FAILED_MS, priority: options.priority ?? 0 }, request);
    }
    this.#parts.causes.add(request, this.#causeAfter(run));
  }

  #causeAfter({ outcome, attempt, endedAt: at, requeueAfterMs = 0 }: Run): Cause {
    const source = this.#settings.name;
    if (outcome === 'requeueAfter') return { kind: outcome, source, at, due: at + requeueAfterMs };
    return { kind: outcome === 'error' ? 'retry' : 'requeue', source, attempt: attempt + 1, at };
  }

  /**
   * Logs an error; without a logger, reports it to the error handler. Never throws, because loggers
   * here are guarded.
   */
  #report(run: Run, error: unknown): void {
    const { request, id: reconcileId, attempt } = run;
    const log = this.#log(run);
    const retryAfter = this.#queue.waitOf(request);
    if (log === undefined) {
      const what = `controller "${this.#settings.name}": reconcile of ${requestText(request)}`;
      const again = retryAfter === undefined ? '' : `, again in ${Math.round(retryAfter)} ms`;
      handleError(error, what, `, attempt ${attempt}${again}`);
    } else {
      const retry = retryAfter === undefined ? { attempt } : { attempt, retryAfter };
      log.error('Reconciler error', { reconcileId, error, ...retry });
    }
  }

  /** `undefined` if there is no logger. */
  #log({ request }: Run): Logger | undefined {
    return this.#settings.logOf?.(request);
  }
}

function timeout(request: Request, ms: number): CapstanError {
  return new CapstanError(
    'TIMEOUT',
    `the reconcile of ${requestText(request)} has not ended within ${ms} ms`,
  );
}
