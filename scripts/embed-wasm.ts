// Writes the compiled modules in hexadecimal into bindings/generated/: a form that loads everywhere
// without fetch or fs. Base64 is shorter, but writes the same bytes in three ways, by their
// position: compressed it is a quarter longer (15.9 KB for 12.7 KB).
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';

const root = new URL('../', import.meta.url);
const out = new URL('bindings/generated/', root);
mkdirSync(out, { recursive: true });
for (const name of ['core', 'cache']) {
  const bytes = readFileSync(new URL(`build/${name}.wasm`, root));
  const text = `// Generated from assembly/ by scripts/embed-wasm.ts. Do not edit.
export const ${name}Wasm: string =
  '${bytes.toString('hex')}';
`;
  writeFileSync(new URL(`${name}-wasm.ts`, out), text);
}
