/** Leaving an iteration early: whoever races a `next` against something else, and then gives up, does not hang until the next item comes. */

/** A generator whose `return` and `throw` do not queue behind a `next` that waits: `leave` ends that wait first. */
export function leaving<T>(
  items: AsyncGenerator<T, void, undefined>,
  leave: () => void,
): AsyncGenerator<T, void, undefined> {
  const end = items.return.bind(items);
  items.return = (value) => {
    leave();
    return end(value);
  };
  const fail = items.throw.bind(items);
  items.throw = (error) => {
    leave();
    return fail(error);
  };
  return items;
}
