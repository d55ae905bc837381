/**
 * Keeps one idle instance of a class for ever, so that V8 keeps the hidden class of its instances.
 *
 * V8 holds hidden classes weakly. If no instance is alive at a collection, the next one gets a new
 * hidden class, and after five such rounds every property access in the methods is megamorphic for
 * good: a queue cycle of 70 ns became 220 ns (Node 26). Programs and benchmarks that make a queue,
 * drop it and make another one would meet that.
 */
const kept = new Map<object, object | undefined>();

/**
 * Call it at the end of a constructor: `keepShape(new.target, Class, () => new Class())`.
 * Subclasses are ignored.
 */
export function keepShape(target: object, itself: object, make: () => object): void {
  if (target !== itself || kept.has(itself)) return;
  kept.set(itself, undefined); // make() calls this again
  kept.set(itself, make());
}
