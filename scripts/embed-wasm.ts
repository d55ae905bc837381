// Writes build/release.wasm in hexadecimal into bindings/generated/core-wasm.ts: a form that loads everywhere without fetch or fs. Base64
// is shorter, but a byte then stands for another letter at each third place: compressed it is a quarter longer (15.9 KB for 12.7 KB).
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';

const root = new URL('../', import.meta.url);
const bytes = readFileSync(new URL('build/release.wasm', root));
const out = new URL('bindings/generated/core-wasm.ts', root);
const text = `// Generated from assembly/ by scripts/embed-wasm.ts. Do not edit.
export const coreWasm: string =
  '${bytes.toString('hex')}';
`;
mkdirSync(new URL('.', out), { recursive: true });
writeFileSync(out, text);
