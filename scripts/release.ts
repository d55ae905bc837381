/**
 * `npm run release:dry -- --repository URL`: builds what a release publishes, below
 * `build/release/`, and shows it: manifest, files, sizes, SBOM, JSR's files, and what npm is asked
 * to attest. Nothing is sent. Without `--dry-run` it publishes, which only the release workflow
 * may do, as provenance needs its identity.
 *
 * The manifest in the repository names no repository. Here its address is asked for, and goes into
 * `repository`, `homepage` and `bugs` of the manifest that is published.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { installTool } from './install-tool.ts';
import { type PackedPackage, packedPackage } from './packed-package.ts';
import {
  type Manifest,
  problemsOfRelease,
  provenanceOf,
  ReleaseError,
  repositoryAddress,
  withRepository,
} from './release-manifest.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const out = join(root, 'build/release');
const stage = join(out, 'package');
const WORKFLOW = '.github/workflows/release.yml';
const LOUDEST = 15;

const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const outputOf = (program: string, args: readonly string[], cwd: string = root): string =>
  execFileSync(program, args, { cwd, encoding: 'utf8', maxBuffer: 2 ** 26 }).trim();
const head = (title: string): void => console.log(`\n== ${title}`);

/** The address, from the command line or the terminal. */
async function askedAddress(given: string | undefined): Promise<string> {
  if (given !== undefined) return repositoryAddress(given);
  if (process.stdin.isTTY !== true) return repositoryAddress('');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return repositoryAddress(await terminal.question('Address of the repository (https://…): '));
  } finally {
    terminal.close();
  }
}

/** Copies what npm packs, with the manifest that is published. */
function writeStage(manifest: Manifest, { files }: PackedPackage): void {
  rmSync(out, { recursive: true, force: true });
  for (const { path } of files) {
    mkdirSync(dirname(join(stage, path)), { recursive: true });
    cpSync(join(root, path), join(stage, path));
  }
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** A problem for each packed file that contains the path of this checkout. */
function filesWithPathsOf(folder: string, { files }: PackedPackage): string[] {
  return files
    .filter(({ path }) => readFileSync(join(stage, path)).includes(folder))
    .map(({ path }) => `${path} has the path of this checkout, ${folder}`);
}

/** Of the package, which has no dependencies, and of the tools that build it. */
const BOMS = [
  { format: 'cyclonedx', ending: 'cdx', options: ['--omit=dev'] },
  { format: 'spdx', ending: 'spdx', options: ['--omit=dev'] },
  { format: 'cyclonedx', ending: 'build.cdx', options: [] },
];

/** SBOMs by npm, of the published manifest and the lock file. Returns their file names. */
function writeBoms(name: string): string[] {
  const lock = join(stage, 'package-lock.json');
  cpSync(join(root, 'package-lock.json'), lock);
  try {
    return BOMS.map(({ format, ending, options }) => {
      const file = `${name}.${ending}.json`;
      const asked = [`--sbom-format=${format}`, '--sbom-type=library', '--package-lock-only'];
      const text = outputOf('npm', ['sbom', ...asked, ...options], stage);
      writeFileSync(join(out, file), `${text}\n`);
      return file;
    });
  } finally {
    rmSync(lock);
  }
}

const deno = (): string => join(installTool('runtimes'), 'node_modules/@deno', DENO, 'deno');
const DENO = `${process.platform}-${process.arch}${process.platform === 'linux' ? '-glibc' : ''}`;

/** Publishes on JSR, or shows what would be published there. */
function jsr(...options: string[]): string {
  const args = ['publish', '--no-lock', '--node-modules-dir=manual', ...options];
  const env = { ...process.env, NO_COLOR: '1', DENO_NO_UPDATE_CHECK: '1' };
  const all = execFileSync('sh', ['-c', '"$0" "$@" 2>&1', deno(), ...args], {
    cwd: root,
    encoding: 'utf8',
    env,
  });
  return all.replaceAll(`file://${root}`, '').trim();
}

function show(manifest: Manifest, packed: PackedPackage, boms: readonly string[]): void {
  head('manifest, as published');
  const { repository, homepage, bugs, name, version, engines } = manifest;
  console.log(JSON.stringify({ name, version, engines, repository, homepage, bugs }, null, 2));
  const { files, size: archive, unpackedSize } = packed;
  head(`npm: ${files.length} files, ${archive} bytes packed, ${unpackedSize} unpacked`);
  const folders = new Map<string, { files: number; size: number }>();
  for (const { path, size } of files) {
    const folder = path.split('/').slice(0, 2).join('/');
    const sum = folders.get(folder) ?? { files: 0, size: 0 };
    folders.set(folder, { files: sum.files + 1, size: sum.size + size });
  }
  for (const [folder, sum] of [...folders]
    .sort(([, a], [, b]) => b.size - a.size)
    .slice(0, LOUDEST))
    console.log(`${String(sum.size).padStart(9)}  ${String(sum.files).padStart(4)}  ${folder}`);
  console.log(`all of them: ${join('build/release', 'files.txt')}`);
  head('SBOM (npm sbom)');
  for (const file of boms) {
    const text = readFileSync(join(out, file), 'utf8');
    const { components, packages } = JSON.parse(text) as Record<string, unknown[] | undefined>;
    console.log(`build/release/${file}: ${(components ?? packages ?? []).length} entries`);
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { repository: { type: 'string' }, 'dry-run': { type: 'boolean', default: false } },
  });
  const address = await askedAddress(values.repository);
  const isDry = values['dry-run'];
  const source = JSON.parse(read('package.json')) as Manifest;
  const git = (...args: string[]): string => outputOf('git', args);
  const problems = problemsOfRelease({
    version: source.version,
    jsrVersion: (JSON.parse(read('jsr.json')) as { version: string }).version,
    changelog: read('CHANGELOG.md'),
    isClean: git('status', '--porcelain') === '',
    tags: git('tag', '--points-at', 'HEAD').split('\n'),
    env: process.env,
  });
  if (!isDry && problems.length > 0) throw new ReleaseError(problems.join('\n'));

  const manifest = withRepository(source, address);
  writeStage(manifest, packedPackage());
  const packed = packedPackage(stage);
  const leaks = filesWithPathsOf(root, packed);
  if (leaks.length > 0) throw new ReleaseError(leaks.join('\n'));
  const list = packed.files.map(({ path, size }) => `${size}\t${path}\n`).join('');
  writeFileSync(join(out, 'files.txt'), list);
  const pack = ['pack', '--ignore-scripts', '--loglevel=error', '--pack-destination', out, stage];
  const tarball = join(out, basename(outputOf('npm', pack).split('\n').at(-1) ?? ''));
  const boms = writeBoms(basename(tarball, '.tgz'));
  const sha512 = createHash('sha512').update(readFileSync(tarball)).digest('hex');
  show(manifest, packed, boms);

  head('provenance that npm is asked for');
  const commit = git('rev-parse', 'HEAD');
  const statement = provenanceOf({ manifest, address, commit, sha512, workflow: WORKFLOW });
  console.log(JSON.stringify(statement, null, 2));
  head('JSR');
  console.log(isDry ? jsr('--dry-run', '--allow-dirty') : jsr());
  if (!isDry) outputOf('npm', ['publish', tarball, '--provenance', '--access=public']);

  head(isDry ? 'nothing was published; a release would stop at' : 'published');
  for (const problem of problems) console.log(`- ${problem}`);
  if (isDry && problems.length === 0) console.log('nothing');
}

try {
  await main();
} catch (error) {
  if (!(error instanceof ReleaseError)) throw error;
  console.error(`release: ${error.message}`);
  process.exitCode = 1;
}
