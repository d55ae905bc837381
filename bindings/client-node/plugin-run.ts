/**
 * Watches the runs of an exec plugin: how each ended, and its stderr. client-node's ExecAuth only
 * prints the stderr of a failed plugin, so the function that starts the process (`execFn`) is
 * wrapped.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { ChildProcess } from 'node:child_process';
import { textOfError } from '../base/error-text.ts';
import { isError, show } from '../base/errors.ts';

/** The characters of stderr that are kept; the end has the reason. */
const MOST_STDERR = 2000;

/** The run of the current process. */
const runs = new AsyncLocalStorage<PluginRun>();
const wrapped = new WeakSet<object>();

/** Reports the runs of an ExecAuth to their {@link PluginRun}. */
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
  /** Why the process failed. */
  #failure: string | undefined;
  #ran = false;

  /** Whether a process was started. */
  get ran(): boolean {
    return this.#ran;
  }

  /** Its stderr, for messages; "" if there is none. */
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

  /** The plugin's failure, if it is the reason for missing credentials. */
  failureOf(error: unknown): string | undefined {
    if (this.#failure !== undefined || !this.#ran) return this.#failure;
    // The message of JSON.parse contains the beginning of the text, which may be a token.
    return isError(error) && error.name === 'SyntaxError'
      ? 'answered with text that is no JSON (it is not shown)'
      : undefined;
  }
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
