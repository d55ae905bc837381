#!/usr/bin/env node
/**
 * The command line of the package: what was typed, and the exit code. Stdout has what the command
 * says and nothing else: what a module prints while it is loaded goes to stderr. The process ends
 * with the command, whatever that module still keeps open, and after what was said is out.
 */
import { main } from './cli.ts';

const { stdout, stderr } = process;
const say = stdout.write.bind(stdout);
stdout.write = stderr.write.bind(stderr);
// A reader may close the pipe early, as `head` does: only the exit code says so.
stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  if (code !== 'EPIPE') stderr.write(`capstan: ${message}\n`);
});
stderr.on('error', () => {});

const said: Promise<boolean>[] = [];
const through = (write: typeof say) => (text: string) => {
  said.push(new Promise((resolve) => write(text, (error) => resolve(!error))));
};
const code = await main(process.argv.slice(2), { out: through(say), err: through(stdout.write) });
const isSaid = (await Promise.all(said)).every(Boolean);
process.exit(isSaid ? code : 1);
