// Puts core.wasm and its declaration beside the compiled JavaScript, for the ./core.wasm export and the workerd condition.
import { copyFileSync, writeFileSync } from 'node:fs';

const root = new URL('../', import.meta.url);
copyFileSync(new URL('build/release.wasm', root), new URL('dist/core.wasm', root));
writeFileSync(
  new URL('dist/core.wasm.d.ts', root),
  '/** Hosts that give a compiled module for a .wasm import: pass it to initCore({ module }). */\ndeclare const module: WebAssembly.Module;\nexport default module;\n',
);
