/**
 * Bundles the page with the built package into a folder of static files. Run `npm run build` first.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const page = fileURLToPath(new URL('./page/', import.meta.url));
const root = fileURLToPath(new URL('../../', import.meta.url));

/** The page's Content-Security-Policy: its own files and server, and compiling WebAssembly. */
export const POLICY = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Writes the page into a folder, after emptying it. */
export async function buildView(folder: string): Promise<void> {
  if (!existsSync(`${root}dist/wasm/cache.wasm`))
    throw new Error('dist/ expected the built package: run `npm run build` first');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await build({
    entryPoints: [`${page}app.ts`],
    outdir: folder,
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2023',
    tsconfigRaw: '{}', // no paths: `capstan/…` resolves through package.json, as for users
    legalComments: 'none',
    logLevel: 'error',
  });
  for (const file of ['index.html', 'style.css', 'icon.svg'])
    writeFileSync(`${folder}/${file}`, readFileSync(page + file));
}
