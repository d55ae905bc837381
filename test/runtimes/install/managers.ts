/**
 * The package managers: how a user adds the packed file to an empty folder with each, and how a
 * program of that folder is run.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../helpers/repository.ts';

const modules = join(root, 'tools/install/node_modules');
const node = process.execPath;

export interface PackageManager {
  readonly name: string;
  /** The command, without its arguments. */
  readonly command: readonly string[];
  /** What adds packages, before their names. */
  readonly add: readonly string[];
  /** The packed file, as this package manager takes one. */
  file(tarball: string): string;
  readonly env?: Readonly<Record<string, string>>;
  /** Files that it needs to know that this folder is a project. */
  prepare?(folder: string): void;
  /** What runs a program of the folder. Default: node. */
  readonly run?: readonly string[];
}

const yarn4: Omit<PackageManager, 'name'> = {
  command: [node, join(modules, '@yarnpkg/cli-dist/bin/yarn.js')],
  add: ['add'],
  file: (tarball) => `capstan@file:${tarball}`,
  // In CI it would refuse to write the lock file that an empty folder does not have yet.
  env: { YARN_ENABLE_TELEMETRY: '0', YARN_ENABLE_IMMUTABLE_INSTALLS: '0' },
};

const yarn4Project = (linker: string) => (folder: string) => {
  writeFileSync(join(folder, 'yarn.lock'), '');
  writeFileSync(join(folder, '.yarnrc.yml'), `nodeLinker: ${linker}\n`);
};

export const managers: readonly PackageManager[] = [
  {
    name: 'npm',
    command: ['npm'],
    add: ['install', '--no-audit', '--no-fund'],
    file: (tarball) => tarball,
  },
  {
    name: 'pnpm',
    command: [node, join(modules, 'pnpm/bin/pnpm.mjs')],
    add: ['add'],
    file: (tarball) => tarball,
  },
  {
    name: 'yarn 1',
    command: [node, join(modules, 'yarn/bin/yarn.js')],
    add: ['add', '--non-interactive'],
    file: (tarball) => `file:${tarball}`,
  },
  { name: 'yarn 4', ...yarn4, prepare: yarn4Project('node-modules') },
  {
    name: "yarn 4, Plug'n'Play",
    ...yarn4,
    prepare: yarn4Project('pnp'),
    run: [...yarn4.command, 'node'],
  },
];
