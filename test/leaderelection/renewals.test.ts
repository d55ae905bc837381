/**
 * Renewals step by step: when they are attempted, what an end during one skips, and the state of
 * the lease meanwhile.
 */
import { type LogFields, silentLogger } from 'capstan/controller';
import { LeaderElector, type LeaderElectorOptions, type LeaseLock } from 'capstan/leaderelection';
import { FakeClock } from 'capstan/workqueue';
import { describe, expect, it, onTestFinished } from 'vitest';
import { setErrorHandler } from '../../bindings/base/handle-error.ts';
import { NO_RECORD } from '../../bindings/leaderelection/lock.ts';
import { failure, silence } from '../helpers/leaderelection/lease-server.ts';
import { StoppableClock } from '../helpers/leaderelection/stoppable-clock.ts';
import { Candidate } from './candidate.ts';

const other = (leaseDurationSeconds = 15) => ({
  holderIdentity: 'other',
  leaseDurationSeconds,
  leaseTransitions: 9,
});
const brokenPut = () => failure(500, 'InternalError');

/** What the candidate's logger got at one level. */
function said(level: 'warn' | 'error') {
  const texts: string[] = [];
  const logger = {
    ...silentLogger,
    [level]: (text: string, _fields?: LogFields) => void texts.push(text),
  };
  return { texts, logger };
}

describe('tries to renew', () => {
  it('that fail at once are a retry period apart', async () => {
    const candidate = new Candidate();
    const times: number[] = [];
    candidate.transport.intercept = ({ method }, number) => {
      if (number <= 3) return undefined;
      if (method === 'PUT') times.push(candidate.clock.now());
      return brokenPut();
    };
    await candidate.run(12_000);
    expect(times).toEqual([2000, 4000, 6000, 8000, 10_000]);
  });

  it('that take longer than two periods are followed by one at once', async () => {
    const candidate = new Candidate();
    const times: number[] = [];
    candidate.transport.intercept = async ({ method }, number) => {
      if (number <= 3) return undefined;
      if (method === 'PUT') times.push(candidate.clock.now());
      if (number === 4)
        await new Promise<void>((resolve) => candidate.clock.setTimer(resolve, 4500));
      return brokenPut();
    };
    await candidate.run(12_000);
    expect(times).toEqual([2000, 6500, 8000, 10_000]);
  });

  it('end at the deadline, also one in progress, and only that is logged as failed', async () => {
    const { texts, logger } = said('error');
    const candidate = new Candidate({ logger });
    candidate.transport.intercept = (request, number) => {
      if (number <= 3) return undefined;
      return candidate.clock.now() < 10_000 ? brokenPut() : silence(request);
    };
    await candidate.run(11_999);
    expect([candidate.ended, texts]).toEqual([false, []]);
    await candidate.run(1);
    expect([candidate.ended, texts]).toEqual([true, ['failed to renew lease']]);
  });
});

it("another's lease is taken at the moment of its expiry", async () => {
  const candidate = new Candidate();
  candidate.server.put(other(4));
  await candidate.run(3999);
  expect(candidate.holder()).toBe('other');
  await candidate.run(1);
  expect(candidate.holder()).toBe('baz');
  await candidate.stop();
});

describe('the health check', () => {
  it('counts from the last renewal, and passes at the bound', async () => {
    const candidate = new Candidate();
    await candidate.run(100_000);
    candidate.clock.step(15_000 + 100);
    candidate.elector.check(100);
    candidate.clock.step(1);
    expect(() => candidate.elector.check(100)).toThrow('last renewed 15101 ms ago');
    await candidate.stop();
  });
});

describe('leaseValidMs', () => {
  it('is the time until the lease may be taken if another leads', async () => {
    const candidate = new Candidate();
    await candidate.run(1000);
    candidate.server.put(other(20));
    await candidate.run(2000);
    expect([candidate.leading?.aborted, candidate.elector.leaseValidMs()]).toEqual([false, 19_000]);
    await candidate.stop();
    const ended = new Candidate();
    await ended.run(1000);
    await ended.stop();
    expect([ended.elector.isLeader(), ended.elector.leaseValidMs()]).toEqual([true, 14_000]);
  });
});

describe('endIfLapsed', () => {
  const stopped = async (stepDown: 'lapse' | 'deadline') => {
    const clock = new StoppableClock();
    const candidate = new Candidate({ clock, stepDown });
    const before = candidate.elector.endIfLapsed();
    await candidate.run();
    clock.stopFor(9999);
    expect([before, candidate.elector.endIfLapsed(), candidate.leading?.aborted]).toEqual([
      false,
      false,
      false,
    ]);
    clock.stopFor(1);
    return candidate;
  };

  it('ends the term of a process that was stalled for too long, before any timer', async () => {
    const candidate = await stopped('lapse');
    expect([candidate.elector.endIfLapsed(), candidate.leading?.aborted]).toEqual([true, true]);
    await candidate.stop();
  });

  it('ends nothing with stepDown: deadline', async () => {
    const candidate = await stopped('deadline');
    expect([candidate.elector.endIfLapsed(), candidate.leading?.aborted]).toEqual([false, false]);
    await candidate.stop();
  });

  it('is true once another holder was seen, and false after the term', async () => {
    const candidate = new Candidate({ stepDown: 'lapse' });
    await candidate.run(1000);
    candidate.server.put(other());
    await candidate.run(1000);
    expect([candidate.ended, candidate.elector.endIfLapsed()]).toEqual([true, true]);
    const told = new Candidate({ stepDown: 'lapse' });
    await told.run();
    await told.stop();
    await told.run(20_000);
    expect(told.elector.endIfLapsed()).toBe(false);
  });
});

describe('an election that is stopped while its lock responds', () => {
  /**
   * A candidate on a lock that records its calls; `during` is the call in which the run is ended.
   */
  const ending = (options: Partial<LeaderElectorOptions> = {}) => {
    const requested: string[] = [];
    const events: string[] = [];
    const received: string[] = [];
    const state = { cancel: new AbortController(), during: '', fails: false };
    const answer = (what: string) => async () => {
      requested.push(what);
      if (what !== state.during) return { ...NO_RECORD };
      state.cancel.abort();
      if (state.fails) throw new Error('the lock is away');
      return { ...NO_RECORD };
    };
    const lock = {
      ...{ identity: 'me', get: answer('get'), create: answer('create'), update: answer('update') },
      ...{ describe: () => 'x', reference: () => ({}) },
    };
    const elector = new LeaderElector({
      lock: lock as unknown as LeaseLock,
      clock: new FakeClock(),
      recorder: { eventf: (_regarding, _related, ...rest) => events.push(String(rest.at(-1))) },
      callbacks: {
        onStartedLeading: () => void received.push('started'),
        onStoppedLeading: () => void received.push('stopped'),
      },
      ...options,
    });
    const run = async () => elector.run({ signal: state.cancel.signal });
    return { asked: requested, events, told: received, state, run };
  };

  it('writes nothing after the read, and does not lead', async () => {
    const { asked, events, told, state, run } = ending();
    state.during = 'get';
    await run();
    expect([asked, events, told]).toEqual([['get'], [], ['stopped']]);
  });

  it('starts no work on a lease that it took meanwhile', async () => {
    const { asked, told, state, run } = ending();
    state.during = 'update';
    await run();
    expect([asked, told]).toEqual([['get', 'update'], ['stopped']]);
  });

  it('reads nothing after an aborted write, and logs no failure', async () => {
    const { texts, logger } = said('warn');
    const { asked, events, state, run } = ending({ logger });
    state.during = 'update';
    await run();
    asked.length = events.length = 0;
    Object.assign(state, { cancel: new AbortController(), fails: true });
    await run();
    expect([asked, events, texts]).toEqual([['update'], [], []]);
  });

  it('works without onNewLeader', async () => {
    const reported: unknown[] = [];
    const previous = setErrorHandler((error) => reported.push(error));
    onTestFinished(() => void setErrorHandler(previous));
    const { state, run } = ending();
    state.during = 'update';
    await run();
    expect(reported).toEqual([]);
  });
});
