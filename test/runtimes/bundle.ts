/**
 * Builds what the runtimes run: the package as users get it (packed, and installed from the tarball
 * into a folder), and the suites, which import that installed package. The suites of processes and
 * pages do not bundle the package, so that the runtime's own resolution of `exports` and `imports`
 * is tested; the worker's is bundled under the `workerd` condition, as deployment tools do.
 */
import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { traceSubjects } from '../conformance/subjects/index.ts';
import { root } from '../helpers/repository.ts';

const bindings = join(root, 'bindings');

/** A project that has installed the package, and the suites in it. */
export interface Project {
  readonly folder: string;
  /** The installed package. */
  readonly installed: string;
}

/**
 * Packs the package and installs the tarball, without a registry. The folder is not below the
 * repository: a runtime that reads the configuration of parent folders (Bun does) must not find
 * ours, whose paths lead to the sources.
 */
export function installPackage(): Project {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'capstan-runtimes-')));
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'user', private: true, type: 'module' }),
  );
  const npm = (cwd: string, ...args: string[]): string =>
    execFileSync('npm', [...args, '--loglevel=error'], { cwd, encoding: 'utf8' });
  const tarball =
    npm(root, 'pack', '--ignore-scripts', '--pack-destination', folder).trim().split('\n').at(-1) ??
    '';
  npm(folder, 'install', '--offline', '--no-audit', '--no-fund', '--omit=peer', `./${tarball}`);
  return { folder, installed: join(folder, 'node_modules/capstan') };
}

/** The module `capstan-test:given`: all cases and traces. */
function given(): Plugin {
  const files = (pattern: string): string[] => globSync(pattern, { cwd: root }).sort();
  return {
    name: 'given',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^capstan-test:given$/ }, () => ({ path: 'given', namespace: 'given' }));
      onLoad({ filter: /.*/, namespace: 'given' }, () => {
        const cases = files('test/workqueue/cases/*.ts');
        const vectors = files('test/conformance/vectors/*/*.jsonl').filter((path) =>
          traceSubjects.has(basename(path, '.jsonl')),
        );
        const list = (kind: string, paths: string[], name: (path: string) => string): string =>
          `export const ${kind} = ` +
          `[${paths.map((path, i) => `[${JSON.stringify(name(path))}, ${kind}${i}]`)}];`;
        const contents = [
          ...cases.map(
            (path, i) => `import * as cases${i} from ${JSON.stringify(join(root, path))};`,
          ),
          ...vectors.map(
            (path, i) => `import vectors${i} from ${JSON.stringify(join(root, path))};`,
          ),
          list('cases', cases, (path) => basename(path)),
          list('vectors', vectors, (path) => path),
        ].join('\n');
        return { contents, resolveDir: root };
      });
    },
  };
}

/** Names of the package and paths into its sources all resolve to the installed one. */
function installedPackage({ folder, installed }: Project, inside: boolean): Plugin {
  return {
    name: 'installed-package',
    setup(build) {
      build.onResolve({ filter: /^capstan\// }, ({ path, kind, pluginData }) => {
        if (!inside) return { path, external: true };
        if (pluginData === installed) return undefined; // resolved below
        return build.resolve(path, { resolveDir: folder, kind, pluginData: installed });
      });
      build.onResolve({ filter: /^\.\.?\// }, ({ path, resolveDir }) => {
        const target = join(resolveDir, path);
        if (path.endsWith('.wasm')) return { path, external: true };
        if (!target.startsWith(bindings)) return undefined;
        const built = join(installed, 'dist', relative(bindings, target).replace(/\.ts$/, '.js'));
        return inside ? { path: built } : { path: `./${relative(folder, built)}`, external: true };
      });
    },
  };
}

export type Host = 'process' | 'page' | 'worker' | 'csp';

/**
 * Bundles a program of hosts/ into the project, with the shim as the cases' test runner. Fails if
 * one needs a Node module.
 */
export async function bundleHost(project: Project, host: Host, seed: string): Promise<string> {
  const outfile = join(project.folder, `${host}.js`);
  const inside = host === 'worker' || host === 'csp';
  await build({
    entryPoints: [join(root, `test/runtimes/hosts/${host}.ts`)],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'neutral',
    target: 'es2022', // Node 22 is the oldest
    keepNames: true,
    conditions: host === 'worker' ? ['workerd', 'import'] : ['import'],
    loader: { '.jsonl': 'text' },
    alias: { vitest: join(root, 'test/runtimes/shim/index.ts') },
    define: { 'process.env.CAPSTAN_SEED': JSON.stringify(seed) },
    // not ours: its paths lead to the sources
    tsconfigRaw: { compilerOptions: { useDefineForClassFields: true } },
    plugins: [given(), installedPackage(project, inside)],
    logLevel: 'error',
  });
  return outfile;
}
