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
/** What a renewal may come late on a machine with other work. */
const LATE_MS = 150;

test('a lease is renewed on time during a first list of 300 000 objects', {
  timeout: 180_000,
}, async () => {
  await withServer('cache/pods-server.ts', [String(PODS)], async (url) => {
    const transport = new LeaseTransport(new LeaseServer());
    let told = 0;
    let isListed = false;
    const renewals: number[] = [];
    const isRenewing = Promise.withResolvers<void>();
    transport.intercept = ({ method }) => {
      if (method === 'PUT' && !isListed) renewals.push(performance.now());
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
    console.log(`${gaps.length} renewals, the longest gap ${Math.max(...gaps).toFixed(0)} ms`);
    expect(gaps.length).toBeGreaterThan(10);
    expect(Math.max(...gaps)).toBeLessThan(RETRY_MS + LATE_MS);
    stop.abort();
    await Promise.all([leading, running]);
  });
});
