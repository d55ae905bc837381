/**
 * Where the compiled core of the queues comes from: here, hexadecimal in a generated file, compiled
 * synchronously. Hosts that forbid that take core-module.workerd.ts through the `workerd` condition
 * of `#core-module` in package.json.
 */

import { coreWasm } from '../generated/core-wasm.ts';
import { compileHex } from './compile.ts';
import type { WasmModule } from './web-assembly.ts';

export function compileCore(): WasmModule {
  return compileHex(coreWasm, 'capstan/core.wasm', 'initCore');
}
