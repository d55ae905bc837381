/**
 * Custom resources from schemas: the structural schema, what is rejected and with which path, the
 * types, and validation in the program.
 */
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import type { KubeObject, Resource } from 'capstan/cache';
import {
  type CustomObject,
  combineVersions,
  defineCustomResource,
  InvalidObjectError,
  type JsonSchema,
  type ObjectOf,
  SchemaError,
  type StandardSchema,
  withJsonSchema,
} from 'capstan/client';
import * as v from 'valibot';
import { describe, expect, expectTypeOf, it } from 'vitest';
import * as z from 'zod';
import { notInRE2, toRE2 } from '../../bindings/client/crd/patterns.ts';
import { CASES, memberOf, objectOf, Wide } from '../helpers/client/crd-cases.ts';

const named = {
  group: 'example.com',
  version: 'v1',
  kind: 'Website',
  scope: 'Namespaced',
} as const;

/** The server pruned a null in a member of any type. */
const ANYTHING = { 'x-kubernetes-preserve-unknown-fields': true, nullable: true };

describe('a definition', () => {
  it('has the given names, scope and version, and derives the others', () => {
    const { crd, resource } = defineCustomResource({
      ...named,
      spec: z.object({ host: z.string() }),
    });
    expect(crd).toEqual({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'websites.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: {
          plural: 'websites',
          singular: 'website',
          kind: 'Website',
          listKind: 'WebsiteList',
        },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: {
                type: 'object',
                properties: {
                  apiVersion: { type: 'string' },
                  kind: { type: 'string' },
                  metadata: { type: 'object' },
                  spec: {
                    type: 'object',
                    properties: { host: { type: 'string' } },
                    required: ['host'],
                  },
                },
                required: ['spec'],
              },
            },
          },
        ],
      },
    });
    expect(resource).toEqual({
      group: 'example.com',
      version: 'v1',
      kind: 'Website',
      plural: 'websites',
      namespaced: true,
      indexers: {},
    });
  });

  it('has all other given options', () => {
    const { crd } = Wide;
    expect(crd.spec.names).toMatchObject({ shortNames: ['gw'], categories: ['all'] });
    expect(crd.spec.versions[0]).toMatchObject({
      subresources: {
        status: {},
        scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.ready' },
      },
      additionalPrinterColumns: [
        { name: 'Host', type: 'string', jsonPath: '.spec.host', description: 'where' },
      ],
      selectableFields: [{ jsonPath: '.spec.host' }],
      schema: { openAPIV3Schema: { description: 'Everything a schema can say' } },
    });
  });

  describe('checks paths against the schemas:', () => {
    const Schema = {
      ...named,
      spec: z.object({
        size: z.int(),
        host: z.string(),
        ports: z.array(z.object({ name: z.string() })),
        labels: z.record(z.string(), z.string()),
        any: z.unknown(),
        either: z.union([z.int(), z.string()]),
      }),
      status: z.object({ size: z.int().optional() }),
    };
    const column = (
      type: 'string' | 'integer' | 'number' | 'boolean' | 'date',
      jsonPath: string,
    ) => ({
      additionalPrinterColumns: [{ name: 'A', type, jsonPath }],
    });
    const scale = (specReplicasPath: string, statusReplicasPath = '.status.size') => ({
      subresources: { scale: { specReplicasPath, statusReplicasPath } },
    });

    it.each([
      [column('string', '.spec.size')],
      [column('number', '.spec.size')],
      [column('date', '.metadata.creationTimestamp')],
      [column('string', '.metadata.labels.a')],
      [column('string', '.spec.ports[0].name')],
      [column('string', '.spec.ports[?(@.name=="a.b")].name')],
      [column('string', '.spec.labels.app')],
      [column('string', ".spec.labels['a\\.b']")],
      [column('integer', '.spec.any.thing')],
      [scale('.spec.size')],
      [{ selectableFields: ['.spec.host', '.spec.size'] }],
    ])('%j is taken', (given) => {
      expect(() => defineCustomResource({ ...Schema, ...given })).not.toThrow();
    });

    it.each([
      [column('string', '.spec.hots'), '.spec.hots: the column A expects a member of the schema'],
      [column('string', '.spec.hots'), '.hots is none: there are size, host, ports, labels, any'],
      [column('string', '.spec.host.a'), '.a is none'],
      [column('string', '.spec.ports[0].nam'), '.nam is none: there are name'],
      [column('string', 'spec.host'), 'a path such as ".spec.host"'],
      [column('integer', '.spec.host'), 'shows values of type integer, and these are string'],
      [column('integer', '.spec.either'), 'and these are integer or string'],
      [column('date', '.spec.size'), 'shows values of type date, and these are integer'],
      [scale('.spec.host'), '.spec.host: the scale subresource has values of type integer'],
      [scale('.spec.replicas'), '.spec.replicas: the scale subresource expects a member'],
      [scale('.status.size'), 'expects a path under .spec., in no list'],
      [scale('.spec.size', '.spec.size'), 'expects a path under .status., in no list'],
      [{ selectableFields: ['.spec.labels'] }, 'and these are object'],
      [{ selectableFields: ['.spec.ports[0].name'] }, 'a selectable field is in no list or map'],
      [
        { selectableFields: ['.metadata.name'] },
        'string, boolean or integer, and these are of any',
      ],
      [{ selectableFields: Array(9).fill('.spec.host') }, 'at most 8 selectable fields'],
    ])('%j is none', (given, why) => {
      expect(() => defineCustomResource({ ...Schema, ...given })).toThrow(
        expect.objectContaining({ code: 'SCHEMA', message: expect.stringContaining(why) }),
      );
    });
  });

  it('has a status subresource if it has a status, unless disabled', () => {
    const both = { ...named, spec: z.object({}), status: z.object({}) };
    expect(defineCustomResource(both).crd.spec.versions[0]?.subresources).toEqual({ status: {} });
    const without = defineCustomResource({ ...both, subresources: { status: false } });
    expect(without.crd.spec.versions[0]).not.toHaveProperty('subresources');
  });

  it.each([
    ['Policy', 'policies'],
    ['Gateway', 'gateways'],
    ['Ingress', 'ingresses'],
    ['Box', 'boxes'],
    ['Mesh', 'meshes'],
  ])('of the kind %s has the plural %s', (kind, plural) => {
    expect(defineCustomResource({ ...named, kind, spec: z.object({}) }).resource.plural).toBe(
      plural,
    );
  });

  it.each([
    ['group', { group: 'example' }],
    ['version', { version: 'V1' }],
    ['kind', { kind: 'website' }],
    ['plural', { plural: 'Websites' }],
    ['scope', { scope: 'cluster' as 'Cluster' }],
    ['spec', { spec: { type: 'object' } as never }],
    ['status', { status: 7 as never }],
  ])('with a bad %s is rejected', (name, bad) => {
    expect(() => defineCustomResource({ ...named, spec: z.object({}), ...bad })).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining(`"${name}" expected`),
      }),
    );
  });

  it('is plain data', () => {
    expect(JSON.parse(JSON.stringify(Wide.crd))).toEqual(Wide.crd);
  });
});

describe('versions', () => {
  const version = (version: string, more: object = {}) =>
    defineCustomResource({ ...named, version, spec: z.object({}), ...more });

  it('are combined, and the first one is stored', () => {
    const crd = combineVersions([
      version('v1'),
      version('v1beta1', { deprecated: 'use v1' }),
      version('v1alpha1', { served: false }),
    ]);
    expect(crd.spec.versions).toMatchObject([
      { name: 'v1', storage: true, served: true },
      {
        name: 'v1beta1',
        storage: false,
        served: true,
        deprecated: true,
        deprecationWarning: 'use v1',
      },
      { name: 'v1alpha1', storage: false, served: false },
    ]);
  });

  it('are converted as configured', () => {
    const conversion = {
      strategy: 'Webhook',
      webhook: { conversionReviewVersions: ['v1'] },
    } as const;
    const crd = combineVersions([version('v1'), version('v2')], {
      conversion: structuredClone(conversion) as never,
    });
    expect(crd.spec.conversion).toEqual(conversion);
  });

  it('of different kinds, none at all, or one twice are rejected', () => {
    expect(() => combineVersions([version('v1'), version('v2', { kind: 'Other' })])).toThrow(
      'versions of one kind',
    );
    expect(() => combineVersions([])).toThrow('at least one version');
    expect(() => combineVersions([version('v1'), version('v1')])).toThrow('got v1 twice');
  });
});

describe('a structural schema', () => {
  it.each<[string, JsonSchema, object]>([
    [
      'a string with its restrictions',
      { type: 'string', minLength: 1, maxLength: 9, pattern: '^a' },
      { type: 'string', minLength: 1, maxLength: 9, pattern: '^a' },
    ],
    [
      'annotations and a default',
      {
        type: 'string',
        title: 'T',
        description: 'D',
        default: 'x',
        examples: ['a'],
        readOnly: true,
      },
      { type: 'string', title: 'T', description: 'D', default: 'x' },
    ],
    [
      'an exclusive bound as one that is marked',
      { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 10 },
      { type: 'number', minimum: 0, exclusiveMinimum: true, maximum: 10, exclusiveMaximum: true },
    ],
    [
      'the stricter of two bounds',
      { type: 'number', minimum: 5, exclusiveMinimum: 0, maximum: 9, exclusiveMaximum: 7 },
      { type: 'number', minimum: 5, maximum: 7, exclusiveMaximum: true },
    ],
    [
      'the exclusive of two equal bounds',
      { type: 'number', minimum: 5, exclusiveMinimum: 5 },
      { type: 'number', minimum: 5, exclusiveMinimum: true },
    ],
    [
      'a bound as draft 4 marks it',
      { type: 'number', minimum: 5, exclusiveMinimum: true },
      { type: 'number', minimum: 5, exclusiveMinimum: true },
    ],
    // The server compares an integer with the integer part of a bound; a bound with a fraction
    // makes it reject every integer.
    [
      'an integer with bounds that are whole',
      { type: 'integer', exclusiveMinimum: -0.5, maximum: 2.5 },
      { type: 'integer', minimum: 0, maximum: 2 },
    ],
    [
      'a bound with a fraction, and what is left of it',
      { type: 'number', minimum: 0.1, exclusiveMaximum: 5.5 },
      {
        type: 'number',
        minimum: 0.1,
        maximum: 5.5,
        allOf: [{ minimum: 0, exclusiveMinimum: true }, { not: { enum: [5.5] } }],
      },
    ],
    [
      'a bound with a fraction of which the rest is right',
      { type: 'number', minimum: -0.5, exclusiveMaximum: -0.1 },
      { type: 'number', minimum: -0.5, maximum: -0.1, exclusiveMaximum: true },
    ],
    ['a constant as an enum', { const: 'x' }, { type: 'string', enum: ['x'] }],
    // The server accepts 2.7 for 2 in an enum of integers.
    [
      'numbers of which none has a fraction',
      { type: 'number', enum: [1, 2] },
      { type: 'number', enum: [1, 2], multipleOf: 1 },
    ],
    [
      'numbers that all have one',
      { type: 'number', enum: [0.5, 2.5] },
      { type: 'number', enum: [0.5, 2.5] },
    ],
    [
      'an enum without a type, of which one number has a fraction',
      { enum: [1, 2.5] },
      {
        type: 'number',
        allOf: [
          {
            anyOf: [
              { minimum: 1, maximum: 1 },
              { minimum: 2.5, maximum: 2.5, allOf: [{ minimum: 2, exclusiveMinimum: true }] },
            ],
          },
        ],
      },
    ],
    [
      'a union of constants as an enum',
      { anyOf: [{ const: 'a' }, { const: 'b' }, { enum: ['c', 'a'] }] },
      { type: 'string', enum: ['a', 'b', 'c'] },
    ],
    ['null beside a type', { type: ['string', 'null'] }, { type: 'string', nullable: true }],
    [
      'null in a union',
      { anyOf: [{ type: 'integer', minimum: 1 }, { type: 'null' }], description: 'D' },
      { type: 'integer', minimum: 1, nullable: true, description: 'D' },
    ],
    [
      'an enum with null as a pattern, which null need not meet',
      { enum: ['a', 'b|c', null] },
      { type: 'string', nullable: true, pattern: '^(?:a|b\\|c)$' },
    ],
    ['anything', {}, ANYTHING],
    ['anything, as true', true as never, ANYTHING],
    [
      'an integer or a string',
      {
        anyOf: [
          { type: 'integer', minimum: 1 },
          { type: 'string', maxLength: 5 },
        ],
      },
      { 'x-kubernetes-int-or-string': true, minimum: 1, maxLength: 5 },
    ],
    [
      'an integer or a string by types',
      { type: ['integer', 'string', 'null'] },
      { 'x-kubernetes-int-or-string': true, nullable: true },
    ],
    [
      'a list',
      { type: 'array', items: { type: 'string' }, maxItems: 3 },
      { type: 'array', items: { type: 'string' }, maxItems: 3 },
    ],
    ['a list of anything', { type: 'array' }, { type: 'array', items: ANYTHING }],
    [
      'a list of different scalars as a set',
      { type: 'array', items: { type: 'string' }, uniqueItems: true },
      { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
    ],
    [
      'an object without what is not known',
      {
        type: 'object',
        properties: { a: { type: 'string' } },
        required: ['a'],
        additionalProperties: false,
      },
      { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
    ],
    ['an object of no members', { type: 'object', properties: {} }, { type: 'object' }],
    [
      'an object of any members',
      { type: 'object' },
      { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    ],
    [
      'an object of known and any members',
      { properties: { a: { type: 'string' } }, additionalProperties: {} },
      {
        type: 'object',
        properties: { a: { type: 'string' } },
        'x-kubernetes-preserve-unknown-fields': true,
      },
    ],
    [
      'a record',
      {
        type: 'object',
        propertyNames: { type: 'string' },
        additionalProperties: { type: 'integer' },
      },
      { type: 'object', additionalProperties: { type: 'integer' } },
    ],
    [
      'a record of certain names',
      {
        type: 'object',
        propertyNames: { enum: ['a', 'b'] },
        additionalProperties: { type: 'integer' },
      },
      { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'integer' } } },
    ],
    [
      'a record of certain names, and anything in them',
      { type: 'object', propertyNames: { enum: ['a', 'b'] }, additionalProperties: {} },
      { type: 'object', properties: { a: ANYTHING, b: ANYTHING } },
    ],
    [
      'a record of certain names, of which one is told apart',
      { properties: { a: { type: 'string' } }, propertyNames: { enum: ['a', 'b'] } },
      { type: 'object', properties: { a: { type: 'string' }, b: ANYTHING } },
    ],
    [
      'two patterns at once',
      { type: 'string', allOf: [{ pattern: '^a' }, { pattern: 'b$' }] },
      { type: 'string', pattern: '^a', allOf: [{ pattern: 'b$' }] },
    ],
    [
      'two objects at once',
      {
        allOf: [
          { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
          { type: 'object', properties: { b: { type: 'string' } }, required: ['b'] },
        ],
      },
      {
        type: 'object',
        properties: { a: { type: 'string' }, b: { type: 'string' } },
        required: ['a', 'b'],
      },
    ],
    [
      'formats that the server knows',
      { type: 'string', format: 'date-time' },
      { type: 'string', format: 'date-time' },
    ],
    [
      'base64 by its other name',
      { type: 'string', format: 'base64' },
      { type: 'string', format: 'byte' },
    ],
    [
      'base64 by a pattern where there is one, as an empty text is none to the server',
      { type: 'string', format: 'base64', pattern: '^[a-z]*$' },
      { type: 'string', pattern: '^[a-z]*$' },
    ],
    [
      'no hostname, which is less to the server',
      { type: 'string', format: 'hostname' },
      { type: 'string' },
    ],
    ['no format that it does not know', { type: 'string', format: 'cuid2' }, { type: 'string' }],
    [
      'no duration, which is another one to the server, and no pattern of its that RE2 cannot say',
      { type: 'string', format: 'duration', pattern: '^P(?!$)' },
      { type: 'string' },
    ],
    [
      'escapes of characters in the words of RE2',
      { type: 'string', pattern: '^[\\u00e4\\/](?<n>x)$' },
      { type: 'string', pattern: '^[\\x{00e4}/](?P<n>x)$' },
    ],
    [
      'what Kubernetes itself has words for',
      { type: 'string', 'x-kubernetes-validations': [{ rule: 'true' }] },
      { type: 'string', 'x-kubernetes-validations': [{ rule: 'true' }] },
    ],
    [
      'what is marked as unknown, whatever it is',
      {
        anyOf: [{ type: 'string' }, { type: 'boolean' }],
        'x-kubernetes-preserve-unknown-fields': true,
      },
      { 'x-kubernetes-preserve-unknown-fields': true },
    ],
    [
      'a union of strings as a string and what it may be',
      { anyOf: [{ const: 'auto' }, { type: 'string', pattern: '^\\d+$' }] },
      { type: 'string', anyOf: [{ enum: ['auto'] }, { pattern: '^\\d+$' }] },
    ],
    [
      'a union of strings, of which one is any, as a string',
      { anyOf: [{ const: 'auto' }, { type: 'string' }] },
      { type: 'string' },
    ],
    [
      'a union within a union',
      { anyOf: [{ anyOf: [{ const: 'a' }, { const: 'b' }] }, { type: 'null' }, { const: 'c' }] },
      { type: 'string', nullable: true, pattern: '^(?:a|b|c)$' },
    ],
    [
      'an integer or a string with restrictions beside',
      { type: ['integer', 'string'], minimum: 1, pattern: '^a' },
      { 'x-kubernetes-int-or-string': true, minimum: 1, pattern: '^a' },
    ],
  ])('has %s', (_, json, expected) => {
    expect(memberOf(json)).toEqual(expected);
  });

  it('of a union of objects has the members of all, and their combinations', () => {
    const service = {
      type: 'object',
      properties: { type: { const: 'service' }, name: { type: 'string' } },
      required: ['type', 'name'],
    };
    const bucket = {
      type: 'object',
      properties: {
        type: { const: 'bucket' },
        name: { type: 'string', minLength: 3 },
        region: { type: 'string' },
      },
      required: ['type'],
    };
    expect(memberOf({ oneOf: [service, bucket] })).toEqual({
      type: 'object',
      properties: {
        type: { type: 'string', enum: ['service', 'bucket'] },
        name: { type: 'string' },
        region: { type: 'string' },
      },
      required: ['type'],
      anyOf: [
        { properties: { type: { enum: ['service'] } }, required: ['name'] },
        { properties: { type: { enum: ['bucket'] }, name: { minLength: 3 } } },
      ],
    });
  });

  it('of a union with an object without requirements restricts nothing', () => {
    const properties = (name: string) => ({
      type: 'object',
      properties: { [name]: { type: 'string' } },
    });
    expect(memberOf({ anyOf: [{ ...properties('a'), required: ['a'] }, properties('b')] })).toEqual(
      {
        type: 'object',
        properties: { a: { type: 'string' }, b: { type: 'string' } },
      },
    );
  });

  it('has references replaced by their schemas', () => {
    const more = {
      $defs: {
        port: { type: 'integer', maximum: 65535 },
        ports: { type: 'array', items: { $ref: '#/$defs/port' } },
      },
    };
    expect(memberOf({ $ref: '#/$defs/ports', description: 'D' }, more)).toEqual({
      type: 'array',
      items: { type: 'integer', maximum: 65535 },
      description: 'D',
    });
  });

  it.each<[string, JsonSchema, string, string]>([
    [
      'a reference to itself',
      { type: 'array', items: { $ref: '#/properties/x' } },
      'spec.x[][]',
      'the schema contains itself',
    ],
    ['a reference to nothing', { $ref: '#/$defs/no' }, 'spec.x', 'points to nothing'],
    ['a reference elsewhere', { $ref: 'https://example.com/a' }, 'spec.x', 'leaves the schema'],
    [
      'a union of a string and a boolean',
      { anyOf: [{ type: 'string' }, { type: 'boolean' }] },
      'spec.x',
      'these are string, boolean',
    ],
    [
      'a union of a string and any number',
      { type: ['string', 'number'] },
      'spec.x',
      'these are string, number',
    ],
    [
      'a union of lists',
      { anyOf: [{ type: 'array' }, { type: 'array', maxItems: 1 }] },
      'spec.x',
      'not arrays',
    ],
    ['an enum of different types', { enum: ['a', true] }, 'spec.x', 'of one type'],
    ['an enum of integers and strings', { enum: ['a', 1] }, 'spec.x', 'not by an enum'],
    ['an enum of objects', { enum: [{}] }, 'spec.x', 'strings, numbers and booleans'],
    [
      'members that differ between alternatives',
      {
        anyOf: [
          { type: 'object', properties: { a: { type: 'string' } } },
          { type: 'object', properties: { a: { type: 'integer' } } },
        ],
      },
      'spec.x.a',
      'different schemas',
    ],
    [
      'a default in one of two alternatives',
      {
        anyOf: [
          { type: 'object', properties: { a: { type: 'string', default: 'x' } } },
          { type: 'object', properties: {} },
        ],
      },
      'spec.x.a',
      'a default that only some',
    ],
    [
      'records as alternatives',
      {
        anyOf: [
          { type: 'object', additionalProperties: { type: 'string' } },
          { type: 'object', properties: {} },
        ],
      },
      'spec.x',
      'members of any name',
    ],
    ['a tuple', { type: 'array', prefixItems: [{ type: 'string' }] }, 'spec.x', 'a tuple'],
    [
      'a tuple as draft 7 writes it',
      { type: 'array', items: [{ type: 'string' }] },
      'spec.x',
      'a tuple',
    ],
    [
      'named members beside any of one schema',
      { type: 'object', properties: { a: {} }, additionalProperties: { type: 'string' } },
      'spec.x',
      'not both',
    ],
    [
      'restricted names of members',
      {
        type: 'object',
        propertyNames: { pattern: '^a' },
        additionalProperties: { type: 'string' },
      },
      'spec.x',
      'CEL',
    ],
    [
      'patterns of names',
      { type: 'object', patternProperties: { '^a': {} } },
      'spec.x',
      '"patternProperties"',
    ],
    ['a negation', { not: { type: 'string' } }, 'spec.x', '"not"'],
    ['conditions', { type: 'string', if: { minLength: 1 } }, 'spec.x', '"if"'],
    [
      'unique objects',
      { type: 'array', uniqueItems: true, items: { type: 'object' } },
      'spec.x',
      'only scalars',
    ],
    ['null alone', { type: 'null' }, 'spec.x', 'always null'],
    ['nothing', false as never, 'spec.x', 'nothing matches'],
    ['a restriction without a type', { minLength: 1 }, 'spec.x', 'names no type'],
    ['an unknown type', { type: 'date' }, 'spec.x', 'there is no type "date"'],
    ['a lookahead', { type: 'string', pattern: '^(?=a)' }, 'spec.x', 'lookahead'],
    ['a back-reference', { type: 'string', pattern: '(a)\\1' }, 'spec.x', 'back-reference'],
    ['many repetitions', { type: 'string', pattern: 'a{1,2000}' }, 'spec.x', '1000 repetitions'],
    [
      'repetitions of repetitions',
      { type: 'string', pattern: '^(?:b|(a{500}){3})$' },
      'spec.x',
      '1000 repetitions',
    ],
    [
      'multiples of a fraction',
      { type: 'number', multipleOf: 0.01 },
      'spec.x',
      'multiples of 0.01',
    ],
    [
      'half a character',
      { type: 'string', pattern: '^[\\uD83D\\uDE00]$' },
      'spec.x',
      'half a character, \\uD83D',
    ],
    [
      'spaces but some',
      { type: 'string', pattern: '^[^\\S\\n]$' },
      'spec.x',
      'the escape \\S in a class',
    ],
    ['a flag within', { type: 'string', pattern: '^(?s:.)$' }, 'spec.x', 'the flag s'],
    [
      'a class of nothing',
      { type: 'string', pattern: '^[]$' },
      'spec.x',
      'a class of no characters',
    ],
    [
      'a property of JavaScript',
      { type: 'string', pattern: '\\p{Emoji}' },
      'spec.x',
      'the property \\p{Emoji}',
    ],
    ['an escape of JavaScript', { type: 'string', pattern: '\\e' }, 'spec.x', 'the escape \\e'],
    [
      'two restrictions that exclude each other',
      { allOf: [{ type: 'string' }, { type: 'integer' }] },
      'spec.x',
      '"type" is given twice',
    ],
    [
      'what is deep inside',
      { type: 'array', items: { type: 'object', additionalProperties: { type: 'null' } } },
      'spec.x[].*',
      'always null',
    ],
  ])('cannot have %s; the error has the path', (_, json, path, message) => {
    expect(() => memberOf(json)).toThrow(SchemaError);
    expect(() => memberOf(json)).toThrow(
      expect.objectContaining({
        code: 'SCHEMA',
        path,
        message: expect.stringMatching(`^${path.replaceAll(/[[\].*]/g, '\\$&')}: .*`),
      }),
    );
    expect(() => memberOf(json)).toThrow(message);
  });

  it('is changed at a path by overrides, or replaced if they have a type', () => {
    expect(
      memberOf(
        { type: 'array', items: { type: 'string' } },
        {},
        { 'spec.x': { 'x-kubernetes-list-type': 'atomic' } },
      ),
    ).toEqual({
      type: 'array',
      items: { type: 'string' },
      'x-kubernetes-list-type': 'atomic',
    });
    expect(memberOf({ not: {} }, {}, { 'spec.x': { type: 'string' } })).toEqual({ type: 'string' });
    expect(() => memberOf({}, {}, { 'spec.y': { type: 'string' } })).toThrow(
      'spec.y: there is nothing at this path',
    );
  });

  it('has rules in CEL at their paths, also of the object itself', () => {
    const rule = [{ rule: 'self.metadata.name.size() < 10' }];
    const { crd } = defineCustomResource({
      ...named,
      spec: z.object({ ports: z.array(z.int()), labels: z.record(z.string(), z.string()) }),
      validations: { '': rule, 'spec.ports[]': rule, 'spec.labels.*': rule },
    });
    const root = crd.spec.versions[0]?.schema.openAPIV3Schema;
    const { ports, labels } = root?.properties?.spec?.properties ?? {};
    for (const at of [root, ports?.items, labels?.additionalProperties])
      expect(at?.['x-kubernetes-validations']).toEqual(rule);
  });

  it('is of type object', () => {
    expect(() => defineCustomResource({ ...named, spec: z.string() })).toThrow(
      'spec: expected a schema of objects',
    );
  });
});

describe('a schema library', () => {
  it('may be Zod, Valibot or ArkType, with the same result', () => {
    const spec = (schema: StandardSchema) =>
      defineCustomResource({ ...named, spec: schema }).crd.spec.versions[0]?.schema.openAPIV3Schema
        .properties?.spec;
    const members = {
      host: { type: 'string', minLength: 1 },
      mode: { type: 'string', enum: ['a', 'b'] },
      note: { type: 'string', nullable: true },
      ratio: { type: 'number', minimum: 0, exclusiveMinimum: true },
      tags: { type: 'array', items: { type: 'string' } },
      labels: { type: 'object', additionalProperties: { type: 'string' } },
    };
    const shape = (schema: StandardSchema) => {
      const { properties, required } = spec(schema) as { properties: object; required: string[] };
      return { properties, required: required.toSorted() };
    };
    const expected = { properties: members, required: ['host', 'labels', 'mode', 'note', 'tags'] };
    expect(
      shape(
        z.object({
          host: z.string().min(1),
          mode: z.enum(['a', 'b']),
          note: z.string().nullable(),
          ratio: z.number().gt(0).optional(),
          tags: z.array(z.string()),
          labels: z.record(z.string(), z.string()),
        }),
      ),
    ).toEqual(expected);
    expect(
      shape(
        toStandardJsonSchema(
          v.object({
            host: v.pipe(v.string(), v.minLength(1)),
            mode: v.picklist(['a', 'b']),
            note: v.nullable(v.string()),
            ratio: v.optional(v.pipe(v.number(), v.gtValue(0))),
            tags: v.array(v.string()),
            labels: v.record(v.string(), v.string()),
          }),
        ),
      ),
    ).toEqual(expected);
    expect(
      shape(
        type({
          host: 'string>=1',
          mode: "'a'|'b'",
          note: 'string|null',
          'ratio?': 'number>0',
          tags: 'string[]',
          labels: 'Record<string,string>',
        }),
      ),
    ).toEqual(expected);
  });

  it('without JSON Schema is rejected, with what to do', () => {
    expect(() => defineCustomResource({ ...named, spec: v.object({}) })).toThrow(
      expect.objectContaining({
        code: 'SCHEMA',
        message: expect.stringContaining('toStandardJsonSchema(schema)'),
      }),
    );
  });

  it('that has no JSON Schema for this schema is quoted', () => {
    expect(() => defineCustomResource({ ...named, spec: z.object({ at: z.date() }) })).toThrow(
      expect.objectContaining({
        code: 'SCHEMA',
        message:
          'spec: zod cannot give the JSON Schema of what may be written: ' +
          'Date cannot be represented in JSON Schema',
      }),
    );
  });
});

// Verified with Go's regexp: each matches the same texts there as here. Replacing parts of the text
// had changed the meaning of an escaped `(` or `\`.
it.each([
  ['^\\(?<x>$', '^\\(?<x>$'],
  ['^\\\\u0041$', '^\\\\u0041$'],
  ['^\\u00e9\\u{e9}$', '^\\x{00e9}\\x{e9}$'],
  ['^a\\\\\\/b\\/$', '^a\\\\/b/$'],
  ['^[^]*$', '^(?s:.)*$'],
  ['^\\p{Script=Greek}\\P{gc=Lu}$', '^\\p{Greek}\\P{Lu}$'],
  ['^\\cA[\\cA\\b\\]]$', '^\\x{1}[\\x{1}\\x08\\]]$'],
  ['(?<year>\\d{4})[(?<x>]', '(?P<year>\\d{4})[(?<x>]'],
  // Patterns with another meaning in Go: a dot matched a line separator, a space rejected a
  // no-break space, and `[:` in a class.
  ['^.\\.$', '^[^\\n\\r\\x{2028}\\x{2029}]\\.$'],
  ['^\\s\\S$', '^[\\x{feff}\\v\\p{Z}\\s][^\\x{feff}\\v\\p{Z}\\s]$'],
  ['^[^\\s-z][\\s\\S]$', '^[^\\x{feff}\\v\\p{Z}\\s-z][\\x{feff}\\v\\p{Z}\\s\\S]$'],
  ['^\\uD83D\\uDE00$', '^\\x{1f600}$'],
  ['^[[:alpha:]]$', '^[\\[:alpha:]]$'],
  ['^[a-\\d\\\\S-]$', '^[a\\-\\d\\\\S-]$'],
])('the pattern %s is %s to the server', (pattern, expected) => {
  expect([notInRE2(pattern), toRE2(pattern)]).toEqual([undefined, expected]);
});

describe('a schema that transforms', () => {
  const define = (schema: z.ZodType) => () =>
    defineCustomResource({ ...named, spec: z.object({ x: schema }) });

  // The output type would be that of an object that the server never stores.
  it('is rejected, because objects are stored as written', () => {
    expect(define(z.string().transform((text) => text.length))).toThrow(
      expect.objectContaining({
        code: 'SCHEMA',
        message: expect.stringContaining('Transforms cannot be represented'),
      }),
    );
    expect(define(z.string().pipe(z.coerce.number()))).toThrow(
      'spec: the schema transforms values',
    );
    expect(define(z.codec(z.string(), z.int(), { decode: Number, encode: String }))).toThrow(
      'spec: the schema transforms',
    );
  });

  // Members with these names were taken for keywords, and not compared.
  it.each(['default', 'required', 'properties', 'items'])(
    'is detected in a member with the name %s',
    (name) => {
      expect(define(z.array(z.object({ [name]: z.stringbool() })))).toThrow(
        'spec: the schema transforms values',
      );
      expect(define(z.object({ [name]: z.string().default('x') }))).not.toThrow();
    },
  );

  // A server ignores a default of null: the member that the type promises was missing.
  it('is one with a default of null', () => {
    expect(define(z.string().nullable().default(null))).toThrow(
      expect.objectContaining({
        path: 'spec.x',
        message: expect.stringContaining('its default is null'),
      }),
    );
    expect(define(z.string().nullable().default('a'))).not.toThrow();
    expect(define(z.string().nullable().optional())).not.toThrow();
  });

  // The type would promise a value that a server without the default never stores.
  it('is one with a default that its JSON Schema lacks, without an override', () => {
    const inner = type({ list: type({ replicas: 'number.integer = 1' }).array() });
    expect(() => defineCustomResource({ ...named, spec: inner })).toThrow(
      expect.objectContaining({
        path: 'spec.list[].replicas',
        message: expect.stringContaining('give it in an override'),
      }),
    );
    const overrides = { 'spec.list[].replicas': { default: 1 } };
    const { crd } = defineCustomResource({ ...named, spec: inner, overrides });
    const spec = crd.spec.versions[0]?.schema.openAPIV3Schema.properties?.spec;
    expect(spec?.properties?.list?.items?.properties?.replicas).toEqual({
      type: 'integer',
      default: 1,
    });
    const valibot = toStandardJsonSchema(v.object({ replicas: v.optional(v.number(), 1) }));
    expect(() => defineCustomResource({ ...named, spec: valibot })).not.toThrow();
  });

  // The server added defaulted members to a record, and the program did not.
  it('is one with a default for members of a record that may be missing', () => {
    const value = z.string().default('x');
    expect(define(z.partialRecord(z.enum(['k', 'l']), value))).toThrow(
      expect.objectContaining({
        path: 'spec.x.*',
        message: expect.stringContaining('given to all of them'),
      }),
    );
    expect(define(z.record(z.enum(['k', 'l']), value))).not.toThrow();
  });

  it('is not one with a default, a refinement or a brand', () => {
    const plain = z.object({
      a: z.string().default('x'),
      b: z.record(z.string(), z.int()).prefault({}),
    });
    expect(define(plain.refine(() => true).readonly())).not.toThrow();
    expect(define(z.string().trim().toLowerCase().brand('name'))).not.toThrow();
    expect(define(z.string().catch('y'))).not.toThrow();
  });
});

describe('an object', () => {
  it.each(CASES.map(([spec, valid]) => [JSON.stringify(spec), valid, spec] as const))(
    'with %s is valid: %s',
    async (_, valid, spec) => {
      const { issues } = await Wide.validate(objectOf('a', spec));
      expect(issues === undefined).toBe(valid);
    },
  );

  it('that is valid gets its defaults, and narrows its type', async () => {
    const object = await Wide.parse({ metadata: { name: 'a' }, spec: { host: 'a', nested: {} } });
    expect(object).toEqual({
      apiVersion: 'e2e.capstan.dev/v1',
      kind: 'Gateway',
      metadata: { name: 'a' },
      spec: { host: 'a', replicas: 1, mode: 'safe', nested: { deep: { count: 7 } } },
    });
  });

  it('that is not has all problems listed, with their paths', async () => {
    const bad = {
      apiVersion: 'v2',
      kind: 'Gate',
      spec: { host: 'a', ports: [{ name: 'x', port: 'y' }], labels: { k: 1 } },
      status: { ready: 'no' },
    };
    const { issues } = await Wide.validate(bad);
    expect(issues?.map(({ path }) => path)).toEqual([
      'apiVersion',
      'kind',
      'metadata',
      'spec.labels.k',
      'spec.ports[0].port',
      'status.ready',
    ]);
    expect(issues?.[0]).toEqual({ path: 'apiVersion', message: 'expected "e2e.capstan.dev/v1"' });
    for (const nothing of [undefined, null, 7, []])
      expect(await Wide.validate(nothing)).toEqual({
        issues: [{ path: '', message: 'expected an object' }],
      });
    const error = await Wide.parse({
      metadata: { name: 'a', namespace: 'n' },
      spec: { host: '' },
    }).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(InvalidObjectError);
    expect(error).toMatchObject({
      code: 'INVALID_OBJECT',
      message: expect.stringMatching(/^Gateway n\/a is not valid: spec\.host: /),
    });
  });

  it('is checked by async schemas, too', async () => {
    const slow: StandardSchema<{ a: string }> = {
      '~standard': {
        version: 1,
        vendor: 'mine',
        validate: async () => ({ issues: [{ message: 'no', path: [{ key: 'a' }] }] }),
      },
    };
    const { validate } = defineCustomResource({
      ...named,
      spec: withJsonSchema(slow, { type: 'object' }),
    });
    expect(await validate({ metadata: {}, spec: {} })).toEqual({
      issues: [{ path: 'spec.a', message: 'no' }],
    });
  });

  // The problems of an object were passed as arguments of one call, and a user chooses how many
  // there are: `validate` threw a RangeError.
  it('gets all of its problems reported, however many', async () => {
    const { validate } = defineCustomResource({
      ...named,
      spec: z.object({ hosts: z.array(z.string()) }),
    });
    const { issues } = await validate({ metadata: {}, spec: { hosts: Array(200_000).fill(0) } });
    expect(issues).toHaveLength(200_000);
  });

  it('has the type of its schemas', () => {
    const Website = defineCustomResource({
      ...named,
      spec: z.object({ host: z.string(), replicas: z.int().default(1) }),
      status: z.object({ ready: z.boolean() }),
      indexers: { byHost: 'spec.host' },
    });
    type Site = CustomObject<{ host: string; replicas: number }, { ready: boolean }>;
    expectTypeOf<Parameters<typeof Website.parse>[0]['spec']>().toEqualTypeOf<{
      host: string;
      replicas?: number | undefined;
    }>();
    expectTypeOf(Website.parse).returns.resolves.toEqualTypeOf<Site>();
    expectTypeOf<keyof typeof Website.resource.indexers>().toEqualTypeOf<'byHost'>();
    const Ark = defineCustomResource({ ...named, spec: type({ host: 'string' }) });
    expectTypeOf<Awaited<ReturnType<typeof Ark.parse>>['spec']>().toEqualTypeOf<{ host: string }>();
    const Vali = defineCustomResource({
      ...named,
      spec: toStandardJsonSchema(v.object({ host: v.string() })),
    });
    expectTypeOf<Awaited<ReturnType<typeof Vali.parse>>['spec']>().toEqualTypeOf<{
      host: string;
    }>();
    expect(Website.resource.indexers).toEqual({ byHost: 'spec.host' });
    // It accepted only resources with a schema: programs with plain resources had to write their
    // own.
    expectTypeOf<ObjectOf<typeof Website>>().toEqualTypeOf<Site>();
    expectTypeOf<ObjectOf<typeof Website.resource>>().toEqualTypeOf<Site>();
    expectTypeOf<ObjectOf<Resource<KubeObject>>>().toEqualTypeOf<KubeObject>();
  });
});
