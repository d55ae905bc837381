/**
 * Starts programs, and always ends them: by themselves, after a time limit, or when the caller
 * gives up.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { messageIn, type SuiteReport } from './report.ts';

/** The first program on PATH with one of these names, in the order of the names. */
export function onPath(...names: readonly string[]): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  const candidates = names.flatMap((name) => folders.map((folder) => join(folder, name)));
  return candidates.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** The last lines of a program's output, for the message of its failure. */
class Tail {
  readonly #lines: string[] = [];

  add(line: string): void {
    this.#lines.push(line.slice(0, 500));
    if (this.#lines.length > 25) this.#lines.shift();
  }

  toString(): string {
    return this.#lines.map((line) => `\n    ${line}`).join('');
  }
}

export interface RuntimeProgram {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface Launched {
  /** Resolves at its end: with the exit code, or the name of the signal that ended it. */
  readonly ended: Promise<number | string>;
  /** Its last output. */
  readonly tail: Tail;
  /** Ends it and its children. No effect on one that has ended. */
  end(): void;
}

/** Starts a program in a new process group; its lines go to `onLine`. */
export function launch(
  { command, args, cwd, env }: RuntimeProgram,
  onLine: (line: string) => void = () => {},
): Launched {
  const child: ChildProcess = spawn(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // a group: a browser's many processes end with it
  });
  const tail = new Tail();
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream }).on('line', (line) => {
      onLine(line);
      if (messageIn(line) === undefined) tail.add(line);
    });
  }
  let running = true;
  const end = (): void => {
    if (!running || child.pid === undefined) return;
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // Ended a moment ago.
    }
  };
  process.once('exit', end);
  const ended = new Promise<number | string>((resolve, reject) => {
    child.once('error', (cause) => reject(new Error(`${command} could not be started`, { cause })));
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'unknown'));
  }).finally(() => {
    running = false;
    process.off('exit', end);
  });
  return { ended, tail, end };
}

/** Rejects if `work` takes more than `ms`; `late` is the message. */
export async function finishesWithin<T>(
  ms: number,
  work: Promise<T>,
  late: () => string,
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    return await Promise.race([
      work,
      new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error(`not done after ${ms / 1000} s: ${late()}`)), ms);
      }),
    ]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Runs a suite whose messages are lines of its output. Without a report, or with an exit code other
 * than 0, it has failed.
 */
export async function suiteIn(program: RuntimeProgram, limitMs: number): Promise<SuiteReport> {
  let report: SuiteReport | undefined;
  let failure: string | undefined;
  let begun = 'nothing';
  const running = launch(program, (line) => {
    const message = messageIn(line);
    if (message?.kind === 'report') report = message;
    if (message?.kind === 'failure') failure = message.message;
    if (message?.kind === 'progress') begun = message.path.join(' > ');
  });
  const state = (): string => `begun last: ${begun}; written last:${running.tail}`;
  try {
    const code = await finishesWithin(limitMs, running.ended, state);
    if (failure !== undefined) throw new Error(failure);
    if (report === undefined)
      throw new Error(`ended with ${code} and without a report; ${state()}`);
    if (code !== 0) throw new Error(`ended with ${code} after its report; ${state()}`);
    return report;
  } finally {
    running.end();
  }
}
