import { describe, expect, test } from 'vitest';
import { type ApiRequests, startApi } from '../helpers/server/requests.ts';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const SITES = '/apis/example.com/v1/namespaces/default/sites';
const VALIDATIONS = 'x-kubernetes-validations';

const definition = (spec: object) => ({
  metadata: { name: 'sites.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'sites', kind: 'Site' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec,
              status: { type: 'object', properties: { n: { type: 'integer' } } },
            },
          },
        },
      },
    ],
  },
});

const site = (spec: unknown, name = 'a') => ({
  apiVersion: 'example.com/v1',
  kind: 'Site',
  metadata: { name },
  spec,
});

async function withSpec(spec: object): Promise<ApiRequests> {
  const { api } = await startApi();
  await api.make(CRDS, definition(spec));
  return api;
}

const integer = { type: 'integer' };
const string = { type: 'string', maxLength: 20 };
const object = (properties: object, ...rules: object[]) => ({
  type: 'object',
  properties,
  [VALIDATIONS]: rules,
});

// The server stored CEL rules but did not evaluate them:
// it accepted objects that a cluster rejects.
describe('a rule in CEL', () => {
  const range = object(
    { min: integer, max: integer, name: { ...string, [VALIDATIONS]: [{ rule: 'self != "no"' }] } },
    { rule: '!has(self.min) || self.min <= self.max', message: 'min is above max' },
  );

  test('is evaluated at every write', async () => {
    const api = await withSpec(range);
    const wrong = { status: 422, body: { reason: 'Invalid' } };
    expect(await api.send('POST', SITES, { body: site({ min: 3, max: 2 }) })).toMatchObject({
      ...wrong,
      body: {
        details: { causes: [{ field: 'spec', message: 'Invalid value: min is above max' }] },
      },
    });
    await api.make(SITES, site({ min: 1, max: 2 }));
    expect(await api.patch(`${SITES}/a`, { spec: { min: 5 } })).toMatchObject(wrong);
    expect(await api.patch(`${SITES}/a`, { spec: { name: 'no' } })).toMatchObject({
      body: {
        details: {
          causes: [
            { field: 'spec.name', message: expect.stringContaining('failed rule: self != "no"') },
          ],
        },
      },
    });
    expect((await api.patch(`${SITES}/a`, { spec: { max: 9 } })).status).toBe(200);
  });

  test('that cannot be evaluated on an object is reported', async () => {
    const api = await withSpec(range);
    const { body } = await api.send('POST', SITES, { body: site({ min: '3' }) });
    expect(body.details.causes).toMatchObject([
      { field: 'spec.min', reason: 'FieldValueTypeInvalid' },
      { field: '<nil>', reason: 'FieldValueInvalid' },
    ]);
  });

  test('that fails reports the reason', async () => {
    const api = await withSpec(
      object({ min: integer, max: integer }, { rule: 'self.min <= self.max' }),
    );
    const { status, body } = await api.send('POST', SITES, { body: site({ min: 1 }) });
    expect([status, body.message]).toEqual([422, expect.stringContaining('no such key: max')]);
  });

  test('has a reason, a place and a message that is calculated', async () => {
    const api = await withSpec(
      object(
        // The cost of a message is estimated: an unbounded one is refused.
        { min: integer, name: { ...string, maxLength: 9 } },
        {
          rule: 'self.min > 3',
          fieldPath: '.min',
          reason: 'FieldValueForbidden',
          messageExpression: '"not " + self.name',
        },
      ),
    );
    const { body } = await api.send('POST', SITES, { body: site({ min: 1, name: 'one' }) });
    expect(body.details.causes).toEqual([
      { field: 'spec.min', reason: 'FieldValueForbidden', message: 'Forbidden: not one' },
    ]);
  });

  test('of a transition is evaluated if there was a value, or with optionalOldSelf', async () => {
    const api = await withSpec(
      object({
        fixed: { ...string, [VALIDATIONS]: [{ rule: 'self == oldSelf' }] },
        once: {
          ...string,
          [VALIDATIONS]: [{ rule: 'oldSelf.hasValue() || self == "new"', optionalOldSelf: true }],
        },
        list: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['k'],
          items: {
            ...object({ k: string, v: integer }, { rule: 'self.v >= oldSelf.v' }),
            required: ['k'],
          },
        },
      }),
    );
    expect((await api.send('POST', SITES, { body: site({ once: 'x' }) })).status).toBe(422);
    await api.make(SITES, site({ fixed: 'a', once: 'new', list: [{ k: 'a', v: 2 }] }));
    const causes = async (spec: object) =>
      (await api.patch(`${SITES}/a`, { spec })).body.details?.causes?.map(({ field }) => field);
    expect(await causes({ fixed: 'b' })).toEqual(['spec.fixed']);
    expect(
      await causes({
        list: [
          { k: 'b', v: 0 },
          { k: 'a', v: 1 },
        ],
      }),
    ).toEqual(['spec.list[1]']);
    expect(await causes({ once: 'other', list: [{ k: 'a', v: 3 }] })).toBeUndefined();
  });

  test.for([
    'self.list.isSorted() && self.list.sum() == 3 && self.list.max() == 2',
    'self.text.find("[0-9]+") == "12" && self.text.matches("^a")',
    'quantity(self.size).isLessThan(quantity("2Gi"))',
    'isIP("10.0.0.1") && cidr("10.0.0.0/8").containsIP("10.1.2.3")',
    'url("https://a.example:80/x").getHost() == "a.example:80"',
    '"%s is %d".format(["a", 3]) == "a is 3"',
    '!format.dns1123Label().validate("a-b").hasValue()',
    'format.named("dns1035Label").value().validate("1").hasValue()',
    'semver("1.2.3").isLessThan(semver("1.10.0-rc.1"))',
    'sets.contains(self.list, [1]) && !sets.intersects(self.list, [7])',
    'self.x__dash__y == 1 && self.?none.orValue("z") == "z"',
    'self.port == "http" && self.labels["a"] == "b" && "a" in self.labels',
    'self.when > timestamp("2020-01-01T00:00:00Z")',
    'self.list.all(i, v, v < 10) && self.list.exists(i, v, i == 1 && v == 2)',
    'self.list.transformList(i, v, i + v) == [1, 3] && self.list.existsOne(i, v, v == 1)',
    'self.labels.all(k, v, k < v) && self.?none.optMap(x, x == "q").orValue(true)',
    'self.?text.optFlatMap(x, optional.of(x == "a12")).value()',
  ])('%s', async (rule) => {
    const spec = object(
      {
        // Their bounds bound the cost that a real server estimates.
        list: { type: 'array', items: integer, maxItems: 9 },
        text: { ...string, maxLength: 9 },
        size: string,
        none: { ...string, maxLength: 9 },
        'x-y': integer,
        port: { 'x-kubernetes-int-or-string': true },
        labels: {
          type: 'object',
          maxProperties: 9,
          additionalProperties: { ...string, maxLength: 9 },
        },
        when: { type: 'string', format: 'date-time' },
      },
      { rule },
      { rule: `!(${rule})`, message: 'the opposite' },
    );
    const api = await withSpec(spec);
    const values = {
      list: [1, 2],
      text: 'a12',
      size: '1Gi',
      'x-y': 1,
      port: 'http',
      labels: { a: 'b' },
      when: '2026-01-01T00:00:00Z',
    };
    const { body } = await api.send('POST', SITES, { body: site(values) });
    expect(body.details?.causes?.map((cause) => (cause as { message?: string }).message)).toEqual([
      'Invalid value: the opposite',
    ]);
  });

  test.for<[spec: object, field: string]>([
    [object({ a: string }, { rule: 'self.b == "x"' }), '[0].rule'],
    [object({ a: string }, { rule: 'self.a' }), '[0].rule'],
    [object({ a: string }, { rule: 'self.a ==' }), '[0].rule'],
    [object({ a: string }, { rule: 'self.a == 1' }), '[0].rule'],
    [object({ a: string }, { rule: 'true', messageExpression: '1' }), '[0].messageExpression'],
    [object({ a: string }, { rule: 'true', optionalOldSelf: true }), '[0].optionalOldSelf'],
    [object({ a: string }, { rule: 'true', fieldPath: '.b' }), '[0].fieldPath'],
    [object({ a: string }, { rule: ' ' }), '[0].rule'],
  ])('that is wrong is refused with its definition: %j', async ([spec, field]) => {
    const { api } = await startApi();
    const { status, body } = await api.send('POST', CRDS, { body: definition(spec) });
    const path = `spec.validation.openAPIV3Schema.properties[spec].${VALIDATIONS}${field}`;
    expect([status, body.details.causes?.map((cause) => cause.field)]).toEqual([422, [path]]);
  });
});
