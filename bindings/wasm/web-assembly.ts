/**
 * WebAssembly's types as the declarations of the package name them: whatever the program knows of
 * them. Those of Node declare none, and a program whose `lib` is without the DOM would not compile
 * by "Cannot find namespace"; there they are any object.
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
