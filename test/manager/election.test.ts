/**
 * A manager with an election, on a virtual clock and a lock that both candidates share. It has the
 * counterparts of controller-runtime's tests with leader election (manager_test.go).
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { StatusError } from 'capstan/cache';
import { silentLogger } from 'capstan/controller';
import type { LockCall, ResourceLock } from 'capstan/leaderelection';
import { type LeaderElectionOptions, newManager } from 'capstan/manager';
import { ApiServer } from 'capstan/testing';
import { FakeClock } from 'capstan/workqueue';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { noServer, others, recordedRunnable, startManager } from './recording-runnables.ts';

type Stored = Parameters<ResourceLock['update']>[0];

/** A Lease in memory; `cut` disconnects a candidate from it. */
class SharedLease {
  record: Stored | undefined;
  readonly cut = new Set<string>();
  /** Called when the record has been written, before the writer gets the response. */
  onWrite = (): void => undefined;
  #version = 0;

  lock(identity: string): ResourceLock {
    let seen = 0;
    const reach = async (): Promise<void> => {
      if (this.cut.has(identity)) throw new Error('out of reach');
    };
    const write = (record: Stored): void => {
      this.record = record;
      seen = ++this.#version;
      this.onWrite();
    };
    const status = (code: number, message: string) => new StatusError(code, { message }, 'lease');
    return {
      identity,
      get: async () => {
        await reach();
        if (this.record === undefined) throw status(404, 'not found');
        seen = this.#version;
        return this.record;
      },
      create: async (record: Stored) => {
        await reach();
        if (this.record !== undefined) throw status(409, 'exists');
        write(record);
      },
      update: async (record: Stored, _: LockCall) => {
        await reach();
        if (seen !== this.#version) throw status(409, 'conflict');
        write(record);
      },
      describe: () => 'default/shared',
      reference: () => ({ apiVersion: 'v1', kind: 'Lease', metadata: { name: 'shared' } }),
    };
  }
}

function candidate(
  lease: SharedLease,
  clock: FakeClock,
  identity: string,
  more: Partial<LeaderElectionOptions> = {},
  rest = {},
) {
  const log: string[] = [];
  const lock = lease.lock(identity);
  const manager = newManager({
    transport: noServer,
    clock,
    // The real time would not change between two renewals, and an unchanged record is no renewal.
    leaderElection: { id: 'shared', lock, random: () => 0.5, wallNow: () => clock.now(), ...more },
    ...rest,
  });
  manager.add(recordedRunnable(log, 'leader'));
  manager.add(recordedRunnable(log, 'other', others));
  let leads = false;
  void manager.elected().then(() => {
    leads = true;
  });
  return { ...startManager(manager, clock), log, leads: () => leads };
}

describe('a manager with an election', () => {
  test("starts the leader's runnables when it leads (…warmup runnables before…)", async () => {
    const clock = new FakeClock();
    const lease = new SharedLease();
    const first = candidate(lease, clock, 'a');
    await clock.run(0);
    expect(first.log).toEqual(['other starts', 'leader starts']);
    expect([first.leads(), first.manager.holdsLease()]).toEqual([true, true]);

    const second = candidate(lease, clock, 'b');
    const warm: string[] = [];
    second.manager.add({
      start: async () => undefined,
      warmup: async () => void warm.push('warm'),
    });
    await clock.run(60_000);
    expect(second.log).toEqual(['other starts']);
    expect(warm).toEqual(['warm']);
    expect([second.leads(), second.manager.holdsLease()]).toEqual([false, false]);
    expect(second.manager.report()).toMatchObject({
      leader: {
        lease: 'default/shared',
        identity: 'b',
        holder: 'a',
        holdsLease: false,
        validMs: 12_600,
      }, // renewed at 60 s, seen at 57.6 s
      runnables: expect.arrayContaining([
        { name: 'leader', group: 'leader election', state: 'waiting for leadership' },
        { name: 'other', group: 'others', state: 'running' },
      ]),
    });
    first.stop();
    second.stop();
    await Promise.all([first.done, second.done]);
  });

  test('releases the lease after all runnables have ended (…release lease if…)', async () => {
    const clock = new FakeClock();
    const lease = new SharedLease();
    const { manager, stop, done } = candidate(lease, clock, 'a', { releaseOnCancel: true });
    const slow = recordedRunnable([], 'slow', { endsBySignal: false });
    manager.add(slow);
    await clock.run(0);
    stop();
    await clock.run(20_000);
    expect(lease.record?.holderIdentity).toBe('a');
    expect(manager.holdsLease()).toBe(true);
    slow.finish();
    await clock.run(0);
    await done;
    expect(lease.record?.holderIdentity).toBe('');
    expect(manager.holdsLease()).toBe(false);
    expect(clock.timers()).toBe(0);
  });

  test('keeps the lease without releaseOnCancel', async () => {
    const clock = new FakeClock();
    const lease = new SharedLease();
    const { stop, done } = candidate(lease, clock, 'a');
    await clock.run(0);
    stop();
    await done;
    expect(lease.record?.holderIdentity).toBe('a');
  });

  // controller-runtime releases the lease after the grace period in any case: a second leader would
  // work at the same time as the first.
  test('leaves the lease to expire if work goes on after the grace period', async () => {
    const clock = new FakeClock();
    const lease = new SharedLease();
    const { manager, stop, done } = candidate(
      lease,
      clock,
      'a',
      { releaseOnCancel: true },
      { gracefulShutdownTimeout: 3000 },
    );
    manager.add(recordedRunnable([], 'slow', { endsBySignal: false }));
    await clock.run(0);
    stop();
    await clock.run(3000);
    await expect(done).rejects.toMatchObject({ code: 'TIMEOUT' });
    await clock.run(60_000);
    expect(lease.record?.holderIdentity).toBe('a');
    expect(clock.timers()).toBe(0);
  });

  test('ends without a grace period if the lease is lost (…stopping to lead)', async () => {
    const clock = new FakeClock();
    const lease = new SharedLease();
    const { manager, log, done } = candidate(lease, clock, 'a', { releaseOnCancel: true });
    manager.add(recordedRunnable(log, 'slow', { endsBySignal: false }));
    await clock.run(0);
    lease.cut.add('a');
    await clock.run(9999);
    expect(log).not.toContain('leader is stopped');
    await clock.run(1); // 15 s / 1.5 since the last renewal was sent
    await expect(done).rejects.toMatchObject({
      code: 'LEASE_LOST',
      message: expect.stringContaining('default/shared'),
    });
    expect(log).toEqual(
      expect.arrayContaining(['leader is stopped', 'slow is stopped', 'other is stopped']),
    );
    expect(manager.holdsLease()).toBe(false);
  });

  // It logged no more than on an orderly stop, with a grace period of 30 s that did not apply.
  test('logs that the lease is lost and that it does not wait', async () => {
    const clock = new FakeClock();
    const lease = new SharedLease();
    const logged: unknown[] = [];
    const say = (...line: unknown[]) => void logged.push(line);
    const logger = { ...silentLogger, info: say, error: say };
    const { done } = candidate(lease, clock, 'a', {}, { logger });
    await clock.run(0);
    logged.length = 0; // the new leader
    lease.cut.add('a');
    await clock.run(10_000);
    const error: unknown = await done.catch((reason: unknown) => reason);
    expect(logged).toEqual([
      ['leader election lost', { lease: 'default/shared', error }],
      ['stopping', { gracefulShutdownTimeout: 0 }],
      ['stopped'],
    ]);
  });

  test('gives a leader until the renew deadline with stepDown: deadline', async () => {
    const clock = new FakeClock();
    const lease = new SharedLease();
    const { manager, log, done } = candidate(lease, clock, 'a', { stepDown: 'deadline' });
    await clock.run(0);
    lease.cut.add('a');
    await clock.run(10_000);
    expect([manager.holdsLease(), log.includes('leader is stopped')]).toEqual([false, false]);
    await clock.run(2000); // the first renewal is due after a retry period
    await expect(done).rejects.toMatchObject({ code: 'LEASE_LOST' });
  });

  test('stops waiting for its runnables if the lease is lost during the stop', async () => {
    const clock = new FakeClock();
    const lease = new SharedLease();
    const { manager, log, stop, done } = candidate(lease, clock, 'a');
    manager.add(recordedRunnable(log, 'slow', { endsBySignal: false }));
    await clock.run(0);
    stop();
    lease.cut.add('a');
    await clock.run(12_000);
    await expect(done).rejects.toMatchObject({ code: 'LEASE_LOST' });
  });

  test('never leads once its end has begun (…shutting down a non-elected manager)', async () => {
    const clock = new FakeClock();
    const lease = new SharedLease();
    const first = candidate(lease, clock, 'a', { releaseOnCancel: true });
    await clock.run(0);
    const second = candidate(lease, clock, 'b');
    const slow = recordedRunnable([], 'slow', { ...others, endsBySignal: false });
    second.manager.add(slow);
    await clock.run(10_000);
    second.stop();
    first.stop();
    await clock.run(0);
    await first.done;
    await clock.run(20_000);
    expect(lease.record?.holderIdentity).toBe('');
    slow.finish();
    await clock.run(0);
    await second.done;
    expect(second.log).not.toContain('leader starts');
    expect(second.leads()).toBe(false);
  });

  test('does not begin to lead if a runnable fails while the lease is being acquired', async () => {
    const clock = new FakeClock();
    const lease = new SharedLease();
    const failure = new Error('other');
    const { manager, log, done } = candidate(lease, clock, 'a', { releaseOnCancel: true });
    manager.add({ ...others, start: () => Promise.reject(failure) });
    await clock.run(0);
    await expect(done).rejects.toBe(failure);
    expect(log).not.toContain('leader starts');
  });

  test('does not begin to lead if the stop begins at the moment it gets the lease', async () => {
    const clock = new FakeClock();
    const lease = new SharedLease();
    const { log, stop, done } = candidate(lease, clock, 'a', { releaseOnCancel: true });
    lease.onWrite = stop;
    await clock.run(0);
    await done;
    expect(log).toEqual(['other starts', 'other is stopped', 'other ends']);
    expect(lease.record?.holderIdentity).toBe('');
  });

  test('hands over: the next one leads after the release, at its next try', async () => {
    const clock = new FakeClock();
    const lease = new SharedLease();
    const first = candidate(lease, clock, 'a', { releaseOnCancel: true });
    await clock.run(0);
    const second = candidate(lease, clock, 'b');
    await clock.run(5000);
    first.stop();
    await clock.run(0);
    await first.done;
    await clock.run(2000 * 2.2);
    expect([second.leads(), second.manager.holdsLease(), first.manager.holdsLease()]).toEqual([
      true,
      true,
      false,
    ]);
    second.stop();
    await second.done;
  });

  test('has metrics, and a health check that fails without a renewal', async () => {
    const clock = new FakeClock();
    const lease = new SharedLease();
    const { manager, stop, done } = candidate(
      lease,
      clock,
      'a',
      { stepDown: 'deadline' },
      { metrics: { bindAddress: '127.0.0.1:0' }, healthProbe: { bindAddress: '127.0.0.1:0' } },
    );
    await manager.elected();
    const text = async (path: string): Promise<string> => {
      const response = await fetch(`${manager.url('metrics')}${path}`, {
        headers: { connection: 'close' },
      });
      return response.text();
    };
    expect(await text('/metrics')).toContain('leader_election_master_status{name="shared"} 1\n');
    expect(await text('/healthz?verbose')).toBe(
      '[+]leaderElection ok\n[+]ping ok\nhealthz check passed\n',
    );
    lease.cut.add('a');
    clock.step(36_000); // the process was stalled
    expect(await text('/healthz/leaderElection')).toMatch(
      /^internal server error: failed election to renew leadership/,
    );
    expect(manager.holdsLease()).toBe(false);
    stop();
    await done.catch(() => undefined);
  });

  test('requests a Lease with its labels and identity (…Labels is set)', async () => {
    const server = await ApiServer.start();
    onTestFinished(() => server.stop());
    const stopper = new AbortController();
    const manager = newManager({
      transport: server.transport(),
      leaderElection: {
        id: 'web',
        namespace: 'team-a',
        labels: { tier: 'web' },
        releaseOnCancel: true,
      },
    });
    const done = manager.start({ signal: stopper.signal });
    await manager.elected();
    const read = async () => {
      const url = `${server.url}/apis/coordination.k8s.io/v1/namespaces/team-a/leases/web`;
      return (await fetch(url, { headers: { connection: 'close' } })).json();
    };
    const lease = await read();
    expect(lease).toMatchObject({
      metadata: { labels: { tier: 'web' } },
      spec: { leaseDurationSeconds: 15 },
    });
    expect(lease.spec.holderIdentity).toMatch(/^.+_[0-9a-f-]{36}$/);
    expect(manager.report().leader).toMatchObject({
      lease: 'team-a/web',
      holder: lease.spec.holderIdentity,
      holdsLease: true,
    });
    stopper.abort();
    await done;
    expect((await read()).spec.holderIdentity).toBe('');
  });
});

describe('the default name of a Lease', () => {
  /** Mocks Node's own module, also for modules that imported the function by name. */
  function answering(stub: () => { mockRestore(): void }): void {
    const { mockRestore } = stub();
    syncBuiltinESMExports();
    onTestFinished(() => {
      mockRestore();
      syncBuiltinESMExports();
    });
  }
  const refuse = (code: string) => (): never => {
    throw Object.assign(new Error(`refused: ${code}`), { code });
  };

  // Deno without --allow-read and Node with --permission refuse to read the file. The message said
  // that there was no pod, so that nobody looked at permissions.
  test.each([
    ['ENOENT', /is needed: this process does not run in a pod/],
    [
      'ERR_ACCESS_DENIED',
      new RegExp(
        'is needed: .* could not be read from /var/run/secrets/.*/namespace; ' +
          'allow that, or set the option$',
      ),
    ],
    [undefined, /could not be read/],
  ])('the namespace of the pod: %s', (code, message) => {
    answering(() => vi.spyOn(fs, 'readFileSync').mockImplementation(refuse(code as string)));
    const make = () => newManager({ transport: noServer, leaderElection: { id: 'web' } });
    expect(make).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringMatching(message),
        cause: expect.objectContaining({ message: `refused: ${code}` }),
      }),
    );
  });

  test('the namespace of the pod: an empty file', () => {
    answering(() => vi.spyOn(fs, 'readFileSync').mockReturnValue('\n'));
    const make = () => newManager({ transport: noServer, leaderElection: { id: 'web' } });
    expect(make).toThrow(
      /"options\.leaderElection\.namespace" is needed: .* could not be read .*set the option$/,
    );
  });

  // Deno without --allow-sys=hostname: newManager threw `NotCapable: Requires sys access to
  // "hostname"`.
  test('without the host name the identity is only random', () => {
    answering(() => vi.spyOn(os, 'hostname').mockImplementation(refuse('NotCapable')));
    const manager = newManager({
      transport: noServer,
      leaderElection: { id: 'web', namespace: 'team-a' },
    });
    expect(manager.report().leader?.identity).toMatch(/^[0-9a-f-]{36}$/);
  });
});
