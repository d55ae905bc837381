/**
 * A candidate that is only an elector, and that runs again after a lost lease:
 * `elector-candidate.ts KUBECONFIG JOURNAL IDENTITY`. As leader it does one piece of work after
 * another, each only if holdsLease is true at its start. SIGTERM ends it and releases the lease.
 */
import { LeaderElector, LeaseLock } from 'capstan/leaderelection';
import {
  endSignal,
  identity,
  journalingTransport,
  now,
  sleep,
  work,
  writeEntry,
} from './candidate-process.ts';
import { LEASE, LEASE_DURATIONS, WORK_PAUSE_MS } from './settings.ts';

async function workOn(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    // read before the check: no check could notice a stop between the two
    const at = now();
    if (elector.holdsLease()) await work(at, signal);
    await sleep(WORK_PAUSE_MS, signal);
  }
}

const transport = journalingTransport();
const elector = new LeaderElector({
  lock: new LeaseLock(transport, { ...LEASE, identity }),
  ...LEASE_DURATIONS,
  releaseOnCancel: true,
  stepDown: 'lapse',
  logger: console,
  callbacks: {
    onStartedLeading: (signal) => {
      writeEntry({ kind: 'leads', at: now() });
      return workOn(signal);
    },
    onStoppedLeading: () => writeEntry({ kind: 'stops', at: now() }),
  },
});

while (!endSignal.aborted) await elector.run({ signal: endSignal });
await transport.close?.();
