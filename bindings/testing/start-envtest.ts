/** Starts a real kube-apiserver and etcd for tests. The first call loads the code for it. */
import { requireNode } from '../base/environment.ts';
import { invalid, requireMs, requireObject } from '../base/errors.ts';
import { namesOf, requireNames } from '../base/names.ts';
import type { Envtest } from './envtest/envtest.ts';
import type { Authorization } from './server/auth/access.ts';
import { requireUser, type ServerUser } from './server/auth/users.ts';

/** Options of {@link startEnvtest}. */
export interface EnvtestOptions {
  /**
   * The folder with the programs `etcd` and `kube-apiserver`. Default: that of KUBEBUILDER_ASSETS,
   * else `/usr/local/kubebuilder/bin`, as controller-runtime's envtest.
   */
  assets?: string | undefined;
  /**
   * CustomResourceDefinitions, or results of `defineCustomResource`. They are served when
   * `startEnvtest` resolves.
   */
  crds?: readonly object[] | undefined;
  /**
   * ValidatingWebhookConfigurations and MutatingWebhookConfigurations. Each webhook needs a
   * `clientConfig.url`, because Services do not work here. The API server uses a new configuration
   * within about a second.
   */
  webhooks?: readonly object[] | undefined;
  /**
   * Users by their bearer tokens, as in `ApiServer`. They have no `extra`, and no comma in the name
   * of a group. See also `addUser` and `addServiceAccount`.
   */
  users?: Readonly<Record<string, ServerUser>> | undefined;
  /**
   * Default `RBAC`. `transport()` is a user of the group `system:masters`, which has all
   * permissions.
   */
  authorization?: Authorization | undefined;
  /**
   * Additional flags of kube-apiserver, such as `--feature-gates=…`. A flag with one value
   * overrides that of `startEnvtest`.
   */
  flags?: readonly string[] | undefined;
  /**
   * How long each of etcd and kube-apiserver may take to become ready, in milliseconds. Default
   * 60 000.
   */
  timeout?: number | undefined;
  /** Aborts the start, or stops the running server. */
  signal?: AbortSignal | undefined;
}

export const ENVTEST_NAMES = namesOf<EnvtestOptions>()({
  assets: 1,
  crds: 1,
  webhooks: 1,
  users: 1,
  authorization: 1,
  flags: 1,
  timeout: 1,
  signal: 1,
});

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
  requireNames('options', options, 'option of startEnvtest()', ENVTEST_NAMES);
  requireEnvtestOptions(options);
  const { Envtest } = await import('./envtest/envtest.ts');
  return Envtest.start(options);
}

const AUTHORIZATIONS: readonly unknown[] = [undefined, 'AlwaysAllow', 'RBAC'];

/** Throws CapstanError INVALID_ARGUMENT. */
export function requireEnvtestOptions(options: EnvtestOptions): void {
  const { assets, crds = [], webhooks = [], users = {}, flags = [], timeout = 0 } = options;
  if (assets !== undefined && typeof assets !== 'string')
    throw invalid('assets', 'the path of a folder', assets);
  for (const [name, list] of Object.entries({ crds, webhooks, flags }))
    if (!Array.isArray(list)) throw invalid(name, 'an array', list);
  for (const [name, list] of Object.entries({ crds, webhooks }))
    for (const each of list) requireObject(`${name}[]`, each);
  for (const flag of flags)
    if (typeof flag !== 'string' || !flag.startsWith('--'))
      throw invalid('flags[]', 'a flag of kube-apiserver, such as "--v=2"', flag);
  requireMs('timeout', timeout);
  if (!AUTHORIZATIONS.includes(options.authorization))
    throw invalid('authorization', '"AlwaysAllow" or "RBAC"', options.authorization);
  for (const user of Object.values(users)) {
    requireUser('users', user);
    if (user.extra !== undefined)
      throw invalid(
        'users',
        'users without extra, which a token file does not support',
        user.extra,
      );
    for (const group of user.groups ?? [])
      if (group.includes(',')) throw invalid('users.groups', 'a name without a comma', group);
  }
}
