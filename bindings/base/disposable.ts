/// <reference lib="esnext.disposable" preserve="true" />
/** `using` for what has dispose(), in engines that have `Symbol.dispose`. */
export function disposable(prototype: { dispose(): void }): void {
  if (Symbol.dispose === undefined) return;
  Object.defineProperty(prototype, Symbol.dispose, {
    value(this: { dispose(): void }) {
      this.dispose();
    },
    writable: true,
    configurable: true,
  });
}
