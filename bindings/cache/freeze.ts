/**
 * Freezing a whole document, so that whoever writes to an object of a cache gets a TypeError at that very place. Iterative,
 * as documents may nest deeper than the stack.
 */

/**
 * Freezes a value and all that hangs from it, and returns it. What is frozen already is taken to be so all through: objects of
 * a byte decoder are, and reading their members would decode them. Views of memory cannot be frozen and are left alone.
 */
export function deepFreeze<T>(value: T): T {
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next !== 'object' || next === null || Object.isFrozen(next) || ArrayBuffer.isView(next)) continue;
    Object.freeze(next);
    if (Array.isArray(next)) for (const element of next) open.push(element);
    else for (const member of Object.values(next)) open.push(member);
  }
  return value;
}
