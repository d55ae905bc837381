/**
 * A control plane for tests: one etcd and one kube-apiserver on 127.0.0.1, with TLS, client
 * certificates and tokens. controller-runtime: pkg/envtest.
 */
/// <reference lib="esnext.disposable" preserve="true" />
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { aborted, CapstanError, invalid, isAbort } from '../../base/errors.ts';
import { namesOf, requireNames } from '../../base/names.ts';
import { onAbort, sleep } from '../../base/wait.ts';
import type { Transport } from '../../cache/rest/transport.ts';
import { newClient } from '../../client/client.ts';
import { installCRDs } from '../../client/crd/install.ts';
import type { Client } from '../../client/types.ts';
import { httpTransport } from '../../client-node/http-transport.ts';
import type { TlsMaterial } from '../../client-node/tls.ts';
import { headersAs, requireUser, type ServerUser } from '../server/auth/users.ts';
import type { ServerTransportOptions } from '../server/server.ts';
import { createServiceAccount } from './accounts.ts';
import { type Assets, assets } from './assets.ts';
import { clientCertificate, type Pair, type ServerKeys, serverKeys } from './certificates.ts';
import { definitionIn, kubeconfigFor, webhookConfiguration } from './manifests.ts';
import type { EnvtestOptions } from './options.ts';
import { Leash, Program } from './program.ts';

const START_MS = 60_000;
const START_ATTEMPTS = 3;
const PROBE_MS = 5000;
const POLL_MS = 50;

const TRANSPORT_NAMES = namesOf<ServerTransportOptions>()({ headers: 1, as: 1 });

/** A user of an {@link Envtest}. */
export interface EnvtestUser {
  readonly name: string;
  /** The bearer token of a ServiceAccount; `undefined` for a user with a client certificate. */
  readonly token: string | undefined;
  /** A transport as this user. */
  transport(): Transport & AsyncDisposable;
  /** A kubeconfig as this user, as text. */
  kubeconfig(): string;
}

/** Credentials for a kubeconfig and a transport. */
type Credentials = Pair | { token: string };

/** A real API server for tests, made by {@link startEnvtest}. */
export class Envtest {
  /** `https://127.0.0.1:<port>`. A restart keeps the port. */
  readonly url: string;
  /** The address of etcd's JSON gateway: `http://127.0.0.1:<port>`. */
  readonly etcdUrl: string;
  /** The folder of data and logs, `etcd.log` and `kube-apiserver.log`. `stop()` removes it. */
  readonly folder: string;
  readonly #programs: Assets;
  readonly #keys: ServerKeys;
  readonly #ports: Ports;
  readonly #leash: Leash;
  readonly #options: EnvtestOptions;
  readonly #ended = new AbortController();
  #etcd: Program | undefined;
  #apiServer: Program | undefined;
  #stopped: Promise<void> | undefined;
  #unlisten = (): void => undefined;

  private constructor(
    programs: Assets,
    keys: ServerKeys,
    ports: Ports,
    folder: string,
    options: EnvtestOptions,
  ) {
    this.#options = options;
    this.#programs = programs;
    this.#keys = keys;
    this.#ports = ports;
    this.folder = folder;
    this.url = `https://127.0.0.1:${ports.api}`;
    this.etcdUrl = `http://127.0.0.1:${ports.etcd}`;
    this.#leash = new Leash(folder);
    const tokens = Object.entries(options.users ?? {}).map(tokenLine);
    // kube-apiserver refuses an empty token file.
    const unused = `${randomBytes(16).toString('hex')},nobody,nobody\n`;
    for (const [name, text] of [
      ['ca.crt', keys.ca.cert],
      ['server.crt', keys.server.cert],
      ['server.key', keys.server.key],
      ['service-account.key', keys.serviceAccountKey],
      ['tokens.csv', tokens.join('') || unused],
    ] as const)
      writeFileSync(join(folder, name), text, { mode: 0o600 });
  }

  /** See {@link startEnvtest}, which checks the options. */
  static async start(options: EnvtestOptions): Promise<Envtest> {
    const { signal } = options;
    const programs = assets(options.assets);
    const keys = await serverKeys();
    for (let attempt = 1; ; attempt++) {
      if (signal?.aborted) throw aborted('startEnvtest()', signal.reason);
      const folder = mkdtempSync(join(tmpdir(), 'capstan-envtest-'));
      const envtest = new Envtest(programs, keys, await freePorts(), folder, options);
      try {
        envtest.#unlisten = onAbort(signal, () => envtest.#ended.abort(signal?.reason));
        await envtest.#startEtcd();
        await envtest.#startApiServer();
        await envtest.#prepare();
        envtest.#unlisten();
        envtest.#unlisten = onAbort(signal, () => void envtest.stop());
        return envtest;
      } catch (error) {
        // If another program has taken a port meanwhile, try again.
        const taken = envtest.#mentions('address already in use');
        await envtest.stop();
        if (signal?.aborted && isAbort(error, signal.reason))
          throw aborted('startEnvtest()', signal.reason);
        if (!taken || attempt === START_ATTEMPTS) throw error;
      }
    }
  }

  /** The certificate, as PEM text, of the authority that signed the API server's. */
  get authority(): string {
    return this.#keys.ca.cert;
  }

  /**
   * A transport as an administrator (`system:masters`), with its own connection pool.
   *
   * @throws CapstanError INVALID_ARGUMENT
   * @example
   * await using envtest = await startEnvtest();
   * const transport = envtest.transport({ as: 'system:serviceaccount:default:web' });
   */
  transport(options: ServerTransportOptions = {}): Transport & AsyncDisposable {
    requireNames('options', options, 'option of transport()', TRANSPORT_NAMES);
    const { as, headers = {} } = options;
    if (as !== undefined) requireUser('as', as);
    const all = { ...(as === undefined ? {} : headersAs(as)), ...headers };
    // The certificate would win over another token.
    const isOther = Object.keys(all).some((name) => name.toLowerCase() === 'authorization');
    return this.#connect(all, isOther ? {} : this.#keys.admin);
  }

  /** A kubeconfig of the administrator, as text: JSON, which is YAML. */
  kubeconfig(): string {
    return this.#kubeconfig('admin', this.#keys.admin);
  }

  /**
   * Makes a client certificate for a user: a name, or a name with groups. Roles give the user its
   * permissions.
   *
   * @throws CapstanError INVALID_ARGUMENT, also for a user with `uid` or `extra`, which a
   *   certificate cannot have
   */
  async addUser(user: string | ServerUser): Promise<EnvtestUser> {
    requireUser('user', user);
    const whole: ServerUser = typeof user === 'string' ? { name: user } : user;
    if (whole.uid !== undefined || whole.extra !== undefined)
      throw invalid(
        'user',
        'a user without uid and extra, which a certificate does not support',
        whole,
      );
    return this.#user(whole.name, await clientCertificate(this.#keys.ca, whole));
  }

  /**
   * Creates a ServiceAccount and its namespace, unless they exist. The token is valid for an hour.
   */
  async addServiceAccount(key: { namespace: string; name: string }): Promise<EnvtestUser> {
    const { name, token } = await this.#asAdmin((client) => createServiceAccount(client, key));
    return this.#user(name, { token });
  }

  /**
   * Ends only the API server. SIGKILL cuts all connections. SIGTERM ends watches in order.
   */
  async kill(signal: 'SIGTERM' | 'SIGKILL' = 'SIGKILL'): Promise<void> {
    await this.#apiServer?.stop(signal);
    this.#apiServer = undefined;
  }

  /**
   * Ends the API server if it runs, and starts it on the same port, as an upgrade does. The data in
   * etcd is kept; the watch cache is empty.
   *
   * @throws CapstanError ENVTEST when it does not become ready, STOPPED after `stop()`
   */
  async restart(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    if (this.#stopped !== undefined)
      throw new CapstanError(
        'STOPPED',
        'restart() expected a running server, got one after stop()',
      );
    await this.kill(signal);
    await this.#startApiServer();
  }

  /**
   * Makes all earlier resourceVersions expire (410 Gone): compacts etcd, as the API server does
   * every five minutes, and restarts the API server to empty its watch cache.
   */
  async expireHistory(): Promise<void> {
    const key = Buffer.from('/').toString('base64');
    const range = await this.#etcdCall('kv/range', { key, limit: '1' });
    const { revision } = (range as { header: { revision: string } }).header;
    await this.#etcdCall('kv/compaction', { revision, physical: true });
    await this.restart('SIGKILL');
  }

  /**
   * Kills both programs, and removes the folder. Later calls return the same promise.
   */
  stop(): Promise<void> {
    this.#stopped ??= this.#end();
    return this.#stopped;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #end(): Promise<void> {
    this.#unlisten();
    this.#ended.abort(new CapstanError('STOPPED', 'the API server was stopped'));
    await this.#apiServer?.stop('SIGKILL');
    await this.#etcd?.stop('SIGKILL');
    this.#leash.release();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #connect(headers: Record<string, string | string[]>, user: object): Transport & AsyncDisposable {
    const tls: TlsMaterial = { ca: this.#keys.ca.cert, ...user };
    return httpTransport(this.url, { headers, tls });
  }

  #user(name: string, credentials: Credentials): EnvtestUser {
    const token = 'token' in credentials ? credentials.token : undefined;
    return {
      name,
      token,
      transport: () =>
        token === undefined
          ? this.#connect({}, credentials)
          : this.#connect({ authorization: `Bearer ${token}` }, {}),
      kubeconfig: () => this.#kubeconfig(name, credentials),
    };
  }

  #kubeconfig(name: string, credentials: Credentials): string {
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    const user =
      'token' in credentials
        ? credentials
        : {
            'client-certificate-data': base64(credentials.cert),
            'client-key-data': base64(credentials.key),
          };
    return kubeconfigFor(this.url, name, user, this.#keys.ca.cert);
  }

  async #asAdmin<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const transport = this.transport();
    try {
      return await work(newClient({ transport }));
    } finally {
      await transport.close?.();
    }
  }

  /** Creates the definitions and the webhook configurations. */
  async #prepare(): Promise<void> {
    const { crds = [], webhooks = [], timeout = START_MS } = this.#options;
    const definitions = crds.map(definitionIn);
    const configurations = webhooks.map(webhookConfiguration);
    if (definitions.length + configurations.length === 0) return;
    await this.#asAdmin(async (client) => {
      const { signal } = this.#ended;
      if (definitions.length > 0) await installCRDs(client, definitions, { timeout, signal });
      for (const { resource, object } of configurations)
        await client.create(resource, object, { signal });
    });
  }

  async #startEtcd(): Promise<void> {
    const client = this.etcdUrl;
    const peer = `http://127.0.0.1:${this.#ports.peer}`;
    this.#etcd = this.#run('etcd', this.#programs.etcd, [
      `--data-dir=${join(this.folder, 'etcd')}`,
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
      '--unsafe-no-fsync', // the data is only for the test
      '--log-level=warn',
    ]);
    await this.#ready(this.#etcd, async () => {
      const { status } = await fetch(`${client}/health`, { signal: AbortSignal.timeout(PROBE_MS) });
      return status;
    });
  }

  async #startApiServer(): Promise<void> {
    const file = (name: string): string => join(this.folder, name);
    const { authorization = 'RBAC', flags = [] } = this.#options;
    this.#apiServer = this.#run('kube-apiserver', this.#programs.apiServer, [
      `--etcd-servers=${this.etcdUrl}`,
      '--bind-address=127.0.0.1',
      '--advertise-address=127.0.0.1',
      `--secure-port=${this.#ports.api}`,
      `--tls-cert-file=${file('server.crt')}`,
      `--tls-private-key-file=${file('server.key')}`,
      `--client-ca-file=${file('ca.crt')}`,
      `--token-auth-file=${file('tokens.csv')}`,
      '--anonymous-auth=false', // a wrong token is 401, not an anonymous user
      `--authorization-mode=${authorization}`,
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${file('service-account.key')}`,
      `--service-account-signing-key-file=${file('service-account.key')}`,
      '--service-cluster-ip-range=10.0.0.0/16',
      // It needs ServiceAccounts that only the controller manager creates.
      '--disable-admission-plugins=ServiceAccount',
      '--endpoint-reconciler-type=none', // 127.0.0.1 is not a valid endpoint
      // Without this, watches delay the end after SIGTERM by a minute.
      '--shutdown-watch-termination-grace-period=2s',
      '--profiling=false',
      ...flags,
    ]);
    await this.#ready(this.#apiServer, () => this.#readyz());
  }

  #run(name: string, path: string, args: readonly string[]): Program {
    return new Program(name, path, args, join(this.folder, `${name}.log`), this.#leash);
  }

  /** Polls until the probe returns 200. */
  async #ready(program: Program, probe: () => Promise<number | undefined>): Promise<void> {
    const { timeout = START_MS } = this.#options;
    const end = systemClock.now() + timeout;
    for (;;) {
      let last: unknown;
      try {
        const status = await probe();
        if (status === 200) return;
        last = `status ${status}`;
      } catch (error) {
        last = error;
      }
      const { signal } = this.#ended;
      if (signal.aborted) throw aborted(`the start of ${program.name}`, signal.reason);
      const gone = program.ended();
      const why =
        gone !== undefined
          ? `${gone} instead of becoming ready`
          : `${program.name} was not ready within ${timeout} ms: ${String(last)}`;
      if (gone !== undefined || systemClock.now() >= end)
        throw new CapstanError('ENVTEST', `${why}. The end of its log:\n${program.tail()}`, {
          cause: last,
        });
      await sleep(systemClock, POLL_MS, signal);
    }
  }

  async #readyz(): Promise<number | undefined> {
    const call = request(`${this.url}/readyz`, {
      ca: this.#keys.ca.cert,
      ...this.#keys.admin,
      agent: false,
      timeout: PROBE_MS,
    });
    call.on('timeout', () => call.destroy(new Error('no answer')));
    call.end();
    const [response] = (await once(call, 'response')) as [import('node:http').IncomingMessage];
    response.resume();
    return response.statusCode;
  }

  /** Calls etcd's JSON gateway. */
  async #etcdCall(method: string, body: object): Promise<unknown> {
    const response = await fetch(`${this.etcdUrl}/v3/${method}`, {
      method: 'POST',
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(PROBE_MS),
    });
    const text = await response.text();
    if (response.status !== 200)
      throw new CapstanError('ENVTEST', `etcd answered ${method} by ${response.status}: ${text}`);
    return JSON.parse(text);
  }

  #mentions(text: string): boolean {
    return [this.#etcd, this.#apiServer].some((program) => program?.tail(1000).includes(text));
  }
}

/** A line of a token file: token, user, uid and groups, as CSV. */
function tokenLine([token, { name, uid, groups = [] }]: [string, ServerUser]): string {
  const cells = [token, name, uid ?? name, groups.join(',')];
  return `${cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')}\n`;
}

interface Ports {
  api: number;
  etcd: number;
  peer: number;
}

/**
 * Finds free ports below the range of local ports for outgoing connections (from 32768 on Linux). A
 * client that connects again and again to the port of a stopped server could otherwise get that
 * port as its local port, connect to itself, and block the port for the restarted server.
 */
async function freePorts(): Promise<Ports> {
  const found = new Set<number>();
  while (found.size < 3) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    if (await isFree(port)) found.add(port);
  }
  const [api, etcd, peer] = [...found] as [number, number, number];
  return { api, etcd, peer };
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  server.listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
