/**
 * The runs of an exec plugin: how each is started, how it ended, and its stderr. client-node's
 * ExecAuth gives a plugin a stdin that never ends and no KUBERNETES_EXEC_INFO, and only prints the
 * stderr of a failed plugin, so the function that starts the process (`execFn`) is wrapped.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { ChildProcess, SpawnOptions } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { textOfError } from '../base/error-text.ts';
import { isError, show } from '../base/errors.ts';

/** The characters of stderr that are kept; the end has the reason. */
const MOST_STDERR = 2000;

/** The run of the current process. */
const runs = new AsyncLocalStorage<PluginRun>();
const wrapped = new WeakSet<object>();

/** Leads the runs of an ExecAuth through their {@link PluginRun}. */
export function watchRuns(exec: { execFn?: unknown }): void {
  const { execFn } = exec;
  if (wrapped.has(exec) || typeof execFn !== 'function') return;
  wrapped.add(exec);
  exec.execFn = (command: unknown, args: unknown, options: SpawnOptions): unknown => {
    const run = runs.getStore();
    const given = [command, args ?? [], run?.optionsOf(options) ?? options];
    const child: unknown = Reflect.apply(execFn, exec, given);
    run?.watch(child as Partial<ChildProcess>);
    return child;
  };
}

export class PluginRun {
  readonly #info: () => string;
  #stderr = '';
  /** Why the process failed. */
  #failure: string | undefined;
  #ran = false;

  /** @param info what KUBERNETES_EXEC_INFO says */
  constructor(info: () => string) {
    this.#info = info;
  }

  /** Whether a process was started. */
  get ran(): boolean {
    return this.#ran;
  }

  /** Its stderr, for messages; "" if there is none. */
  get said(): string {
    const text = this.#stderr.trim();
    return text === '' ? '' : `: ${text}`;
  }

  /** client-go: auth/exec/exec.go refreshCredsLocked, where stdin is not inherited */
  optionsOf(options: SpawnOptions | undefined): SpawnOptions {
    const env = { ...(options?.env ?? process.env), KUBERNETES_EXEC_INFO: this.#info() };
    return { ...options, env, stdio: ['ignore', 'pipe', 'pipe'] };
  }

  during<T>(work: () => Promise<T>): Promise<T> {
    return runs.run(this, work);
  }

  watch(child: Partial<ChildProcess>): void {
    this.#ran = true;
    child.stderr?.on('data', (data: unknown) => {
      this.#stderr = (this.#stderr + String(data)).slice(-MOST_STDERR);
    });
    child.once?.('error', (error: NodeJS.ErrnoException) => {
      this.#failure =
        error.code === 'ENOENT' ? 'was not found' : `could not be run: ${textOfError(error)}`;
    });
    child.once?.('close', (code: number | null, signal: string | null) => {
      if (code === 0) return;
      this.#failure ??= code === null ? `was ended by ${signal}` : `ended with code ${code}`;
    });
  }

  /** The plugin's failure, if it is the reason for missing credentials. */
  failureOf(error: unknown): string | undefined {
    if (this.#failure !== undefined || !this.#ran) return this.#failure;
    // The message of JSON.parse contains the beginning of the text, which may be a token.
    return isError(error) && error.name === 'SyntaxError'
      ? 'answered with text that is no JSON (it is not shown)'
      : undefined;
  }
}

/** The members of client-node's Cluster. */
interface Cluster {
  readonly server?: unknown;
  readonly tlsServerName?: unknown;
  readonly skipTLSVerify?: unknown;
  readonly caData?: unknown;
  readonly caFile?: unknown;
  readonly proxyUrl?: unknown;
}

/**
 * The text of KUBERNETES_EXEC_INFO, with the cluster if the kubeconfig says `provideClusterInfo`.
 * client-node does not keep the cluster's extension, which would be `config`. client-go:
 * pkg/apis/clientauthentication/v1, rest/exec.go ConfigToExecCluster
 */
export function execInfo(plugin: { apiVersion?: unknown }, cluster: Cluster | undefined): string {
  const { server, tlsServerName, skipTLSVerify, caData, caFile, proxyUrl } = cluster ?? {};
  const spec = {
    ...(cluster && {
      cluster: {
        server,
        ...(tlsServerName ? { 'tls-server-name': tlsServerName } : {}),
        ...(skipTLSVerify ? { 'insecure-skip-tls-verify': true } : {}),
        ...(caData || caFile
          ? { 'certificate-authority-data': caData || readFileSync(String(caFile), 'base64') }
          : {}),
        ...(proxyUrl ? { 'proxy-url': proxyUrl } : {}),
        config: null,
      },
    }),
    interactive: false,
  };
  return JSON.stringify({ kind: 'ExecCredential', apiVersion: plugin.apiVersion, spec });
}

/** The problem of the answer's apiVersion and kind; they must be those of the kubeconfig. */
export function wrongType(answer: Record<string, unknown>, asked: unknown): string | undefined {
  const { kind, apiVersion } = answer;
  if (kind !== undefined && kind !== 'ExecCredential')
    return `answered with a kind ${show(kind)} instead of "ExecCredential"`;
  // client-go: auth/exec/exec.go refreshCredsLocked
  if (apiVersion !== undefined && typeof asked === 'string' && apiVersion !== asked)
    return `answered with apiVersion ${show(apiVersion)}, the kubeconfig asks for ${show(asked)}`;
  return undefined;
}
