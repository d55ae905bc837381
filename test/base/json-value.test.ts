/** bindings/base/json-value.ts: equality of JSON values, and own members. */
import { describe, expect, test } from 'vitest';
import { parseJson, sameExactJson } from '../../bindings/base/exact-json.ts';
import { ownMember, sameJson } from '../../bindings/base/json-value.ts';

describe('sameJson', () => {
  test.each<[string, unknown, unknown, boolean]>([
    ['members in another order', { a: 1, b: [2] }, { b: [2], a: 1 }, true],
    ['a member that is undefined and one that is absent', { a: 1, b: undefined }, { a: 1 }, true],
    ['one undefined member on either side', { a: undefined, b: 1 }, { b: 1, c: undefined }, true],
    ['a member that is null and one that is absent', { a: null }, {}, false],
    ['elements in another order', [1, 2], [2, 1], false],
    ['arrays of another length', [1], [1, 2], false],
    ['an array and an object with the same members', ['a'], { 0: 'a' }, false],
    ['an empty array and an empty object', [], {}, false],
    ['a number and its text', { a: 1 }, { a: '1' }, false],
    ['null and an object', null, {}, false],
    ['deep differences', { a: [{ b: { c: 1 } }] }, { a: [{ b: { c: 2 } }] }, false],
  ])('of %s', (_, a, b, same) => {
    expect(sameJson(a, b)).toBe(same);
    expect(sameJson(b, a)).toBe(same);
  });

  // An own `__proto__` member, as JSON.parse makes it, must not be compared with the prototype.
  test('treats __proto__ as an ordinary member', () => {
    const odd = JSON.parse('{"__proto__": {"a": 1}}');
    expect(sameJson(odd, {})).toBe(false);
    expect(sameJson({}, odd)).toBe(false);
    expect(sameJson(odd, JSON.parse('{"__proto__": {"a": 1}}'))).toBe(true);
    expect(ownMember({}, '__proto__')).toBeUndefined();
  });

  test('distinguishes integers beyond 2^53 only by their texts', () => {
    const [a, b] = [parseJson('{"n": [9007199254740993]}'), parseJson('{"n": [9007199254740992]}')];
    expect(sameJson(a, b)).toBe(true);
    expect(sameExactJson(a, b)).toBe(false);
    expect(sameExactJson(a, { n: [9007199254740992] })).toBe(true); // its text is unknown
  });
});
