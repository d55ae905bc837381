import { describe, expect, test } from 'vitest';
import { soon, startApi } from '../helpers/server/requests.ts';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const SITES = '/apis/example.com/v1/namespaces/default/sites';
const SITE = `${CRDS}/sites.example.com`;
const NAMES = { plural: 'sites', kind: 'Site' };

const definition = (schema: object, more: { version?: object; spec?: object } = {}) => ({
  metadata: { name: 'sites.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: NAMES,
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: schema },
        ...more.version,
      },
    ],
    ...more.spec,
  },
});
const ofSpec = (properties: object) => ({
  type: 'object',
  properties: { spec: { type: 'object', properties } },
});
const string = { type: 'string' };
const site = (spec: unknown, metadata: object = {}) => ({
  apiVersion: 'example.com/v1',
  kind: 'Site',
  metadata: { name: 'a', ...metadata },
  spec,
});

describe('a definition', () => {
  // It was established in the answer to its creation, so that no test met a client that does not
  // wait for that.
  test('is accepted, then established, in updates that a watch shows', async () => {
    const { api } = await startApi();
    const watch = await api.watch(CRDS, { resourceVersion: await api.version(CRDS) });
    const made = await api.make(CRDS, definition(ofSpec({})));
    expect(made).toMatchObject({
      spec: { conversion: { strategy: 'None' }, names: { singular: 'site', listKind: 'SiteList' } },
      status: { conditions: null, acceptedNames: { plural: '', kind: '' }, storedVersions: ['v1'] },
    });
    const events = await watch.take(3);
    expect(events.map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED', 'MODIFIED']);
    expect(events.map(({ object }) => object.status)).toMatchObject([
      { conditions: null },
      {
        acceptedNames: NAMES,
        conditions: [
          { type: 'NamesAccepted', status: 'True' },
          { type: 'Established', status: 'False', reason: 'Installing' },
        ],
      },
      { conditions: [{}, { status: 'True', reason: 'InitialNamesAccepted' }] },
    ]);
  });

  test('whose names are taken waits until they are free', async () => {
    const { api } = await startApi();
    await api.make(CRDS, definition(ofSpec({})));
    const other = definition(ofSpec({}), { spec: { names: { plural: 'others', kind: 'Site' } } });
    await api.make(CRDS, { ...other, metadata: { name: 'others.example.com' } });
    const path = '/apis/example.com/v1/namespaces/default/others';
    const status = async () => (await api.get(`${CRDS}/others.example.com`)).body.status;
    await soon(status).toMatchObject({
      conditions: [
        { type: 'NamesAccepted', status: 'False', reason: 'ListKindConflict' },
        { type: 'Established', status: 'False', reason: 'NotAccepted' },
      ],
    });
    expect((await api.get(path)).status).toBe(404);
    await api.delete(SITE);
    await soon(status).toMatchObject({ conditions: [{ status: 'True' }, { status: 'True' }] });
    await soon(async () => (await api.get(path)).status).toBe(200);
  });

  // Objects with finalizers went with their definition, and a controller never had its turn.
  test('that is deleted waits for the finalizers of its objects', async () => {
    const { api } = await startApi();
    await api.make(CRDS, definition(ofSpec({})));
    const made = await api.make(SITES, site({}, { finalizers: ['example.com/f'] }));
    const watch = await api.watch(SITES, { resourceVersion: made.metadata.resourceVersion });
    const { body } = await api.delete(SITE);
    expect(body.metadata.finalizers).toEqual(['customresourcecleanup.apiextensions.k8s.io']);
    expect((await watch.take(1))[0]?.object.metadata.deletionTimestamp).toBeDefined();
    await soon(async () => (await api.get(SITE)).body.status).toMatchObject({
      conditions: [{}, {}, { type: 'Terminating', reason: 'InstanceDeletionInProgress' }],
    });
    const late = { ...site({}), metadata: { name: 'b' } };
    expect(await api.send('POST', SITES, { body: late })).toMatchObject({
      status: 403,
      body: {
        message:
          'sites.example.com "b" is forbidden: create not allowed while custom resource ' +
          'definition is terminating',
      },
    });
    await api.patch(`${SITES}/a`, { metadata: { finalizers: null } });
    await soon(async () => (await api.get(SITE)).status).toBe(404);
    await soon(async () => (await api.get(SITES)).status).toBe(404);
  });

  const VALIDATION = 'spec.validation.openAPIV3Schema';
  const P = `${VALIDATION}.properties[spec].properties[p]`;
  test.for<[what: string, body: object, fields: string[]]>([
    ['another name', { ...definition(ofSpec({})), metadata: { name: 'x' } }, ['metadata.name']],
    [
      'no schema',
      definition({}, { version: { schema: null } }),
      ['spec.versions[0].schema.openAPIV3Schema'],
    ],
    [
      'no stored version',
      definition(ofSpec({}), { version: { storage: false } }),
      ['spec.versions', 'status.storedVersions'],
    ],
    ['a type that there is not', definition(ofSpec({ p: { type: 'strin' } })), [`${P}.type`]],
    ['no type', definition(ofSpec({ p: {} })), [`${P}.type`]],
    ['no items', definition(ofSpec({ p: { type: 'array' } })), [`${P}.items`]],
    [
      'a type within anyOf',
      definition(ofSpec({ p: { ...string, anyOf: [string] } })),
      [`${P}.anyOf[0].type`],
    ],
    ['a wrong default', definition(ofSpec({ p: { ...string, default: 1 } })), [`${P}.default`]],
    [
      'a default with more',
      definition(ofSpec({ p: { type: 'object', default: { x: 1 } } })),
      [`${P}.default`],
    ],
    [
      'keys that are no properties',
      definition(
        ofSpec({
          p: {
            type: 'array',
            'x-kubernetes-list-type': 'map',
            'x-kubernetes-list-map-keys': ['k'],
            items: { type: 'object' },
          },
        }),
      ),
      [`${P}.x-kubernetes-list-map-keys`],
    ],
    [
      'a set of objects',
      definition(
        ofSpec({
          p: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'object' } },
        }),
      ),
      [`${P}.items.x-kubernetes-map-type`],
    ],
    [
      'a pattern that is none',
      definition(ofSpec({ p: { ...string, pattern: '(' } })),
      [`${P}.pattern`],
    ],
    ['a reference', definition(ofSpec({ p: { ...string, $ref: '#/x' } })), [`${P}.$ref`]],
    [
      'metadata',
      definition({
        type: 'object',
        properties: { metadata: { type: 'object', properties: { labels: { type: 'object' } } } },
      }),
      [`${VALIDATION}.properties[metadata]`],
    ],
    [
      'columns',
      definition(ofSpec({}), {
        version: { additionalPrinterColumns: [{ name: 'A', type: 'x', jsonPath: 'a' }] },
      }),
      ['spec.additionalPrinterColumns[0].type', 'spec.additionalPrinterColumns[0].JSONPath'],
    ],
    [
      'a field to select by',
      definition(ofSpec({}), { version: { selectableFields: [{ jsonPath: '.spec.x' }] } }),
      ['spec.selectableFields[0].jsonPath'],
    ],
    [
      'a scale',
      definition(ofSpec({}), {
        version: {
          subresources: { scale: { specReplicasPath: '.status.r', statusReplicasPath: '' } },
        },
      }),
      ['spec.subresources.scale.specReplicasPath', 'spec.subresources.scale.statusReplicasPath'],
    ],
    [
      'a webhook without a client',
      definition(ofSpec({}), { spec: { conversion: { strategy: 'Webhook' } } }),
      ['spec.conversion.webhookClientConfig', 'spec.conversion.conversionReviewVersions'],
    ],
    [
      'a warning of what is not deprecated',
      definition(ofSpec({}), { version: { deprecationWarning: 'x' } }),
      ['spec.versions[0].deprecationWarning'],
    ],
    [
      'names',
      definition(ofSpec({}), { spec: { names: { ...NAMES, kind: 'Si te' } } }),
      ['spec.names.singular', 'spec.names.kind', 'spec.names.listKind'],
    ],
    [
      'a group without a dot',
      definition(ofSpec({}), { spec: { group: 'example' } }),
      ['metadata.name', 'spec.group'],
    ],
    [
      'fields kept',
      definition(ofSpec({}), { spec: { preserveUnknownFields: true } }),
      ['spec.preserveUnknownFields'],
    ],
  ])('is refused for %s', async ([, body, fields]) => {
    const { api } = await startApi();
    const answer = await api.send('POST', CRDS, { body });
    const found = answer.body.details?.causes?.map((cause) => cause.field);
    expect([answer.status, found]).toEqual([422, fields]);
  });

  // Go's JSONSchemaPropsOrBool refuses it while the body is read; the other two take anything.
  test.for([
    ['additionalProperties', [{ type: 'string' }], 400],
    ['additionalProperties', 'yes', 400],
    ['additionalProperties', { type: 'string' }, 201],
    ['additionalProperties', true, 201],
    ['additionalItems', [], 400],
  ] as const)('whose schema has %s: %j answers %s', async ([name, value, status]) => {
    const { api } = await startApi();
    const body = definition(ofSpec({ labels: { type: 'object', [name]: value } }));
    expect((await api.send('POST', CRDS, { body })).status).toBe(status);
  });

  test('keeps what cannot change', async () => {
    const { api } = await startApi();
    await api.make(CRDS, definition(ofSpec({})));
    const causes = async (spec: object) =>
      (await api.patch(SITE, { spec })).body.details?.causes?.map(({ field }) => field);
    expect(await causes({ scope: 'Cluster' })).toEqual(['spec.scope']);
    expect(await causes({ group: 'other.com' })).toEqual(['spec.group']);
    expect(await causes({ names: { kind: 'Other' } })).toEqual(['spec.names.kind']);
    expect(await causes({ names: { shortNames: ['st'] } })).toBeUndefined();
  });

  test('is pruned by its schema, and unknown formats give warnings', async () => {
    const { api } = await startApi();
    const body = definition(ofSpec({ p: { ...string, format: 'odd', patern: 'x' } }));
    const { header, body: made } = await api.send('POST', CRDS, { body });
    expect(header('warning')).toContain('unrecognized format');
    expect(JSON.stringify(made)).not.toContain('patern');
    const query = { fieldValidation: 'Strict', dryRun: 'All' };
    const { body: refused } = await api.send('POST', CRDS, { body, query });
    expect(refused.message).toContain(
      'unknown field "spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.p.patern"',
    );
  });
});

describe('a custom object', () => {
  const embedded = {
    type: 'object',
    'x-kubernetes-embedded-resource': true,
    'x-kubernetes-preserve-unknown-fields': true,
  };
  const pod = { apiVersion: 'v1', kind: 'Pod' };
  test.for<[what: string, schema: object, value: unknown, fields: string[] | 400 | undefined]>([
    ['an address', { ...string, format: 'ipv6' }, 'zz', ['spec.p']],
    ['a range', { ...string, format: 'cidr' }, '10.0.0.0/33', ['spec.p']],
    ['a host', { ...string, format: 'hostname' }, 'a_b', ['spec.p']],
    ['hardware', { ...string, format: 'mac' }, '0:1', ['spec.p']],
    ['a time', { ...string, format: 'duration' }, 'soon', ['spec.p']],
    ['a time as in Scala', { ...string, format: 'duration' }, '2 days', undefined],
    ['an id', { ...string, format: 'uuid4' }, '123e4567-e89b-12d3-a456-426614174000', ['spec.p']],
    ['a book', { ...string, format: 'isbn' }, '0321751044', ['spec.p']],
    ['a card', { ...string, format: 'creditcard' }, '4111 1111 1111 1112', ['spec.p']],
    ['a resource', embedded, {}, ['spec.p.apiVersion', 'spec.p.kind']],
    [
      'its labels',
      embedded,
      { ...pod, metadata: { labels: { 'a b': 'c' } } },
      ['spec.p.metadata.labels'],
    ],
    ['its metadata', embedded, { ...pod, metadata: { labels: 1 } }, 400],
    [
      'alternatives',
      { ...string, anyOf: [{ minLength: 3 }, { enum: ['a'] }] },
      'b',
      ['<nil>', 'spec.p'],
    ],
    ['all of several', { ...string, allOf: [{ minLength: 3 }] }, 'b', ['spec.p', '<nil>']],
    ['length before pattern', { ...string, maxLength: 1, pattern: '^a$' }, 'bb', ['spec.p']],
  ])('is judged for %s', async ([, schema, value, wanted]) => {
    const { api } = await startApi();
    await api.make(CRDS, definition(ofSpec({ p: schema })));
    const { status, body } = await api.send('POST', SITES, { body: site({ p: value }) });
    const fields = body.details?.causes?.map((cause) => cause.field);
    if (wanted === 400) expect(status).toBe(400);
    else expect([status, fields]).toEqual([wanted === undefined ? 201 : 422, wanted]);
  });

  // A new object had no status where its schema has a default for it.
  test('has the default of its status, whatever its creator gives', async () => {
    const { api } = await startApi();
    const status = { type: 'object', default: { phase: 'New' }, properties: { phase: string } };
    const schema = { type: 'object', properties: { status } };
    await api.make(CRDS, definition(schema, { version: { subresources: { status: {} } } }));
    const made = await api.make(SITES, { ...site(undefined), status: { phase: 'Old' } });
    expect(made.status).toEqual({ phase: 'New' });
  });
});
