/**
 * The commands and their options. There are no prompts: every option has a default, so that each
 * call works in a script. A failure prints one line on stderr, with the code of the error, and
 * exits with 1; it leaves no partial output.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { CapstanError } from 'capstan';
import { thrownText } from './attempt.ts';
import { manifestsOf } from './crd.ts';
import { initProject } from './init.ts';
import type { PackageFacts } from './project-manifest.ts';
import { writeWhole } from './whole-file.ts';

/** Where a command writes. */
export interface CliOutput {
  out(text: string): void;
  err(text: string): void;
}

const HELP = `Usage:
  capstan init <folder> [options]   writes a controller project that runs and passes its own tests
  capstan crd <module>... [options] prints the CustomResourceDefinitions of modules, as YAML

Options of init:
  --kind <Kind>     of the custom resource, in CamelCase    (default: Greeting)
  --group <group>   of the custom resource, a domain        (default: example.com)
  --name <name>     of the controller                       (default: the folder's)

Options of crd:
  --out <file>      writes them there instead; when anything fails, the file stays as it was

  --help            shows this
  --version         shows the version of capstan
`;

/**
 * Runs a command and returns its exit code.
 *
 * @param node the running version of Node
 */
export async function main(
  args: readonly string[],
  { out, err }: CliOutput,
  node: string = process.versions.node,
): Promise<number> {
  try {
    out(await carryOut(args, node));
    return 0;
  } catch (error) {
    err(`capstan: ${describe(error)}\n`);
    return 1;
  }
}

async function carryOut(args: readonly string[], node: string): Promise<string> {
  const [command, ...rest] = args;
  const facts = packageFacts();
  if (command === undefined || command === 'help' || args.includes('--help') || args.includes('-h'))
    return HELP;
  if (command === '--version' || command === '-v') return `${facts.version}\n`;
  if (command === 'init') return init(rest, facts, node);
  if (command === 'crd') return crd(rest, facts, node);
  throw usage(`expected a command, init or crd, got "${command}"`);
}

async function init(args: string[], facts: PackageFacts, node: string): Promise<string> {
  const text = { type: 'string' } as const;
  const { values, positionals } = parse({
    args,
    allowPositionals: true,
    options: { kind: text, group: text, name: text },
  });
  const [folder, ...more] = positionals;
  if (folder === undefined || folder === '' || more.length > 0)
    throw usage(
      `init expected one folder, got ${positionals.length === 0 ? 'none' : positionals.join(' ')}`,
    );
  const {
    kind = 'Greeting',
    group = 'example.com',
    name: given,
  } = values as Record<string, string>;
  const { name, files } = await initProject(resolve(folder), { kind, group, name: given }, facts);
  return `${files.map((file) => `  ${file}\n`).join('')}
${name} is there. Next:
  cd ${quoted(folder)}
  npm install
  npm test
  npm run dev
${olderThan(facts.engines.node, node)}`;
}

async function crd(args: string[], facts: PackageFacts, node: string): Promise<string> {
  // Older versions cannot import TypeScript.
  if (isOlderThan(facts.engines.node, node))
    throw new CapstanError(
      'NODE_TOO_OLD',
      `crd needs Node ${facts.engines.node}, and this is Node ${node}`,
    );
  const { values, positionals } = parse({
    args,
    allowPositionals: true,
    options: { out: { type: 'string' } },
  });
  if (positionals.length === 0)
    throw usage('crd expected a module, such as src/website.ts, got none');
  const text = await manifestsOf(positionals.map((path) => resolve(path)));
  if (typeof values.out !== 'string') return text;
  await writeWhole(resolve(values.out), text);
  return '';
}

function parse(config: ParseArgsConfig) {
  try {
    return parseArgs(config);
  } catch (error) {
    throw usage(thrownText(error), error);
  }
}

function usage(what: string, cause?: unknown): CapstanError {
  return new CapstanError('INVALID_ARGUMENT', `${what}; see capstan --help`, { cause });
}

/** Quotes a path for sh, or for cmd.exe and PowerShell on Windows. */
function quoted(path: string): string {
  const word = path.startsWith('-') ? `./${path}` : path;
  if (/^[\w./@-]+$/.test(word)) return word;
  return process.platform === 'win32' ? `"${word}"` : `'${word.replaceAll("'", "'\\''")}'`;
}

/** A warning if this Node is too old for the project; otherwise the empty string. */
function olderThan(range: string, node: string): string {
  return isOlderThan(range, node) ? `\nIt needs Node ${range}, and this is Node ${node}.\n` : '';
}

function isOlderThan(range: string, node: string): boolean {
  const [, major, minor] = /^>=(\d+)\.(\d+)/.exec(range) ?? [];
  const [own = 0, ownMinor = 0] = node.split('.').map(Number);
  return own < Number(major) || (own === Number(major) && ownMinor < Number(minor));
}

/** Reads this package's package.json: one folder above the sources, two above the built file. */
function packageFacts(): PackageFacts {
  for (const above of ['..', '../..']) {
    const text = contentOf(new URL(`${above}/package.json`, import.meta.url));
    const manifest =
      text === undefined ? undefined : (JSON.parse(text) as PackageFacts & { name?: string });
    if (manifest?.name === 'capstan') return manifest;
  }
  throw new CapstanError(
    'INVALID_ARGUMENT',
    `expected the package.json of capstan above ${import.meta.dirname}`,
  );
}

function contentOf(url: URL): string | undefined {
  try {
    return readFileSync(url, 'utf8');
  } catch {
    return undefined;
  }
}

/** An error as one line: line breaks of its message become spaces. */
function describe(error: unknown): string {
  const code = error instanceof CapstanError ? error.code : 'INVALID_ARGUMENT';
  return `${thrownText(error)} (${code})`.replace(/\s*[\r\n\u2028\u2029]\s*/g, ' ');
}
