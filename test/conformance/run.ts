/**
 * `npm run test:vectors -- [FOLDER]`: replays a folder of recorded traces, by default the project's
 * own, on the built package and prints steps and mismatches for each subject. Exits with 1 on a
 * mismatch, or when no step was replayed.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { replayFolder } from './files.ts';
import { formatReport, type ItemForm } from './runner.ts';
import { traceSubjects } from './subjects/index.ts';

const forms: readonly ItemForm[] = ['string', 'request', 'object'];

async function main(args: readonly string[]): Promise<number> {
  const positional = args.filter((arg) => !arg.startsWith('--'));
  const form = args.find((arg) => arg.startsWith('--form='))?.slice('--form='.length) ?? 'string';
  const known = (name: string): name is ItemForm => (forms as readonly string[]).includes(name);
  const unknown = args.find((arg) => arg.startsWith('--') && !arg.startsWith('--form='));
  if (positional.length > 1 || unknown !== undefined || !known(form)) {
    console.error(`usage: run.ts [FOLDER] [--form=${forms.join('|')}]`);
    return 1;
  }
  const folder = locate(positional[0]);
  if (folder === undefined) {
    console.error(`FAILED: there is no folder ${positional[0]}`);
    return 1;
  }
  const report = await replayFolder(folder, traceSubjects, { form });
  console.log(formatReport(report));
  return report.ok ? 0 : 1;
}

/**
 * npm runs scripts in the package's folder and puts the caller's own folder into INIT_CWD: both are
 * tried.
 */
function locate(argument: string | undefined): string | undefined {
  if (argument === undefined) return fileURLToPath(new URL('./vectors', import.meta.url));
  const bases = [process.cwd(), process.env.INIT_CWD ?? process.cwd()];
  return bases.map((base) => resolve(base, argument)).find((path) => existsSync(path));
}

process.exitCode = await main(process.argv.slice(2));
