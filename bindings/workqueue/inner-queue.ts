/**
 * A queue that wraps another, by the option `inner`: its calls go to the inner queue. client-go:
 * DelayingQueueConfig.Queue.
 */
import { invalid } from '../base/errors.ts';
import type { WorkQueue } from './queue.ts';

/** What the inner queue answers as it is. */
const FORWARDED = [
  ...['add', 'len', 'tryGet', 'done', 'getBatch', 'doneAll', 'requireRoom', 'pin', 'unpin'],
  ...['slotItem', 'addSlots', 'getSlots', 'doneSlots'],
] as const;

/**
 * Defines methods on `outer` that call `inner`. They would shadow those of a subclass, so such a
 * subclass is refused. shutDown(), shutDownWithDrain() and dispose() stay those of `outer`, which
 * also end `inner`.
 */
export function forwardTo<T>(
  inner: WorkQueue<T>,
  outer: WorkQueue<T>,
  prototype: WorkQueue<T>,
): void {
  const define = <N extends keyof WorkQueue<T>>(name: N, value: WorkQueue<T>[N]): void => {
    if (outer[name] !== prototype[name])
      throw invalid(
        'inner',
        `a class that does not override ${String(name)}(): override it there`,
        inner,
      );
    Object.defineProperty(outer, name, { value });
  };
  for (const name of FORWARDED) {
    const forward = (...args: unknown[]): unknown => {
      outer.checkAlive();
      return Reflect.apply(inner[name], inner, args);
    };
    define(name, forward as never);
  }
  define('get', (options) => {
    try {
      outer.checkAlive();
    } catch (error) {
      return Promise.reject(error);
    }
    return inner.get(options);
  });
  define('shuttingDown', () => inner.shuttingDown());
  define('droppedAdds', () => inner.droppedAdds());
  const ownPage = outer.page.bind(outer);
  /** The keys of the inner queue come first. */
  define('page', (after, limit) => {
    if (after >= outer.ownFrom) return ownPage(after, limit);
    outer.checkAlive();
    const { keys, next = outer.ownFrom } = inner.snapshot({ after, limit });
    return { keys, next };
  });
  const waiting = outer.recover.bind(outer);
  define('recover', () => {
    const own = waiting(); // throws after dispose()
    return [...inner.recover(), ...own];
  });
}
