/**
 * Where a new project gets Capstan from. The package was named by its version alone, and `npm
 * install` in the project of a checkout was a 404. Needs the built package.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { capstanSource } from '../../bin/capstan-source.ts';
import { main } from '../../bin/cli.ts';
import { initProject } from '../../bin/init.ts';
import type { PackageFacts } from '../../bin/project-manifest.ts';
import { root } from '../helpers/repository.ts';

const facts = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as PackageFacts;
const released = { ...facts, repository: { type: 'git', url: 'git+https://git.acme.io/a/b.git' } };
const place = realpathSync(mkdtempSync(join(tmpdir(), 'capstan-source-')));
const name = `capstan-${facts.version}.tgz`;
const user = join(place, 'user');
/** As small as a package can be, as packing the whole one takes a second. */
const installed = join(user, 'node_modules/capstan');
afterAll(() => rmSync(place, { recursive: true, force: true }));

const write = (path: string, text: string): string => {
  writeFileSync(join(place, path), text);
  return join(place, path);
};

beforeAll(() => {
  const pack = ['pack', '--ignore-scripts', '--loglevel=error', '--pack-destination', place];
  execFileSync('npm', pack, { cwd: root });
  mkdirSync(installed, { recursive: true });
  mkdirSync(join(installed, 'dist'));
  const { version } = facts;
  write('user/node_modules/capstan/package.json', JSON.stringify({ name: 'capstan', version }));
  write('user/node_modules/capstan/dist/index.js', '');
}, 60_000);

describe('--capstan', () => {
  it.each(['0.1.0', '^0.1.0', '~1.2.3', '1.0.0-rc.1', 'latest', 'next', '1.x'])(
    'takes %j as a version of the registry',
    async (given) => {
      expect(await capstanSource(given, facts, root)).toEqual({ specifier: given });
    },
  );

  it('takes a packed file, whose name does not count', async () => {
    writeFileSync(join(place, 'my copy.tgz'), readFileSync(join(place, name)));
    for (const given of [join(place, 'my copy.tgz'), `file:${join(place, name)}`])
      expect(await capstanSource(given, facts, root)).toEqual({
        specifier: `file:${name}`,
        archive: { name, bytes: readFileSync(join(place, name)) },
      });
  });

  it('packs a folder', async () => {
    const { specifier, archive } = await capstanSource(installed, facts, '/nowhere');
    expect({ specifier, name: archive?.name }).toEqual({ specifier: `file:${name}`, name });
    writeFileSync(join(place, 'again.tgz'), archive?.bytes ?? '');
    expect(await capstanSource(join(place, 'again.tgz'), facts, root)).toMatchObject({ specifier });
  });

  it.each([
    ['a path without a file', () => './no-such.tgz', 'which does not exist'],
    ['a name that looks like a file', () => 'no-such.tgz', 'which does not exist'],
    ['another file', () => write('text.tgz', 'text'), 'a file that is no archive of it'],
    [
      'another archive',
      () => {
        writeFileSync(join(place, 'zeros.tgz'), gzipSync(Buffer.alloc(2048)));
        return join(place, 'zeros.tgz');
      },
      'a file that is no archive of it',
    ],
    ['another folder', () => place, 'a folder without its package.json'],
    [
      'a checkout that is not built',
      () => {
        mkdirSync(join(place, 'checkout'));
        write('checkout/package.json', '{ "name": "capstan" }');
        return join(place, 'checkout');
      },
      'a checkout that is not built: run npm ci && npm run build there',
    ],
  ])('refuses %s', async (_what, given, why) => {
    const path = given();
    await expect(capstanSource(path, facts, root)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(/^--capstan expected a version such as .*, got /),
    });
    await expect(capstanSource(path, facts, root)).rejects.toThrow(why);
  });
});

describe('without --capstan', () => {
  const manifest = (specifier: string): string =>
    write('user/package.json', JSON.stringify({ devDependencies: { capstan: specifier } }));

  it('a checkout, and a file that no release has made, are packed', async () => {
    manifest('^0.1.0');
    expect(await capstanSource(undefined, facts, installed)).toMatchObject({
      specifier: `file:${name}`,
      archive: { name },
    });
  });

  it('a release that was installed from a file is packed', async () => {
    for (const specifier of ['file:../capstan.tgz', './capstan.tgz', 'link:../capstan']) {
      manifest(specifier);
      expect(await capstanSource(undefined, released, installed)).toMatchObject({
        specifier: `file:${name}`,
      });
    }
  });

  it('a release of the registry is named by its version', async () => {
    manifest('^0.1.0');
    const named = { specifier: `^${facts.version}` };
    expect(await capstanSource(undefined, released, installed)).toEqual(named);
    rmSync(join(user, 'package.json')); // as npm install --global leaves it
    expect(await capstanSource(undefined, released, installed)).toEqual(named);
  });
});

it('the archive is part of the project, and of its image', async () => {
  const folder = join(place, 'project');
  const source = await capstanSource(join(place, name), facts, root);
  const options = { kind: 'Fox', group: 'acme.io', capstan: async () => source };
  const { files } = await initProject(folder, options, facts);
  expect(files).toContain(name);
  expect(readFileSync(join(folder, name))).toEqual(readFileSync(join(place, name)));
  const read = (file: string): string => readFileSync(join(folder, file), 'utf8');
  expect(JSON.parse(read('package.json')).dependencies.capstan).toBe(`file:${name}`);
  expect(read('Dockerfile')).toContain(
    `COPY package.json package-lock.json ${name} ./\nRUN npm ci`,
  );
});

it('a project of a checkout has a copy of that checkout, and init says so', async () => {
  let stdout = '';
  const output = { out: (text: string) => (stdout += text), err: () => undefined };
  expect(await main(['init', join(place, 'own')], output)).toBe(0);
  expect(stdout).toContain(`\nIt installs Capstan from ${name}, a copy of this one.\n`);
  const archive = join(place, 'own', name);
  expect(await capstanSource(archive, facts, root)).toMatchObject({ specifier: `file:${name}` });
});
