/** Cases about CustomResourceDefinitions, and about objects with a schema. */

import type { Random } from '../../helpers/random.ts';
import type { Json, JsonObject } from '../same-answers/api.ts';
import type { ParityCase, RequestStep } from './case.ts';
import { mutated } from './mutate.ts';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const BARS = '/apis/NS.example.com/v1/namespaces/NS/bars';

/** Schemas, each with a valid value. */
const PROPERTIES: [schema: JsonObject, value: Json][] = [
  [{ type: 'string' }, 'x'],
  [{ type: 'string', minLength: 2, maxLength: 4, pattern: '^[a-z]+$' }, 'abc'],
  [{ type: 'string', enum: ['a', 'b'] }, 'a'],
  [{ type: 'string', default: 'd' }, 'x'],
  [{ type: 'string', nullable: true }, null],
  [{ type: 'string', format: 'date-time' }, '2026-01-02T03:04:05Z'],
  [{ type: 'string', format: 'ipv4' }, '10.0.0.1'],
  [{ type: 'string', format: 'ipv6' }, '::1'],
  [{ type: 'string', format: 'cidr' }, '10.0.0.0/8'],
  [{ type: 'string', format: 'mac' }, '00:00:5e:00:53:01'],
  [{ type: 'string', format: 'hostname' }, 'a.example'],
  [{ type: 'string', format: 'duration' }, '5m'],
  [{ type: 'string', format: 'byte' }, 'YQ=='],
  [{ type: 'string', format: 'uuid' }, '123e4567-e89b-42d3-a456-426614174000'],
  [{ type: 'string', format: 'uri' }, 'https://a.example/'],
  [{ type: 'string', format: 'email' }, 'a@example.com'],
  [{ type: 'string', format: 'password' }, 'x'],
  [{ type: 'integer', minimum: 1, maximum: 5 }, 3],
  [{ type: 'integer', format: 'int32' }, 3],
  [{ type: 'integer', format: 'int64', multipleOf: 2 }, 4],
  [{ type: 'number', exclusiveMinimum: true, minimum: 0 }, 0.5],
  [{ type: 'boolean' }, true],
  [{ 'x-kubernetes-int-or-string': true }, 'http'],
  [{ type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 2 }, ['a']],
  [{ type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' }, ['a', 'b']],
  [
    {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      items: {
        type: 'object',
        required: ['name'],
        properties: { name: { type: 'string' }, v: { type: 'integer', default: 1 } },
      },
    },
    [{ name: 'a' }, { name: 'b', v: 2 }],
  ],
  [{ type: 'object', additionalProperties: { type: 'integer' }, maxProperties: 2 }, { a: 1 }],
  [{ type: 'object', 'x-kubernetes-preserve-unknown-fields': true }, { any: { thing: [1] } }],
  [
    { type: 'object', properties: { a: { type: 'string', default: 'z' } }, default: {} },
    { a: 'y' },
  ],
  [
    {
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-preserve-unknown-fields': true,
    },
    { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' } },
  ],
  [{ type: 'integer', 'x-kubernetes-validations': [{ rule: 'self > 3' }] }, 4],
  [
    {
      type: 'string',
      'x-kubernetes-validations': [{ rule: "self.startsWith('a')", message: 'starts with a' }],
    },
    'abc',
  ],
  [
    {
      type: 'object',
      properties: { min: { type: 'integer' }, max: { type: 'integer' } },
      'x-kubernetes-validations': [
        {
          rule: '!has(self.min) || !has(self.max) || self.min <= self.max',
          reason: 'FieldValueInvalid',
        },
      ],
    },
    { min: 1, max: 2 },
  ],
  [
    {
      type: 'string',
      'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'it cannot change' }],
    },
    'fixed',
  ],
  [
    {
      type: 'array',
      maxItems: 5,
      items: { type: 'string', maxLength: 9 },
      'x-kubernetes-validations': [
        { rule: "self.all(x, x != 'bad')", messageExpression: "'no ' + 'bad'" },
      ],
    },
    ['a'],
  ],
  [
    {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'string' } },
      oneOf: [{ required: ['a'] }, { required: ['b'] }],
    },
    { a: 'x' },
  ],
  [{ type: 'string', anyOf: [{ minLength: 3 }, { enum: ['a'] }], not: { enum: ['bad'] } }, 'abc'],
];

/** More formats, lists, alternatives and CEL rules. */
PROPERTIES.push(
  ...['uuid4', 'isbn', 'creditcard', 'ssn', 'hexcolor', 'rgbcolor', 'bsonobjectid'].map(
    (format): [JsonObject, Json] => [
      { type: 'string', format },
      {
        uuid4: '123e4567-e89b-42d3-a456-426614174000',
        isbn: '0321751043',
        creditcard: '4111111111111111',
        ssn: '111-22-3333',
        hexcolor: '#fff',
        rgbcolor: 'rgb(1,2,3)',
        bsonobjectid: '507f1f77bcf86cd799439011',
      }[format] as string,
    ],
  ),
  [{ type: 'string', format: 'k8s-short-name' }, 'a-b'],
  [{ type: 'string', format: 'nobody-knows' }, 'x'],
  [{ type: 'object', additionalProperties: true }, { a: { b: 1 } }],
  [
    { type: 'array', items: { type: 'object', properties: { a: { type: 'string' } } } },
    [{ a: 'x' }],
  ],
  [
    {
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
    },
    { apiVersion: 'apps/v1', kind: 'Thing', metadata: { name: 'x', labels: { a: 'b' } }, spec: {} },
  ],
  [
    {
      type: 'object',
      properties: { a: { type: 'integer' }, b: { type: 'string' } },
      anyOf: [
        { properties: { a: { minimum: 3 } }, required: ['a'] },
        { properties: { b: { minLength: 2 } }, required: ['b'] },
      ],
      allOf: [{ properties: { a: { maximum: 9 } } }],
    },
    { a: 4 },
  ],
  [
    {
      type: 'object',
      properties: { q: { type: 'string', maxLength: 9 }, n: { type: 'integer' } },
      'x-kubernetes-validations': [
        { rule: "!has(self.q) || quantity(self.q).isLessThan(quantity('2Gi'))" },
        { rule: 'self.?n.orValue(0) < 5', fieldPath: '.n', reason: 'FieldValueForbidden' },
      ],
    },
    { q: '1Gi', n: 1 },
  ],
  [
    {
      type: 'string',
      maxLength: 20,
      'x-kubernetes-validations': [
        { rule: "self.find('[0-9]+') == '' || isIP(self)", message: 'digits are addresses' },
        { rule: 'oldSelf.hasValue() || self.size() > 2', optionalOldSelf: true },
      ],
    },
    '10.0.0.1',
  ],
  [
    {
      type: 'object',
      additionalProperties: { type: 'integer' },
      maxProperties: 3,
      'x-kubernetes-validations': [{ rule: 'self.all(k, self[k] >= 0 && k.size() < 5)' }],
    },
    { a: 1 },
  ],
  [
    {
      'x-kubernetes-int-or-string': true,
      'x-kubernetes-validations': [{ rule: 'type(self) == int ? self > 0 : self != ""' }],
    },
    8080,
  ],
);

/** Rules that do not compile, or are invalid. */
const WRONG_RULES: JsonObject[] = [
  { rule: 'self.nothing == 1' },
  { rule: 'self ==' },
  { rule: '1' },
  { rule: "self == 'x' && self > 3" },
  { rule: 'true', messageExpression: '1 + 1' },
  { rule: 'true', reason: 'Odd' },
  { rule: 'true', fieldPath: '.x' },
  { rule: 'true', optionalOldSelf: true },
  { rule: '' },
  { rule: 'true', message: ' ' },
  { rule: 'nobody(self)' },
];

function definition(
  properties: JsonObject,
  more: { version?: JsonObject; spec?: JsonObject } = {},
): JsonObject {
  const spec = { type: 'object', properties };
  const status = { type: 'object', properties: { phase: { type: 'string', default: 'New' } } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'bars.NS.example.com' },
    spec: {
      group: 'NS.example.com',
      scope: 'Namespaced',
      names: { plural: 'bars', singular: 'bar', kind: 'Bar', listKind: 'BarList' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec, status } } },
          subresources: { status: {} },
          ...more.version,
        },
      ],
      ...more.spec,
    },
  };
}

/** Some properties, and an object that is valid by all of them. */
function somewhat(random: Random): { properties: JsonObject; spec: JsonObject } {
  const properties: JsonObject = {};
  const spec: JsonObject = {};
  const count = 4 + random.int(6);
  for (let index = 0; index < count; index++) {
    const [schema, value] = random.pick(PROPERTIES);
    properties[`p${index}`] = schema;
    if (random.chance(0.8)) spec[`p${index}`] = value;
  }
  return { properties, spec };
}

const defined: (definition: JsonObject) => RequestStep[] = (body) => [
  { method: 'POST', path: CRDS, body },
  { method: 'GET', path: BARS, until: 200 },
];

export function definitionCases(random: Random, count: number): ParityCase[] {
  return Array.from({ length: count }, (_, index) => ({
    group: 'definition',
    steps: index % 3 === 0 ? refused(random) : index % 3 === 1 ? objects(random) : changes(random),
  }));
}

/** A definition with one place changed. */
function refused(random: Random): RequestStep[] {
  const { properties } = somewhat(random);
  const versions = random.pick<JsonObject>([
    {},
    { deprecated: true },
    { deprecated: true, deprecationWarning: 'use v2' },
    { additionalPrinterColumns: [{ name: 'P', type: 'string', jsonPath: '.spec.p0' }] },
    { selectableFields: [{ jsonPath: '.spec.p0' }] },
    { subresources: { scale: { specReplicasPath: '.spec.r', statusReplicasPath: '.status.r' } } },
  ]);
  if (random.chance(0.2)) {
    properties.wrong = {
      type: 'string',
      maxLength: 5,
      'x-kubernetes-validations': [random.pick(WRONG_RULES)],
    };
    return [{ method: 'POST', path: CRDS, body: definition(properties, { version: versions }) }];
  }
  const body = mutated(random, definition(properties, { version: versions }));
  return [{ method: 'POST', path: CRDS, body }];
}

/** Several objects of one definition, each with one place changed. */
function objects(random: Random): RequestStep[] {
  const { properties, spec } = somewhat(random);
  const object = (name: string, of: JsonObject): JsonObject => ({
    apiVersion: 'NS.example.com/v1',
    kind: 'Bar',
    metadata: { name },
    ...of,
  });
  const steps = defined(definition(properties));
  steps.push({ method: 'POST', path: BARS, body: object('a', { spec }) });
  for (const name of ['b', 'c', 'd', 'e', 'f']) {
    const query = random.pick(['', '', '?fieldValidation=Strict', '?fieldValidation=Warn']);
    steps.push({
      method: 'POST',
      path: BARS + query,
      body: object(name, mutated(random, { spec })),
    });
  }
  steps.push({
    method: 'PATCH',
    path: `${BARS}/a`,
    type: 'application/merge-patch+json',
    body: mutated(random, { spec }),
  });
  steps.push({
    method: 'PATCH',
    path: `${BARS}/a?fieldManager=m`,
    type: 'application/apply-patch+yaml',
    body: object('a', mutated(random, { spec })),
  });
  steps.push({ method: 'GET', path: `${BARS}/a` });
  return steps;
}

/** A definition that changes while objects exist. */
function changes(random: Random): RequestStep[] {
  const { properties, spec } = somewhat(random);
  const deprecated: JsonObject = random.chance(0.3) ? { deprecated: true } : {};
  const steps = defined(definition(properties, { version: deprecated }));
  const body = { apiVersion: 'NS.example.com/v1', kind: 'Bar', metadata: { name: 'a' }, spec };
  steps.push({ method: 'POST', path: BARS, body });
  steps.push({
    method: 'GET',
    path: `${BARS}/a`,
    accept: random.pick([
      'application/json',
      'application/json;as=Table;v=v1;g=meta.k8s.io',
      'application/yaml',
    ]),
  });
  const crd = `${CRDS}/bars.NS.example.com`;
  steps.push(
    random.pick<RequestStep>([
      {
        method: 'PATCH',
        path: crd,
        type: 'application/merge-patch+json',
        body: { spec: { scope: 'Cluster' } },
      },
      {
        method: 'PATCH',
        path: crd,
        type: 'application/merge-patch+json',
        body: { spec: { names: { shortNames: ['br'] } } },
      },
      {
        method: 'PATCH',
        path: crd,
        type: 'application/merge-patch+json',
        body: { spec: { group: 'other.example.com' } },
      },
      {
        method: 'PATCH',
        path: crd,
        type: 'application/merge-patch+json',
        body: { spec: { preserveUnknownFields: true } },
      },
      {
        method: 'PATCH',
        path: crd,
        type: 'application/merge-patch+json',
        body: { spec: { versions: [] } },
      },
      {
        method: 'PATCH',
        path: crd,
        type: 'application/merge-patch+json',
        body: { spec: { conversion: { strategy: 'Webhook' } } },
      },
      {
        method: 'PATCH',
        path: crd,
        type: 'application/json-patch+json',
        body: [{ op: 'replace', path: '/spec/versions/0/storage', value: false }],
      },
      {
        method: 'PATCH',
        path: crd,
        type: 'application/json-patch+json',
        body: [{ op: 'replace', path: '/spec/versions/0/name', value: 'v2' }],
      },
      {
        method: 'PATCH',
        path: `${crd}/status`,
        type: 'application/merge-patch+json',
        body: { status: { storedVersions: [] } },
      },
      { method: 'DELETE', path: crd },
    ]),
  );
  return steps;
}
