/** Unions in structural schemas: what becomes of the alternatives' restrictions, and what is refused. That a server checks the same is for crd-cases.ts. */
import { SchemaError } from 'capstan/client';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { memberOf } from './crd-cases.ts';

const object = (names: readonly string[], more: object = {}) => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
  required: names,
  ...more,
});

// The second union was dropped without a word, and the server with it the data that only its alternatives have.
it('two unions at once are refused with their path, also as one of the alternatives of a third', () => {
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
