/** As core-module.workerd.ts. */
import module from './cache.wasm';

export function compileCache(): WebAssembly.Module {
  return module;
}
