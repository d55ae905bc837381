/**
 * Starts the embedded API server or a real one, by a switch, so that the same tests run on both.
 */
/// <reference lib="esnext.disposable" preserve="true" />
import { randomBytes } from 'node:crypto';
import { environmentVariable } from '../base/environment.ts';
import { invalid } from '../base/errors.ts';
import { namesOf, requireNames } from '../base/names.ts';
import { onAbort } from '../base/wait.ts';
import type { Transport } from '../cache/rest/transport.ts';
import { newClient } from '../client/client.ts';
import { installCRDs } from '../client/crd/install.ts';
import { createServiceAccount } from './envtest/accounts.ts';
import type { EnvtestUser } from './envtest/envtest.ts';
import { definitionIn, kubeconfigFor } from './envtest/manifests.ts';
import { ENVTEST_NAMES, type EnvtestOptions, requireEnvtestOptions } from './envtest/options.ts';
import { ApiServer, type ServerTransportOptions } from './server/server.ts';
import { startEnvtest } from './start-envtest.ts';

/** Options of {@link startTestServer}. */
export interface TestServerOptions
  extends Pick<EnvtestOptions, 'crds' | 'users' | 'authorization' | 'signal'> {
  /**
   * `embedded` or `envtest`. Default: the environment variable CAPSTAN_TEST_SERVER, else
   * `embedded`.
   */
  server?: 'embedded' | 'envtest' | undefined;
}

const { crds, users, authorization, signal } = ENVTEST_NAMES;
const NAMES = namesOf<TestServerOptions>()({ crds, users, authorization, signal, server: 1 });

/** An API server for tests; an {@link Envtest} is one. */
export interface TestServer extends AsyncDisposable {
  readonly url: string;
  /** A transport as an administrator, or as another user. */
  transport(options?: ServerTransportOptions): Transport & AsyncDisposable;
  /** A kubeconfig of the administrator, as text: JSON, which is YAML. */
  kubeconfig(): string;
  /**
   * Creates a ServiceAccount and its namespace, unless they exist. The token is valid for an hour.
   */
  addServiceAccount(key: { namespace: string; name: string }): Promise<EnvtestUser>;
  /** Stops the server. */
  stop(): Promise<void>;
}

/**
 * Starts the embedded API server. With CAPSTAN_TEST_SERVER=envtest it starts a real one, as
 * {@link startEnvtest}. On both, RBAC is on, and namespaces and kinds must exist.
 *
 * @throws CapstanError INVALID_ARGUMENT, and what `startEnvtest` throws; CRDError
 * @example
 * await using server = await startTestServer({ crds: [Website] });
 * const client = newClient({ transport: server.transport() });
 */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  requireNames('options', options, 'option of startTestServer()', NAMES);
  const { server, ...rest } = options;
  const wanted = server ?? (environmentVariable('CAPSTAN_TEST_SERVER') || 'embedded');
  if (wanted === 'envtest') return startEnvtest(rest);
  if (wanted !== 'embedded')
    throw invalid(
      server === undefined ? 'CAPSTAN_TEST_SERVER' : 'server',
      '"embedded" or "envtest"',
      wanted,
    );
  requireEnvtestOptions(rest);
  const { users, authorization = 'RBAC' } = rest;
  const token = users === undefined ? undefined : randomBytes(16).toString('hex');
  const tokens = token === undefined ? {} : { tokens: [token] };
  return embedded(
    await ApiServer.start({ users, authorization, strict: true, ...tokens }),
    token,
    rest,
  );
}

/** @param token of the administrator; without it, so are requests without a token */
async function embedded(
  server: ApiServer,
  token: string | undefined,
  { crds = [], signal }: TestServerOptions,
): Promise<TestServer> {
  const unlisten = onAbort(signal, () => void server.stop());
  const asAdmin: Record<string, string> =
    token === undefined ? {} : { authorization: `Bearer ${token}` };
  const transport = ({ as, headers }: ServerTransportOptions = {}): Transport & AsyncDisposable =>
    server.transport({ as, headers: { ...asAdmin, ...headers } });
  const admin = transport();
  const stop = async (): Promise<void> => {
    unlisten();
    await admin.close?.();
    await server.stop();
  };
  try {
    const definitions = crds.map(definitionIn);
    if (definitions.length > 0)
      await installCRDs(newClient({ transport: admin }), definitions, { signal });
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url: server.url,
    transport,
    kubeconfig: () => kubeconfigFor(server.url, 'admin', token === undefined ? {} : { token }),
    addServiceAccount: async (key) => {
      const { name, token: own } = await createServiceAccount(newClient({ transport: admin }), key);
      return {
        name,
        token: own,
        transport: () => server.transport({ headers: { authorization: `Bearer ${own}` } }),
        kubeconfig: () => kubeconfigFor(server.url, name, { token: own }),
      };
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
