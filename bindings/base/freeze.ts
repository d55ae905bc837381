/**
 * Freezing a whole document, so that whoever writes to an object of a cache gets a TypeError at
 * that very place, however deep the document nests.
 */

/**
 * How many calls deep a value is frozen; what lies deeper waits in a list. Recursion takes half the
 * time of a list.
 */
const CALLS = 64;

/**
 * Freezes a value and all that hangs from it, and returns it. What is frozen already is taken to be
 * so all through: objects of a byte decoder are, and reading their members would decode them. Views
 * of memory cannot be frozen and are left alone.
 */
export function deepFreeze<V>(value: V): V {
  const later: object[] = [];
  if (isOpen(value)) freeze(value, 0, later);
  for (let next = later.pop(); next !== undefined; next = later.pop())
    if (isOpen(next)) freeze(next, 0, later);
  return value;
}

/**
 * The same for what JSON.parse has just given: none of it is frozen or a view, and nothing is asked
 * twice (1.0 us for a Pod's spec of 34 objects, where deepFreeze takes 2.0).
 */
export function freezeParsed<V>(value: V): V {
  if (typeof value === 'object' && value !== null) freezeNew(value, 0);
  return value;
}

function freezeNew(value: object, depth: number): void {
  if (depth === CALLS) {
    deepFreeze(value);
    return;
  }
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const element: unknown = value[i];
      if (typeof element === 'object' && element !== null) freezeNew(element, depth + 1);
    }
  } else {
    for (const name in value) {
      const member = (value as Record<string, unknown>)[name];
      if (typeof member === 'object' && member !== null) freezeNew(member, depth + 1);
    }
  }
  Object.freeze(value);
}

function isOpen(value: unknown): value is object {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Object.isFrozen(value) &&
    !ArrayBuffer.isView(value)
  );
}

function freeze(value: object, depth: number, later: object[]): void {
  if (depth === CALLS) {
    later.push(value);
    return;
  }
  Object.freeze(value);
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const element: unknown = value[i];
      if (typeof element === 'object' && isOpen(element)) freeze(element, depth + 1, later);
    }
    return;
  }
  for (const name in value) {
    const member = (value as Record<string, unknown>)[name];
    if (typeof member === 'object' && isOpen(member)) freeze(member, depth + 1, later);
  }
}
