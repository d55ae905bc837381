/** Where the compiled core of the caches comes from; see core-module.ts. */

import { cacheWasm } from '../generated/cache-wasm.ts';
import { compileHex } from './compile.ts';
import type { WasmModule } from './web-assembly.ts';

export function compileCache(): WasmModule {
  return compileHex(cacheWasm, 'capstan/cache.wasm', 'initCacheCore');
}
