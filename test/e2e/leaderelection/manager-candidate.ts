/**
 * A candidate that is a manager with a controller, as in real programs: `manager-candidate.ts
 * KUBECONFIG JOURNAL IDENTITY`. The controller reconciles a ConfigMap repeatedly, and checks itself
 * whether a reconcile may begin. A lost lease ends it with exit code 3; SIGTERM ends it and
 * releases the lease.
 */
import type { V1ConfigMap } from '@kubernetes/client-node';
import { defineResource } from 'capstan/cache';
import { newControllerManagedBy } from 'capstan/controller';
import { newManager } from 'capstan/manager';
import { CapstanError } from 'capstan/workqueue';
import {
  endSignal,
  identity,
  journalingTransport,
  now,
  work,
  writeEntry,
} from './candidate-process.ts';
import { LEASE, LEASE_DURATIONS, LOST_EXIT, OBJECT, WORK_PAUSE_MS } from './settings.ts';

const ConfigMap = defineResource<V1ConfigMap>()({
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
});

const transport = journalingTransport();
const manager = newManager({
  transport,
  logger: console,
  leaderElection: {
    id: LEASE.name,
    namespace: LEASE.namespace,
    identity,
    ...LEASE_DURATIONS,
    releaseOnCancel: true,
  },
});
newControllerManagedBy(manager)
  .for(ConfigMap, { predicates: [{ create: ({ object }) => object.metadata?.name === OBJECT }] })
  .withOptions({ namespace: LEASE.namespace })
  .complete(async (_request, { signal }) => {
    await work(now(), signal);
    return { requeueAfter: WORK_PAUSE_MS };
  });
void manager.elected().then(() => writeEntry({ kind: 'leads', at: now() }));

try {
  await manager.start({ signal: endSignal });
} catch (error) {
  console.error(error);
  process.exitCode = error instanceof CapstanError && error.code === 'LEASE_LOST' ? LOST_EXIT : 1;
}
writeEntry({ kind: 'stops', at: now() });
await transport.close?.();
