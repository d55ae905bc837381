/**
 * Tables, the format in which kubectl requests what it prints. Without them kubectl printed only
 * names and ages. The cells are those that a kube-apiserver 1.36.3 gave for the same objects.
 */

import { FakeClock } from 'capstan/workqueue';
import { expect, test } from 'vitest';
import {
  CONFIG_MAPS,
  configMapBody,
  startApi,
  WIDGETS,
  WORKLOAD,
  widgetBody,
} from '../helpers/server/requests.ts';

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const IN = '/api/v1/namespaces/default';

interface Table {
  kind: string;
  columnDefinitions: { name: string; type: string; priority: number }[] | null;
  rows: { cells: unknown[]; object: { kind: string; metadata: { name: string } } | null }[];
}

async function tableOf(path: string, query: Record<string, string>, prepare: Prepare) {
  const clock = new FakeClock();
  const { api } = await startApi({ clock });
  await prepare(api);
  clock.step(125_000);
  const { body } = await api.send('GET', path, { query, headers: { accept: TABLE } });
  return body as unknown as Table;
}
type Prepare = (api: Awaited<ReturnType<typeof startApi>>['api']) => Promise<unknown>;

const rows: [what: string, path: string, object: object, cells: unknown[]][] = [
  [
    'a ConfigMap',
    `${IN}/configmaps`,
    { data: { a: '1', b: '2' }, binaryData: { c: 'AQ==' } },
    ['a', 3, '2m5s'],
  ],
  [
    'a Pod that has not started',
    `${IN}/pods`,
    { spec: { containers: [{ name: 'c', image: 'i' }] } },
    ['a', '0/1', 'Pending', '0', '2m5s', '<none>', '<none>', '<none>', '<none>'],
  ],
  [
    'a Service',
    `${IN}/services`,
    { spec: { clusterIP: 'None', ports: [{ port: 80 }], selector: { app: 'web' } } },
    ['a', 'ClusterIP', 'None', '<none>', '80/TCP', '2m5s', 'app=web'],
  ],
  [
    'a Deployment',
    '/apis/apps/v1/namespaces/default/deployments',
    {
      spec: {
        replicas: 3,
        selector: { matchLabels: { app: 'web' } },
        template: {
          metadata: { labels: { app: 'web' } },
          spec: { containers: [{ name: 'c', image: 'i:1' }] },
        },
      },
    },
    ['a', '0/3', 0, 0, '2m5s', 'c', 'i:1', 'app=web'],
  ],
  [
    'a Lease',
    '/apis/coordination.k8s.io/v1/namespaces/default/leases',
    { spec: { holderIdentity: 'me' } },
    ['a', 'me', '2m5s'],
  ],
];

test.for(rows)('%s', async ([, path, object, cells]) => {
  const table = await tableOf(path, {}, (api) =>
    api.make(path, { metadata: { name: 'a' }, ...object }),
  );
  expect(table).toMatchObject({
    kind: 'Table',
    rows: [{ cells, object: { kind: 'PartialObjectMetadata', metadata: { name: 'a' } } }],
  });
  expect(table.columnDefinitions).toHaveLength(cells.length);
});

test('a scale has columns of its own', async () => {
  const deployments = '/apis/apps/v1/namespaces/default/deployments';
  const table = await tableOf(`${deployments}/a/scale`, {}, (api) =>
    api.make(deployments, { metadata: { name: 'a' }, spec: { ...WORKLOAD, replicas: 3 } }),
  );
  expect(table).toMatchObject({ kind: 'Table', rows: [{ cells: ['a', 3, 0, '2m5s'] }] });
});

test('a custom resource has the columns of its definition', async () => {
  const columns = [
    { name: 'Size', type: 'integer', jsonPath: '.spec.size' },
    { name: 'Since', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ];
  const table = await tableOf(WIDGETS, {}, async (api) => {
    await api.make('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      metadata: { name: 'widgets.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { plural: 'widgets', kind: 'Widget' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            additionalPrinterColumns: columns,
            schema: {
              openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        ],
      },
    });
    await api.make(WIDGETS, widgetBody('a', { spec: { size: 3 } }));
  });
  expect(table.columnDefinitions?.map(({ name }) => name)).toEqual(['Name', 'Size', 'Since']);
  expect(table.rows[0]?.cells).toEqual(['a', 3, '2m5s']);
});

test('includeObject decides which part of an object is in its row', async () => {
  const prepare: Prepare = (api) => api.make(CONFIG_MAPS, configMapBody('a'));
  const none = await tableOf(CONFIG_MAPS, { includeObject: 'None' }, prepare);
  expect(none.rows[0]?.object).toBe(null);
  const whole = await tableOf(CONFIG_MAPS, { includeObject: 'Object' }, prepare);
  expect(whole.rows[0]?.object?.kind).toBe('ConfigMap');
  const wrong = await tableOf(CONFIG_MAPS, { includeObject: 'Some' }, prepare);
  expect(wrong).toMatchObject({ kind: 'Status', reason: 'BadRequest' });
});

test('only the first event of a watch has the columns', async () => {
  const { api } = await startApi();
  const watch = await api.watch(CONFIG_MAPS, {}, { accept: TABLE });
  await api.make(CONFIG_MAPS, configMapBody('a'));
  await api.make(CONFIG_MAPS, configMapBody('b'));
  const tables = [await watch.next(), await watch.next()].map(
    (event) => event?.object as unknown as Table,
  );
  expect(tables.map(({ columnDefinitions }) => columnDefinitions?.length)).toEqual([3, undefined]);
  expect(tables.map(({ rows }) => rows[0]?.cells[0])).toEqual(['a', 'b']);
});
