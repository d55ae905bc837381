/**
 * Where a new project gets Capstan from: a version of the registry, or an archive that lies in the
 * project, so that its image and its CI install the same. Without `--capstan` that is where this
 * very program came from.
 */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { CapstanError } from 'capstan/workqueue';
import { attempt } from './attempt.ts';
import type { PackageFacts } from './project-manifest.ts';

export interface CapstanSource {
  /** What the project's manifest says: a version, or `file:capstan-1.2.3.tgz`. */
  readonly specifier: string;
  /** The archive that the specifier names, for the root of the project. */
  readonly archive?: { readonly name: string; readonly bytes: Uint8Array };
}

/**
 * @param given of `--capstan`: a version, a range, a tag, a packed file or a built checkout
 * @param own the folder of the running package
 * @throws CapstanError INVALID_ARGUMENT for a path or a file that is no package of Capstan
 */
export async function capstanSource(
  given: string | undefined,
  facts: PackageFacts,
  own: string,
): Promise<CapstanSource> {
  if (given === undefined) return ownSource(facts, own);
  const path = resolve(given.replace(/^file:/, ''));
  if (existsSync(path)) return statSync(path).isDirectory() ? packed(path) : fromFile(path);
  // npm: a version, a range or a tag. A path that does not exist is none of them.
  if (/^[\w^~*][\w.+*-]*$/.test(given) && !/\.(?:tgz|tar\.gz)$/.test(given))
    return { specifier: given };
  throw refused(given, 'which does not exist');
}

/**
 * Only the manifest of a release has the address of the repository: a package without one does not
 * come from the registry. A release may also have been installed from a file.
 */
async function ownSource(facts: PackageFacts, own: string): Promise<CapstanSource> {
  if (facts.repository !== undefined && !isInstalledFromFile(own))
    return { specifier: `^${facts.version}` };
  return packed(own);
}

/** Whether the project around this package's node_modules names a file or a folder for it. */
function isInstalledFromFile(own: string): boolean {
  const [project] = own.replaceAll('\\', '/').split('/node_modules/');
  try {
    const text = readFileSync(join(project ?? own, 'package.json'), 'utf8');
    const { dependencies, devDependencies } = JSON.parse(text) as Record<
      string,
      Record<string, string> | undefined
    >;
    const specifier = dependencies?.capstan ?? devDependencies?.capstan ?? '';
    return /^(?:file|link|portal|workspace):|^\.{0,2}\/|\.tgz$/.test(specifier);
  } catch {
    return false; // installed globally
  }
}

/** The archive that `npm pack` makes of a folder: a checkout or an installed package. */
async function packed(folder: string): Promise<CapstanSource> {
  const manifest = join(folder, 'package.json');
  if (!existsSync(manifest) || parsed(readFileSync(manifest, 'utf8')).name !== 'capstan')
    throw refused(folder, 'a folder without its package.json');
  if (!existsSync(join(folder, 'dist/index.js')))
    throw refused(folder, 'a checkout that is not built: run npm ci && npm run build there');
  const place = await mkdtemp(join(tmpdir(), 'capstan-pack-'));
  try {
    return await attempt(`npm could not pack ${folder} (or give --capstan)`, async () => {
      const args = ['pack', '--ignore-scripts', '--loglevel=error', '--pack-destination', place];
      const { stdout } = await promisify(execFile)('npm', [...args, realpathSync(folder)], {
        cwd: place,
        shell: process.platform === 'win32',
      });
      return fromFile(join(place, basename(stdout.trim().split('\n').at(-1) ?? '')));
    });
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

async function fromFile(path: string): Promise<CapstanSource> {
  const bytes = await readFile(path);
  const { name: of, version } = parsed(manifestIn(bytes));
  if (of !== 'capstan') throw refused(path, 'a file that is no archive of it');
  const name = `capstan-${version}.tgz`; // whatever the file is called
  return { specifier: `file:${name}`, archive: { name, bytes } };
}

/** The text of package/package.json in a compressed archive; otherwise the empty string. */
function manifestIn(bytes: Uint8Array): string {
  try {
    const archive = gunzipSync(bytes);
    // A header of 512 bytes for each file: its name, and at 124 its size in octal digits.
    for (let at = 0; at + 512 <= archive.length; ) {
      const text = (from: number, length: number): string =>
        archive.toString('latin1', at + from, at + from + length).replace(/\0.*$/s, '');
      const size = Number.parseInt(text(124, 12), 8) || 0;
      if (text(0, 100) === 'package/package.json')
        return archive.toString('utf8', at + 512, at + 512 + size);
      at += 512 + Math.ceil(size / 512) * 512;
    }
  } catch {
    // not compressed by gzip
  }
  return '';
}

function parsed(manifest: string): { name?: unknown; version?: unknown } {
  try {
    return JSON.parse(manifest) as object;
  } catch {
    return {};
  }
}

function refused(given: string, why: string): CapstanError {
  return new CapstanError(
    'INVALID_ARGUMENT',
    '--capstan expected a version such as 0.1.0, a packed file such as capstan-0.1.0.tgz or a ' +
      `checkout of Capstan that is built, got ${given}, ${why}`,
  );
}
