/** Leaving an iteration early: whoever races a `next` against something else, and then gives up, does not hang until the next item comes. */

/** A generator whose `return` does not queue behind a `next` that waits: `leave` ends that wait first. */
export function leaving<T>(
  items: AsyncGenerator<T, void, undefined>,
  leave: () => void,
): AsyncGenerator<T, void, undefined> {
  const end = items.return.bind(items);
  items.return = (value) => {
    leave();
    return end(value);
  };
  return items;
}
