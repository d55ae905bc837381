/**
 * Unions in structural schemas: the restrictions of their alternatives, and what is rejected.
 * crd-cases.ts checks that a server validates the same.
 */
import { SchemaError } from 'capstan/client';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { memberOf } from '../helpers/client/crd-cases.ts';

const object = (names: readonly string[], more: object = {}) => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
  required: names,
  ...more,
});

// The second union was dropped silently, and the server pruned the members that only its
// alternatives have.
it('two unions at once are rejected with their path, also within a union', () => {
  const source = z.union([z.object({ git: z.string() }), z.object({ image: z.string() })]);
  const policy = z.discriminatedUnion('mode', [
    z.object({ mode: z.literal('fixed'), replicas: z.int() }),
    z.object({ mode: z.literal('auto'), most: z.int() }),
  ]);
  const both = z.intersection(source, policy);
  const path = 'spec.x';
  expect(() => memberOf(both)).toThrow(SchemaError);
  for (const schema of [both, both.optional(), z.union([z.object({ a: z.string() }), both])])
    expect(() => memberOf(schema)).toThrow(
      expect.objectContaining({ path, message: expect.stringContaining('two unions') }),
    );
  const two = { anyOf: [object(['a']), object(['b'])], oneOf: [object(['a']), object(['b'])] };
  expect(() => memberOf({ anyOf: [two, object(['c'])] })).toThrow('two unions at once');
});

const text = { type: 'string' };
const CLOSED = { additionalProperties: false };

// Objects that match both alternatives were accepted although the schema takes one.
it('alternatives of a oneOf stay exclusive, unless a member distinguishes them', () => {
  expect(
    memberOf(z.xor([z.object({ a: z.string() }), z.object({ b: z.string().optional() })])),
  ).toEqual({
    type: 'object',
    properties: { a: text, b: text },
    oneOf: [{ required: ['a'] }, {}],
  });
  expect(memberOf(z.xor([z.int32().min(5), z.int32().max(9)]).nullable())).toMatchObject({
    nullable: true,
    oneOf: [{ minimum: 5 }, { maximum: 9 }],
  });
  const type = z.object({ k: z.literal('a'), a: z.string() });
  const told = z.discriminatedUnion('k', [type, z.object({ k: z.literal('b'), b: z.string() })]);
  expect(memberOf(told)).toMatchObject({
    required: ['k'],
    anyOf: [{ required: ['a'] }, { required: ['b'] }],
  });
  // Nested ones are counted separately.
  const three = { oneOf: [{ oneOf: [object(['a']), object(['b'])] }, object(['c'])] };
  expect(memberOf(three)).toMatchObject({
    oneOf: [{ oneOf: [{ required: ['a'] }, { required: ['b'] }] }, { required: ['c'] }],
  });
  expect(() => memberOf(z.xor([z.hostname(), z.ipv4()]))).toThrow(
    '"oneOf" has an alternative of the format hostname',
  );
});

// Members of the other alternatives are known to the server and so not pruned: it stored objects
// that the schema rejects.
it('a strict alternative excludes the members of the others', () => {
  const strict = z.union([
    z.strictObject({ a: z.string() }),
    z.strictObject({ a: z.string(), b: z.string() }),
  ]);
  const not = (...names: string[]) => ({ anyOf: names.map((name) => ({ required: [name] })) });
  expect(memberOf(strict)).toEqual({
    type: 'object',
    properties: { a: text, b: text },
    required: ['a'],
    anyOf: [{ not: not('b') }, { required: ['b'] }],
  });
  const nested = {
    anyOf: [{ oneOf: [object(['a'], CLOSED), object(['b'], CLOSED)] }, object(['c', 'd'])],
  };
  expect(memberOf(nested)).toMatchObject({
    anyOf: [{ not: not('c', 'd') }, { required: ['c', 'd'] }],
  });
  expect(
    memberOf(z.union([z.object({ a: z.string() }), z.object({ b: z.string() })])),
  ).toMatchObject({
    anyOf: [{ required: ['a'] }, { required: ['b'] }],
  });
});

// All of these were dropped silently.
it('restrictions in one alternative, or beside all, are translated or rejected', () => {
  expect(
    memberOf({ anyOf: [object(['a'], { maxProperties: 1 }), object(['b'], { minProperties: 2 })] }),
  ).toMatchObject({
    anyOf: [
      { maxProperties: 1, required: ['a'] },
      { minProperties: 2, required: ['b'] },
    ],
  });
  const inner = { ...object(['t']), anyOf: [object(['a']), object(['b'])] };
  expect(memberOf({ anyOf: [inner, object(['c'])] })).toMatchObject({
    anyOf: [
      { required: ['t'], anyOf: [{ required: ['a'] }, { required: ['b'] }] },
      { required: ['c'] },
    ],
  });
  const properties = { t: { type: 'string', maxLength: 5 }, a: text };
  const beside = { type: 'object', properties: { t: { type: 'string', minLength: 3 } } };
  expect(
    memberOf({ ...beside, anyOf: [object(['a'], { properties }), object(['b'])] }),
  ).toMatchObject({
    properties: { t: { type: 'string', minLength: 3 } },
    anyOf: [{ properties: { t: { maxLength: 5 } }, required: ['a'] }, { required: ['b'] }],
  });
  expect(
    memberOf({
      oneOf: [{ anyOf: [{ const: 'a' }, { type: 'null' }] }, { type: 'string', minLength: 3 }],
    }),
  ).toEqual({
    type: 'string',
    nullable: true,
    oneOf: [{ pattern: '^(?:a)$' }, { minLength: 3 }],
  });
  const rule = { 'x-kubernetes-validations': [{ rule: 'true' }] };
  for (const alternative of [
    z.object({ a: z.string() }).meta(rule),
    z.object({ a: z.string() }).meta({ 'x-kubernetes-map-type': 'atomic' }),
  ])
    expect(() => memberOf(z.union([alternative, z.object({ b: z.string() })]))).toThrow(
      expect.objectContaining({
        path: 'spec.x',
        message: expect.stringMatching(/"x-kubernetes-.* in an alternative of a union/),
      }),
    );
  expect(() => memberOf(z.union([z.string().min(3).meta(rule), z.string().max(1)]))).toThrow(
    SchemaError,
  );
  // The error of the union has the same text and path.
  const both = z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]);
  expect(memberOf(both.meta(rule))).toMatchObject(rule);
  expect(memberOf(both, {}, { 'spec.x': rule })).toMatchObject(rule);
});

// They were rejected for having no type, although the type stands beside them.
it('alternatives inherit the type and the members beside them', () => {
  const anyOf = [{ pattern: '^a' }, { minLength: 3 }];
  expect(memberOf({ type: 'string', maxLength: 9, anyOf })).toEqual({
    type: 'string',
    maxLength: 9,
    anyOf,
  });
  const oneOf = [{ required: ['a'] }, { required: ['b'] }];
  expect(memberOf({ type: 'object', properties: { a: text, b: text }, oneOf })).toEqual({
    type: 'object',
    properties: { a: text, b: text },
    oneOf,
  });
  const some = {
    anyOf: [{ type: 'integer', minimum: 2 }, { type: 'integer', maximum: 0 }, { type: 'null' }],
  };
  expect(memberOf({ ...some, enum: [1, 2, null] })).toEqual({
    type: 'integer',
    nullable: true,
    anyOf: [{ minimum: 2 }, { maximum: 0 }],
    allOf: [{ anyOf: [1, 2].map((value) => ({ minimum: value, maximum: value })) }],
  });
});

// Their restrictions were merged, the last of each keyword winning: the server checked neither
// alternative. In a oneOf the restriction of one would apply to the other type too, which all of
// its values match.
it('an int-or-string union may restrict one alternative of each type', () => {
  const percent = z.string().regex(/^\d+%$/);
  expect(memberOf(z.union([z.int32().min(1), percent]))).toMatchObject({
    minimum: 1,
    pattern: '^\\d+%$',
  });
  for (const [schema, message] of [
    [z.union([z.int(), percent, z.string().max(4)]), 'one alternative can restrict the string'],
    [z.union([z.int(), z.string(), z.string().max(4)]), 'one alternative can restrict the string'],
    [
      z.union([z.string(), z.int32().min(5), z.int32().max(1)]),
      'one alternative can restrict the integer',
    ],
    [z.union([z.int(), z.xor([z.string().min(3), z.string().max(5)])]), 'not by an enum'],
  ] as const)
    expect(() => memberOf(schema)).toThrow(
      expect.objectContaining({ path: 'spec.x', message: expect.stringContaining(message) }),
    );
});

// The server allowed all values, also those in several alternatives, which the schema rejects.
it('a oneOf of values allows those that are in one alternative alone', () => {
  expect(memberOf(z.xor([z.literal('a'), z.enum(['a', 'b'])]))).toEqual({
    type: 'string',
    enum: ['b'],
  });
  expect(memberOf({ oneOf: [{ enum: ['a', 'a'] }, { const: 'b' }] })).toEqual({
    type: 'string',
    enum: ['a', 'b'],
  });
  expect(() => memberOf(z.xor([z.literal('a'), z.literal('a')]))).toThrow('none is left');
});

// The alternatives' own type won: 1.5 was stored.
it('alternatives have the stricter type beside them', () => {
  const number = z.union([z.number().min(1), z.number().max(-1)]);
  expect(memberOf(number.and(z.int()))).toMatchObject({
    type: 'integer',
    anyOf: [{ minimum: 1 }, { maximum: -1 }],
  });
  expect(() => memberOf(z.union([z.string().min(1), z.int()]).and(z.int()))).toThrow(
    '"type" is given twice',
  );
});
