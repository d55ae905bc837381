/**
 * `roundTrips` finds each way in which a conversion loses or changes something, with its path and
 * the smallest object; and its random objects are objects that a server takes, for every feature of
 * schemas.
 */
import { defineCustomResource, type ObjectOf, type StructuralSchema } from 'capstan/client';
import { type RoundTripError, type RoundTripOptions, roundTrips } from 'capstan/testing';
import type { Conversion } from 'capstan/webhook';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { loadFastCheck, problemsOf, RandomObjects } from '../../bindings/testing/random-objects.ts';
import type { JsonObject } from '../../bindings/testing/server/json.ts';
import { loadCel } from '../../bindings/testing/server/rules/library.ts';
import { testSeed } from '../helpers/random.ts';

const seed = testSeed();

const named = { group: 'example.com', kind: 'Site', scope: 'Namespaced' } as const;
const V1 = defineCustomResource({
  ...named,
  version: 'v1',
  spec: z.object({
    host: z.string(),
    port: z.int().min(1).max(65535).optional(),
    replicas: z.int().default(1),
    paths: z.array(z.object({ path: z.string(), kind: z.enum(['Exact', 'Prefix']) })).optional(),
  }),
});
const V1beta1 = defineCustomResource({
  ...named,
  version: 'v1beta1',
  spec: z.object({
    address: z.string(),
    port: z.int().min(1).max(65535).optional(),
    replicas: z.int().default(1),
    paths: z.array(z.object({ path: z.string(), exact: z.boolean() })).optional(),
  }),
});
type Hub = ObjectOf<typeof V1>;
type Beta = ObjectOf<typeof V1beta1>;

const good: Conversion<Beta, Hub> = {
  version: 'v1beta1',
  toHub: ({ metadata, spec: { address, paths, ...spec } }) => ({
    metadata,
    spec: {
      ...spec,
      host: address,
      paths: paths?.map(({ path, exact }) => ({ path, kind: exact ? 'Exact' : 'Prefix' })),
    },
  }),
  fromHub: ({ metadata, spec: { host, paths, ...spec } }) => ({
    metadata,
    spec: {
      ...spec,
      address: host,
      paths: paths?.map(({ path, kind }) => ({ path, exact: kind === 'Exact' })),
    },
  }),
};

async function failureOf(
  conversion: Conversion<Beta, Hub>,
  schemas: Parameters<typeof roundTrips>[1],
  options: RoundTripOptions = {},
): Promise<RoundTripError> {
  try {
    await roundTrips(conversion, schemas, { seed, ...options });
  } catch (error) {
    return error as RoundTripError;
  }
  throw new Error('the conversion passed');
}

describe('roundTrips', () => {
  test('passes a conversion that loses nothing, by either schema and by both', async () => {
    await roundTrips(good, V1beta1, { seed });
    await roundTrips(good, V1, { seed });
    await roundTrips(good, [V1.crd, V1beta1], { seed });
  });

  test('names the path, the smallest object and the seed of what is lost', async () => {
    const losing: Conversion<Beta, Hub> = {
      ...good,
      toHub: (site) => {
        const hub = good.toHub(site);
        delete hub.spec.port;
        return hub;
      },
    };
    const error = await failureOf(losing, [V1beta1, V1]);
    expect(error).toMatchObject({ code: 'ROUND_TRIP', path: 'spec.port', seed });
    expect(error.message).toContain('Site from v1beta1 to v1 and back: spec.port is lost: it was ');
    expect(error.message).toContain(`options { seed: ${seed} } give it again`);
    const { spec } = error.object as Beta;
    expect(spec).toEqual({ address: '', port: expect.any(Number), replicas: expect.any(Number) });
    expect((await failureOf(losing, [V1beta1, V1])).message).toBe(error.message);
    await roundTrips(losing, [V1beta1, V1], { seed, ignore: ['spec.port'] });
  });

  test.each<[string, Conversion<Beta, Hub>, string, string | RegExp]>([
    [
      'an item of a list',
      {
        ...good,
        fromHub: (h) =>
          good.fromHub({ ...h, spec: { ...h.spec, paths: h.spec.paths?.slice(0, 1) } }),
      },
      'spec.paths[1]',
      'is lost: it was {',
    ],
    [
      'a label',
      {
        ...good,
        toHub: (s) => good.toHub({ ...s, metadata: { ...s.metadata, labels: undefined } }),
      },
      'metadata.labels',
      'is lost',
    ],
    [
      'a value that is made another',
      {
        ...good,
        fromHub: (h) => {
          const host = [...h.spec.host].slice(0, -1).join('');
          return good.fromHub({ ...h, spec: { ...h.spec, host } });
        },
      },
      'spec.address',
      /was ".+" and comes back as ""/,
    ],
    [
      'a member that is added',
      { ...good, fromHub: (h) => good.fromHub({ ...h, spec: { port: 80, ...h.spec } }) },
      'spec.port',
      'is added: 80',
    ],
    [
      'a default of the other version',
      {
        ...good,
        toHub: ({ spec: { replicas: _, ...spec }, ...s }) =>
          good.toHub({ ...s, spec: spec as never }),
      },
      'spec.replicas',
      'comes back as 1',
    ],
    [
      'a member that the other schema does not have',
      {
        ...good,
        toHub: (s) => ({ ...s, spec: { ...s.spec, host: s.spec.address, paths: undefined } }),
      },
      'spec.address',
      'toHub() gives spec.address, which the schema does not have',
    ],
    [
      'a value that the other schema refuses',
      { ...good, toHub: (s) => good.toHub({ ...s, spec: { ...s.spec, port: 0 } }) },
      'spec.port',
      'toHub() gives what the schema refuses: spec.port: ',
    ],
    [
      'a conversion that throws',
      {
        ...good,
        fromHub: (h) => {
          if (h.spec.paths !== undefined) throw new Error('no paths here');
          return good.fromHub(h);
        },
      },
      '',
      'fromHub() throws: no paths here',
    ],
  ])('finds %s', async (_, conversion, path, what) => {
    const error = await failureOf(conversion, [V1beta1, V1]);
    expect(error.message).toMatch(what);
    expect(error.path).toBe(path);
  });

  test('tries objects of the hub too', async () => {
    const losing = {
      ...good,
      fromHub: (h: Hub) => good.fromHub({ ...h, spec: { ...h.spec, port: undefined } }),
    };
    expect((await failureOf(losing, V1)).message).toContain(
      'from v1 to v1beta1 and back: spec.port',
    );
  });

  test('takes values for what a schema does not say', async () => {
    const strict: Conversion<Beta, Hub> = {
      ...good,
      toHub: (s) => {
        if (!s.spec.address.endsWith('.example')) throw new Error('no address');
        return good.toHub(s);
      },
    };
    expect((await failureOf(strict, V1beta1)).message).toContain('no address');
    await roundTrips(strict, V1beta1, { values: { 'spec.address': ['a.example', 'b.example'] } });
    await expect(roundTrips(good, V1, { values: { 'spec.hosts': ['a'] } })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: 'options.values has "spec.hosts", and no schema has such a path',
    });
  });

  test('refuses what is no conversion and what is no definition', async () => {
    for (const [conversion, schemas] of [
      [null, V1],
      [{}, V1],
      [good, undefined],
      [good, [null]],
    ] as never[][])
      await expect(roundTrips(conversion as never, schemas as never)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
  });

  test('says which part of a schema no random value matches', async () => {
    const Odd = defineCustomResource({
      ...named,
      version: 'v1',
      spec: z.object({ cron: z.string() }),
      overrides: { 'spec.cron': { type: 'string', pattern: '^a$', minLength: 2 } },
    });
    await expect(roundTrips(good, Odd, { seed })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('spec.cron: none of 20000 random values matched'),
    });
  });

  test.each<[unknown, unknown, string]>([
    [[], undefined, '"schemas" expected definitions'],
    [
      [V1, { ...V1, crd: { ...V1.crd, spec: { ...V1.crd.spec, group: 'b.example' } } }],
      {},
      'versions of Site',
    ],
    [V1, { counts: 1 }, 'did you mean "count"'],
    [V1, { count: 0 }, 'options.count'],
  ])('rejects wrong arguments: %#', async (schemas, options, why) => {
    await expect(roundTrips(good, schemas as never, options as never)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining(why),
    });
  });
});

describe('random objects', () => {
  const text = { type: 'string' } as const;
  const schemas: Record<string, StructuralSchema> = {
    'bounds of numbers': {
      type: 'object',
      properties: {
        a: { type: 'integer', minimum: 5, exclusiveMinimum: true, maximum: 7 },
        b: { type: 'integer', multipleOf: 5, minimum: 1, maximum: 20 },
        c: { type: 'number', minimum: 0.5, maximum: 0.75, exclusiveMaximum: true },
        d: { type: 'integer', format: 'int32' },
      },
      required: ['a', 'b', 'c', 'd'],
    },
    formats: {
      type: 'object',
      properties: Object.fromEntries(
        [
          ...['bsonobjectid', 'byte', 'cidr', 'creditcard', 'date', 'date-time', 'duration'],
          ...['email', 'hexcolor', 'hostname', 'ipv4', 'ipv6', 'isbn', 'isbn10', 'isbn13', 'mac'],
          ...['k8s-long-name', 'k8s-short-name', 'password', 'rgbcolor', 'ssn', 'uri', 'uuid'],
          ...['uuid3', 'uuid4', 'uuid5', 'unknown'],
        ].map((format) => [format, { ...text, format }]),
      ),
    },
    patterns: {
      type: 'object',
      properties: {
        name: { ...text, pattern: '^[a-z]([-a-z0-9]*[a-z0-9])?$', maxLength: 63 },
        open: { ...text, pattern: 'x|y', minLength: 2 },
      },
      required: ['name', 'open'],
    },
    'lists by keys, and sets': {
      type: 'object',
      properties: {
        ports: {
          type: 'array',
          minItems: 1,
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['port', 'protocol'],
          items: {
            type: 'object',
            properties: {
              port: { type: 'integer', minimum: 1, maximum: 2 },
              protocol: { ...text, enum: ['TCP', 'UDP'], default: 'TCP' },
            },
            required: ['port'],
          },
        },
        finalizers: { type: 'array', minItems: 2, items: text, 'x-kubernetes-list-type': 'set' },
      },
      required: ['ports', 'finalizers'],
    },
    'one of many members': {
      type: 'object',
      properties: Object.fromEntries('abcdefghijkl'.split('').map((name) => [name, text])),
      oneOf: 'abcdefghijkl'.split('').map((name) => ({ required: [name] })),
    },
    'exactly one property': {
      type: 'object',
      properties: Object.fromEntries('abcdefghijkl'.split('').map((name) => [name, text])),
      minProperties: 1,
      maxProperties: 1,
    },
    'alternatives by a discriminator': {
      type: 'object',
      properties: {
        type: { ...text, enum: ['A', 'B'] },
        a: text,
        b: { type: 'integer' },
      },
      required: ['type'],
      anyOf: [
        { properties: { type: { enum: ['A'] } }, required: ['a'], not: { required: ['b'] } },
        { properties: { type: { enum: ['B'] } }, required: ['b'] },
      ],
      allOf: [{ properties: { b: { minimum: 3 } } }],
    },
    'int-or-string, maps, nulls and unknown fields': {
      type: 'object',
      properties: {
        port: {
          'x-kubernetes-int-or-string': true,
          anyOf: [{ type: 'integer' }, { type: 'string' }],
          pattern: '^[a-z]+$',
        },
        labels: {
          type: 'object',
          minProperties: 1,
          additionalProperties: { ...text, maxLength: 3 },
        },
        maybe: { ...text, nullable: true },
        raw: { 'x-kubernetes-preserve-unknown-fields': true },
        open: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        template: {
          type: 'object',
          'x-kubernetes-embedded-resource': true,
          'x-kubernetes-preserve-unknown-fields': true,
        },
      },
      required: ['port', 'labels', 'maybe', 'raw', 'open', 'template'],
    },
    'rules in CEL': {
      type: 'object',
      properties: { min: { type: 'integer' }, max: { type: 'integer' } },
      required: ['min', 'max'],
      'x-kubernetes-validations': [{ rule: 'self.min <= self.max' }],
    },
  };

  test.each(Object.entries(schemas))('match %s', async (_, spec) => {
    await loadCel();
    const schema = {
      type: 'object',
      properties: { spec },
      required: ['spec'],
    } as unknown as JsonObject;
    const seen = new Set<string>();
    const objects = new RandomObjects(await loadFastCheck(), {}).objects(schema, true);
    fc.assert(
      fc.property(objects, (object) => {
        seen.add(JSON.stringify(object.spec));
        expect(problemsOf(schema, object)).toEqual([]);
        expect(JSON.parse(JSON.stringify(object))).toEqual(object);
      }),
      { seed, numRuns: 300 },
    );
    expect(seen.size).toBeGreaterThan(20);
  });
});
