/**
 * The memory of the Wasm instances that the package makes. It does not export them, so this file
 * replaces `WebAssembly.Instance`. Instances are made at first use, so importing this before the
 * first queue is early enough.
 */

const instances: WebAssembly.Exports[] = [];

WebAssembly.Instance = new Proxy(WebAssembly.Instance, {
  construct(target, args: [WebAssembly.Module], newTarget) {
    const instance = Reflect.construct(target, args, newTarget) as WebAssembly.Instance;
    instances.push(instance.exports);
    return instance;
  },
});

/**
 * Bytes of all instances made so far. Wasm memory never shrinks, so those that were dropped count
 * as well.
 */
export function wasmBytes(): number {
  const memories = instances
    .map((exports) => exports.memory)
    .filter((memory) => memory instanceof WebAssembly.Memory);
  return memories.reduce((sum, memory) => sum + memory.buffer.byteLength, 0);
}

/** The same in pages of 64 KiB. */
export function wasmPages(): number {
  return wasmBytes() / 65_536;
}
