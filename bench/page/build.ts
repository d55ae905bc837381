/**
 * Builds the page as static files with relative addresses: any server can host the folder, at any
 * path. It bundles the built package, as users get it, so run `npm run build` first.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';

const root = fileURLToPath(new URL('../..', import.meta.url));
const here = fileURLToPath(new URL('.', import.meta.url));

/**
 * The Content-Security-Policy. It allows the page's own files and compiling WebAssembly, but no
 * inline script or style. index.html has it for hosts that send no headers. A worker takes its
 * policy from the header of its own file alone, which serve.ts sends.
 */
export const POLICY = [
  "default-src 'self'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

/**
 * Resolves the path of a source in bindings/ to its built file. Otherwise the page would have two
 * copies of the module, each with a state of its own.
 */
const builtBindings: Plugin = {
  name: 'built-bindings',
  setup({ onResolve }) {
    onResolve({ filter: /\/bindings\/.*\.ts$/ }, ({ path }) => ({
      path: `${root}/dist/${path.replace(/^.*\/bindings\//, '').replace(/\.ts$/, '.js')}`,
    }));
  },
};

/** Writes the page into a folder, which is emptied first. */
export async function buildPage(folder: string): Promise<void> {
  const core = `${root}/dist/wasm/core.wasm`;
  if (!existsSync(core))
    throw new Error('dist/ expected the built package: run `npm run build` first');
  const { version } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8')) as {
    version: string;
  };
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await build({
    entryPoints: [`${here}/app.ts`, `${here}/worker.ts`, `${here}/style.css`],
    outdir: folder,
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2023',
    tsconfigRaw: '{}', // no paths: `capstan/…` resolves through package.json, as for users
    plugins: [builtBindings],
    define: {
      __CAPSTAN_VERSION__: JSON.stringify(version),
      __CORE_BYTES__: String(statSync(core).size),
    },
    legalComments: 'none',
    logLevel: 'error',
  });
  const page = readFileSync(`${here}/index.html`, 'utf8');
  if (!page.includes('%CSP%')) throw new Error('index.html expected a place for the policy: %CSP%');
  writeFileSync(`${folder}/index.html`, page.replace('%CSP%', POLICY));
  for (const file of ['charts.css', 'icon.svg'])
    writeFileSync(`${folder}/${file}`, readFileSync(`${here}/${file}`));
}
