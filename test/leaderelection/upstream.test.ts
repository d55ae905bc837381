/**
 * Counterparts of client-go's tools/leaderelection tests: leaderelection_test.go,
 * healthzadaptor_test.go, resourcelock/leaselock_test.go. docs/project/upstream-tests.md has the
 * table.
 */
import { StatusError } from 'capstan/cache';
import { HealthzAdaptor, type LeaderElectionRecord } from 'capstan/leaderelection';
import { FakeClock } from 'capstan/workqueue';
import { describe, expect, it } from 'vitest';
import { recordOfSpec, specOfRecord } from '../../bindings/leaderelection/lock.ts';
import { failure, type LeaseObject } from '../helpers/leaderelection/lease-server.ts';
import { Candidate } from './candidate.ts';

const call = () => ({
  clock: new FakeClock(),
  signal: new AbortController().signal,
  timeout: 5000,
});

const record: LeaderElectionRecord = {
  holderIdentity: 'holder',
  leaseDurationSeconds: 15,
  acquireTime: '2026-01-02T03:04:05.678901Z',
  renewTime: '2026-01-02T03:04:07.000000Z',
  leaderTransitions: 3,
  strategy: 'OldestEmulationVersion',
  preferredHolder: 'other',
};

describe('a candidate and the lease that it finds', () => {
  interface Case {
    readonly what: string;
    readonly lease?: LeaseObject['spec'];
    readonly waitMs?: number;
    readonly requests: readonly string[];
    readonly holder: string;
    readonly transitions: number | undefined;
  }
  const cases: Case[] = [
    { what: 'none: creates it', requests: ['GET', 'POST'], holder: 'baz', transitions: 0 },
    {
      what: 'one without a spec: takes it',
      lease: {},
      requests: ['GET', 'PUT'],
      holder: 'baz',
      transitions: 1,
    },
    {
      what: "another's of 3 s: takes it after 3 s",
      lease: { holderIdentity: 'bing', leaseDurationSeconds: 3 },
      waitMs: 4000,
      requests: ['GET', 'GET', 'GET', 'PUT'],
      holder: 'baz',
      transitions: 1,
    },
    {
      what: 'one without a holder and a duration: takes it',
      lease: { holderIdentity: '', leaseDurationSeconds: 0, leaseTransitions: 0 },
      requests: ['GET', 'PUT'],
      holder: 'baz',
      transitions: 1,
    },
    {
      what: "another's that was not renewed for its duration: takes it",
      lease: { holderIdentity: 'bing', leaseDurationSeconds: 1 },
      waitMs: 2000,
      requests: ['GET', 'GET', 'PUT'],
      holder: 'baz',
      transitions: 1,
    },
    {
      what: 'one that was released, with time left: takes it at once',
      lease: { holderIdentity: '', leaseDurationSeconds: 3600 },
      requests: ['GET', 'PUT'],
      holder: 'baz',
      transitions: 1,
    },
    {
      what: "another's that has not run out: leaves it alone",
      lease: { holderIdentity: 'bing', leaseDurationSeconds: 3600, leaseTransitions: 5 },
      waitMs: 4000,
      requests: ['GET', 'GET', 'GET'],
      holder: 'bing',
      transitions: 5,
    },
    {
      what: 'its own: renews it, in the same term',
      lease: { holderIdentity: 'baz', leaseDurationSeconds: 3600, leaseTransitions: 5 },
      requests: ['GET', 'PUT'],
      holder: 'baz',
      transitions: 5,
    },
  ];
  it.each(cases)('$what', async ({ lease, waitMs = 0, requests, holder, transitions }) => {
    const candidate = new Candidate();
    if (lease !== undefined) candidate.server.put(lease);
    await candidate.run(waitMs);
    // The renewal that follows at once is not part of the attempt.
    const renewals = candidate.transport.methods.slice(requests.length);
    expect(candidate.transport.methods.slice(0, requests.length)).toEqual(requests);
    expect(renewals).toEqual(holder === 'baz' ? ['PUT'] : []);
    expect(candidate.holder()).toBe(holder);
    expect(candidate.server.lease?.spec.leaseTransitions).toBe(transitions);
    expect(candidate.elector.getLeader()).toBe(holder);
    expect(candidate.told.filter((line) => line.endsWith('leads')).at(-1)).toMatch(
      new RegExp(`${holder} leads$`),
    );
    await candidate.stop();
  });
});

describe('release', () => {
  it('leaves no holder, and isLeader returns false', async () => {
    const candidate = new Candidate({ releaseOnCancel: true });
    await candidate.run();
    expect(candidate.elector.isLeader()).toBe(true);
    await candidate.stop();
    expect(candidate.server.lease?.spec).toMatchObject({
      holderIdentity: '',
      leaseDurationSeconds: 1,
    });
    expect([candidate.elector.isLeader(), candidate.elector.getLeader(), candidate.ended]).toEqual([
      false,
      '',
      true,
    ]);
  });

  it('reads the lease before it is released', async () => {
    const candidate = new Candidate({ releaseOnCancel: true });
    await candidate.run();
    const before = candidate.transport.methods.length;
    await candidate.stop();
    expect(candidate.transport.methods.slice(before)).toEqual(['GET', 'PUT']);
  });

  it('is retried after a conflict', async () => {
    const candidate = new Candidate({ releaseOnCancel: true });
    await candidate.run();
    const before = candidate.transport.methods.length;
    let conflicts = 1;
    candidate.transport.intercept = ({ method }) =>
      method === 'PUT' && conflicts-- > 0 ? failure(409, 'Conflict') : undefined;
    await candidate.stop();
    expect(candidate.transport.methods.slice(before)).toEqual(['GET', 'PUT', 'GET', 'PUT']);
    expect(candidate.holder()).toBe('');
  });

  it.each(['PUT', 'GET'])(
    'follows when the signal fires during the %s of a renewal',
    async (during) => {
      const events: string[] = [];
      const candidate = new Candidate({
        releaseOnCancel: true,
        leaseDuration: 15_000,
        renewDeadline: 2000,
        retryPeriod: 1000,
        recorder: { eventf: (_regarding, _related, ...rest) => events.push(rest.join(' ')) },
      });
      await candidate.run();
      let held = 0;
      candidate.transport.intercept = async ({ method, signal }) => {
        if (candidate.cancel.signal.aborted) return undefined;
        if (method === 'PUT' && during === 'GET') return failure(500, 'InternalError');
        held++;
        await new Promise((resolve) => signal?.addEventListener('abort', resolve));
        return undefined;
      };
      await candidate.run(1000);
      expect([held, candidate.holder()]).toEqual([1, 'baz']);
      await candidate.stop();
      expect([candidate.holder(), candidate.ended]).toEqual(['', true]);
      expect(events).toEqual([
        'Normal LeaderElection LeaderElection %s %s baz became leader',
        'Normal LeaderElection LeaderElection %s %s baz stopped leading',
      ]);
    },
  );
});

describe('options', () => {
  it('are accepted if they can work, and refused without an identity', () => {
    const options = {
      leaseDuration: 15_000,
      renewDeadline: 2000,
      retryPeriod: 1000,
      releaseOnCancel: true,
    };
    expect(() => new Candidate(options)).not.toThrow();
    expect(() => new Candidate({ ...options, lock: { identity: '' } })).toThrow(
      '"identity" expected a string that is',
    );
  });
});

describe('renewals', () => {
  it('write without reading first', async () => {
    const candidate = new Candidate({
      leaseDuration: 15_000,
      renewDeadline: 2000,
      retryPeriod: 1000,
    });
    await candidate.run(1000);
    expect(candidate.transport.methods).toEqual(['GET', 'POST', 'PUT', 'PUT']);
    await candidate.stop();
  });

  it('read and write after a conflict, and write alone the next time', async () => {
    const candidate = new Candidate({
      leaseDuration: 15_000,
      renewDeadline: 2000,
      retryPeriod: 1000,
    });
    candidate.transport.intercept = (_request, number) =>
      number === 4 ? failure(409, 'Conflict') : undefined;
    await candidate.run(2000);
    expect(candidate.transport.methods).toEqual(['GET', 'POST', 'PUT', 'PUT', 'GET', 'PUT', 'PUT']);
    await candidate.stop();
  });
});

describe('the health check', () => {
  const watch = async (
    act: (candidate: Candidate) => void | Promise<void>,
  ): Promise<() => void> => {
    const watchDog = new HealthzAdaptor(20_000);
    const candidate = new Candidate({ leaseDuration: 60_000, watchDog, name: 'foo' });
    await act(candidate);
    return () => watchDog.check();
  };

  it('passes before there is an election', () => {
    expect(() => new HealthzAdaptor(20_000).check()).not.toThrow();
  });

  it('fails if the own lease expired long ago', async () => {
    const check = await watch(async (candidate) => {
      await candidate.run();
      candidate.clock.step(3_600_000);
    });
    expect(check).toThrow('failed election to renew leadership on lease foo');
  });

  it("passes if the lease that expired long ago is another's", async () => {
    const check = await watch(async (candidate) => {
      candidate.server.put({ holderIdentity: 'other', leaseDurationSeconds: 60 });
      await candidate.run();
      candidate.clock.step(3_600_000);
    });
    expect(check).not.toThrow();
  });

  it('passes if the lease has not expired', async () => {
    expect(await watch((candidate) => candidate.run())).not.toThrow();
  });

  it('passes if the lease expired within the tolerance', async () => {
    const check = await watch(async (candidate) => {
      await candidate.run();
      candidate.clock.step(61_000);
    });
    expect(check).not.toThrow();
  });

  it('may be called at any time during a run', async () => {
    const candidate = new Candidate({ leaseDuration: 2000, renewDeadline: 1000, retryPeriod: 5 });
    for (let i = 0; i < 20; i++) {
      expect(() => candidate.elector.check(1000)).not.toThrow();
      await candidate.run(10);
    }
    await candidate.stop();
  });
});

describe('the record', () => {
  it('is the same after having been a spec, both ways', () => {
    const spec = {
      holderIdentity: 'foo',
      leaseDurationSeconds: 10,
      acquireTime: '2026-01-02T03:04:05.678901Z',
      renewTime: '2026-01-02T03:04:05.678901Z',
      leaseTransitions: 1,
    };
    expect(specOfRecord(recordOfSpec(spec))).toEqual(spec);
    expect(recordOfSpec(specOfRecord(recordOfSpec(spec)))).toEqual(recordOfSpec(spec));
  });

  it('keeps every field as a spec', () => {
    const spec = specOfRecord(record);
    const { leaderTransitions, ...rest } = record;
    expect(spec).toEqual({ ...rest, leaseTransitions: leaderTransitions });
    expect(recordOfSpec(spec)).toEqual(record);
  });
});

describe('a LeaseLock', () => {
  it('rejects with 404 if there is no lease', async () => {
    const error = await new Candidate().lock.get(call()).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(StatusError);
    expect(error).toMatchObject({ status: 404, reason: 'NotFound' });
  });

  it('reads what it has created', async () => {
    const { lock } = new Candidate();
    await lock.create(record, call());
    expect(await lock.get(call())).toEqual(record);
  });

  it('names the lease that events are about', async () => {
    const { lock } = new Candidate();
    await lock.create(record, call());
    expect(lock.reference()).toEqual({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace: 'ns', name: 'lock', uid: 'u1' },
    });
  });

  it('leads without a recorder', async () => {
    const candidate = new Candidate();
    await candidate.run();
    expect(candidate.elector.isLeader()).toBe(true);
    await candidate.stop();
    expect(candidate.ended).toBe(true);
  });

  it('rejects with 409 if the lease to be created exists', async () => {
    const { lock } = new Candidate();
    await lock.create(record, call());
    await expect(lock.create(record, call())).rejects.toMatchObject({
      status: 409,
      reason: 'AlreadyExists',
    });
  });

  it('refuses to update a lease that it has neither read nor written', async () => {
    await expect(new Candidate().lock.update(record, call())).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });

  it('calls itself namespace/name', () => {
    expect(new Candidate().lock.describe()).toBe('ns/lock');
  });

  it('adds its labels to a lease that has none', async () => {
    const { lock, server } = new Candidate({ lock: { labels: { 'custom-key': 'custom-val' } } });
    server.put({ holderIdentity: 'other' });
    await lock.get(call());
    await lock.update(record, call());
    expect(server.lease?.metadata.labels).toEqual({ 'custom-key': 'custom-val' });
  });

  it('keeps the labels of a lease if it has none of its own', async () => {
    const { lock, server } = new Candidate();
    server.put(
      { holderIdentity: 'other' },
      { labels: { 'custom-key': 'custom-val' }, annotations: { a: 'b' } },
    );
    await lock.get(call());
    await lock.update(record, call());
    expect(server.lease?.metadata).toMatchObject({
      labels: { 'custom-key': 'custom-val' },
      annotations: { a: 'b' },
    });
  });

  it('sets its own labels back and keeps those of others', async () => {
    const { lock, server } = new Candidate({ lock: { labels: { 'custom-key': 'custom-val' } } });
    await lock.create(record, call());
    expect(server.lease?.metadata.labels).toEqual({ 'custom-key': 'custom-val' });
    server.put({}, { labels: { 'custom-key': 'new-custom-val', 'custom-key-2': 'custom-val-2' } });
    await lock.get(call());
    await lock.update(record, call());
    expect(server.lease?.metadata.labels).toEqual({
      'custom-key': 'custom-val',
      'custom-key-2': 'custom-val-2',
    });
  });
});
