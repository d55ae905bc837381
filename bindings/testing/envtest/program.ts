/**
 * Child processes that never outlive this process. `stop` ends a program in order. An exit hook
 * ends it if this process exits earlier. A leash ends it if this process is killed, and no hook
 * runs. The leash is a shell that reads the ids of running programs from a pipe. The pipe ends with
 * this process.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { systemClock } from '../../base/clock.ts';
import { CapstanError } from '../../base/errors.ts';
import { within } from '../../base/wait.ts';

/** In milliseconds. A program may need some time after SIGTERM to close its connections. */
const EXIT_MS = 15_000;

/** The running child processes. The first start adds the exit hook. */
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
  /** The path of the file with its output. */
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
    // 'error' instead of 'exit' means that it did not start.
    this.#exit = once(child, 'exit').catch((error: unknown) => error);
    void this.#exit.then(() => {
      running?.delete(child);
      leash.drop(child.pid);
    });
    leash.hold(child.pid);
  }

  /** Why the program is not running; `undefined` while it runs. */
  ended(): string | undefined {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid === undefined) return `${this.name} did not start`;
    return exitCode === null && signalCode === null
      ? undefined
      : `${this.name} ended (${signalCode ?? exitCode})`;
  }

  /** Waits until the program ends by itself. Resolves with the exit code or the signal. */
  async exited(ms: number): Promise<number | string> {
    await this.#ends(ms, 'has not ended');
    const { exitCode, signalCode } = this.#child;
    return signalCode ?? exitCode ?? 'not started';
  }

  /** Resolves when the process has ended. If SIGTERM does not end it, SIGKILL follows. */
  async stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    this.#child.kill(signal);
    try {
      await this.#ends(EXIT_MS, `has not ended after ${signal}`);
    } catch (error) {
      if (signal === 'SIGKILL') throw error;
      await this.stop('SIGKILL');
    }
  }

  /** Sends a signal, such as SIGSTOP, and does not wait. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** The whole output so far. */
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

/** When this process ends in any way, kills the programs that it holds, and removes `folder`. */
export class Leash {
  readonly #shell: ChildProcess;
  readonly #pids = new Set<number>();

  constructor(folder: string) {
    // Each line has all ids, so only the last line counts. The shell ignores signals, because
    // Ctrl-C reaches the whole process group.
    const script =
      'trap "" INT TERM HUP; while read -r line; do pids=$line; done; [ ' +
      '-z "$pids" ] || kill -KILL $pids; rm -rf "$0"';
    this.#shell = spawn('sh', ['-c', script, folder], { stdio: ['pipe', 'ignore', 'ignore'] });
    // Without a shell there is no leash.
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

  /** Ends the leash. It kills and removes nothing afterwards. */
  release(): void {
    this.#shell.kill('SIGKILL');
  }

  #tell(): void {
    this.#shell.stdin?.write(`${[...this.#pids].join(' ')}\n`);
  }
}
