/**
 * Where the compiled core comes from: here, base64 in a generated file, compiled synchronously. Hosts that forbid that
 * take core-module.workerd.ts through the `workerd` condition of `#core-module` in package.json.
 */
import { CapstanError } from './errors.ts';
import { coreWasm } from './generated/core-wasm.ts';

function decode(base64: string): Uint8Array<ArrayBuffer> {
  if (typeof Uint8Array.fromBase64 === 'function') return Uint8Array.fromBase64(base64);
  return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
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
