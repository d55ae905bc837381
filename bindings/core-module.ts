/**
 * Where the compiled core comes from: here, hexadecimal in a generated file, compiled synchronously. Hosts that forbid that
 * take core-module.workerd.ts through the `workerd` condition of `#core-module` in package.json.
 */
import { CapstanError } from './errors.ts';
import { coreWasm } from './generated/core-wasm.ts';

function decode(hex: string): Uint8Array<ArrayBuffer> {
  if (typeof Uint8Array.fromHex === 'function') return Uint8Array.fromHex(hex);
  return Uint8Array.from({ length: hex.length / 2 }, (_, i) => Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16));
}

/** Compiles the core. With the engine's own string functions where it has them: then `wasm:js-string` is no import any more. */
export function compileCore(): WebAssembly.Module {
  if (typeof WebAssembly === 'undefined') {
    throw new CapstanError(
      'WASM_UNAVAILABLE',
      'expected a host with WebAssembly, but there is no global WebAssembly object',
    );
  }
  const bytes = decode(coreWasm);
  try {
    return new WebAssembly.Module(bytes, { builtins: ['js-string'] });
  } catch (cause) {
    throw new CapstanError(
      'WASM_UNAVAILABLE',
      "the host refused to compile WebAssembly. Under a Content-Security-Policy allow script-src 'wasm-unsafe-eval'; where compiling " +
        "is forbidden altogether, compile 'capstan/core.wasm' ahead of time and pass it to initCore({ module })",
      { cause },
    );
  }
}
