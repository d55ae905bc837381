/** Starts a real kube-apiserver and etcd for tests. The first call loads the code for it. */
import { requireNode } from '../base/environment.ts';
import type { Envtest } from './envtest/envtest.ts';
import { type EnvtestOptions, requireEnvtestOptions } from './envtest/options.ts';

/**
 * Starts a real kube-apiserver and an etcd on free ports of 127.0.0.1, as controller-runtime's
 * envtest. The binaries come from `setup-envtest`, and the certificates from the optional peer
 * `selfsigned`. Several servers may run at once. A server ends with `stop()`, `await using`, the
 * signal, or this process, even if that is killed. Its folder is then removed. Linux and macOS.
 *
 * No controller manager, scheduler or kubelet runs: there is no garbage collection, no Pod starts,
 * and a deleted namespace stays in the phase Terminating. The admission plugin ServiceAccount is
 * off.
 *
 * @throws CapstanError ENVTEST_BINARIES without the programs, ENVTEST when one does not become
 *   ready (with the end of its log), ABORTED, INVALID_ARGUMENT; CRDError
 * @example
 * await using envtest = await startEnvtest({ crds: [Website] });
 * const client = newClient({ transport: envtest.transport() });
 */
export async function startEnvtest(options: EnvtestOptions = {}): Promise<Envtest> {
  requireNode('capstan/testing');
  requireEnvtestOptions(options);
  const { Envtest } = await import('./envtest/envtest.ts');
  return Envtest.start(options);
}
