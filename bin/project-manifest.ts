/**
 * The package.json of a new project. Its dependencies have the versions that this package is tested
 * with, read from this package's own manifest.
 */
import { CapstanError } from 'capstan/workqueue';

/** The members of this package's manifest that are used. */
export interface PackageFacts {
  readonly version: string;
  readonly engines: { readonly node: string };
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  /** Only a release has it (scripts/release.ts). */
  readonly repository?: unknown;
}

/**
 * The manifest as text that ends in a line feed. `capstan add` reads its member `capstan`.
 *
 * @param capstan where the project gets Capstan from
 */
export function projectManifest(
  { name, group }: { readonly name: string; readonly group: string },
  facts: PackageFacts,
  capstan: string,
): string {
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
    // npm refuses to install or run a script with an older Node, instead of a warning.
    devEngines: { runtime: { name: 'node', version: engines.node, onFail: 'error' } },
    scripts: {
      start: 'node src/main.ts',
      dev: 'node --watch dev.ts',
      test: 'vitest run',
      typecheck: 'tsc',
      lint: 'biome lint --error-on-warnings',
      format: 'biome check --write',
      crd: 'capstan crd src/controllers.ts --out deploy/crd.yaml',
      bundle: 'node bundle.ts',
    },
    capstan: { name, group },
    dependencies: {
      '@kubernetes/client-node': peerDependencies['@kubernetes/client-node'],
      capstan,
      pino: range('pino'),
      zod: range('zod'),
    },
    devDependencies: {
      '@biomejs/biome': range('@biomejs/biome'),
      '@types/node': range('@types/node'),
      esbuild: range('esbuild'),
      typescript: range('typescript'),
      vitest: range('vitest'),
    },
    allowScripts: { esbuild: true }, // npm asks otherwise
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}
