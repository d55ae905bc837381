// Writes the live page, bundled and minified into one document, into bindings/generated/, so that
// the package needs no file beside its modules at run time. Its policy names the script and the
// style by their hashes, so that nothing else in the document can ever run.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = new URL('../', import.meta.url);
const source = fileURLToPath(new URL('bindings/manager/page/browser/', root));

async function bundle(entry: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [`${source}${entry}`],
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: ['es2023', 'chrome120', 'firefox121', 'safari17.2'],
    charset: 'utf8',
    legalComments: 'none',
    tsconfigRaw: '{}',
    write: false,
    logLevel: 'error',
  });
  const text = outputFiles[0]?.text.trim();
  if (text === undefined) throw new Error(`${entry}: esbuild wrote nothing`);
  if (/<\/(?:script|style)|<!--/i.test(text))
    throw new Error(`${entry} expected no end of its element within`);
  return text;
}

const hash = (text: string): string =>
  `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

function fill(document: string, place: string, text: string): string {
  if (document.split(place).length !== 2) throw new Error(`index.html expected ${place} once`);
  return document.replace(place, () => text);
}

const [script, style] = await Promise.all([bundle('app.ts'), bundle('page.css')]);
const page = fill(
  fill(readFileSync(`${source}index.html`, 'utf8'), '/*STYLE*/', style),
  '/*SCRIPT*/',
  script,
);
const policy = [
  "default-src 'none'",
  `script-src ${hash(script)}`,
  `style-src ${hash(style)}`,
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const out = new URL('bindings/generated/', root);
mkdirSync(out, { recursive: true });
writeFileSync(
  new URL('live-page.ts', out),
  `// Generated from bindings/manager/page/browser/ by scripts/embed-page.ts. Do not edit.
export const livePage: string = ${JSON.stringify(page)};
export const livePagePolicy: string = ${JSON.stringify(policy)};
`,
);
