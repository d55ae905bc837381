/**
 * The commands and their options. There are no prompts: every option has a default, so that each
 * call works in a script. A failure prints one line on stderr, with the code of the error, and
 * exits with 1; it leaves no partial output.
 */
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { CapstanError } from 'capstan/workqueue';
import { addKind } from './add.ts';
import { attempt, thrownText } from './attempt.ts';
import { runBench } from './bench.ts';
import { BENCH_FLAGS, BENCH_HELP, benchOptionsOf } from './bench-options.ts';
import { capstanSource } from './capstan-source.ts';
import { CLUSTER_FLAGS } from './cluster.ts';
import { flag, type Printed, text, texts, usage } from './command.ts';
import { manifestsOf } from './crd.ts';
import { CRD_DIFF_FLAGS, CRD_DIFF_HELP, runCrdDiff } from './crd-diff-command.ts';
import { CRD_MIGRATE_FLAGS, CRD_MIGRATE_HELP, runCrdMigrate } from './crd-migrate-command.ts';
import { definitionsOf, definitionsOfCluster, isModule } from './definition-files.ts';
import { initProject } from './init.ts';
import { nearestWord } from './nearest.ts';
import type { PackageFacts } from './project-manifest.ts';
import { RBAC_FLAGS, RBAC_HELP, runRbac } from './rbac-command.ts';
import { runShards, SHARDS_FLAGS, SHARDS_HELP } from './shards.ts';
import { typesOf } from './types.ts';
import { type WebhookFlags, webhookManifests } from './webhooks.ts';
import { writeWhole } from './whole-file.ts';

/** Where a command writes. */
export interface CliOutput {
  out(text: string): void;
  err(text: string): void;
}

/** A command. It returns what stdout gets, and perhaps an exit code. */
interface Command {
  readonly summary: string;
  readonly help: string;
  readonly options: NonNullable<ParseArgsConfig['options']>;
  run(given: Given): Promise<string | Printed>;
}

interface Given {
  readonly values: Readonly<Record<string, unknown>>;
  readonly positionals: readonly string[];
  readonly facts: PackageFacts;
  /** The folder of the running package. */
  readonly own: string;
  /** The running version of Node. */
  readonly node: string;
  /** Writes to stderr. */
  readonly err: (text: string) => void;
}

const COMMANDS: Readonly<Record<string, Command>> = {
  init: {
    summary: 'writes a controller project that runs and passes its own tests',
    help: `Usage: capstan init <folder> [options]

Writes a controller project into a folder that does not exist or is empty. The project runs, and
passes its own tests.

  --kind <Kind>      of the custom resource, in PascalCase   (default: Greeting)
  --group <group>    of the custom resource, a domain        (default: example.com)
  --name <name>      of the controller                       (default: the folder's)
  --capstan <source> a version, or a packed file or a built checkout, of which the project gets a
                     copy (default: where this capstan came from)

Example: capstan init website-controller --kind Website --group acme.io
`,
    options: { kind: text, group: text, name: text, capstan: text },
    run: init,
  },
  add: {
    summary: 'adds a kind with its controller and its test to such a project',
    help: `Usage: capstan add <Kind> [options]

Run it in a project of capstan init after npm install. It writes a resource, a controller, a test,
permissions and a sample, appends a line to src/controllers.ts, and writes deploy/crd.yaml anew. It
overwrites nothing; if it fails, the project is unchanged.

  --group <group>      of the kind, a domain   (default: capstan.group of package.json)
  --version <version>  of the kind             (default: v1alpha1)
  --plural <plural>    of the kind             (default: derived from the kind)
  --cluster-scoped     its objects belong to no namespace

Example: capstan add Certificate --version v1beta1
`,
    options: { group: text, version: text, plural: text, 'cluster-scoped': flag },
    run: add,
  },
  crd: {
    summary: 'prints the CustomResourceDefinitions of modules, as YAML',
    help: `Usage: capstan crd <module>... [options]

Prints the CustomResourceDefinitions that modules export, as YAML for kubectl apply.

  --out <file>   writes them there instead; when anything fails, the file stays as it was
  --check        writes nothing, and fails if the file of --out differs

Example: capstan crd src/controllers.ts --out deploy/crd.yaml
`,
    options: { out: text, check: flag },
    run: crd,
  },
  'crd diff': {
    summary: 'prints what in new definitions breaks clients or stored objects',
    help: CRD_DIFF_HELP,
    options: CRD_DIFF_FLAGS,
    run: crdDiff,
  },
  'crd migrate': {
    summary: 'stores all objects in the storage version of their definition',
    help: CRD_MIGRATE_HELP,
    options: CRD_MIGRATE_FLAGS,
    run: ({ values, positionals }) => runCrdMigrate(positionals, values),
  },
  shards: {
    summary: 'prints the owners of the slots of shards, and the age of their Leases',
    help: SHARDS_HELP,
    options: SHARDS_FLAGS,
    run: ({ values, positionals }) => runShards(positionals, values),
  },
  types: {
    summary: 'prints TypeScript types and resources of CustomResourceDefinitions',
    help: `Usage: capstan types <file-or-address>... [options]
       capstan types --cluster [options]

Prints a TypeScript module with an interface and a resource for each kind and served version of the
given CustomResourceDefinitions. These are in files, at addresses or on stdin (-), as YAML or JSON,
or exports of modules. YAML needs the package "yaml". Objects of other kinds are ignored.

  --cluster              takes the definitions of the cluster of the kubeconfig
  --kubeconfig <file>    of that cluster   (default: KUBECONFIG, the own Pod, ~/.kube/config)
  --context <name>       of the kubeconfig (default: its current one)
  --group <group>        writes only this group; may be given several times
  --kind <Kind>          writes only this kind; may be given several times
  --out <file>           writes the module there; when anything fails, the file stays as it was
  --check                writes nothing, and fails if the file of --out differs

Example: capstan types crds.yaml --group cert-manager.io --out src/resources/cert-manager.ts
`,
    options: {
      cluster: flag,
      ...CLUSTER_FLAGS,
      group: texts,
      kind: texts,
      out: text,
      check: flag,
    },
    run: types,
  },
  webhooks: {
    summary: 'prints the webhook configurations of modules, as YAML',
    help: `Usage: capstan webhooks <module>... [options]

Prints the configurations of the webhooks that modules register, as YAML for kubectl apply. A module
exports a function setupWebhooks(manager), which calls newWebhookManagedBy.

  --service <ns>/<name>[:<port>]  the Service of the webhook server, or
  --url <url>                     its address
  --name <name>    of the configurations           (default: the Service's, or capstan)
  --ca <file>      certificates that the API server trusts, as PEM
  --out <file>     writes them there instead; when anything fails, the file stays as it was
  --check          writes nothing, and fails if the file of --out differs

Example: capstan webhooks src/webhooks.ts --service default/website-webhook
`,
    options: {
      service: text,
      url: text,
      name: text,
      ca: text,
      out: text,
      check: flag,
    },
    run: webhooks,
  },
  rbac: {
    summary: 'prints the smallest Roles for the recorded requests of a program, or checks Roles',
    help: RBAC_HELP,
    options: RBAC_FLAGS,
    run: ({ values, positionals }) => runRbac(positionals, values),
  },
  bench: {
    summary: 'measures a workload of yours on the queue, beside a naive port',
    help: BENCH_HELP,
    options: BENCH_FLAGS,
    run: bench,
  },
};

const HELP = `Usage: capstan <command> [options]

${Object.entries(COMMANDS)
  .map(([name, { summary }]) => `  ${name.padEnd(13)}${summary}\n`)
  .join('')}
  capstan <command> --help    shows the options of a command
  capstan --version           shows the version of capstan
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
    const printed = await carryOut(args, node, err);
    const { text, code } = typeof printed === 'string' ? { text: printed, code: 0 } : printed;
    out(text);
    return code;
  } catch (error) {
    err(`capstan: ${describe(error)}\n`);
    return 1;
  }
}

async function carryOut(
  args: readonly string[],
  node: string,
  err: CliOutput['err'],
): Promise<string | Printed> {
  const [name, ...rest] = withSubcommand(args);
  const { facts, own } = ownPackage();
  if (name === '--version' || name === '-v') return `${facts.version}\n`;
  if (name === undefined || name === '--help' || name === '-h') return HELP;
  if (name === 'help') {
    const [of, ...more] = withSubcommand(rest);
    if (of === undefined) return HELP;
    const { help } = commandOf(of);
    requireSubcommand(of, more);
    return help;
  }
  const command = commandOf(name);
  requireSubcommand(name, rest);
  if (rest.includes('--help') || rest.includes('-h')) return command.help;
  return command.run({ ...parse(name, rest, command), facts, own, node, err });
}

/** `crd diff` is one name. */
function withSubcommand([first, second, ...rest]: readonly string[]): string[] {
  const both = `${first} ${second}`;
  if (Object.hasOwn(COMMANDS, both)) return [both, ...rest];
  return [first, second, ...rest].filter((part) => part !== undefined);
}

function commandOf(name: string): Command {
  const names = Object.keys(COMMANDS);
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command !== undefined) return command;
  const meant = nearestWord(name, names);
  const hint = meant === undefined ? '' : `: did you mean "${meant}"?`;
  const list = `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
  throw usage(`expected a command, ${list}, got "${name}"${hint}`);
}

/**
 * Throws for a word that can only be a misspelled subcommand: it follows the name of a command that
 * has subcommands, no file has that name, and it has neither a dot nor a slash, as modules have.
 */
function requireSubcommand(name: string, [word = '']: readonly string[]): void {
  const subcommands = Object.keys(COMMANDS)
    .filter((one) => one.startsWith(`${name} `))
    .map((one) => one.slice(name.length + 1));
  if (subcommands.length === 0 || !/^\w[\w-]*$/.test(word) || existsSync(word)) return;
  const meant = nearestWord(word, subcommands);
  const hint = meant === undefined ? '' : `: did you mean "${meant}"?`;
  throw usage(
    `${name} expected a module, such as src/website.ts, or ${subcommands.join(' or ')}, ` +
      `got "${word}"${hint}`,
    name,
  );
}

async function init({ values, positionals, facts, own, node }: Given): Promise<string> {
  const folder = only(positionals, 'init', 'one folder');
  const {
    kind = 'Greeting',
    group = 'example.com',
    name: given,
    capstan,
  } = values as Record<string, string>;
  const options = {
    kind,
    group,
    name: given,
    capstan: () => capstanSource(capstan, facts, own),
  };
  const { name, files, archive } = await initProject(resolve(folder), options, facts);
  const copyNote =
    archive === undefined ? '' : `\nIt installs Capstan from ${archive}, a copy of this one.\n`;
  return `${files.map((file) => `  ${file}\n`).join('')}
${name} is there. Next:
  cd ${quoted(folder)}
  npm install
  npm test
  npm run dev
${copyNote}${olderThan(facts.engines.node, node)}`;
}

async function add({ values, positionals, facts, node }: Given): Promise<string> {
  requireNode('add', facts, node);
  const kind = only(positionals, 'add', 'one kind, such as Website');
  const { group, version, plural } = values as Record<string, string | undefined>;
  const clusterScoped = values['cluster-scoped'] === true;
  const { files, changed } = await addKind(process.cwd(), {
    kind,
    group,
    version,
    plural,
    clusterScoped,
  });
  const list = (paths: readonly string[]) => paths.map((path) => `  ${path}\n`).join('');
  return `${list(files)}
changed:
${list(changed)}
${kind} is there. Next: write its schema and its reconcile function, then
  npm run crd
  npm test
`;
}

async function crd({ values, positionals, facts, node }: Given): Promise<string> {
  requireNode('crd', facts, node);
  if (positionals.length === 0)
    throw usage('crd expected a module, such as src/website.ts, got none', 'crd');
  const write = writerOf('crd', values, 'what the modules define');
  return write(await manifestsOf(positionals.map((path) => resolve(path))));
}

function crdDiff({ values, positionals, facts, node }: Given): Promise<Printed> {
  if (positionals.some(isModule)) requireNode('crd diff', facts, node);
  return runCrdDiff(positionals, values);
}

async function types({ values, positionals, facts, node }: Given): Promise<string> {
  const { cluster, kubeconfig, context } = values as Record<string, string | undefined>;
  const isCluster = cluster !== undefined || kubeconfig !== undefined || context !== undefined;
  if (isCluster === positionals.length > 0)
    throw usage('types expected either files and addresses, or --cluster', 'types');
  if (positionals.some(isModule)) requireNode('types', facts, node);
  const write = writerOf('types', values, 'the types of the definitions');
  const definitions = isCluster
    ? await definitionsOfCluster({ kubeconfig, context })
    : await definitionsOf(positionals);
  const { group: groups = [], kind: kinds = [] } = values as Record<string, string[] | undefined>;
  return write(typesOf(definitions, { groups, kinds }));
}

/** What a command does with its text: prints, writes or compares it, by --out and --check. */
function writerOf(
  command: string,
  { out, check }: Given['values'],
  what: string,
): (text: string) => Promise<string> {
  if (check === true && typeof out !== 'string')
    throw usage(
      `${command} --check expected the file to compare with, --out <file>, got none`,
      command,
    );
  return async (text) => {
    if (typeof out !== 'string') return text;
    if (check === true) await requireSame(out, text, what);
    else await writeWhole(resolve(out), text);
    return '';
  };
}

async function webhooks({ values, positionals, facts, node }: Given): Promise<string> {
  requireNode('webhooks', facts, node);
  if (positionals.length === 0)
    throw usage('webhooks expected a module, such as src/webhooks.ts, got none', 'webhooks');
  const write = writerOf('webhooks', values, 'what the modules register');
  const paths = positionals.map((path) => resolve(path));
  return write(await webhookManifests(paths, values as WebhookFlags));
}

function bench({ values, positionals, err }: Given): Promise<string> {
  if (positionals.length > 0)
    throw usage(`bench expected options only, got ${positionals.join(' ')}`, 'bench');
  return runBench(benchOptionsOf(values), (line) => err(`${line}\n`));
}

/** Throws if the file differs from the text. Line ends of Windows do not count. */
async function requireSame(path: string, text: string, what: string): Promise<void> {
  const found = await attempt(`${path} could not be read`, () => readFileSync(path, 'utf8'));
  const [is, expected] = [found, text].map((all) => all.replaceAll('\r\n', '\n').split('\n'));
  const at = expected?.findIndex((line, i) => line !== is?.[i]) ?? -1;
  const line = at < 0 && is?.length === expected?.length ? -1 : Math.max(at, 0);
  if (line >= 0)
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `${path} expected ${what}, and differs from line ${line + 1} on: run the command without ` +
        '--check',
    );
}

/** Older versions cannot import TypeScript. */
function requireNode(command: string, { engines }: PackageFacts, node: string): void {
  if (isOlderThan(engines.node, node))
    throw new CapstanError(
      'NODE_TOO_OLD',
      `${command} needs Node ${engines.node}, and this is Node ${node}: ` +
        'install a newer one, such as the LTS of https://nodejs.org',
    );
}

function only(positionals: readonly string[], command: string, what: string): string {
  const [first, ...more] = positionals;
  if (first !== undefined && first !== '' && more.length === 0) return first;
  const got = positionals.length === 0 ? 'none' : positionals.join(' ');
  throw usage(`${command} expected ${what}, got ${got}`, command);
}

function parse(
  name: string,
  args: readonly string[],
  { options }: Command,
): Pick<Given, 'values' | 'positionals'> {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    const [, given = ''] = /^Unknown option '--?([^']*)'/.exec(thrownText(error)) ?? [];
    const known = Object.keys(options);
    const meant = given === '' ? undefined : nearestWord(given, known);
    if (given === '') throw usage(thrownText(error), name, error);
    const hint =
      meant === undefined
        ? `there are ${known.map((one) => `--${one}`).join(', ')}`
        : `did you mean "--${meant}"?`;
    throw usage(`Unknown option '--${given}' of ${name}: ${hint}`, name, error);
  }
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

/**
 * Reads this package's package.json: one folder above the sources, two above the built file.
 */
function ownPackage(): { readonly facts: PackageFacts; readonly own: string } {
  for (const above of ['../', '../../']) {
    const folder = new URL(above, import.meta.url);
    const text = contentOf(new URL('package.json', folder));
    const manifest =
      text === undefined ? undefined : (JSON.parse(text) as PackageFacts & { name?: string });
    if (manifest?.name === 'capstan') return { facts: manifest, own: fileURLToPath(folder) };
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
