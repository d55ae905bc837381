/** Compiling a module that is inlined in hexadecimal, synchronously. */
import { CapstanError } from '../base/errors.ts';
import type { WasmModule } from './web-assembly.ts';

function decode(hex: string): Uint8Array<ArrayBuffer> {
  if (typeof Uint8Array.fromHex === 'function') return Uint8Array.fromHex(hex);
  return Uint8Array.from({ length: hex.length / 2 }, (_, i) =>
    Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16),
  );
}

/**
 * With the engine's own string functions where it has them: then `wasm:js-string` is no import any
 * more.
 */
export function compileHex(hex: string, name: string, call: string): WasmModule {
  if (typeof WebAssembly === 'undefined') {
    throw new CapstanError(
      'WASM_UNAVAILABLE',
      'expected a host with WebAssembly, but there is no global WebAssembly object',
    );
  }
  const bytes = decode(hex);
  try {
    return new WebAssembly.Module(bytes, { builtins: ['js-string'] });
  } catch (cause) {
    throw new CapstanError(
      'WASM_UNAVAILABLE',
      'the host refused to compile WebAssembly. Under a Content-Security-Policy allow script-src ' +
        `'wasm-unsafe-eval'; where compiling is forbidden altogether, compile '${name}' ahead of ` +
        `time and pass it to ${call}({ module })`,
      { cause },
    );
  }
}
