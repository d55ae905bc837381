/** Where the compiled core of the caches comes from; see core-module.ts. */
import { compileHex } from './compile.ts';
import { cacheWasm } from './generated/cache-wasm.ts';
import type { WasmModule } from './web-assembly.ts';

export function compileCache(): WasmModule {
  return compileHex(cacheWasm, 'capstan/cache.wasm', 'initCacheCore');
}
