/**
 * Tests of the comparison in same-as-parsed.ts: it detects every visible difference from a parsed
 * object.
 */
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { expectReadOnly, expectSameAsParsed } from './same-as-parsed.ts';

const text = '{"b":{"d":-0,"c":[1,{"e":null}]},"1":"x","a":1e400,"__proto__":{"f":2}}';
const parsed = (): Record<string, unknown> => JSON.parse(text);

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const member of Object.values(value)) frozen(member);
    Object.freeze(value);
  }
  return value;
}

/**
 * Own enumerable accessors with shared getters, shown by inspect as values: as a lazy object may
 * be.
 */
function lazy(source: Record<string, unknown>): object {
  const object = {};
  for (const [name, value] of Object.entries(source)) {
    Object.defineProperty(object, name, { enumerable: true, get: () => value });
  }
  Object.defineProperty(object, inspect.custom, { value: () => source });
  return Object.freeze(object);
}

describe('the comparison with the result of JSON.parse', () => {
  it('accepts equal objects, frozen or made of accessors', () => {
    expectSameAsParsed(parsed(), parsed());
    expectSameAsParsed(frozen(parsed()), parsed());
    expectSameAsParsed(lazy(parsed()), parsed());
  });

  it.each<[string, (object: Record<string, unknown>) => unknown]>([
    ['another order of members', ({ a, b, ...rest }) => ({ a, b, ...rest })],
    ['a member missing', ({ a: _, ...rest }) => rest],
    ['a member of no name', (object) => ({ ...object, absent: undefined })],
    ['an undefined member', (object) => ({ ...object, a: undefined })],
    ['0 for -0', (object) => ({ ...object, b: { ...(object.b as object), d: 0 } })],
    [
      'an array that is an object',
      (object) => ({ ...object, b: { d: -0, c: { ...(object.b as { c: object }).c } } }),
    ],
    ['no prototype', (object) => Object.assign(Object.create(null), object)],
    [
      'a prototype of its own',
      (object) => Object.setPrototypeOf({ ...object }, { inherited: true }),
    ],
    ['a prototype in place of an own __proto__', (object) => Object.assign({}, object)],
    ['a proxy', (object) => new Proxy(object, {})],
    ['a function somewhere', (object) => ({ ...object, a: () => 1 })],
    ['a symbol', (object) => ({ ...object, [Symbol('s')]: 1 })],
    ['getters in util.inspect', (object) => Object.create(Object.prototype, accessors(object))],
    [
      'another object at each reading',
      (object) =>
        Object.defineProperty({ ...object }, 'b', { enumerable: true, get: () => parsed().b }),
    ],
    [
      'members that are not enumerable',
      (object) => Object.defineProperty({ ...object }, 'a', { enumerable: false }),
    ],
  ])('refuses %s', (_, change) => {
    expect(() => expectSameAsParsed(change(parsed()), parsed())).toThrow();
  });
});

describe('the check that an object is read-only', () => {
  it('accepts a deeply frozen object, also one made of accessors', () => {
    expectReadOnly(frozen(parsed()));
    expectReadOnly(lazy({ a: 1, b: frozen([1, { c: 2 }]) }));
  });

  it('refuses an object with one level that is not frozen', () => {
    expect(() => expectReadOnly(parsed())).toThrow('$: a new member');
    expect(() => expectReadOnly(Object.freeze({ a: Object.freeze([{}]) }))).toThrow(
      '$.a.0: a new member',
    );
    expect(() => expectReadOnly(Object.freeze({ a: [] }))).toThrow('$.a: a new member');
  });

  it('refuses a sealed object, and a setter', () => {
    expect(() => expectReadOnly(Object.seal({ a: 1 }))).toThrow('a write to a');
    const accessor = Object.defineProperty({}, 'a', {
      enumerable: true,
      get: () => 1,
      set: () => undefined,
    });
    expect(() => expectReadOnly(Object.freeze(accessor))).toThrow('a write to a');
  });
});

function accessors(object: Record<string, unknown>): PropertyDescriptorMap {
  return Object.fromEntries(
    Object.keys(object).map((name) => [name, { enumerable: true, get: () => object[name] }]),
  );
}
