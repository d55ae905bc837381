/**
 * WebAssembly's types in the declarations of the package: those of the program's `lib`, if it has
 * them. Node's types declare none, and without the DOM a program would not compile ("Cannot find
 * namespace"); there they are any object.
 */

type Of<Name extends string> = typeof globalThis extends {
  WebAssembly: { [K in Name]: { prototype: infer T } };
}
  ? T
  : object;

export type WasmModule = Of<'Module'>;
export type WasmMemory = Of<'Memory'>;
/** What an instance exports. */
export type WasmExports = object;
