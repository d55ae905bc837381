/**
 * `npm run test:install -- [NAME...]`: packs the package, and installs the file in empty folders
 * with each package manager, as its documentation says. In each, a program is compiled under the
 * strictest settings of both module resolutions, and run; in that of npm on each runtime.
 * Needs the registry. Exits with 1 on a failure.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { installTool } from '../../../scripts/install-tool.ts';
import { root } from '../../helpers/repository.ts';
import { runtimes } from '../runtimes.ts';
import { managers, type PackageManager } from './managers.ts';

const LIMIT_MS = 300_000; // the first download on a slow line
const SAID =
  'queue 2, cache default/web, error INVALID_ARGUMENT, clock 5, lease function, controller Hello!';
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  devDependencies: Record<string, string>;
};
const pinned = (name: string): string => manifest.devDependencies[name] ?? '';
/** The oldest compiler that is promised, and the one before the newest. */
const OLDER_COMPILERS = { 'typescript-5.9': '5.9.3', 'typescript-6.0': '6.0.3' };

const STRICT = {
  strict: true,
  skipLibCheck: false,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  target: 'es2023',
};
/** Names of configurations, and their compiler options. */
const CONFIGURATIONS = {
  nodenext: { ...STRICT, module: 'nodenext', lib: ['es2023'], types: ['node'], outDir: 'out' },
  bundler: {
    ...STRICT,
    module: 'preserve',
    moduleResolution: 'bundler',
    types: ['node'],
    noEmit: true,
  },
};
/** What a page can use compiles without the types of Node, and without client-node. */
const PORTABLE = `import { Indexer } from 'capstan/cache';
import { newClient } from 'capstan/client';
import { createController } from 'capstan/controller';
import { WorkQueue } from 'capstan/workqueue';
export const all = [Indexer, newClient, createController, new WorkQueue<string>().len()];
`;

let failures = 0;
const place = realpathSync(mkdtempSync(join(tmpdir(), 'capstan-install-')));
process.once('exit', () => rmSync(place, { recursive: true, force: true, maxRetries: 5 }));

/** The output of a command; throws with all that it printed if it fails. */
function outputOf(command: readonly string[], cwd: string, env: object = {}): string {
  const [program = '', ...args] = command;
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    timeout: LIMIT_MS,
    env: { ...process.env, ...env },
  });
  if (error !== undefined) throw error;
  if (status !== 0)
    throw new Error(`${command.join(' ')} ended with ${status}\n${stdout}${stderr}`);
  return stdout.trim();
}

function check(title: string, work: () => void): void {
  const start = performance.now();
  let verdict = 'ok';
  try {
    work();
  } catch (error) {
    failures++;
    verdict = `FAILED: ${error instanceof Error ? error.message : error}`;
  }
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`${seconds.padStart(6)} s  ${title}: ${verdict}`);
}

function expectSaid(output: string): void {
  const last = output.split('\n').at(-1);
  if (last !== SAID) throw new Error(`expected ${SAID}, got ${output}`);
}

/** An empty folder with a manifest, the program, and the configurations of the compiler. */
function newFolder(name: string, compilers: Readonly<Record<string, string>>): string {
  const folder = join(place, name.replace(/\W+/g, '-'));
  mkdirSync(folder);
  const write = (file: string, value: object): void =>
    writeFileSync(join(folder, file), `${JSON.stringify(value, null, 2)}\n`);
  const others = Object.entries(compilers).map(([as, version]) => [
    as,
    `npm:typescript@${version}`,
  ]);
  write('package.json', {
    name: 'user',
    private: true,
    type: 'module',
    devDependencies: {
      '@types/node': pinned('@types/node'),
      // What client-node's own declarations import; without skipLibCheck the compiler wants it.
      '@types/ws': '8.18.2',
      typescript: pinned('typescript'),
      ...Object.fromEntries(others),
    },
  });
  for (const [configuration, compilerOptions] of Object.entries(CONFIGURATIONS))
    write(`tsconfig.${configuration}.json`, { compilerOptions, files: ['program.ts'] });
  write('tsconfig.portable.json', {
    compilerOptions: { ...CONFIGURATIONS.bundler, types: [] },
    files: ['portable.ts'],
  });
  writeFileSync(join(folder, 'portable.ts'), PORTABLE);
  cpSync(join(root, 'test/runtimes/install/program.ts'), join(folder, 'program.ts'));
  return folder;
}

function withManager(manager: PackageManager, tarball: string): string {
  const { name, command, add, env, run = [process.execPath] } = manager;
  const folder = newFolder(name, name === 'npm' ? OLDER_COMPILERS : {});
  manager.prepare?.(folder);
  check(`${name} installs the file`, () => {
    const packages = [manager.file(tarball), '@kubernetes/client-node@^2.0.0'];
    outputOf([...command, ...add, ...packages], folder, env);
  });
  // The compiler does not read the archives of Plug'n'Play by itself.
  if (manager.run === undefined) compile(name, folder, 'typescript');
  check(`${name}: the program runs`, () =>
    expectSaid(outputOf([...run, 'program.ts'], folder, env)),
  );
  return folder;
}

function compile(
  name: string,
  folder: string,
  compiler: string,
  configurations: readonly string[] = [...Object.keys(CONFIGURATIONS), 'portable'],
): void {
  const tsc = join(folder, 'node_modules', compiler, 'bin/tsc');
  for (const configuration of configurations)
    check(`${name}: ${compiler} accepts it, ${configuration}, libraries checked`, () => {
      outputOf([process.execPath, tsc, '-p', `tsconfig.${configuration}.json`], folder);
    });
}

/** As a new user: `capstan init` of the installed file, then what it prints as the next steps. */
function newProject(folder: string): void {
  const project = join(place, 'new-project');
  const npm = (...args: string[]): string => outputOf(['npm', ...args], project);
  check('capstan init makes a project', () => {
    outputOf(['npx', '--no-install', 'capstan', 'init', project], folder);
  });
  check('npm install in it, with Capstan from the same file', () => {
    npm('install', '--no-audit', '--no-fund', '--prefer-offline');
    npm('ci', '--no-audit', '--no-fund', '--prefer-offline');
  });
  for (const script of ['test', 'typecheck', 'lint', 'crd'])
    check(`npm run ${script} in it`, () => {
      npm('run', script);
    });
}

/** As TypeScript where the runtime takes it, and compiled. */
function onRuntimes(folder: string): void {
  const flags: Readonly<Record<string, readonly string[]>> = {
    deno: ['run', '--allow-all', '--no-lock', '--node-modules-dir=manual'],
  };
  for (const runtime of runtimes) {
    if (!/^(?:node-|deno|bun)/.test(runtime.name)) continue;
    for (const file of ['program.ts', 'out/program.js'])
      check(`${runtime.name} runs ${file}`, () => {
        const program = runtime.find();
        if (program === undefined) throw new Error(`not found: ${runtime.missing}`);
        const command = [program, ...(flags[runtime.name] ?? []), file];
        expectSaid(outputOf(command, folder, { DENO_NO_UPDATE_CHECK: '1', NO_COLOR: '1' }));
      });
  }
}

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !managers.some((manager) => manager.name === name));
if (unknown.length > 0) {
  const known = managers.map(({ name }) => `"${name}"`).join(', ');
  console.error(`unknown: ${unknown.join(', ')}. Known are: ${known}`);
  process.exit(1);
}
installTool('install');
installTool('runtimes'); // 1 GB on disk
const pack = ['pack', '--ignore-scripts', '--loglevel=error', '--pack-destination', place];
const packed = execFileSync('npm', pack, { cwd: root, encoding: 'utf8' }).trim().split('\n');
const tarball = join(place, basename(packed.at(-1) ?? ''));
for (const manager of managers) {
  if (wanted.length > 0 && !wanted.includes(manager.name)) continue;
  const folder = withManager(manager, tarball);
  if (manager.name !== 'npm') continue;
  for (const compiler of Object.keys(OLDER_COMPILERS))
    compile('npm', folder, compiler, ['nodenext']);
  onRuntimes(folder);
  newProject(folder);
}
console.log(failures === 0 ? 'all as expected' : `${failures} failed`);
process.exitCode = failures === 0 ? 0 : 1;
