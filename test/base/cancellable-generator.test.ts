/** bindings/base/cancellable-generator.ts with frozen generator prototypes. */
import { expect, test } from 'vitest';
import { leaving } from '../../bindings/base/cancellable-generator.ts';

// In hardened realms, and with node --frozen-intrinsics, the prototypes of generators are frozen.
// An assignment to their members throws there, so that no queue could be iterated and nothing
// watched.
test.each(['return', 'throw'] as const)(
  '%s ends a generator whose prototype is frozen',
  async (name) => {
    const gate = Promise.withResolvers<void>();
    async function* waiting(): AsyncGenerator<number, void, undefined> {
      await gate.promise;
      yield* [];
    }
    const intrinsic = Object.getPrototypeOf(waiting.prototype);
    Object.defineProperties(waiting.prototype, {
      return: { value: intrinsic.return },
      throw: { value: intrinsic.throw },
    });
    const items = leaving(waiting(), gate.resolve);
    const next = items.next();
    const left = items[name]('over').catch((error: unknown) => ({ error }));
    expect(await next).toEqual({ value: undefined, done: true });
    expect(await left).toEqual(
      name === 'return' ? { value: 'over', done: true } : { error: 'over' },
    );
  },
);
