/**
 * Leader election: candidates compete for one record, and its holder renews it. Who holds it is
 * judged by when this process saw the record change, on its own monotonic clock; what the record
 * says of times is never believed, so that clocks may show anything. client-go:
 * tools/leaderelection/leaderelection.go.
 *
 * A term is: acquire → lead (renew, renew, …) → step down → release. Each await in here is one
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
 * How much later than it was to end a call of a lock is given up: one that keeps its timeout says
 * better what it met.
 */
const SLACK_MS = 1000;

/**
 * One candidate of an election.
 *
 * It is not fencing. `holdsLease()` says whether work may begin; what has begun can outlive the
 * lease when the process is stopped in the middle of it, and a request that was sent in time can be
 * carried out late. Where that matters, the objects that are written have to be guarded too, by
 * `metadata.resourceVersion` for example.
 *
 * Monotonic clocks stand still while a machine is suspended (CLOCK_MONOTONIC on Linux, which Node,
 * Deno and Chromium read): a process that is resumed after a lease ran out may believe for what was
 * left of it that it holds the lease. Servers are not suspended; laptops and paused virtual
 * machines are.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const elector = new LeaderElector({
 *   lock: new LeaseLock(transport, { namespace: 'default', name: 'web', identity: crypto.randomUUID() }),
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
  /** The record as it was last seen or written, and when that was. */
  #observed = NO_RECORD;
  #observedAt = Number.NEGATIVE_INFINITY;
  /**
   * The last record that was read, apart from those that were written: client-go's
   * observedRawRecord.
   */
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

  /** Who this candidate is. */
  get identity(): string {
    return this.#config.lock.identity;
  }

  /**
   * Waits for the lease, leads, and resolves when leading has ended or the signal has fired;
   * `onStoppedLeading` has been called then. It may be called again afterwards, for another term.
   * Rejects with CapstanError ALREADY_STARTED while it runs.
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
    if (this.#hasEnded) this.#config.metrics?.off(this.#config.name); // it has been forgotten
    try {
      if (await this.#acquire(signal)) await this.#lead(signal);
    } finally {
      this.#running = false;
      this.#hasEnded = true;
      this.#config.metrics?.ended?.(this.#config.name);
      this.#tell('onStoppedLeading', () => this.#config.callbacks.onStoppedLeading());
    }
  }

  /**
   * Whether the last record that was seen names this candidate. For people and logs: it stays true
   * when the lease can no longer be renewed, and after `run` has ended. Whether work may begin,
   * `holdsLease` says.
   */
  isLeader(): boolean {
    return this.#observed.holderIdentity === this.identity;
  }

  /** The holder that was last seen, or "". */
  getLeader(): string {
    return this.#observed.holderIdentity;
  }

  /**
   * Whether this process leads and its lease is valid at this moment, by its own monotonic clock,
   * counted from before the request of the last successful renewal was sent, with
   * `maxClockSkewRatio` to spare. It reads the clock and nothing else: a process that was stopped
   * gets false as soon as it runs again, before any timer has fired. Ask it before each piece of
   * work.
   */
  holdsLease(): boolean {
    return (
      this.#term?.signal.aborted === false &&
      this.isLeader() &&
      this.#own.holds(this.#config.clock.now())
    );
  }

  /**
   * Whether this process led, and must change nothing more, as its lease has run out by its own
   * monotonic clock. It ends the term by that, with the signal of `onStartedLeading`: a process
   * that was stopped need not wait for its timers. To be asked before each write. False before this
   * process leads, after the signal of `run` has ended a term and its guarded work is over, and
   * always with `stepDown: 'deadline'`.
   */
  endIfLapsed(): boolean {
    return this.#term?.endIfLapsed() ?? false;
  }

  /**
   * Milliseconds until the lease runs out unless it is renewed, negative once it has: where this
   * process leads, until `holdsLease` turns false; else until it may be taken from the holder that
   * was last seen. `undefined` where nobody holds it. For people and pages.
   */
  leaseValidMs(): number | undefined {
    const now = this.#config.clock.now();
    if (this.#term?.signal.aborted === false && this.isLeader()) return this.#own.until() - now;
    if (this.#observed.holderIdentity === '') return undefined;
    return this.#observedAt + this.#observed.leaseDurationSeconds * 1000 - now;
  }

  /**
   * Throws CapstanError LEASE_EXPIRED if this process believes to lead and has not renewed for the
   * lease duration and `maxTolerableExpiredLease` milliseconds more: something is stuck. For health
   * checks; see {@link HealthzAdaptor}.
   */
  check(maxTolerableExpiredLease: number): void {
    const { clock, leaseDuration, name } = this.#config;
    if (!this.isLeader()) return;
    const age = clock.now() - this.#observedAt;
    if (age <= leaseDuration + maxTolerableExpiredLease) return;
    throw new CapstanError(
      'LEASE_EXPIRED',
      `failed election to renew leadership on lease ${name}: last renewed ${Math.round(age)} ms ago`,
      { cause: this.#lastError },
    );
  }

  /** True as soon as the lease is ours, false when the signal fires before. */
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
          this.#tell('onStartedLeading', () => callbacks.onStartedLeading(term.signal)),
        );
      await this.#renew(term);
    } finally {
      // The work hears of it before the lease is given away; client-go tells it afterwards.
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
   * Tries until it succeeds; false when the deadline has passed or the term has ended. Tries begin
   * at multiples of the retry period.
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
        // Of the ticks that a slow try has missed one is made up for, as by Go's tickers.
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
   * One round. client-go: tryAcquireOrRenew. All its writes bear the time at which it began, and
   * count from then: one whose answer was lost may have been carried out and seen, and another of
   * the same time is no change to those who have seen it.
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

    // A leader expects that nobody has touched the record.
    if (this.isLeader() && this.#isObservedValid(now)) {
      const { acquireTime, leaderTransitions } = this.#observed;
      // also where it turns out to have been deleted: the term goes on
      mine = { ...mine, acquireTime, leaderTransitions };
      if (await this.#write('update', mine, now, signal)) return true;
    }
    if (signal.aborted) return false;

    let found: LeaderElectionRecord;
    try {
      found = await this.#ask(signal, (call) => lock.get(call));
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
   * Whether the record is now ours as written. @param since a moment before any request with this
   * record was sent
   */
  async #write(
    how: 'create' | 'update',
    record: LeaderElectionRecord,
    since: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { lock } = this.#config;
    try {
      await this.#ask(signal, (call) => lock[how](record, call));
    } catch (error) {
      this.#failed(`${how} the lease`, error, signal);
      return false;
    }
    this.#own.renewed(since, record.leaseDurationSeconds * 1000);
    this.#observe(record);
    return true;
  }

  /**
   * Gives the lease back once the guarded work has ended. A conflict (a renewal that was under way
   * when the term ended) is tried again at once, and then at each retry period. Only a lease that
   * the server says is ours: client-go goes by what it saw last, and can give away that of another
   * who took it meanwhile.
   */
  async #release(term: Term): Promise<void> {
    const { clock, lock, renewDeadline, retryPeriod, logger, name } = this.#config;
    if (!(await term.workEnded(renewDeadline))) {
      logger.warn('the work goes on, so that the lease is left to run out', { lease: name });
      return;
    }
    this.#own.lost();
    const within = new Deadline(clock, renewDeadline);
    try {
      for (let tries = 0; !within.signal.aborted; tries++) {
        if (tries > 1) await sleep(clock, retryPeriod, within.signal);
        const found = await this.#ask(within.signal, (call) => lock.get(call));
        this.#readRecord(found); // what the lock compares with is always what was seen last
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
          await this.#ask(within.signal, (call) => lock.update(released, call));
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
   * client-go's clients of leases have this timeout, so that one request that hangs does not cost
   * the lead. A lock that keeps neither the timeout nor the signal holds the election for little
   * longer; its answer counts until then, also after the signal.
   */
  async #ask<R>(signal: AbortSignal, ask: (call: LockCall) => Promise<R>): Promise<R> {
    const { clock, renewDeadline } = this.#config;
    const timeout = Math.max(renewDeadline / 2, 1000);
    const patience = new Deadline(clock, timeout + SLACK_MS);
    try {
      // Awaited within, as a lock of plain JavaScript may answer without a promise.
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

  /** Whether the one who is named in the record has to be taken for the leader still. */
  #isObservedValid(now: number): boolean {
    return this.#observedAt + this.#observed.leaseDurationSeconds * 1000 > now;
  }

  #reportTransition(): void {
    const leader = this.getLeader();
    if (leader === this.#reported) return;
    this.#reported = leader;
    this.#tell('onNewLeader', () => this.#config.callbacks.onNewLeader?.(leader));
  }

  #event(what: string): void {
    const { recorder, lock } = this.#config;
    if (recorder === undefined) return;
    this.#tell('recorder', () =>
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

  /** An error while the caller itself is ending is no failure of anything. */
  #failed(what: string, error: unknown, signal: AbortSignal): void {
    if (signal.aborted) return;
    this.#lastError = error;
    this.#config.logger.warn(`leader election could not ${what}`, {
      lease: this.#config.name,
      error,
    });
  }

  /** Calls what is a user's; resolves when it has ended, whatever became of it. */
  async #tell(what: string, call: () => unknown): Promise<void> {
    try {
      await call();
    } catch (error) {
      handleError(error, `leader election ${this.#config.name}: ${what}`);
    }
  }
}

/**
 * Makes an elector and runs it: resolves when leading has ended or the signal has fired. What
 * becomes of the process then is the caller's to say; controllers usually end it, and start anew as
 * candidates.
 *
 * Rejects with CapstanError INVALID_ARGUMENT for options that cannot work, where client-go panics.
 *
 * @example
 * await runOrDie(
 *   {
 *     lock: new LeaseLock(transport, { namespace: 'default', name: 'web', identity: crypto.randomUUID() }),
 *     callbacks: { onStartedLeading: (lost) => work('all of it', lost), onStoppedLeading: () => process.exit(1) },
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
