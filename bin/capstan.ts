#!/usr/bin/env node
/** The command line of the package: what was typed, and the exit code. */
import { main } from './cli.ts';

process.exitCode = await main(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
});
