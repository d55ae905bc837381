/**
 * The real API server of the end-to-end tests: that of `startEnvtest`, with a kubeconfig in a file,
 * other programs that end with it, and logs that stay when a test has failed.
 */

import { copyFileSync, existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Envtest, startEnvtest } from 'capstan/testing';
import { Leash, Program } from '../../../bindings/testing/envtest/program.ts';

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

/** The bearer token of context `token`. */
export const TOKEN = 'capstan-e2e-token';

const START_MS = 90_000;
const LOGS = ['etcd.log', 'kube-apiserver.log'];

export class ControlPlane {
  /** `https://127.0.0.1:<port>`; stays the same over restarts. */
  readonly url: string;
  /**
   * Path of a kubeconfig; its current context uses the client certificate, context `token` the
   * bearer token.
   */
  readonly kubeconfig: string;
  readonly folder: string;
  readonly #envtest: Envtest;
  readonly #leash: Leash;
  readonly #others: Program[] = [];
  #keep = process.env.CAPSTAN_E2E_KEEP !== undefined;

  private constructor(envtest: Envtest) {
    this.#envtest = envtest;
    this.url = envtest.url;
    this.folder = envtest.folder;
    this.kubeconfig = join(envtest.folder, 'kubeconfig');
    writeFileSync(this.kubeconfig, withToken(envtest.kubeconfig()), { mode: 0o600 });
    this.#leash = new Leash(this.folder);
  }

  /** Resolves when the API server is ready. */
  static async start(options: PlaneOptions = {}): Promise<ControlPlane> {
    const { rbac, legible, unfair, everything, gates = [] } = options;
    const flags = [
      ...(rbac ? ['--enable-admission-plugins=OwnerReferencesPermissionEnforcement'] : []),
      ...(legible ? ['--storage-media-type=application/json'] : []),
      ...(unfair ? ['--enable-priority-and-fairness=false'] : []),
      ...(everything ? ['--runtime-config=api/all=true', '--feature-gates=AllBeta=true'] : []),
      ...gates.map((gate) => `--feature-gates=${gate}=true`),
    ];
    const user = { name: 'token-user', uid: 'token-user', groups: ['system:masters'] };
    const authorization = rbac ? 'RBAC' : 'AlwaysAllow';
    const rest = { flags, authorization, timeout: START_MS } as const;
    return new ControlPlane(await startEnvtest({ users: { [TOKEN]: user }, ...rest }));
  }

  /** See `Envtest.kill`. */
  kill(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    return this.#envtest.kill(signal);
  }

  /** See `Envtest.restart`. */
  restart(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    return this.#envtest.restart(signal);
  }

  /** See `Envtest.expireHistory`. */
  expireHistory(): Promise<void> {
    return this.#envtest.expireHistory();
  }

  /** The certificate, as PEM text, of the authority that signed the API server's. */
  get authority(): string {
    return this.#envtest.authority;
  }

  /** Where etcd's JSON gateway answers: `http://127.0.0.1:<port>`. */
  get etcdUrl(): string {
    return this.#envtest.etcdUrl;
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

  /** Ends all programs at once, and removes the folder. */
  async stop(): Promise<void> {
    for (const program of this.#others) await program.stop('SIGKILL');
    if (this.#keep) this.#saveLogs();
    this.#leash.release();
    await this.#envtest.stop();
  }

  #saveLogs(): void {
    const folder = mkdtempSync(join(tmpdir(), 'capstan-e2e-logs-'));
    for (const name of [...LOGS, ...this.#others.map((program) => `${program.name}.log`)])
      if (existsSync(join(this.folder, name)))
        copyFileSync(join(this.folder, name), join(folder, name));
    console.error(`logs of etcd and kube-apiserver: ${folder}`);
  }
}

/** The administrator's kubeconfig with a context `token` more. */
function withToken(kubeconfig: string): string {
  const config = JSON.parse(kubeconfig) as {
    clusters: { name: string }[];
    users: object[];
    contexts: object[];
  };
  const cluster = config.clusters[0]?.name;
  config.users.push({ name: 'token', user: { token: TOKEN } });
  config.contexts.push({ name: 'token', context: { cluster, user: 'token' } });
  return JSON.stringify(config, undefined, 2);
}
