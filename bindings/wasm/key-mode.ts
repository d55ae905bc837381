/**
 * Which side finds the slots of a cache's keys and index values. The core on Node, where it reads a
 * character for about the price of a load. JS elsewhere: a read costs more than twice as much in
 * Deno, Chromium and Firefox, in Bun more than a look-up in JS, and engines without string
 * functions take 240 to 300 ns to hash a key. JS also for tables made while the host gives no seed.
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
  return chosen ?? (nativeStrings && isNode() ? 'wasm' : 'js');
}

/** Deno and Bun have Node's `process`, too. */
function isNode(): boolean {
  const { process, Deno, Bun } = globalThis as {
    process?: { versions?: { node?: string } };
    Deno?: unknown;
    Bun?: unknown;
  };
  return process?.versions?.node !== undefined && Deno === undefined && Bun === undefined;
}

/** Whether tables that are made now hash their keys in the core. */
export function hashesInWasm(core: {
  readonly nativeStrings: boolean;
  readonly seeded: boolean;
}): boolean {
  return core.seeded && keyMode(core.nativeStrings) === 'wasm';
}
