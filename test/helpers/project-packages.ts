/** A new project's packages without a registry: links to those of this repository. */
import { mkdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from './repository.ts';

const PACKAGES = [
  '@biomejs/biome',
  '@kubernetes/client-node',
  '@types/node',
  'esbuild',
  'pino',
  'typescript',
  'vitest',
  'zod',
];

/**
 * @param capstan the folder of this package: unpacked, or the repository itself, of which the built
 * files count
 */
export function linkPackages(project: string, capstan: string = root): void {
  const modules = join(project, 'node_modules');
  const folders = [
    ...PACKAGES.map((name) => [name, join(root, 'node_modules', name)] as const),
    ['capstan', capstan] as const,
  ];
  for (const [name, folder] of folders) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(folder, join(modules, name));
  }
}
