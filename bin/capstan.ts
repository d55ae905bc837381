#!/usr/bin/env node
/**
 * The `capstan` program. Stdout has only the output of the command: what a module prints while it
 * is loaded goes to stderr. The process exits when the command has ended and its output is written,
 * even if that module still holds timers or sockets.
 */
import { main } from './cli.ts';

const { stdout, stderr } = process;
const say = stdout.write.bind(stdout);
stdout.write = stderr.write.bind(stderr);
// A reader may close the pipe early, as `head` does: then only the exit code reports it.
stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  if (code !== 'EPIPE') stderr.write(`capstan: ${message}\n`);
});
stderr.on('error', () => {});

const written: Promise<boolean>[] = [];
const through = (write: typeof say) => (text: string) => {
  written.push(new Promise((resolve) => write(text, (error) => resolve(!error))));
};
const code = await main(process.argv.slice(2), { out: through(say), err: through(stdout.write) });
const isWritten = (await Promise.all(written)).every(Boolean);
process.exit(isWritten ? code : 1);
