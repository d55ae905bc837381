/**
 * A mistake that engines tell of without a way out: a program changes an object of a cache, which
 * is read-only as all readers share it. What is reported then says how to change a copy.
 */
import { CapstanError, someCause } from './errors.ts';

/** What V8, JavaScriptCore, SpiderMonkey and others say of a member that cannot be changed. */
const REFUSED =
  /read[- ]?only propert|is read-only|not extensible|only a getter|getter-only|(?:non-|un)configurable|(?:cannot|can't|unable to) (?:delete|redefine) property/i;

/**
 * The error; where the engine refused to change a read-only object, a CapstanError MUTATED with the
 * error as its cause. Never throws.
 */
export function explained(error: unknown): unknown {
  let refused = '';
  const told = someCause(error, ({ name, message, code }) => {
    if (name === 'TypeError' && typeof message === 'string' && REFUSED.test(message))
      refused = message;
    return code === 'MUTATED';
  });
  if (told || refused === '') return error;
  return new CapstanError(
    'MUTATED',
    `a read-only object was to be changed (${refused}): objects of caches and events are shared by all who read them. Change a copy, structuredClone(object), or use createOrUpdate of capstan/client, which gives one`,
    { cause: error },
  );
}

/** What a user's function gives; what it throws or rejects with, explained. */
export async function explaining<R>(call: () => R | Promise<R>): Promise<R> {
  try {
    return await call();
  } catch (error) {
    throw explained(error);
  }
}
