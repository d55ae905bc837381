/** Where the compiled core of the caches comes from; see core-module.ts. */
import { compileHex } from './compile.ts';
import { cacheWasm } from './generated/cache-wasm.ts';

export function compileCache(): WebAssembly.Module {
  return compileHex(cacheWasm, 'capstan/cache.wasm', 'initCacheCore');
}
