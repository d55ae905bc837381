/**
 * The elector: candidates compete for one record, and its holder renews it. client-go:
 * tools/leaderelection/leaderelection.go.
 *
 * A candidate measures by its own monotonic clock how long ago it saw the record change. The times
 * in the record are never used, so the clocks of candidates need not agree.
 *
 * A term is: acquire → lead (renew, renew, …) → step down → release. Each await in this file is one
 * request, one wait, or the guarded work.
 */

import { CapstanError } from '../base/errors.ts';
import { handleError } from '../base/handle-error.ts';
import { requireSignalOptions } from '../base/names.ts';
import { abortable, sleep } from '../base/wait.ts';
import { isNotFound, isStatusError } from '../cache/rest/status-error.ts';
import { Deadline } from './deadline.ts';
import {
  type LeaderElectionRecord,
  type LockCall,
  NO_RECORD,
  RecordTimes,
  sameRecord,
} from './lock.ts';
import {
  type ElectionConfig,
  electionConfig,
  JITTER_FACTOR,
  type LeaderElectorOptions,
} from './options.ts';
import { OwnLease, Term } from './term.ts';

/**
 * How much longer than its timeout a call of a lock may take, in milliseconds. A lock that keeps
 * its timeout gives the better error.
 */
const SLACK_MS = 1000;

/**
 * One candidate of a leader election. client-go: LeaderElector.
 *
 * It is not fencing: `holdsLease()` says whether work may begin, but running work can outlive the
 * lease if the process is stalled, and a request that was sent in time can take effect late. If
 * that matters, protect the written objects too, for example with `metadata.resourceVersion`.
 *
 * Monotonic clocks stop while a machine is suspended (CLOCK_MONOTONIC on Linux, which Node, Deno
 * and Chromium use). A process that resumes may believe for the rest of its lease that it still
 * holds it. This concerns laptops and paused virtual machines.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const identity = crypto.randomUUID();
 * const elector = new LeaderElector({
 *   lock: new LeaseLock(transport, { namespace: 'default', name: 'web', identity }),
 *   releaseOnCancel: true,
 *   callbacks: {
 *     onStartedLeading: (lost) => work('all of it', lost),
 *     onStoppedLeading: () => console.log('somebody else leads'),
 *   },
 * });
 * await elector.run({ signal });
 */
export class LeaderElector {
  readonly #config: ElectionConfig;
  readonly #own: OwnLease;
  /** The last record that was read or written, and when. */
  #observed = NO_RECORD;
  #observedAt = Number.NEGATIVE_INFINITY;
  /** The last record that was read: client-go's observedRawRecord. */
  #read: LeaderElectionRecord | undefined;
  #reported = '';
  readonly #times: RecordTimes;
  #term: Term | undefined;
  #running = false;
  #hasEnded = false;
  #lastError: unknown;

  constructor(options: LeaderElectorOptions) {
    this.#config = electionConfig(options);
    this.#own = new OwnLease(this.#config.maxClockSkewRatio);
    this.#times = new RecordTimes(this.#config.wallNow);
    this.#config.metrics?.off(this.#config.name);
    this.#config.watchDog?.setLeaderElection(this);
  }

  /** The identity of this candidate. */
  get identity(): string {
    return this.#config.lock.identity;
  }

  /**
   * Waits for the lease, leads, and resolves when leading has ended or the signal has fired, after
   * `onStoppedLeading`. May be called again afterwards for another term. Rejects with CapstanError
   * ALREADY_STARTED while it runs.
   */
  async run(options: { signal?: AbortSignal | undefined } = {}): Promise<void> {
    requireSignalOptions(options, 'run()');
    if (this.#running)
      throw new CapstanError(
        'ALREADY_STARTED',
        `the election ${this.#config.name} runs already: call run() when it has ended`,
      );
    const signal = options.signal ?? new AbortController().signal;
    this.#running = true;
    if (this.#hasEnded) this.#config.metrics?.off(this.#config.name); // the metrics have dropped it
    try {
      if (await this.#acquire(signal)) await this.#lead(signal);
    } finally {
      this.#running = false;
      this.#hasEnded = true;
      this.#config.metrics?.ended?.(this.#config.name);
      this.#notify('onStoppedLeading', () => this.#config.callbacks.onStoppedLeading());
    }
  }

  /**
   * Whether the last seen record names this candidate. For logs only: it stays true when the lease
   * can no longer be renewed and after `run` has ended. Use `holdsLease` to decide whether work may
   * begin.
   */
  isLeader(): boolean {
    return this.#observed.holderIdentity === this.identity;
  }

  /** The last seen holder, or "". */
  getLeader(): string {
    return this.#observed.holderIdentity;
  }

  /**
   * Whether this process leads and its lease is valid now. The lease counts from before the last
   * successful renewal was sent, by the monotonic clock of this process, divided by
   * `maxClockSkewRatio`. It only reads the clock: a process that was stalled gets false at once,
   * before any timer has fired. Call it before each piece of work.
   */
  holdsLease(): boolean {
    return (
      this.#term?.signal.aborted === false &&
      this.isLeader() &&
      this.#own.holds(this.#config.clock.now())
    );
  }

  /**
   * Whether this process was the leader and must not write anything more, because its lease has
   * expired. It also ends the term and aborts the signal of `onStartedLeading`, so that a process
   * that was stalled need not wait for its timers. Call it before each write.
   *
   * It returns false before this process leads; after the signal of `run` has ended the term and
   * the guarded work is over; and always with `stepDown: 'deadline'`.
   */
  endIfLapsed(): boolean {
    return this.#term?.endIfLapsed() ?? false;
  }

  /**
   * Milliseconds until the lease expires unless it is renewed; negative after that. For this
   * process's own lease, until `holdsLease` becomes false; for another holder's, until it may be
   * taken. `undefined` if there is no holder. For logs and pages.
   */
  leaseValidMs(): number | undefined {
    const now = this.#config.clock.now();
    if (this.#term?.signal.aborted === false && this.isLeader()) return this.#own.until() - now;
    if (this.#observed.holderIdentity === '') return undefined;
    return this.#observedAt + this.#observed.leaseDurationSeconds * 1000 - now;
  }

  /**
   * A health check: throws CapstanError LEASE_EXPIRED if this process is the leader and has not
   * renewed for the lease duration plus `maxTolerableExpiredLease` milliseconds. See {@link
   * HealthzAdaptor}.
   */
  check(maxTolerableExpiredLease: number): void {
    const { clock, leaseDuration, name } = this.#config;
    if (!this.isLeader()) return;
    const age = clock.now() - this.#observedAt;
    if (age <= leaseDuration + maxTolerableExpiredLease) return;
    throw new CapstanError(
      'LEASE_EXPIRED',
      `failed election to renew leadership on lease ${name}: ` +
        `last renewed ${Math.round(age)} ms ago`,
      { cause: this.#lastError },
    );
  }

  /** Resolves to true when this candidate has the lease, to false when the signal fires first. */
  async #acquire(signal: AbortSignal): Promise<boolean> {
    const { clock, retryPeriod, random, logger, name } = this.#config;
    logger.info('attempting to acquire leader lease', { lease: name, identity: this.identity });
    while (!signal.aborted) {
      const acquired = await this.#tryAcquireOrRenew(signal);
      this.#reportTransition();
      if (acquired) return true;
      await sleep(clock, retryPeriod * (1 + JITTER_FACTOR * random()), signal);
    }
    return false;
  }

  async #lead(signal: AbortSignal): Promise<void> {
    const { clock, callbacks, stepDown, metrics, name, logger, releaseOnCancel } = this.#config;
    const term = new Term(clock, this.#own, { signal, endsWithLease: stepDown === 'lapse' });
    this.#term = term;
    this.#event('became leader');
    metrics?.on(name);
    logger.info('acquired leader lease', { lease: name, identity: this.identity });
    try {
      if (!term.signal.aborted)
        term.guard(() =>
          this.#notify('onStartedLeading', () => callbacks.onStartedLeading(term.signal)),
        );
      await this.#renew(term);
    } finally {
      // The work is told before the lease is released; client-go tells it afterwards.
      term.end();
      metrics?.off(name);
    }
    if (releaseOnCancel) await this.#release(term);
    this.#event('stopped leading');
  }

  async #renew(term: Term): Promise<void> {
    const { clock, retryPeriod } = this.#config;
    while (!term.signal.aborted) {
      const renewed = await this.#renewUntilDeadline(term);
      this.#reportTransition();
      if (!renewed) return;
      await sleep(clock, retryPeriod, term.signal);
    }
  }

  /**
   * Tries to renew until it succeeds. Returns false when the deadline has passed or the term has
   * ended. Attempts begin at multiples of the retry period.
   */
  async #renewUntilDeadline(term: Term): Promise<boolean> {
    const { clock, renewDeadline, retryPeriod, stepDown, logger, name } = this.#config;
    const start = clock.now();
    let tick = start + retryPeriod;
    const within = new Deadline(clock, renewDeadline, term.signal);
    try {
      for (;;) {
        if (await this.#tryAcquireOrRenew(within.signal)) return true;
        if (stepDown === 'lapse' && !this.isLeader()) return false;
        if (clock.now() < tick) await sleep(clock, tick - clock.now(), within.signal);
        if (within.signal.aborted) return false;
        // Of several ticks that a slow attempt has missed, one is made up for, as with Go's
        // tickers.
        tick =
          Math.max(tick, start + retryPeriod * Math.floor((clock.now() - start) / retryPeriod)) +
          retryPeriod;
      }
    } finally {
      within.end();
      if (within.passed())
        logger.error('failed to renew lease', { lease: name, error: this.#lastError });
    }
  }

  /**
   * One attempt. client-go: tryAcquireOrRenew.
   *
   * All writes of an attempt have the time at which it began, and the lease counts from then. A
   * write whose response was lost may have taken effect and been seen by others; a second write
   * with the same time is no change to them.
   */
  async #tryAcquireOrRenew(signal: AbortSignal): Promise<boolean> {
    const { clock, lock, leaseDuration, metrics, name } = this.#config;
    const now = clock.now();
    const time = this.#times.next();
    let mine: LeaderElectionRecord = {
      holderIdentity: this.identity,
      leaseDurationSeconds: Math.floor(leaseDuration / 1000),
      acquireTime: time,
      renewTime: time,
      leaderTransitions: 0,
    };

    // As the leader, expects that the record was not changed.
    if (this.isLeader() && this.#isObservedValid(now)) {
      const { acquireTime, leaderTransitions } = this.#observed;
      // Kept even if the record turns out to be deleted, because the term goes on.
      mine = { ...mine, acquireTime, leaderTransitions };
      if (await this.#write('update', mine, now, signal)) return true;
    }
    if (signal.aborted) return false;

    let found: LeaderElectionRecord;
    try {
      found = await this.#call(signal, (call) => lock.get(call));
    } catch (error) {
      if (isNotFound(error) && !signal.aborted) return this.#write('create', mine, now, signal);
      this.#failed('read the lease', error, signal);
      return false;
    }
    this.#readRecord(found);
    if (found.holderIdentity !== '' && !this.isLeader() && this.#isObservedValid(now)) return false;
    if (signal.aborted) return false;

    if (!this.isLeader()) {
      const leaderTransitions = found.leaderTransitions + 1;
      return this.#write('update', { ...mine, acquireTime: time, leaderTransitions }, now, signal);
    }
    metrics?.slowpathExercised(name);
    const { acquireTime, leaderTransitions } = found;
    return this.#write('update', { ...mine, acquireTime, leaderTransitions }, now, signal);
  }

  /**
   * Returns whether the record was written.
   *
   * @param since a time of the clock before any request with this record was sent
   */
  async #write(
    how: 'create' | 'update',
    record: LeaderElectionRecord,
    since: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { lock } = this.#config;
    try {
      await this.#call(signal, (call) => lock[how](record, call));
    } catch (error) {
      this.#failed(`${how} the lease`, error, signal);
      return false;
    }
    this.#own.renewed(since, record.leaseDurationSeconds * 1000);
    this.#observe(record);
    return true;
  }

  /**
   * Releases the lease after the guarded work has ended. A conflict (with a renewal that was in
   * progress at the end of the term) is retried at once, then after each retry period. It reads the
   * lease first and releases it only if this candidate holds it; client-go uses what it saw last
   * and may release the lease of a new holder.
   */
  async #release(term: Term): Promise<void> {
    const { clock, lock, renewDeadline, retryPeriod, logger, name } = this.#config;
    if (!(await term.workEnded(renewDeadline))) {
      logger.warn('the guarded work has not ended: the lease is left to expire', { lease: name });
      return;
    }
    this.#own.lost();
    const within = new Deadline(clock, renewDeadline);
    try {
      for (let tries = 0; !within.signal.aborted; tries++) {
        if (tries > 1) await sleep(clock, retryPeriod, within.signal);
        const found = await this.#call(within.signal, (call) => lock.get(call));
        this.#readRecord(found); // the lock compares with what was read last
        if (!this.isLeader()) return;
        const time = this.#times.next();
        const released = {
          ...NO_RECORD,
          leaseDurationSeconds: 1,
          acquireTime: time,
          renewTime: time,
          leaderTransitions: found.leaderTransitions,
        };
        try {
          await this.#call(within.signal, (call) => lock.update(released, call));
        } catch (error) {
          if (isStatusError(error) && error.status === 409) continue;
          throw error;
        }
        this.#observe(released);
        return;
      }
    } catch (error) {
      this.#failed('release the lease', error, within.signal);
    } finally {
      within.end();
    }
  }

  /**
   * Calls the lock with a timeout of its own, as client-go's lease clients have, so that one
   * request that hangs does not cost the lease. A lock that ignores both timeout and signal delays
   * the election by SLACK_MS; its result counts until then, even after the signal.
   */
  async #call<R>(signal: AbortSignal, ask: (call: LockCall) => Promise<R>): Promise<R> {
    const { clock, renewDeadline } = this.#config;
    const timeout = Math.max(renewDeadline / 2, 1000);
    const patience = new Deadline(clock, timeout + SLACK_MS);
    try {
      // In an async function, because a lock in plain JavaScript may return without a promise.
      return await abortable((async () => ask({ clock, signal, timeout }))(), patience.signal);
    } finally {
      patience.end();
    }
  }

  #readRecord(record: LeaderElectionRecord): void {
    const known = this.#read !== undefined && sameRecord(this.#read, record);
    this.#read = record;
    if (!known || !sameRecord(this.#observed, record)) this.#observe(record);
  }

  #observe(record: LeaderElectionRecord): void {
    this.#observed = record;
    this.#observedAt = this.#config.clock.now();
    if (!this.isLeader()) this.#own.lost();
  }

  /** Whether the holder of the last seen record must still be considered the leader. */
  #isObservedValid(now: number): boolean {
    return this.#observedAt + this.#observed.leaseDurationSeconds * 1000 > now;
  }

  #reportTransition(): void {
    const leader = this.getLeader();
    if (leader === this.#reported) return;
    this.#reported = leader;
    this.#notify('onNewLeader', () => this.#config.callbacks.onNewLeader?.(leader));
  }

  #event(what: string): void {
    const { recorder, lock } = this.#config;
    if (recorder === undefined) return;
    this.#notify('recorder', () =>
      recorder.eventf(
        lock.reference(),
        undefined,
        'Normal',
        'LeaderElection',
        'LeaderElection',
        '%s %s',
        this.identity,
        what,
      ),
    );
  }

  /** Errors after the abort are expected. */
  #failed(what: string, error: unknown, signal: AbortSignal): void {
    if (signal.aborted) return;
    this.#lastError = error;
    this.#config.logger.warn(`leader election could not ${what}`, {
      lease: this.#config.name,
      error,
    });
  }

  /** Calls user code. Resolves when it has ended; never rejects. */
  async #notify(what: string, call: () => unknown): Promise<void> {
    try {
      await call();
    } catch (error) {
      handleError(error, `leader election ${this.#config.name}: ${what}`);
    }
  }
}

/**
 * Makes an elector and runs it once. Resolves when leading has ended or the signal has fired. The
 * caller decides what then happens to the process; controllers usually exit and start again as
 * candidates. client-go: leaderelection.RunOrDie.
 *
 * Rejects with CapstanError INVALID_ARGUMENT for invalid options, where client-go panics.
 *
 * @example
 * const identity = crypto.randomUUID();
 * await runOrDie(
 *   {
 *     lock: new LeaseLock(transport, { namespace: 'default', name: 'web', identity }),
 *     callbacks: {
 *       onStartedLeading: (lost) => work('all of it', lost),
 *       onStoppedLeading: () => process.exit(1),
 *     },
 *   },
 *   { signal },
 * );
 */
export async function runOrDie(
  options: LeaderElectorOptions,
  run: { signal?: AbortSignal | undefined } = {},
): Promise<void> {
  await new LeaderElector(options).run(run);
}
