/**
 * The package.json of a new project. Versions are those that this package is tested with: they
 * stand in its own manifest, which is published with it, so that they cannot fall behind.
 */
import { CapstanError } from 'capstan';

/** What is read of this package's manifest. */
export interface PackageFacts {
  readonly version: string;
  readonly engines: { readonly node: string };
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

/**
 * As text, with a line feed at the end. `file` is the name of the module of the custom resource.
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
