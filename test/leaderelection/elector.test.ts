/** Terms of an elector: their begin and end, what holdsLease returns, and the callbacks. */
import { getEventListeners } from 'node:events';
import { TransportError, type TransportRequest } from 'capstan/cache';
import { LeaderElector, LeaseLock, runOrDie } from 'capstan/leaderelection';
import { type Clock, FakeClock } from 'capstan/workqueue';
import { describe, expect, it } from 'vitest';
import { macrotask } from '../../bindings/base/clock.ts';
import { sleep } from '../../bindings/base/wait.ts';
import { NO_RECORD } from '../../bindings/leaderelection/lock.ts';
import {
  failure,
  LeaseServer,
  LeaseTransport,
  silence,
} from '../helpers/leaderelection/lease-server.ts';
import { StoppableClock } from '../helpers/leaderelection/stoppable-clock.ts';
import { Random, testSeed } from '../helpers/random.ts';
import { collectErrors } from '../helpers/reported-errors.ts';
import { Candidate } from './candidate.ts';

const other = (second: number) => ({
  holderIdentity: 'other',
  leaseDurationSeconds: 15,
  leaseTransitions: 9,
  renewTime: `2026-01-01T00:00:${String(second).padStart(2, '0')}.000000Z`,
});

const reported = collectErrors();

describe('holdsLease', () => {
  it('is false before a term, true within it, and false after it', async () => {
    const candidate = new Candidate();
    const { elector, server } = candidate;
    server.put({ ...other(0), leaseDurationSeconds: 3 });
    await candidate.run(2000);
    expect([elector.isLeader(), elector.holdsLease()]).toEqual([false, false]);
    await candidate.run(2000);
    expect([elector.isLeader(), elector.holdsLease()]).toEqual([true, true]);
    await candidate.stop();
    expect([elector.isLeader(), elector.holdsLease(), candidate.ended]).toEqual([
      true,
      false,
      true,
    ]);
  });

  it('is true when the work starts, and false when its signal fires', async () => {
    const seen: boolean[] = [];
    const candidate: Candidate = new Candidate({
      onStartedLeading: (signal) => {
        seen.push(candidate.elector.holdsLease());
        signal.addEventListener('abort', () => seen.push(candidate.elector.holdsLease()));
      },
    });
    await candidate.run();
    await candidate.stop();
    expect(seen).toEqual([true, false]);
  });

  it('counts from before the request was sent, not from the response', async () => {
    const candidate = new Candidate();
    candidate.transport.intercept = async (_request, number) => {
      if (number === 2)
        await new Promise<void>((resolve) => candidate.clock.setTimer(resolve, 4000));
      return number > 2 ? failure(500, 'InternalError') : undefined;
    };
    await candidate.run(4000);
    expect(candidate.told).toContain('4000 started');
    // The lease of 15 s divided by the clock skew ratio 1.5: 10 s from time 0, when the request was
    // sent.
    await candidate.run(5999);
    expect([candidate.clock.now(), candidate.elector.holdsLease()]).toEqual([9999, true]);
    await candidate.run(1);
    expect([
      candidate.clock.now(),
      candidate.elector.holdsLease(),
      candidate.leading?.aborted,
    ]).toEqual([10_000, false, false]);
    await candidate.stop();
  });

  it('ends earlier by as much as the clocks may differ', async () => {
    const candidate = new Candidate({ maxClockSkewRatio: 3 });
    candidate.transport.intercept = (_request, number) =>
      number > 3 ? failure(500, 'InternalError') : undefined;
    await candidate.run(4999);
    expect(candidate.elector.holdsLease()).toBe(true);
    await candidate.run(1);
    expect(candidate.elector.holdsLease()).toBe(false);
    await candidate.stop();
  });

  // A process that is stalled (SIGSTOP, a long garbage collection) continues where it was: timers
  // fire later.
  it('is false as soon as a process continues after a long stall', async () => {
    const clock = new StoppableClock();
    const candidate = stoppable(clock);
    await candidate.run();
    clock.stopFor(9999);
    expect(candidate.elector.holdsLease()).toBe(true);
    clock.stopFor(1);
    expect([candidate.elector.holdsLease(), candidate.elector.isLeader()]).toEqual([false, true]);
    await candidate.run(2000); // nobody has taken it: renewed in the same term
    expect([candidate.elector.holdsLease(), candidate.told]).toEqual([
      true,
      ['0 baz leads', '0 started'],
    ]);
    await candidate.stop();
  });

  // The server renewed the lease, the process stalled, another took the lease, and then the old
  // response is read.
  it('does not become true by a response that was old when it was read', async () => {
    const clock = new StoppableClock();
    const candidate = stoppable(clock);
    await candidate.run();
    let answer = (): void => undefined;
    candidate.transport.intercept = async (request, number) => {
      if (number !== 4) return undefined;
      const done = candidate.server.answer(request);
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      return done;
    };
    await candidate.run(2000);
    clock.stopFor(20_000);
    candidate.server.put(other(1));
    answer();
    for (let i = 0; i < 20; i++) {
      await Promise.resolve();
      expect(candidate.elector.holdsLease()).toBe(false);
    }
    await candidate.run(100_000);
    expect([candidate.ended, candidate.elector.getLeader()]).toEqual([true, 'other']);
  });

  it('is false as soon as another holder was seen, although the term goes on', async () => {
    const candidate = new Candidate();
    await candidate.run(1000);
    candidate.server.put(other(1));
    await candidate.run(1000);
    expect([candidate.elector.holdsLease(), candidate.leading?.aborted]).toEqual([false, false]);
    await candidate.run(10_000);
    expect(candidate.told).toEqual([
      '0 baz leads',
      '0 started',
      '12000 other leads',
      '12000 stopped',
    ]);
  });

  it('does not depend on the time of day', async () => {
    let wall = 0;
    const candidate = new Candidate({ wallNow: () => wall });
    await candidate.run();
    for (const jump of [1e12, -5e11, 86_400_000]) {
      wall += jump;
      expect(candidate.elector.holdsLease()).toBe(true);
      await candidate.run(2000);
    }
    expect(candidate.told).toEqual(['0 baz leads', '0 started']);
    await candidate.stop();
  });

  // A renewal was applied and its response lost; the same attempt wrote again with the same time. A
  // candidate that had seen the first saw no change in the second and counted from the first, while
  // the leader counted from the second: the simulation found two holders.
  it('counts from the start of the attempt, because others do not see a retry', async () => {
    const candidate = new Candidate();
    candidate.transport.intercept = async (request, number) => {
      if (number === 4) {
        candidate.server.answer(request);
        return silence(request);
      }
      return number > 6 ? failure(500, 'InternalError') : undefined;
    };
    await candidate.run(2000);
    const seen = candidate.server.lease?.spec.renewTime;
    await candidate.run(5000);
    expect([candidate.transport.methods.slice(3), candidate.server.lease?.spec.renewTime]).toEqual([
      ['PUT', 'GET', 'PUT'],
      seen,
    ]);
    await candidate.run(4999);
    expect([candidate.clock.now(), candidate.elector.holdsLease()]).toEqual([11_999, true]);
    await candidate.run(1);
    expect(candidate.elector.holdsLease()).toBe(false);
    await candidate.stop();
  });

  it('is true as long as renewals succeed, even if the time of day stands still', async () => {
    const candidate = new Candidate({ wallNow: () => 0 });
    const times = new Set<string | undefined>();
    for (let i = 0; i < 30; i++) {
      await candidate.run(2000);
      times.add(candidate.server.lease?.spec.renewTime);
      expect(candidate.elector.holdsLease()).toBe(true);
    }
    expect(times.size).toBe(30);
    await candidate.stop();
  });

  it('survives a renewal whose response was lost, counted from the next one', async () => {
    const candidate = new Candidate();
    candidate.transport.intercept = (request, number) => {
      if (number !== 4) return undefined;
      candidate.server.answer(request);
      throw new TransportError('reset', 'connection reset');
    };
    await candidate.run(2000);
    // The write is not simply repeated: the lease is read first.
    expect(candidate.transport.methods.slice(3)).toEqual(['PUT', 'GET', 'PUT']);
    expect(candidate.elector.holdsLease()).toBe(true);
    await candidate.stop();
  });
});

describe('leaseValidMs', () => {
  it("shows how long the lease is valid: the own one, another's, or none", async () => {
    const candidate = new Candidate();
    const { elector, clock } = candidate;
    expect(elector.leaseValidMs()).toBeUndefined();
    candidate.server.put({ ...other(0), leaseDurationSeconds: 3 });
    await candidate.run(1000);
    expect([elector.getLeader(), elector.leaseValidMs()]).toEqual(['other', 2000]);
    await candidate.run(3000);
    expect([elector.getLeader(), elector.leaseValidMs()]).toEqual(['baz', 10_000]);
    candidate.transport.intercept = () => failure(500, 'InternalError');
    await candidate.run(11_000);
    expect([clock.now(), elector.leaseValidMs(), elector.holdsLease()]).toEqual([
      15_000,
      -1000,
      false,
    ]);
    await candidate.stop();
  });
});

describe('a term', () => {
  it('with stepDown: lapse ends its work when the lease expires', async () => {
    const candidate = new Candidate({ stepDown: 'lapse' });
    candidate.transport.intercept = (_request, number) =>
      number > 3 ? failure(500, 'InternalError') : undefined;
    await candidate.run(9999);
    expect(candidate.leading?.aborted).toBe(false);
    await candidate.run(1);
    expect([candidate.leading?.aborted, candidate.told.at(-1)]).toEqual([true, '10000 stopped']);
    expect(candidate.clock.timers()).toBe(0);
  });

  it('with stepDown: lapse ends as soon as another holder is seen', async () => {
    const candidate = new Candidate({ stepDown: 'lapse' });
    await candidate.run(1000);
    candidate.server.put(other(1));
    await candidate.run(1000);
    expect(candidate.told).toEqual([
      '0 baz leads',
      '0 started',
      '2000 other leads',
      '2000 stopped',
    ]);
  });

  it('with stepDown: lapse lasts as long as renewals succeed', async () => {
    const candidate = new Candidate({ stepDown: 'lapse' });
    await candidate.run(3_600_000);
    expect([candidate.told, candidate.elector.holdsLease()]).toEqual([
      ['0 baz leads', '0 started'],
      true,
    ]);
    await candidate.stop();
    expect(candidate.clock.timers()).toBe(0);
  });

  it('with stepDown: lapse ends when a process continues after a long stall', async () => {
    const clock = new StoppableClock();
    const candidate = stoppable(clock, { stepDown: 'lapse' });
    await candidate.run();
    candidate.server.put(other(1));
    clock.stopFor(20_000);
    await candidate.run(0);
    expect(candidate.ended).toBe(true);
    expect(candidate.holder()).toBe('other');
  });

  it('ends its work before it releases the lease', async () => {
    let finish = (): void => undefined;
    const candidate = new Candidate({
      releaseOnCancel: true,
      onStartedLeading: () => new Promise<void>((resolve) => (finish = resolve)),
    });
    await candidate.run();
    await candidate.stop();
    await candidate.run(3000);
    expect([candidate.leading?.aborted, candidate.holder(), candidate.ended]).toEqual([
      true,
      'baz',
      false,
    ]);
    finish();
    await candidate.run();
    expect([candidate.holder(), candidate.ended, candidate.clock.timers()]).toEqual(['', true, 0]);
  });

  it('leaves the lease to expire if the work does not end within the renew deadline', async () => {
    const candidate = new Candidate({
      releaseOnCancel: true,
      onStartedLeading: () => new Promise<void>(() => {}),
    });
    await candidate.run();
    await candidate.stop();
    await candidate.run(10_000);
    expect([candidate.holder(), candidate.ended, candidate.clock.timers()]).toEqual([
      'baz',
      true,
      0,
    ]);
  });

  // client-go goes by the holder that it saw last: a leader that was stalled and is then cancelled
  // releases another's lease.
  it('does not release a lease that another has taken unnoticed', async () => {
    const candidate = new Candidate({ releaseOnCancel: true });
    await candidate.run(1000);
    candidate.server.put(other(1));
    await candidate.stop();
    expect([candidate.holder(), candidate.ended, candidate.transport.methods.at(-1)]).toEqual([
      'other',
      true,
      'GET',
    ]);
  });

  // The release read another's lease and left it alone. The lock then had that version, while the
  // elector still considered itself the holder: in its next run it wrote without reading and took
  // the lease. The simulation found two holders.
  it('uses what a release has read when another term begins', async () => {
    const candidate = new Candidate({ releaseOnCancel: true });
    await candidate.run(1000);
    candidate.server.put(other(1));
    await candidate.stop();
    const again = new AbortController();
    const running = candidate.elector.run({ signal: again.signal });
    await candidate.clock.run(4000);
    expect([
      candidate.holder(),
      candidate.elector.holdsLease(),
      candidate.elector.getLeader(),
    ]).toEqual(['other', false, 'other']);
    again.abort();
    await running;
  });

  it('releases the lease after it was not renewed in time, if it still holds it', async () => {
    const candidate = new Candidate({ releaseOnCancel: true });
    candidate.transport.intercept = ({ method }, number) =>
      number > 3 && candidate.clock.now() < 12_000
        ? failure(method === 'GET' ? 500 : 503, 'InternalError')
        : undefined;
    await candidate.run(12_000);
    expect([candidate.ended, candidate.holder(), candidate.told.at(-1)]).toEqual([
      true,
      '',
      '12000 stopped',
    ]);
  });

  it('may follow another of the same elector, but not run at the same time', async () => {
    const candidate = new Candidate();
    await candidate.run();
    await expect(candidate.elector.run()).rejects.toMatchObject({ code: 'ALREADY_STARTED' });
    await candidate.stop();
    const again = new AbortController();
    const running = candidate.elector.run({ signal: again.signal });
    await candidate.clock.settle();
    expect([candidate.told, candidate.elector.holdsLease()]).toEqual([
      ['0 baz leads', '0 started', '0 stopped', '0 started'],
      true,
    ]);
    again.abort();
    await running;
  });

  it('does not begin if the signal has fired, and calls onStoppedLeading', async () => {
    const candidate = new Candidate();
    candidate.cancel.abort();
    await candidate.run();
    expect([candidate.told, candidate.transport.methods, candidate.ended]).toEqual([
      ['0 stopped'],
      [],
      true,
    ]);
  });

  it('starts from the current record, even if that is an old one again', async () => {
    // etcd was restored from a backup: the record is the one that was read before the lease was
    // taken.
    const candidate = new Candidate();
    const before = { ...other(0), leaseDurationSeconds: 3 };
    candidate.server.put(before);
    await candidate.run(4000);
    expect(candidate.elector.isLeader()).toBe(true);
    candidate.server.put(before);
    await candidate.run(2000);
    expect([
      candidate.elector.isLeader(),
      candidate.elector.holdsLease(),
      candidate.holder(),
    ]).toEqual([false, false, 'other']);
    await candidate.stop();
  });

  it('takes no lease from a leader that renews twice within a second', async () => {
    const candidate = new Candidate();
    for (let ms = 0; ms < 60_000; ms += 500) {
      candidate.server.put({
        ...other(0),
        leaseDurationSeconds: 2,
        renewTime: `2026-01-01T00:00:00.${100 + ms / 500}000Z`,
      });
      await candidate.run(500);
    }
    expect(candidate.transport.methods).not.toContain('PUT');
    await candidate.stop();
  });
});

describe('a run that is stopped at any moment', () => {
  const seed = testSeed();

  it(`leaves no timer, no listener and no request (CAPSTAN_SEED=${seed})`, async () => {
    const random = new Random(seed);
    const server = new LeaseServer();
    const clock = new FakeClock();
    for (let i = 0; i < 1000; i++) {
      const options = {
        releaseOnCancel: random.chance(0.5),
        stepDown: random.pick(['deadline', 'lapse'] as const),
      };
      const candidate = new Candidate({ server, clock, lock: { identity: `c${i}` }, ...options });
      const open = new Set<TransportRequest>();
      candidate.transport.intercept = async (request) => {
        open.add(request);
        try {
          if (random.chance(0.1)) return await silence(request);
          if (random.chance(0.3))
            await sleep(clock, random.next() * 3000, request.signal ?? candidate.cancel.signal);
          return random.chance(0.2) ? failure(random.pick([409, 500]), 'Conflict') : undefined;
        } finally {
          open.delete(request);
        }
      };
      const running = candidate.elector.run({ signal: candidate.cancel.signal });
      for (let turn = random.int(40); turn > 0; turn--) {
        await macrotask();
        if (random.chance(0.3)) clock.step(random.next() * 3000);
      }
      candidate.cancel.abort();
      for (let left = true; left; ) {
        left = await Promise.race([running.then(() => false), macrotask().then(() => true)]);
        // a release waits for responses and for its deadline
        if (left && random.chance(0.1)) clock.step(500);
      }
      await macrotask(); // so that requests see that they were aborted
      expect([
        i,
        clock.timers(),
        open.size,
        getEventListeners(candidate.cancel.signal, 'abort').length,
      ]).toEqual([i, 0, 0, 0]);
      if (candidate.leading !== undefined) expect(candidate.leading.aborted).toBe(true);
      expect(candidate.elector.holdsLease()).toBe(false);
    }
  });
});

describe('requests', () => {
  it('that hang time out early enough for another attempt', async () => {
    const candidate = new Candidate();
    candidate.transport.intercept = (request, number) =>
      number === 4 ? silence(request) : undefined;
    await candidate.run(6999);
    expect(candidate.transport.methods.length).toBe(4);
    await candidate.run(1);
    expect(candidate.transport.methods.slice(3)).toEqual(['PUT', 'GET', 'PUT']);
    expect(candidate.elector.holdsLease()).toBe(true);
    expect(candidate.transport.requests[3]?.query).toEqual({ timeout: '5000ms' });
    await candidate.stop();
    expect(candidate.clock.timers()).toBe(0);
  });

  it('that hang do not keep a leader from stopping at its deadline', async () => {
    const candidate = new Candidate();
    candidate.transport.intercept = (request, number) =>
      number > 3 ? silence(request) : undefined;
    await candidate.run(12_000);
    expect(candidate.told.at(-1)).toBe('12000 stopped');
  });

  it('are repeated after Retry-After, both reads and writes', async () => {
    const candidate = new Candidate();
    candidate.transport.intercept = (_request, number) =>
      number === 1 || number === 3
        ? failure(429, 'TooManyRequests', { 'retry-after': '1' })
        : undefined;
    await candidate.run(999);
    expect(candidate.transport.methods).toEqual(['GET']);
    await candidate.run(1001);
    expect(candidate.transport.methods).toEqual(['GET', 'GET', 'POST', 'POST', 'PUT']);
    await candidate.stop();
  });

  it('are read again after a reset, but not written', async () => {
    const candidate = new Candidate();
    candidate.transport.intercept = (_request, number) => {
      if (number === 1 || number === 3) throw new TransportError('reset', 'connection reset');
      return undefined;
    };
    await candidate.run(1000);
    expect(candidate.transport.methods).toEqual(['GET', 'GET', 'POST']);
    await candidate.run(2000); // the next attempt begins with a read
    expect(candidate.transport.methods.slice(3)).toEqual(['GET', 'POST', 'PUT']);
    await candidate.stop();
  });

  it.each(['[1]', 'no JSON', '{"kind":"Lease"}'])(
    'are not successful with %s for an answer',
    async (body) => {
      const candidate = new Candidate();
      candidate.transport.intercept = (_request, number) =>
        number === 1 ? { status: 200, body } : undefined;
      await candidate.run();
      expect([candidate.elector.isLeader(), candidate.transport.methods]).toEqual([false, ['GET']]);
      await candidate.run(2000);
      expect(candidate.elector.isLeader()).toBe(true);
      await candidate.stop();
    },
  );

  it('send the field manager if it is set, and escape names', async () => {
    const candidate = new Candidate({
      lock: { fieldOwner: 'web', namespace: 'a b', name: 'c d' },
    });
    await candidate.run();
    const [get, post, put] = candidate.transport.requests;
    expect([get?.path, get?.query?.fieldManager]).toEqual([
      '/apis/coordination.k8s.io/v1/namespaces/a%20b/leases/c%20d',
      undefined,
    ]);
    expect([post?.query?.fieldManager, put?.query?.fieldManager]).toEqual(['web', 'web']);
    await candidate.stop();
  });

  it('while another leads are 1 to 2.2 retry periods apart, at random', async () => {
    const times: number[] = [];
    const numbers = [0, 0.5, 0.999];
    const candidate = new Candidate({ random: () => numbers.shift() ?? 0 });
    candidate.server.put(other(0));
    candidate.transport.intercept = () => {
      times.push(candidate.clock.now());
      return undefined;
    };
    await candidate.run(10_000);
    expect(times.slice(0, 4).map(Math.round)).toEqual([0, 2000, 5200, 9598]);
    await candidate.stop();
  });

  it('to renew begin at multiples of the retry period; a missed one follows', async () => {
    const times: number[] = [];
    const candidate = new Candidate();
    candidate.transport.intercept = async ({ method }, number) => {
      if (number <= 3) return undefined;
      if (method === 'PUT') times.push(candidate.clock.now());
      if (number === 4)
        await new Promise<void>((resolve) => candidate.clock.setTimer(resolve, 2500));
      return failure(500, 'InternalError');
    };
    await candidate.run(11_000);
    // Begun at 2000: 4000 is missed and made up for at 4500, then the multiples go on.
    expect(times).toEqual([2000, 4500, 6000, 8000, 10_000]);
    await candidate.stop();
  });
});

describe('callbacks', () => {
  it('that throw or reject are reported, and change nothing', async () => {
    const candidate = new Candidate({
      name: 'web',
      onNewLeader: () => {
        throw new Error('new');
      },
      onStartedLeading: async () => {
        throw new Error('started');
      },
    });
    await candidate.run(2000);
    expect(candidate.elector.holdsLease()).toBe(true);
    await candidate.stop();
    expect(reported.map(({ error, what }) => `${what}: ${error}`)).toEqual([
      'leader election web: onNewLeader: Error: new',
      'leader election web: onStartedLeading: Error: started',
    ]);
  });

  it('are all optional but two', () => {
    const lock = new LeaseLock(new LeaseTransport(new LeaseServer()), {
      namespace: 'ns',
      name: 'l',
      identity: 'me',
    });
    const callbacks = { onStartedLeading: () => undefined, onStoppedLeading: () => undefined };
    expect(new LeaderElector({ lock, callbacks }).getLeader()).toBe('');
    for (const missing of ['onStartedLeading', 'onStoppedLeading']) {
      expect(
        () => new LeaderElector({ lock, callbacks: { ...callbacks, [missing]: undefined } }),
      ).toThrow(`"callbacks.${missing}" expected a function`);
    }
  });
});

describe('options', () => {
  it.each([
    [
      { leaseDuration: 10_000 },
      'leaseDuration (10000 ms) must be greater than renewDeadline (10000 ms)',
    ],
    [{ leaseDuration: 10_999 }, 'a Lease has whole seconds, so that it would have 10000 ms'],
    [
      { renewDeadline: 2400 },
      'renewDeadline (2400 ms) must be greater than 1.2 times retryPeriod (2000 ms)',
    ],
    [{ leaseDuration: 0 }, '"leaseDuration" expected milliseconds > 0, got 0'],
    [{ renewDeadline: Number.NaN }, '"renewDeadline" expected milliseconds > 0, got NaN'],
    [
      { retryPeriod: Number.POSITIVE_INFINITY },
      '"retryPeriod" expected milliseconds > 0, got Infinity',
    ],
    [{ maxClockSkewRatio: 0.9 }, '"maxClockSkewRatio" expected a number >= 1'],
    [{ maxClockSkewRatio: 7 }, 'a lease of 15000 ms is valid for 2142 ms'],
  ])('%j cannot work, and the message says why', (options, message) => {
    expect(() => new Candidate(options)).toThrow(message);
    expect(() => new Candidate(options)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
  });

  // The name ".." addressed the leases of the namespace instead of one.
  it.each(['namespace', 'name'])(
    'of a lock: a %s that would leave its place in the path is refused',
    (what) => {
      for (const wrong of ['', '..', 'a/b', '\ud800']) {
        const lease = { namespace: 'ns', name: 'l', identity: 'me', [what]: wrong };
        expect(() => new LeaseLock(new LeaseTransport(new LeaseServer()), lease)).toThrow(
          expect.objectContaining({
            code: 'INVALID_ARGUMENT',
            message: expect.stringContaining(`"${what}" expected a name`),
          }),
        );
      }
    },
  );

  it('rejects the run if it is started at once', async () => {
    const lock = new LeaseLock(new LeaseTransport(new LeaseServer()), {
      namespace: 'ns',
      name: 'l',
      identity: 'me',
    });
    const callbacks = { onStartedLeading: () => undefined, onStoppedLeading: () => undefined };
    await expect(runOrDie({ lock, callbacks, leaseDuration: 1 })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    const signal = AbortSignal.abort();
    await expect(runOrDie({ lock, callbacks }, { signal })).resolves.toBeUndefined();
  });
});

function stoppable(clock: StoppableClock, options: { stepDown?: 'lapse' } = {}): Candidate {
  const typed: Clock & FakeClock = clock;
  return new Candidate({ clock: typed, ...options });
}

describe('a lock that does not answer', () => {
  const lease = (silent: readonly ('get' | 'create' | 'update')[]) => {
    const clock = new FakeClock();
    const record = { ...NO_RECORD };
    const answer =
      <R>(how: (typeof silent)[number], value: R) =>
      () =>
        silent.includes(how) ? new Promise<R>(() => undefined) : Promise.resolve(value);
    const received: string[] = [];
    const elector = new LeaderElector({
      lock: {
        identity: 'me',
        get: answer('get', record),
        create: answer('create', undefined),
        update: answer('update', undefined),
        describe: () => 'ns/lock',
        reference: () => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'lock' } }),
      },
      clock,
      releaseOnCancel: true,
      callbacks: {
        onStartedLeading: () => void received.push('started'),
        onStoppedLeading: () => void received.push('stopped'),
      },
    });
    return { clock, elector, told: received };
  };

  // An election waited for its lock for ever, and so did a manager that was stopping.
  it.each([
    ['is read', ['get'], ['stopped']],
    ['is taken', ['update'], ['stopped']],
  ] as const)(
    'holds no election that is told to end while it %s',
    async (_what, silent, expected) => {
      const { clock, elector, told } = lease(silent);
      const cancel = new AbortController();
      let ended = false;
      const running = elector.run({ signal: cancel.signal }).then(() => (ended = true));
      await clock.run(30_000);
      cancel.abort();
      await clock.run(5000 + 1000 - 1);
      await clock.run(1);
      expect([ended, told]).toEqual([true, expected]);
      await running;
      expect(clock.timers()).toBe(0);
    },
  );

  it('ends the term of a leader that cannot renew when its lease expires', async () => {
    const silent: ('get' | 'update')[] = [];
    const { clock, elector, told } = lease(silent);
    let ended = false;
    void elector.run().then(() => (ended = true));
    await clock.run(1000);
    expect([elector.holdsLease(), told]).toEqual([true, ['started']]);
    silent.push('get', 'update');
    await clock.run(40_000);
    expect([ended, elector.holdsLease(), told]).toEqual([true, false, ['started', 'stopped']]);
    expect(clock.timers()).toBe(0);
  });
});

// Its result was treated as a promise, so that its candidate never led.
it('accepts a lock in plain JavaScript that returns without a promise', async () => {
  const clock = new FakeClock();
  let record = { ...NO_RECORD };
  const write = (next: typeof record): void => {
    record = next;
  };
  const lock = {
    identity: 'me',
    get: () => record,
    create: write,
    update: write,
    describe: () => 'x',
    reference: () => ({}),
  };
  const cancel = new AbortController();
  const elector = new LeaderElector({
    lock: lock as unknown as LeaseLock,
    clock,
    callbacks: { onStartedLeading: () => undefined, onStoppedLeading: () => undefined },
  });
  const running = elector.run({ signal: cancel.signal });
  await clock.run(1000);
  expect([elector.holdsLease(), record.holderIdentity]).toEqual([true, 'me']);
  cancel.abort();
  await running;
});
