// Writes build/release.wasm as base64 into bindings/generated/core-wasm.ts: the one form that loads everywhere without fetch or fs.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';

const root = new URL('../', import.meta.url);
const bytes = readFileSync(new URL('build/release.wasm', root));
const out = new URL('bindings/generated/core-wasm.ts', root);
const text = `// Generated from assembly/ by scripts/embed-wasm.ts. Do not edit.
export const coreWasm: string =
  '${bytes.toString('base64')}';
`;
mkdirSync(new URL('.', out), { recursive: true });
writeFileSync(out, text);
