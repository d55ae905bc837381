/**
 * A candidate that is an elector alone, and stays in the contest when it has lost:
 * `elector-candidate.ts KUBECONFIG JOURNAL IDENTITY`. While it leads it works: piece after piece,
 * each of which begins only if holdsLease says so at that moment. SIGTERM ends it in order, and
 * gives the lease back.
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
    // before the question: a stop between the two is nothing that any check could see
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
