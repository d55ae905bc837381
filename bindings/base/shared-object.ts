/**
 * Replaces the engine's TypeError by an error that explains it, when a program changes a cached
 * object. Cached objects are read-only because all readers share them; the error says how to change
 * a copy.
 */
import { CapstanError, someCause } from './errors.ts';

/**
 * The messages of V8, JavaScriptCore, SpiderMonkey and others for a member that cannot be changed.
 */
const REFUSED =
  /read[- ]?only propert|is read-only|not extensible|only a getter|getter-only|(?:non-|un)configurable|(?:cannot|can't|unable to) (?:delete|redefine) property/i;

/**
 * Returns the error, or a CapstanError MUTATED with it as the cause if the engine refused to change
 * a read-only object. Never throws.
 */
export function explained(error: unknown): unknown {
  let refused = '';
  const isExplained = someCause(error, ({ name, message, code }) => {
    if (name === 'TypeError' && typeof message === 'string' && REFUSED.test(message))
      refused = message;
    return code === 'MUTATED';
  });
  if (isExplained || refused === '') return error;
  return new CapstanError(
    'MUTATED',
    `a program tried to change a read-only object (${refused}): all readers share ` +
      'the objects of caches and events. Change a copy, structuredClone(object), or ' +
      'use createOrUpdate of capstan/client, which gives one',
    { cause: error },
  );
}

/** Calls a user's function and explains what it throws or rejects with. */
export async function explaining<R>(call: () => R | Promise<R>): Promise<R> {
  try {
    return await call();
  } catch (error) {
    throw explained(error);
  }
}
