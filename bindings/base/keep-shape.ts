/**
 * One idle instance per class is kept for ever, so that the engine keeps the hidden class that all
 * instances share.
 *
 * V8 holds hidden classes weakly. When no instance is alive at a collection, the next one gets a
 * new hidden class, and after five such rounds every property access in the methods is megamorphic
 * for good: a queue cycle of 70 ns became 220 ns (Node 26). Programs that make a queue, drop it and
 * make another one would meet that; so does any benchmark that does.
 */
const kept = new Map<object, object | undefined>();

/**
 * To be called at the end of a constructor: `keepShape(new.target, Class, () => new Class())`.
 * Subclasses of others are not kept.
 */
export function keepShape(target: object, itself: object, make: () => object): void {
  if (target !== itself || kept.has(itself)) return;
  kept.set(itself, undefined); // the one that make() makes must not make another
  kept.set(itself, make());
}
