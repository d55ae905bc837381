// Puts the modules and their declarations beside the compiled JavaScript, for the exports
// ./core.wasm and ./cache.wasm and the workerd condition.
import { copyFileSync, writeFileSync } from 'node:fs';

const root = new URL('../', import.meta.url);
for (const [name, call] of [
  ['core', 'initCore'],
  ['cache', 'initCacheCore'],
]) {
  copyFileSync(new URL(`build/${name}.wasm`, root), new URL(`dist/wasm/${name}.wasm`, root));
  writeFileSync(
    new URL(`dist/wasm/${name}.wasm.d.ts`, root),
    `/** For hosts whose .wasm imports are compiled modules: pass it to ${call}({ module }). */\n` +
      `declare const module: import('./web-assembly.js').WasmModule;\nexport default module;\n`,
  );
}
