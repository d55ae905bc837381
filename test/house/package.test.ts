/**
 * What the package promises to its users: no dependencies, typed entry points that exist, and parts
 * that run in a browser. It checks the built files (`npm test` builds first).
 */
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { build, transform } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { version } from '../../bindings/generated/version.ts';
import { root } from '../helpers/repository.ts';

const readText = (path: string): string => readFileSync(`${root}/${path}`, 'utf8');

interface Manifest {
  version: string;
  type: string;
  sideEffects: boolean;
  license: string;
  engines: { node: string };
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies: Record<string, string>;
  peerDependenciesMeta: Record<string, { optional?: boolean }>;
  devDependencies: Record<string, string>;
  allowScripts: Record<string, boolean>;
  scripts: Record<string, string>;
  bin: Record<string, string>;
  exports: Record<string, string | Record<string, string>>;
  imports: Record<string, Record<string, string>>;
}

const manifest = JSON.parse(readText('package.json')) as Manifest;

/** The paths that a value of `exports` or `imports` names. */
function paths(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(paths) : [];
}

/**
 * Bundles one subpath as for a browser and returns the modules in it; rejects if one needs Node.
 */
async function browserInputs(contents: string): Promise<string[]> {
  const { metafile } = await build({
    stdin: { contents, resolveDir: root },
    bundle: true,
    format: 'esm',
    platform: 'browser',
    tsconfigRaw: '{}', // users have no paths: the names resolve through package.json
    write: false,
    metafile: true,
    logLevel: 'silent',
  });
  return Object.keys(metafile.inputs).filter((input) => input !== '<stdin>');
}

describe('the manifest', () => {
  it('has no runtime dependencies, and only optional peers', () => {
    expect(Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })).toEqual([]);
    expect(Object.keys(manifest.peerDependencies)).toEqual([
      '@kubernetes/client-node',
      '@marcbachmann/cel-js',
      '@peculiar/x509',
      'fast-check',
      'rfc6902',
      'selfsigned',
      'yaml',
    ]);
    expect(manifest.peerDependencies['@kubernetes/client-node']).toMatch(/^\^2\./);
    for (const peer of Object.keys(manifest.peerDependencies))
      expect(manifest.peerDependenciesMeta[peer]?.optional, peer).toBe(true);
  });

  it('is ESM without side effects, for Node 22.19 and newer, under Apache-2.0', () => {
    expect(manifest).toMatchObject({
      type: 'module',
      sideEffects: false,
      license: 'Apache-2.0',
      engines: { node: '>=22.19' },
    });
  });

  it('pins every tool exactly, and allows the install script of the pinned Node', () => {
    const loose = Object.entries(manifest.devDependencies).filter(
      ([, version]) => !/^\d+\.\d+\.\d+$/.test(version),
    );
    expect(loose).toEqual([]);
    expect(manifest.devDependencies.node).toMatch(/^26\./);
    expect(manifest.allowScripts.node).toBe(true);
  });

  it('has the scripts that the documentation names', () => {
    const named = ['build', 'demo', 'test', 'test:vectors', 'test:e2e', 'bench', 'check', 'docs'];
    expect(Object.keys(manifest.scripts)).toEqual(expect.arrayContaining(named));
  });

  it('exports each subpath, with types first', () => {
    const folders = [
      'apimachinery',
      'workqueue',
      'cache',
      'client',
      'kinds',
      'leaderelection',
      'controller',
      'manager',
      'webhook',
      'client-node',
      'testing',
    ];
    const subpaths = ['.', ...folders.map((folder) => `./${folder}`)];
    expect(Object.keys(manifest.exports)).toEqual(
      expect.arrayContaining([...subpaths, './core.wasm', './package.json']),
    );
    for (const subpath of subpaths) {
      expect(Object.keys(manifest.exports[subpath] ?? {})[0], `first condition of ${subpath}`).toBe(
        'types',
      );
    }
    expect(manifest.imports['#core-module']).toHaveProperty('workerd');
  });

  // The tests run on the sources; a compiler has emitted a class that could not be loaded.
  it('can be imported as built, each subpath', async () => {
    const entries = Object.entries(manifest.exports).flatMap(([subpath, target]) =>
      typeof target === 'object' && String(target.default).endsWith('.js')
        ? [[subpath, target.default]]
        : [],
    );
    expect(entries.length).toBeGreaterThan(8);
    const program = entries
      .map(([, file]) => `await import(${JSON.stringify(pathToFileURL(`${root}/${file}`).href)});`)
      .join('\n');
    const { stderr, status } = spawnSync(
      process.execPath,
      ['--input-type=module', '--eval', program],
      {
        encoding: 'utf8',
      },
    );
    expect(stderr).toBe('');
    expect(status).toBe(0);
  });

  it('names only files that the build creates', () => {
    expect(existsSync(`${root}/dist`), 'dist/ is missing: run npm run build').toBe(true);
    const named = [...paths(manifest.exports), ...paths(manifest.imports), ...paths(manifest.bin)];
    expect(named.filter((path) => !existsSync(`${root}/${path}`))).toEqual([]);
  });
});

describe('the built modules', () => {
  // Jest with ts-jest or swc converts modules to CommonJS, within a function that has these
  // parameters: our `const module` was a SyntaxError. There import.meta is a SyntaxError too. In a
  // bundle import.meta is the bundle's, so that files were looked for beside the application.
  it('can be CommonJS: none declares its parameters or uses import.meta', async () => {
    const files = globSync('dist/**/*.js', { cwd: root, exclude: ['dist/bin/**'] });
    expect(files.length).toBeGreaterThan(200);
    const refused: string[] = [];
    for (const file of files) {
      const source = `${readText(file)}\nlet module, exports, require, __filename, __dirname;`;
      if (source.includes('import.meta')) refused.push(`${file}: import.meta`);
      await transform(source, { format: 'cjs', logLevel: 'silent' }).catch((error) =>
        refused.push(`${file}: ${error}`),
      );
    }
    expect(refused).toEqual([]);
  });

  it('have the version of the manifest', () => {
    expect(version).toBe(manifest.version);
  });
});

describe('the lock file', () => {
  it('names no registry host, so that any mirror can serve an install', () => {
    const lines = readText('package-lock.json').split('\n');
    expect(lines.filter((line) => /"resolved"\s*:\s*"[a-z+]+:\/\//.test(line))).toEqual([]);
  });

  it('matches the manifest', () => {
    const lock = JSON.parse(readText('package-lock.json')) as {
      packages: Record<string, Partial<Manifest>>;
    };
    expect(lock.packages['']?.devDependencies).toEqual(manifest.devDependencies);
    expect(lock.packages['']?.dependencies).toBeUndefined();
  });
});

describe('a bundle for the browser', () => {
  it.each(['workqueue', 'cache', 'controller'])(
    'of capstan/%s needs no Node and no package',
    async (subpath) => {
      const inputs = await browserInputs(`export * from 'capstan/${subpath}';`);
      expect(inputs).toContain(`dist/${subpath}/index.js`);
      expect(inputs.filter((input) => !input.startsWith('dist/'))).toEqual([]);
    },
  );

  it('of a module that needs Node is rejected, so that the test above can fail', async () => {
    await expect(browserInputs(`export * from 'capstan/testing';`)).rejects.toThrow(/node:/);
  });
});
