/** bindings/wasm/instance.ts on hosts that refuse WebAssembly. */
import { afterEach, expect, test, vi } from 'vitest';
import { type CoreExports, coreExports } from '../../bindings/generated/core-exports.ts';
import { coreWasm } from '../../bindings/generated/core-wasm.ts';
import { compileHex } from '../../bindings/wasm/compile.ts';
import { guardWith } from '../../bindings/wasm/guard.ts';
import { CoreModule, Instance } from '../../bindings/wasm/instance.ts';
import { expectError } from '../helpers/expect-error.ts';

afterEach(() => void vi.unstubAllGlobals());

const make = () =>
  new Instance(
    new CoreModule(
      'capstan/core.wasm',
      'queueNew',
      () => compileHex(coreWasm, 'capstan/core.wasm', 'initCore'),
      (exports, trapped) => coreExports(exports as CoreExports, guardWith(trapped)),
    ),
  );

// node --jitless has none. The error said only that the core could not be instantiated.
test('without WebAssembly the error says that there is none', () => {
  vi.stubGlobal('WebAssembly', undefined);
  expectError(make, 'WASM_UNAVAILABLE', /expected a host with WebAssembly/);
});

test('an error of the engine at instantiation is the cause', () => {
  const refused = new RangeError('no more address space');
  class Refusing {
    constructor() {
      throw refused;
    }
  }
  vi.stubGlobal('WebAssembly', { Module: WebAssembly.Module, Instance: Refusing });
  expect(expectError(make, 'WASM_UNAVAILABLE', /could not be instantiated/).cause).toBe(refused);
});
