/** As core-module.workerd.ts. */
import compiled from './cache.wasm';
import type { WasmModule } from './web-assembly.ts';

export function compileCache(): WasmModule {
  return compiled;
}
