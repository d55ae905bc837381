/**
 * Which side hashes keys. The core, where the engine has string functions; a JS Map elsewhere (a
 * hash costs 240-300 ns there), on Bun, where they are slower than its Map, and for tables made
 * while the host gives no seed.
 */

export type KeyMode = 'wasm' | 'js';

let chosen: KeyMode | undefined;

/**
 * Which implementation new tables use; for tests and benchmarks. `undefined`: the default of the
 * runtime.
 */
export function setKeyMode(mode: KeyMode | undefined): void {
  chosen = mode;
}

export function keyMode(nativeStrings: boolean): KeyMode {
  return chosen ?? (nativeStrings && !('Bun' in globalThis) ? 'wasm' : 'js');
}

/** Whether tables that are made now hash their keys in the core. */
export function hashesInWasm(core: {
  readonly nativeStrings: boolean;
  readonly seeded: boolean;
}): boolean {
  return core.seeded && keyMode(core.nativeStrings) === 'wasm';
}
