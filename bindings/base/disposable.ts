/** Gives a class with `dispose()` the method of `using`, in engines that have `Symbol.dispose`. */
/// <reference lib="esnext.disposable" preserve="true" />
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
