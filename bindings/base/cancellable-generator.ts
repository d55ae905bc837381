/**
 * Leaving an iteration early: whoever races a `next` against something else, and then gives up,
 * does not hang until the next item comes.
 */

/**
 * A generator whose `return` and `throw` do not queue behind a `next` that waits: `leave` ends that
 * wait first.
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
    // Defined: where the prototypes of generators are frozen (hardened realms, node
    // --frozen-intrinsics) an assignment throws.
    Object.defineProperty(items, name, { value, writable: true, configurable: true });
  }
  return items;
}
