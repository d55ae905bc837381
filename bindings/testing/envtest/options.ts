/** The options of `startEnvtest`, and checks of them. */
import { invalid, requireMs, requireObject } from '../../base/errors.ts';
import { namesOf, requireNames } from '../../base/names.ts';
import type { Authorization } from '../server/auth/access.ts';
import { requireUser, type ServerUser } from '../server/auth/users.ts';

/** Options of `startEnvtest`. */
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

const AUTHORIZATIONS: readonly unknown[] = [undefined, 'AlwaysAllow', 'RBAC'];

/** Throws CapstanError INVALID_ARGUMENT. */
export function requireEnvtestOptions(options: EnvtestOptions): void {
  requireNames('options', options, 'option of startEnvtest()', ENVTEST_NAMES);
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
