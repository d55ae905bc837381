/**
 * How a run of an exec plugin ended, and what it wrote to stderr. client-node's ExecAuth tells of a
 * plugin that failed by its stderr alone, so its function that starts the process (`execFn`) is
 * wrapped once.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { ChildProcess } from 'node:child_process';
import { textOfError } from '../base/error-text.ts';
import { isError, show } from '../base/errors.ts';

/** Of stderr so much is kept: the end says why. */
const MOST_STDERR = 2000;

/** The run that a process is started for. */
const runs = new AsyncLocalStorage<PluginRun>();
const wrapped = new WeakSet<object>();

/** Has the runs of an ExecAuth told to their {@link PluginRun}. */
export function watchRuns(exec: { execFn?: unknown }): void {
  const { execFn } = exec;
  if (wrapped.has(exec) || typeof execFn !== 'function') return;
  wrapped.add(exec);
  exec.execFn = (...args: unknown[]): unknown => {
    const child: unknown = Reflect.apply(execFn, exec, args);
    runs.getStore()?.watch(child as Partial<ChildProcess>);
    return child;
  };
}

export class PluginRun {
  #stderr = '';
  /** Why the process has failed. */
  #failure: string | undefined;
  #ran = false;

  /** Whether a process was started. */
  get ran(): boolean {
    return this.#ran;
  }

  /** What it wrote to stderr, as it follows in a message; "" for nothing. */
  get said(): string {
    const text = this.#stderr.trim();
    return text === '' ? '' : `: ${text}`;
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

  /** What went wrong, where the plugin is why there are no credentials. */
  failureOf(error: unknown): string | undefined {
    if (this.#failure !== undefined || !this.#ran) return this.#failure;
    // The error of JSON.parse shows how the text begins, which may be a token.
    return isError(error) && error.name === 'SyntaxError'
      ? 'answered with text that is no JSON (it is not shown)'
      : undefined;
  }
}

/** What is wrong with the answer's type: it must be what the kubeconfig asks for. */
export function wrongType(answer: Record<string, unknown>, asked: unknown): string | undefined {
  const { kind, apiVersion } = answer;
  if (kind !== undefined && kind !== 'ExecCredential')
    return `answered with a kind ${show(kind)} instead of "ExecCredential"`;
  // client-go: auth/exec/exec.go refreshCredsLocked
  if (apiVersion !== undefined && typeof asked === 'string' && apiVersion !== asked)
    return `answered with apiVersion ${show(apiVersion)}, but the kubeconfig asks for ${show(asked)}`;
  return undefined;
}
