/**
 * The requests that a manager still sends after its lease has expired, on a virtual clock whose
 * time can pass without firing timers.
 */
import type { TransportRequest } from 'capstan/cache';
import { type LeaderElectionOptions, newManager } from 'capstan/manager';
import { describe, expect, test } from 'vitest';
import {
  failure,
  type LeaseAnswer,
  type LeaseObject,
  LeaseServer,
  LeaseTransport,
  silence,
} from '../helpers/leaderelection/lease-server.ts';
import { StoppableClock } from '../helpers/leaderelection/stoppable-clock.ts';
import { ConfigMaps, configMap } from '../helpers/resources.ts';
import { recordedRunnable, startManager } from './recording-runnables.ts';

const heldBy = (holderIdentity: string): LeaseObject['spec'] => ({
  holderIdentity,
  leaseDurationSeconds: 15,
});

/**
 * A manager with an election. `sent` are its requests without those of the election; `lead` is the
 * leader's runnable.
 */
function candidate(more: Partial<LeaderElectionOptions> = {}) {
  const clock = new StoppableClock();
  const leases = new LeaseServer();
  const transport = new LeaseTransport(leases);
  const sent: string[] = [];
  const slow: {
    wait: (request: TransportRequest) => Promise<void>;
    leases: () => LeaseAnswer | undefined;
  } = { wait: async () => undefined, leases: () => undefined };
  transport.intercept = async (request: TransportRequest) => {
    const { method, path } = request;
    if (path.includes('/leases')) return slow.leases();
    await slow.wait(request);
    request.beforeSend?.();
    sent.push(method);
    return { status: 200, body: configMap('written') };
  };
  const manager = newManager({
    transport,
    clock,
    gracefulShutdownTimeout: 1000,
    leaderElection: {
      id: 'lock',
      namespace: 'ns',
      identity: 'me',
      wallNow: () => clock.now(),
      ...more,
    },
  });
  const lead = recordedRunnable([], 'lead', { endsBySignal: false });
  let signal: AbortSignal | undefined;
  manager.add(lead);
  manager.add({
    start: async (options) => {
      signal = options.signal;
    },
  });
  const written = { namespace: 'default', name: 'written' };
  const write = () =>
    manager.client.patch(ConfigMaps, written, { type: 'merge', body: { data: { by: 'me' } } });
  return {
    ...startManager(manager, clock),
    clock,
    leases,
    sent,
    slow,
    lead,
    write,
    signal: () => signal,
  };
}

const refused = {
  code: 'ABORTED',
  message: expect.stringMatching(/^PATCH \/api.* was not sent: this process led/),
};

describe('a process whose lease has expired', () => {
  // A process that was stalled for longer than its lease ran its overdue timers in order, a
  // reconcile's before the elector's: it wrote at the same time as the new leader, and its signal
  // had not fired.
  test('writes nothing after a stall, before any timer, and its work is aborted', async () => {
    const { manager, clock, leases, sent, write, signal, done, lead } = candidate();
    await clock.run(0);
    await write();
    leases.put(heldBy('other'));
    clock.stopFor(15_000);
    const writing = write();
    expect(manager.holdsLease()).toBe(false);
    await expect(writing).rejects.toMatchObject(refused);
    expect(signal()?.aborted).toBe(true);
    await expect(done).rejects.toMatchObject({ code: 'LEASE_LOST' });
    await manager.client.get(ConfigMaps, { namespace: 'default', name: 'written' }, { live: true });
    await manager.transport.request({ method: 'HEAD', path: '/readyz' });
    lead.finish();
    await clock.run(60_000);
    await expect(write()).rejects.toMatchObject(refused);
    expect(sent).toEqual(['PATCH', 'GET', 'HEAD']);
  });

  test('writes nothing if its work outlives the grace period and the lease', async () => {
    const { clock, sent, write, lead, stop, done } = candidate();
    await clock.run(0);
    stop();
    await clock.run(9999);
    await expect(done).rejects.toMatchObject({ code: 'TIMEOUT' });
    await write();
    clock.stopFor(1);
    await expect(write()).rejects.toMatchObject(refused);
    lead.finish();
    await clock.settle();
    await write();
    expect(sent).toEqual(['PATCH', 'PATCH']);
  });

  // The lease was checked before the request was given to the transport, which then waited for an
  // exec plugin: the write was sent while another process led.
  test('is checked again when a transport that waited is about to send', async () => {
    const { clock, leases, sent, write, slow } = candidate();
    await clock.run(0);
    const credentials = Promise.withResolvers<void>();
    slow.wait = () => credentials.promise;
    const writing = write();
    await clock.settle();
    leases.put(heldBy('other'));
    clock.stopFor(15_000);
    credentials.resolve();
    await expect(writing).rejects.toMatchObject(refused);
    expect(sent).toEqual([]);
  });

  test('aborts requests in progress, for transports without beforeSend', async () => {
    const { manager, clock, leases, write, slow, done } = candidate();
    await clock.run(0);
    slow.wait = (request) => silence(request);
    slow.leases = () => failure(500, 'InternalError');
    const writing = write();
    const reading = manager.transport.request({ method: 'GET', path: '/readyz' });
    let isRead = false;
    void reading
      .catch(() => undefined)
      .then(() => {
        isRead = true;
      });
    const ended = Promise.allSettled([writing, done]);
    await clock.run(15_000);
    const [written, managed] = await ended;
    expect(written).toMatchObject({
      reason: { code: 'ABORTED', message: expect.stringContaining('may have taken effect') },
    });
    expect(managed).toMatchObject({ status: 'rejected' });
    expect([leases.lease?.spec.holderIdentity, isRead]).toEqual(['me', false]);
  });

  test('is not a process that has never led: runnables without election may write', async () => {
    const { manager, clock, leases, sent, write, stop, done } = candidate();
    leases.put(heldBy('other'));
    await clock.run(10_000);
    clock.stopFor(15_000);
    await write();
    expect([manager.holdsLease(), sent]).toEqual([false, ['PATCH']]);
    stop();
    await done;
  });

  test("goes on until the renew deadline with client-go's stepDown", async () => {
    const { clock, sent, write, signal, stop } = candidate({ stepDown: 'deadline' });
    await clock.run(0);
    clock.stopFor(15_000);
    await write();
    expect([signal()?.aborted, sent]).toEqual([false, ['PATCH']]);
    stop();
  });
});
