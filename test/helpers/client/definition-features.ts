/**
 * What a schema definition says beside types, as a server does it: rules in CEL, printer columns,
 * scale, selectable fields. It runs on the embedded and on a real API server.
 */
import type { Transport } from 'capstan/cache';
import { defineCustomResource, installCRDs, isInvalid, newClient } from 'capstan/client';
import { beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { textOf } from '../server/requests.ts';

const IMMUTABLE = {
  'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'zone is immutable' }],
};

export const Herd = defineCustomResource({
  group: 'e2e.capstan.dev',
  version: 'v1',
  kind: 'Herd',
  scope: 'Namespaced',
  spec: z.object({
    size: z.int().min(0).default(1),
    most: z.int().default(10),
    // a rule may be said in the schema, too
    zone: z.string().max(63).meta(IMMUTABLE),
    animals: z
      .array(z.object({ name: z.string().max(20) }))
      .max(9)
      .optional(),
  }),
  status: z.object({
    size: z.int().optional(),
    selector: z.string().optional(),
    conditions: z.array(z.object({ type: z.string(), status: z.string() })).optional(),
  }),
  subresources: {
    scale: {
      specReplicasPath: '.spec.size',
      statusReplicasPath: '.status.size',
      labelSelectorPath: '.status.selector',
    },
  },
  additionalPrinterColumns: [
    { name: 'Zone', type: 'string', jsonPath: '.spec.zone' },
    { name: 'Size', type: 'integer', jsonPath: '.spec.size', priority: 1 },
    { name: 'First', type: 'string', jsonPath: '.spec.animals[0].name' },
    { name: 'Last', type: 'string', jsonPath: '.spec.animals[-1:].name' },
    { name: 'All', type: 'string', jsonPath: '.spec.animals[*].name' },
    { name: 'Bees', type: 'string', jsonPath: ".spec.animals[?(@.name=='aunt bee')].name" },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Text', type: 'string', jsonPath: '.spec.size' },
    { name: 'Animals', type: 'string', jsonPath: '.spec.animals' },
    { name: 'Label', type: 'string', jsonPath: '.metadata.labels.acme\\.io/team' },
    { name: 'Quoted', type: 'string', jsonPath: ".metadata.labels['acme\\.io/team']" },
    { name: 'Unescaped', type: 'string', jsonPath: ".metadata.labels['acme.io/team']" },
    { name: 'Second', type: 'string', jsonPath: '.spec.animals[1:2].name' },
    { name: 'Beyond', type: 'string', jsonPath: '.spec.animals[7].name' },
  ],
  selectableFields: ['.spec.zone'],
  validations: {
    spec: [{ rule: 'self.size <= self.most', message: 'too large', reason: 'FieldValueForbidden' }],
    'spec.animals[]': [
      { rule: 'self.name.startsWith("a")', message: 'begins with a', fieldPath: '.name' },
    ],
  },
});

/** @param start gives the server's transport when the tests begin */
export function hasDefinitionFeatures(start: () => Transport): void {
  let transport: Transport;
  let client: ReturnType<typeof newClient>;
  const herd = (name: string, spec: object) =>
    ({ metadata: { namespace: 'default', name }, spec: { zone: 'north', ...spec } }) as never;
  const refusal = (call: Promise<unknown>): Promise<string> =>
    call.then(
      () => 'accepted',
      (error: unknown) => `${isInvalid(error) ? '' : 'no 422: '}${(error as Error).message}`,
    );

  beforeAll(async () => {
    transport = start();
    client = newClient({ transport, fieldOwner: 'test' });
    await installCRDs(client, [Herd.crd], { timeout: 30_000 });
  });

  test('rules of an object and of the items of a list are held', async () => {
    expect(await refusal(client.create(Herd.resource, herd('large', { size: 11 })))).toContain(
      'too large',
    );
    const animals = [{ name: 'ant' }, { name: 'bee' }];
    expect(await refusal(client.create(Herd.resource, herd('bees', { animals })))).toContain(
      'spec.animals[1].name: Invalid value: begins with a',
    );
  });

  test('a rule with oldSelf is held in updates alone', async () => {
    const created = await client.create(Herd.resource, herd('moves', {}));
    const moved = { ...created, spec: { ...created.spec, zone: 'south' } };
    expect(await refusal(client.update(Herd.resource, moved))).toContain('zone is immutable');
    const grown = { ...created, spec: { ...created.spec, size: 2 } };
    expect((await client.update(Herd.resource, grown)).spec.size).toBe(2);
  });

  test('printer columns are those of a table', async () => {
    const object = herd('shown', { animals: [{ name: 'ant' }, { name: 'aunt bee' }], size: 3 });
    Object.assign((object as { metadata: object }).metadata, { labels: { 'acme.io/team': 'a' } });
    const created = await client.create(Herd.resource, object);
    const conditions = ['Ready', 'Other'].map((type) => ({ type, status: `is${type}` }));
    await client.status().update(Herd.resource, { ...created, status: { conditions } });
    const response = await transport.request({
      method: 'GET',
      path: '/apis/e2e.capstan.dev/v1/namespaces/default/herds/shown',
      headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
    });
    const table = JSON.parse(await textOf(response.body)) as {
      columnDefinitions: { name: string; type: string; priority: number }[];
      rows: { cells: unknown[] }[];
    };
    expect(table.columnDefinitions.slice(0, 4)).toMatchObject([
      { name: 'Name', type: 'string', priority: 0 },
      { name: 'Zone', type: 'string', priority: 0 },
      { name: 'Size', type: 'integer', priority: 1 },
      { name: 'First', type: 'string', priority: 0 },
    ]);
    const names = table.columnDefinitions.map(({ name }) => name);
    const cells = table.rows[0]?.cells ?? [];
    expect(Object.fromEntries(names.map((name, index) => [name, cells[index]]))).toEqual({
      Name: 'shown',
      Zone: 'north',
      Size: 3,
      First: 'ant',
      Last: 'aunt bee',
      All: 'ant',
      Bees: 'aunt bee',
      Ready: 'isReady',
      Text: '3',
      Animals: '[{"name":"ant"},{"name":"aunt bee"}]',
      Label: 'a',
      Quoted: 'a',
      Unescaped: null,
      Second: 'aunt bee',
      Beyond: null,
    });
  });

  test('scale reads and writes the members of its paths', async () => {
    const created = await client.create(Herd.resource, herd('scaled', {}));
    const status = { size: 1, selector: 'herd=scaled' };
    await client.status().update(Herd.resource, { ...created, status });
    const scales = client.subResource('scale');
    const key = { namespace: 'default', name: 'scaled' };
    expect(await scales.get(Herd.resource, key)).toMatchObject({
      kind: 'Scale',
      spec: { replicas: 1 },
      status: { replicas: 1, selector: 'herd=scaled' },
    });
    const to = (replicas: number) => ({ type: 'merge', body: { spec: { replicas } } }) as const;
    await scales.patch(Herd.resource, key, to(4));
    expect((await client.get(Herd.resource, key)).spec.size).toBe(4);
    // what the rules say holds for a scale, too
    expect(await refusal(scales.patch(Herd.resource, key, to(11)))).toContain('too large');
  });

  test('objects are listed by a selectable field, and by no other', async () => {
    for (const zone of ['east', 'west'])
      await client.create(Herd.resource, herd(`in-${zone}`, { zone }));
    const list = (fieldSelector: string) =>
      client.list(Herd.resource, { namespace: 'default', fieldSelector });
    const { items } = await list('spec.zone=east');
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['in-east']);
    await expect(list('spec.size=1')).rejects.toMatchObject({ status: 400 });
  });
}
