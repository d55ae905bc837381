/**
 * A leader whose process takes the first list of 300 000 Pods renews its lease on time. When such a
 * list was processed in one turn of the event loop, half a second passed without a renewal.
 */
import { ListWatch, SharedIndexInformer } from 'capstan/cache';
import { httpTransport } from 'capstan/client-node';
import { Pod } from 'capstan/kinds';
import { LeaderElector, LeaseLock } from 'capstan/leaderelection';
import { expect, test } from 'vitest';
import { withServer } from '../../bench/measure/servers.ts';
import { LeaseServer, LeaseTransport } from '../helpers/leaderelection/lease-server.ts';

const PODS = 300_000;
const RETRY_MS = 100;
/**
 * What the main thread may work between two renewals beyond that. CPU time is measured, as the
 * process may have to wait for a core on a busy machine.
 */
const LATE_MS = 150;

const cpuTime = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

test('a lease is renewed on time during a first list of 300 000 objects', {
  timeout: 180_000,
}, async () => {
  await withServer('cache/pods-server.ts', [String(PODS)], async (url) => {
    const transport = new LeaseTransport(new LeaseServer());
    let told = 0;
    let isListed = false;
    /** CPU time of this thread at each renewal, in milliseconds. */
    const renewals: number[] = [];
    const isRenewing = Promise.withResolvers<void>();
    transport.intercept = ({ method }) => {
      if (method === 'PUT' && !isListed) renewals.push(cpuTime());
      if (renewals.length === 3) isRenewing.resolve();
      return undefined;
    };
    const stop = new AbortController();
    const elector = new LeaderElector({
      lock: new LeaseLock(transport, { namespace: 'default', name: 'lock', identity: 'me' }),
      leaseDuration: 2000,
      renewDeadline: 1000,
      retryPeriod: RETRY_MS,
      callbacks: { onStartedLeading: () => undefined, onStoppedLeading: () => undefined },
    });
    const leading = elector.run({ signal: stop.signal });
    await isRenewing.promise;
    const informer = new SharedIndexInformer(new ListWatch(httpTransport(url), Pod));
    const registration = informer.addEventHandler({ onAdd: () => void told++ });
    const running = informer.run({ signal: stop.signal });
    const begun = renewals.length;
    await registration.hasSyncedChecker().done;
    isListed = true;
    expect([told, informer.getIndexer().size()]).toEqual([PODS, PODS]);
    expect(elector.isLeader()).toBe(true);
    const gaps = renewals.slice(begun).map((at, i) => at - (renewals[begun + i - 1] as number));
    const longest = Math.max(...gaps).toFixed(0);
    console.log(`${gaps.length} renewals, at most ${longest} ms of CPU time between two`);
    expect(gaps.length).toBeGreaterThan(5);
    expect(Math.max(...gaps)).toBeLessThan(RETRY_MS + LATE_MS);
    stop.abort();
    await Promise.all([leading, running]);
  });
});
