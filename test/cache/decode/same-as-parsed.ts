/**
 * Checks that a value cannot be told apart from the result of JSON.parse for the same text, however
 * the object is implemented.
 */
import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { expect } from 'vitest';

type Members = Record<string, unknown>;

const isObject = (value: unknown): value is Members => typeof value === 'object' && value !== null;

/** Throws with the path of the first difference. */
export function expectSameAsParsed(value: unknown, parsed: unknown): void {
  sameMembers(value, parsed, '$');
  // Compares by functions that see the whole object: first before, then after reading every member.
  assert.equal(JSON.stringify(value), JSON.stringify(parsed), 'JSON.stringify');
  assert.equal(
    JSON.stringify(value, undefined, 1),
    JSON.stringify(parsed, undefined, 1),
    'JSON.stringify, indented',
  );
  assert.deepEqual(structuredClone(value), structuredClone(parsed), 'structuredClone');
  assert.deepEqual(value, parsed, 'assert.deepStrictEqual');
  assert.deepEqual(parsed, value, 'assert.deepStrictEqual, the other way round');
  // It treats an own member `constructor` as the type, by which even two results of JSON.parse
  // differ.
  if (!hasConstructor(parsed)) {
    expect(value).toStrictEqual(parsed);
    expect(parsed).toStrictEqual(value);
  }
  const whole = { depth: null, maxArrayLength: null, maxStringLength: null } as const;
  assert.equal(inspect(value, whole), inspect(parsed, whole), 'util.inspect');
  assert.equal(inspect(value), inspect(parsed), 'util.inspect with its own limits');
}

/** Names, their order, prototypes and values, at every depth. */
function sameMembers(value: unknown, parsed: unknown, path: string): void {
  if (!isObject(parsed) || !isObject(value)) {
    assert.ok(
      Object.is(value, parsed),
      `${path} is ${inspect(value)}, parsed it is ${inspect(parsed)}`,
    );
    return;
  }
  assert.equal(Array.isArray(value), Array.isArray(parsed), `${path}: is an array`);
  assert.equal(Object.getPrototypeOf(value), Object.getPrototypeOf(parsed), `${path}: prototype`);
  const names = Object.keys(parsed);
  assert.deepEqual(Object.keys(value), names, `${path}: Object.keys`);
  assert.deepEqual(forIn(value), forIn(parsed), `${path}: for…in`);
  assert.deepEqual(Object.keys({ ...value }), names, `${path}: spread`);
  assert.deepEqual(
    Object.entries(value).map(([name]) => name),
    names,
    `${path}: Object.entries`,
  );
  if (Array.isArray(value) && Array.isArray(parsed))
    assert.equal(value.length, parsed.length, `${path}: length`);
  assert.equal(
    Object.hasOwn(value, '__proto__'),
    Object.hasOwn(parsed, '__proto__'),
    `${path}: has __proto__`,
  );
  assert.equal('absent' in value, false, `${path}: has a member of no name`);
  const spread: Members = { ...value };
  for (const name of names) {
    assert.ok(Object.hasOwn(value, name) && name in value, `${path}: has ${name}`);
    assert.ok(
      Object.prototype.propertyIsEnumerable.call(value, name),
      `${path}: ${name} is enumerable`,
    );
    const first: unknown = value[name];
    assert.ok(Object.is(value[name], first), `${path}: ${name} is one object each time`);
    sameMembers(spread[name], parsed[name], `${path}.${name}, spread`);
    sameMembers(value[name], parsed[name], `${path}.${name}`);
  }
}

function forIn(value: object): string[] {
  const names: string[] = [];
  for (const name in value) names.push(name);
  return names;
}

function hasConstructor(value: unknown): boolean {
  return (
    isObject(value) &&
    (Object.hasOwn(value, 'constructor') || Object.values(value).some(hasConstructor))
  );
}

/** Throws unless every attempt to change it throws a TypeError, at every depth. */
export function expectReadOnly(value: unknown, path = '$'): void {
  if (!isObject(value)) return;
  const refuses = (what: string, attempt: () => unknown): void => {
    assert.throws(attempt, TypeError, `${path}: ${what} was let through`);
  };
  refuses('a new member', () => {
    value.aNewMember = 1;
  });
  refuses('a new member by defineProperty', () =>
    Object.defineProperty(value, 'aNewMember', { value: 1 }),
  );
  if (Array.isArray(value)) {
    refuses('push', () => value.push(1));
    refuses('length', () => {
      value.length = value.length + 1;
    });
  }
  for (const name of Object.keys(value)) {
    refuses(`a write to ${name}`, () => {
      value[name] = 'other';
    });
    refuses(`a redefinition of ${name}`, () =>
      Object.defineProperty(value, name, { value: 'other' }),
    );
    refuses(`a deletion of ${name}`, () => delete value[name]);
    expectReadOnly(value[name], `${path}.${name}`);
  }
  refuses('another prototype', () => Object.setPrototypeOf(value, { inherited: 1 }));
  refuses('Object.assign', () => Object.assign(value, { aNewMember: 1 }));
}
