/**
 * The package.json of a new project. Its dependencies have the versions that this package is tested
 * with, read from this package's own manifest.
 */
import { CapstanError } from 'capstan';

/** The members of this package's manifest that are used. */
export interface PackageFacts {
  readonly version: string;
  readonly engines: { readonly node: string };
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

/**
 * The manifest as text that ends in a line feed. @param file the name of the module of the custom
 * resource
 */
export function projectManifest(name: string, file: string, facts: PackageFacts): string {
  const { version, engines, peerDependencies, devDependencies } = facts;
  const range = (dependency: string): string => {
    const pinned = devDependencies[dependency];
    if (pinned === undefined)
      throw new CapstanError(
        'INVALID_ARGUMENT',
        `expected ${dependency} in the manifest of capstan ${version}`,
      );
    return `^${pinned}`;
  };
  const manifest = {
    name,
    version: '0.1.0',
    private: true,
    type: 'module',
    engines: { node: engines.node },
    scripts: {
      start: 'node src/main.ts',
      dev: 'node --watch dev.ts',
      test: 'vitest run',
      typecheck: 'tsc',
      crd: `capstan crd src/${file}.ts --out deploy/crd.yaml`,
    },
    dependencies: {
      '@kubernetes/client-node': peerDependencies['@kubernetes/client-node'],
      capstan: `^${version}`,
      zod: range('zod'),
    },
    devDependencies: {
      '@types/node': range('@types/node'),
      typescript: range('typescript'),
      vitest: range('vitest'),
    },
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}
