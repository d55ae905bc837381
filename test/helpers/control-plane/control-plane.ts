/**
 * A real control plane of one etcd and one kube-apiserver on loopback: TLS with an authority of its
 * own, a client certificate and a static token. The API server can be killed and started again on
 * the same port with the same data, which is what an upgrade or a crash looks like to a client.
 * There is no controller manager: nothing collects garbage, no namespace gets a service account.
 */

import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Assets, assets } from './assets.ts';
import { type Certificates, certificates } from './certificates.ts';
import { eventually } from './conditions.ts';
import { Leash, Program } from './program.ts';

const START_MS = 90_000;
const START_ATTEMPTS = 3;
const PROBE_MS = 5000;

interface PlaneOptions {
  /**
   * Who is not an administrator may do what roles allow, and owner references are checked too; else
   * everything.
   */
  rbac?: boolean;
  /**
   * Objects lie in etcd as JSON, which a test can read; else as in any cluster, where empty lists
   * are lost on the way.
   */
  legible?: boolean;
  /**
   * The API server runs without priority and fairness, whose controller writes the status of
   * FlowSchemas.
   */
  unfair?: boolean;
  /** The API server also serves the beta and alpha versions, which are off by default. */
  everything?: boolean;
  /** Feature gates that are on beside the defaults, such as `ShardedListAndWatch`. */
  gates?: readonly string[];
}

const RBAC = [
  '--authorization-mode=RBAC',
  '--enable-admission-plugins=OwnerReferencesPermissionEnforcement',
];

const EVERYTHING = ['--runtime-config=api/all=true', '--feature-gates=AllBeta=true'];

export class ControlPlane {
  /** `https://127.0.0.1:<port>`; stays the same over restarts. */
  readonly url: string;
  /**
   * Path of a kubeconfig; its current context uses the client certificate, context `token` the
   * bearer token.
   */
  readonly kubeconfig: string;
  readonly folder: string;
  readonly #programs: Assets;
  readonly #keys: Certificates;
  readonly #ports: Ports;
  readonly #leash: Leash;
  #etcd: Program | undefined;
  #apiServer: Program | undefined;
  readonly #others: Program[] = [];
  #keep = process.env.CAPSTAN_E2E_KEEP !== undefined;

  readonly #options: PlaneOptions;

  private constructor(
    programs: Assets,
    keys: Certificates,
    ports: Ports,
    folder: string,
    options: PlaneOptions,
  ) {
    this.#options = options;
    this.#programs = programs;
    this.#keys = keys;
    this.#ports = ports;
    this.folder = folder;
    this.url = `https://127.0.0.1:${ports.api}`;
    this.kubeconfig = join(folder, 'kubeconfig');
    this.#leash = new Leash(folder);
    for (const [name, text] of files(this.url, keys))
      writeFileSync(join(folder, name), text, { mode: 0o600 });
  }

  /**
   * Resolves when /readyz answers 200. A port that was taken meanwhile costs another attempt, not
   * the run.
   */
  static async start(options: PlaneOptions = {}): Promise<ControlPlane> {
    const programs = assets();
    const keys = await certificates();
    for (let attempt = 1; ; attempt++) {
      const folder = mkdtempSync(join(tmpdir(), 'capstan-e2e-'));
      const plane = new ControlPlane(programs, keys, await freePorts(), folder, options);
      try {
        await plane.#startEtcd();
        await plane.#startApiServer();
        return plane;
      } catch (error) {
        const taken = plane.#mentions('address already in use');
        if (!taken || attempt === START_ATTEMPTS) plane.keepLogs();
        await plane.stop();
        if (!taken || attempt === START_ATTEMPTS) throw error;
      }
    }
  }

  /**
   * Ends the API server alone: SIGKILL cuts every connection mid-stream, SIGTERM ends watches in
   * order.
   */
  async kill(signal: 'SIGTERM' | 'SIGKILL' = 'SIGKILL'): Promise<void> {
    await this.#apiServer?.stop(signal);
    this.#apiServer = undefined;
  }

  /**
   * Ends the API server if it runs, and starts it on the same port. Its watch cache is empty, the
   * data is not.
   */
  async restart(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    await this.kill(signal);
    await this.#startApiServer();
  }

  /**
   * Makes every version before now unavailable, as etcd's compaction does every five minutes: the
   * history goes from etcd, and with the restart from the API server's watch cache.
   */
  async expireHistory(): Promise<void> {
    const range = await this.#etcdCall('kv/range', {
      key: Buffer.from('/').toString('base64'),
      limit: '1',
    });
    const revision = (range as { header: { revision: string } }).header.revision;
    await this.#etcdCall('kv/compaction', { revision, physical: true });
    await this.restart('SIGKILL');
  }

  /** The certificate, as PEM text, of the authority that signed the API server's. */
  get authority(): string {
    return this.#keys.ca.cert;
  }

  /** Where etcd's JSON gateway answers: `http://127.0.0.1:<port>`. */
  get etcdUrl(): string {
    return `http://127.0.0.1:${this.#ports.etcd}`;
  }

  /**
   * Runs another program that must not outlive the control plane; its output goes to the same
   * folder.
   */
  run(name: string, path: string, args: readonly string[]): Program {
    const program = new Program(name, path, args, join(this.folder, `${name}.log`), this.#leash);
    this.#others.push(program);
    return program;
  }

  /**
   * The logs stay when the control plane stops, and their folder is printed: for a test that
   * failed.
   */
  keepLogs(): void {
    this.#keep = true;
  }

  /** Ends all programs, at once, for nothing is worth flushing, and removes the folder. */
  async stop(): Promise<void> {
    for (const program of [...this.#others, this.#apiServer, this.#etcd])
      await program?.stop('SIGKILL');
    this.#leash.release();
    rmSync(this.#keep ? join(this.folder, 'etcd') : this.folder, { recursive: true, force: true });
    if (this.#keep) console.error(`logs of etcd and kube-apiserver: ${this.folder}`);
  }

  async #startEtcd(): Promise<void> {
    const client = this.etcdUrl;
    const peer = `http://127.0.0.1:${this.#ports.peer}`;
    const etcd = new Program(
      'etcd',
      this.#programs.etcd,
      [
        `--data-dir=${join(this.folder, 'etcd')}`,
        `--listen-client-urls=${client}`,
        `--advertise-client-urls=${client}`,
        `--listen-peer-urls=${peer}`,
        `--initial-advertise-peer-urls=${peer}`,
        `--initial-cluster=default=${peer}`,
        '--unsafe-no-fsync', // the data lives as long as the test
        '--log-level=warn',
      ],
      join(this.folder, 'etcd.log'),
      this.#leash,
    );
    this.#etcd = etcd;
    await this.#ready(etcd, async () => {
      const { status } = await fetch(`${client}/health`, { signal: AbortSignal.timeout(PROBE_MS) });
      return status === 200 || `status ${status}`;
    });
  }

  async #startApiServer(): Promise<void> {
    const file = (name: string) => join(this.folder, name);
    const apiServer = new Program(
      'kube-apiserver',
      this.#programs.apiServer,
      [
        `--etcd-servers=${this.etcdUrl}`,
        '--bind-address=127.0.0.1',
        '--advertise-address=127.0.0.1',
        `--secure-port=${this.#ports.api}`,
        `--tls-cert-file=${file('server.crt')}`,
        `--tls-private-key-file=${file('server.key')}`,
        `--client-ca-file=${file('ca.crt')}`,
        `--token-auth-file=${file('tokens.csv')}`,
        '--anonymous-auth=false', // a wrong token is 401, not an anonymous user
        ...(this.#options.rbac ? RBAC : ['--authorization-mode=AlwaysAllow']),
        '--service-account-issuer=https://kubernetes.default.svc',
        `--service-account-key-file=${file('service-account.key')}`,
        `--service-account-signing-key-file=${file('service-account.key')}`,
        '--service-cluster-ip-range=10.0.0.0/16',
        // no controller manager makes the accounts it asks for
        '--disable-admission-plugins=ServiceAccount',
        '--endpoint-reconciler-type=none', // loopback is no endpoint
        '--watch-cache=true',
        ...(this.#options.legible ? ['--storage-media-type=application/json'] : []),
        ...(this.#options.unfair ? ['--enable-priority-and-fairness=false'] : []),
        ...(this.#options.everything ? EVERYTHING : []),
        ...(this.#options.gates ?? []).map((gate) => `--feature-gates=${gate}=true`),
        // on SIGTERM watches end in order; else they hold it for a minute
        '--shutdown-watch-termination-grace-period=2s',
        '--profiling=false',
      ],
      join(this.folder, 'kube-apiserver.log'),
      this.#leash,
    );
    this.#apiServer = apiServer;
    await this.#ready(apiServer, () => this.#readyz());
  }

  async #ready(program: Program, probe: () => Promise<boolean | string>): Promise<void> {
    let ended: string | undefined;
    try {
      await eventually(
        `${program.name} is ready`,
        () => {
          ended = program.ended();
          return ended !== undefined || probe();
        },
        START_MS,
      );
    } catch (cause) {
      throw new Error(`${(cause as Error).message}\n${program.tail()}`, { cause });
    }
    if (ended !== undefined)
      throw new Error(`${ended} instead of becoming ready\n${program.tail()}`);
  }

  async #readyz(): Promise<boolean | string> {
    const call = request(`${this.url}/readyz`, {
      ca: this.#keys.ca.cert,
      cert: this.#keys.admin.cert,
      key: this.#keys.admin.key,
      agent: false,
      timeout: PROBE_MS,
    });
    call.on('timeout', () => call.destroy(new Error('no answer')));
    call.end();
    const [response] = (await once(call, 'response')) as [import('node:http').IncomingMessage];
    response.resume();
    return response.statusCode === 200 || `status ${response.statusCode}`;
  }

  /** etcd's JSON gateway: its own protocol is gRPC. */
  async #etcdCall(method: string, body: object): Promise<unknown> {
    const url = `${this.etcdUrl}/v3/${method}`;
    const response = await fetch(url, {
      method: 'POST',
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(PROBE_MS),
    });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`etcd ${method}: ${response.status} ${text}`);
    return JSON.parse(text);
  }

  #mentions(text: string): boolean {
    return [this.#etcd, this.#apiServer].some((program) => program?.tail(1000).includes(text));
  }
}

interface Ports {
  api: number;
  etcd: number;
  peer: number;
}

/**
 * Below the range from which the system takes the local end of outgoing connections (32768 up on
 * Linux): a client that keeps connecting to a dead server's port can otherwise be given that very
 * port, connect to itself, and keep the restarted server from binding it.
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

/** The bearer token of context `token`. */
export const TOKEN = 'capstan-e2e-token';

function files(url: string, keys: Certificates): [name: string, text: string][] {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const cluster = {
    name: 'e2e',
    cluster: { server: url, 'certificate-authority-data': base64(keys.ca.cert) },
  };
  const certificate = {
    'client-certificate-data': base64(keys.admin.cert),
    'client-key-data': base64(keys.admin.key),
  };
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [cluster],
    users: [
      { name: 'certificate', user: certificate },
      { name: 'token', user: { token: TOKEN } },
    ],
    contexts: ['certificate', 'token'].map((user) => ({
      name: user,
      context: { cluster: 'e2e', user },
    })),
    'current-context': 'certificate',
  };
  return [
    ['ca.crt', keys.ca.cert],
    ['server.crt', keys.server.cert],
    ['server.key', keys.server.key],
    ['service-account.key', keys.serviceAccountKey],
    ['tokens.csv', `${TOKEN},token-user,token-user,"system:masters"\n`],
    ['kubeconfig', JSON.stringify(kubeconfig, undefined, 2)], // JSON is YAML
  ];
}
