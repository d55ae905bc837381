/**
 * Runs the measuring programs, ours and the peers', each in a process of its own with a time limit,
 * and reads the figures that they print. The Go programs are built once a run; if that fails, the
 * report has the reason.
 */
import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Figure } from './figures.ts';

const run = promisify(execFile);

/** A work takes seconds, so a program that runs this long hangs. */
const TIME_LIMIT_MS = 10 * 60_000;

/** The path of a file of bench/. */
export const at = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));

/**
 * The figures that a program prints, one JSON object a line. Rejects if it fails or prints none.
 */
export async function figuresOf(command: string, args: readonly string[]): Promise<Figure[]> {
  const { stdout } = await run(command, [...args], {
    timeout: TIME_LIMIT_MS,
    killSignal: 'SIGKILL',
  });
  const figures = stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Figure);
  if (figures.length === 0) throw new Error(`${command} ${args.join(' ')}: printed no figure`);
  return figures;
}

/** The same for a script of bench/, in this version of Node. */
export function figuresOfScript(script: string, args: readonly string[]): Promise<Figure[]> {
  return figuresOf(process.execPath, ['--expose-gc', at(script), ...args]);
}

/** The last line that a failed program wrote, which names the reason. */
export function reasonOf(error: unknown): string {
  const text =
    error instanceof Error
      ? ('stderr' in error && String(error.stderr).trim()) || error.message
      : '';
  return text.trim().split('\n').at(-1) ?? String(error);
}

export type GoProgram = { program: string } | { missing: string };

/** Builds a Go program of peers/: half a minute the first time, a second later on. */
export async function buildGo(peer: 'client-go' | 'controller-runtime'): Promise<GoProgram> {
  try {
    await run('go', ['version']);
  } catch {
    return { missing: 'Go is not installed' };
  }
  const program = at(`../build/bench/${peer}`);
  mkdirSync(at('../build/bench'), { recursive: true });
  try {
    await run('go', ['build', '-o', program, '.'], {
      cwd: at(`peers/${peer}`),
      timeout: TIME_LIMIT_MS,
    });
    return { program };
  } catch (error) {
    return { missing: `its program does not build: ${reasonOf(error)}` };
  }
}
