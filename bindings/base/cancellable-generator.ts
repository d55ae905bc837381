/**
 * Generators that can be left while a `next` waits: a caller that races `next` and gives up does
 * not hang until the next item.
 */

/**
 * Returns the generator with a `return` and `throw` that call `leave` first, which must end a
 * waiting `next`.
 */
export function leaving<T>(
  items: AsyncGenerator<T, void, undefined>,
  leave: () => void,
): AsyncGenerator<T, void, undefined> {
  for (const name of ['return', 'throw'] as const) {
    const end = items[name].bind(items);
    const value = (reason: never): ReturnType<typeof end> => {
      leave();
      return end(reason);
    };
    // Defined and not assigned: with frozen generator prototypes (hardened realms, node
    // --frozen-intrinsics) an assignment throws.
    Object.defineProperty(items, name, { value, writable: true, configurable: true });
  }
  return items;
}
