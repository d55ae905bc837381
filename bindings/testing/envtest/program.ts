/**
 * Child processes that never outlive this one. Three nets, because each one has a hole: `stop` ends
 * a program in order, an exit hook ends it when this process exits early, and a leash ends it when
 * this process is killed and runs no hook at all. The leash is a shell that reads the live process
 * ids from a pipe; the pipe ends when we do.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { systemClock } from '../../base/clock.ts';
import { CapstanError } from '../../base/errors.ts';
import { within } from '../../base/wait.ts';

/** A killed process is gone at once, a terminated one may take its time to close connections. */
const EXIT_MS = 15_000;

/** The running children; the exit hook is there once the first has started. */
let running: Set<ChildProcess> | undefined;

function started(child: ChildProcess): void {
  if (running === undefined) {
    const all = new Set<ChildProcess>();
    running = all;
    process.on('exit', () => {
      for (const each of all) each.kill('SIGKILL');
    });
  }
  running.add(child);
}

/** A running program. */
export class Program {
  readonly name: string;
  /** The file of its output. */
  readonly log: string;
  readonly #child: ChildProcess;
  readonly #exit: Promise<unknown>;

  /** Starts it with its output appended to the file `log`. */
  constructor(name: string, path: string, args: readonly string[], log: string, leash: Leash) {
    this.name = name;
    this.log = log;
    const output = openSync(log, 'a');
    try {
      this.#child = spawn(path, args, { stdio: ['ignore', output, output] });
    } finally {
      closeSync(output);
    }
    const child = this.#child;
    started(child);
    // 'error' instead of 'exit': it did not start
    this.#exit = once(child, 'exit').catch((error: unknown) => error);
    void this.#exit.then(() => {
      running?.delete(child);
      leash.drop(child.pid);
    });
    leash.hold(child.pid);
  }

  /** Why it is not running, or `undefined` while it is. */
  ended(): string | undefined {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid === undefined) return `${this.name} did not start`;
    return exitCode === null && signalCode === null
      ? undefined
      : `${this.name} ended (${signalCode ?? exitCode})`;
  }

  /** Resolves with the exit code, or the signal that ended it, once it has ended by itself. */
  async exited(ms: number): Promise<number | string> {
    await this.#ends(ms, 'has not ended');
    const { exitCode, signalCode } = this.#child;
    return signalCode ?? exitCode ?? 'not started';
  }

  /** Resolves when the process is gone. SIGTERM turns into SIGKILL if it is not heeded. */
  async stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    this.#child.kill(signal);
    try {
      await this.#ends(EXIT_MS, `has not ended after ${signal}`);
    } catch (error) {
      if (signal === 'SIGKILL') throw error;
      await this.stop('SIGKILL');
    }
  }

  /** Sends a signal and waits for nothing: SIGSTOP, for one, has no end to wait for. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Everything it has written so far. */
  output(): string {
    return readFileSync(this.log, 'utf8');
  }

  /** The last lines of its output. */
  tail(lines = 25): string {
    return this.output().trimEnd().split('\n').slice(-lines).join('\n');
  }

  async #ends(ms: number, how: string): Promise<void> {
    if (await within(systemClock, ms, this.#exit)) return;
    throw new CapstanError('TIMEOUT', `${this.name} ${how} within ${ms} ms`);
  }
}

/** Kills what it holds, and removes `folder`, once this process is gone, however it went. */
export class Leash {
  readonly #shell: ChildProcess;
  readonly #pids = new Set<number>();

  constructor(folder: string) {
    // Every line is the whole list of live ids, so the last line read is the truth. Ctrl-C reaches
    // the group: ignored.
    const script =
      'trap "" INT TERM HUP; while read -r line; do pids=$line; done; [ ' +
      '-z "$pids" ] || kill -KILL $pids; rm -rf "$0"';
    this.#shell = spawn('sh', ['-c', script, folder], { stdio: ['pipe', 'ignore', 'ignore'] });
    // without a shell, or when it is gone, nothing is left to tell it
    this.#shell.on('error', () => undefined);
    this.#shell.stdin?.on('error', () => undefined);
    this.#shell.unref();
    (this.#shell.stdin as { unref?(): void } | null)?.unref?.();
  }

  hold(pid: number | undefined): void {
    if (pid === undefined) return;
    this.#pids.add(pid);
    this.#tell();
  }

  drop(pid: number | undefined): void {
    if (pid === undefined) return;
    this.#pids.delete(pid);
    this.#tell();
  }

  /** Lets go: nothing is killed or removed afterwards. */
  release(): void {
    this.#shell.kill('SIGKILL');
  }

  #tell(): void {
    this.#shell.stdin?.write(`${[...this.#pids].join(' ')}\n`);
  }
}
