/**
 * Cloudflare's workerd forbids compiling at run time but hands over a module that was compiled when
 * the worker was deployed.
 */
import compiled from './core.wasm';
import type { WasmModule } from './web-assembly.ts';

export function compileCore(): WasmModule {
  return compiled;
}
