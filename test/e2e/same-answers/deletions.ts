/** Exchanges about the deletion of objects, with finalizers, preconditions and options. */
import type { JsonObject, Query } from './api.ts';
import type { Exchange } from './exchange.ts';
import { configMaps, jobs, secrets, widgets } from './resources.ts';
import { jobSpec } from './templates.ts';

const DELETION_PARAMETERS: Query[] = [
  { propagationPolicy: 'Foreground' },
  { propagationPolicy: 'Sideways' },
  { propagationPolicy: '' },
  { gracePeriodSeconds: '0' },
  { gracePeriodSeconds: 'x' },
  { dryRun: 'all' },
  { orphanDependents: 'true', propagationPolicy: 'Orphan' },
  { uid: 'other' },
  { uid: '' },
  { resourceVersion: '0' },
];
/** Parameters of a deletecollection: for its list and, without a body, for the deletions. */
const LIST_PARAMETERS: Query[] = [
  ...[
    { limit: '2' },
    { limit: '0' },
    { limit: '-1' },
    { limit: 'x' },
    { limit: '3' },
    { timeoutSeconds: 'x' },
  ],
  ...[
    { limit: '1', labelSelector: 'odd=1' },
    { limit: '2', dryRun: 'All' },
  ],
  ...[{ resourceVersion: 'x' }, { resourceVersionMatch: 'Exact' }, { uid: 'x' }, { continue: 'x' }],
  { sendInitialEvents: 'true' },
];
const odd = (at: number): JsonObject => ({ metadata: { labels: { odd: String(at % 2) } } });
const NOBODY: Query = { labelSelector: 'no=body' };

const OPTIONS: unknown[] = [
  ...[
    { dryRun: 'All' },
    { dryRun: ['all', ''] },
    { dryRun: true },
    { dryRun: [5] },
    { dryRun: null },
  ],
  ...[
    { preconditions: { uid: '' } },
    { preconditions: { resourceVersion: '' } },
    { preconditions: null },
  ],
  ...[
    { preconditions: { uid: 5 } },
    { preconditions: { resourceVersion: 5 } },
    { preconditions: [] },
  ],
  ...[{ propagationPolicy: 5 }, { propagationPolicy: '' }, { propagationPolicy: null }],
  ...[{ gracePeriodSeconds: '0' }, { gracePeriodSeconds: -1 }, { orphanDependents: 'yes' }],
  ...[
    { orphanDependents: true, propagationPolicy: 'Orphan' },
    { propagationPolicy: 'Sideways', dryRun: ['all'] },
  ],
  ...[
    '[]',
    'true',
    'null',
    { kind: 5 },
    { kind: 'Other' },
    { apiVersion: 'v1', kind: 'ConfigMap' },
  ],
  ...[{ kind: 'DeleteOptions' }, { apiVersion: 'any/v9', kind: 'DeleteOptions', odd: 1 }],
];

export const deletions: Exchange[] = [
  ...[configMaps, widgets].map(
    (type): Exchange => ({
      name: `a ${type.kind} with finalizers is deleted when the last one goes`,
      async run(api) {
        const things = api.of(type);
        await things.create(things.object('one', { metadata: { finalizers: ['e.x/a', 'e.x/b'] } }));
        await things.delete('one');
        await things.delete('one');
        await things.patch('one', 'merge', {
          metadata: { finalizers: ['e.x/a', 'e.x/b', 'e.x/c'] },
        });
        await things.create(things.object('one'));
        await things.patch('one', 'merge', { metadata: { finalizers: ['e.x/b'] } });
        await things.patch('one', 'merge', { metadata: { labels: { app: 'a' } } });
        await things.patch('one', 'merge', { metadata: { finalizers: null } });
        await things.get('one');
        await things.create(things.object('one'));
      },
    }),
  ),
  {
    name: 'an update may drop the last finalizer and change other fields',
    async run(api) {
      const things = api.of(widgets);
      await things.create(
        things.object('one', { metadata: { finalizers: ['e.x/a'] }, spec: { size: 1 } }),
      );
      await things.delete('one');
      const { body } = await things.get('one');
      await things.put('one', {
        ...body,
        metadata: { ...body.metadata, finalizers: [] },
        spec: { size: 2 },
      });
      await things.get('one');
    },
  },
  {
    name: 'a deletion of a Job orphans its Pods unless told otherwise, and says so',
    async run(api) {
      const things = api.of(jobs);
      for (const options of [
        undefined,
        {},
        { orphanDependents: false },
        { propagationPolicy: 'Orphan' },
      ]) {
        for (const finalizers of [[], ['e.x/a'], ['foregroundDeletion']]) {
          await things.create(
            things.object('one', { metadata: { finalizers, labels: { app: 'a' } }, spec: jobSpec }),
          );
          await things.delete('one', options);
          await things.patch('one', 'merge', { metadata: { finalizers: null } });
        }
      }
      await things.delete('one');
      await things.deleteAll();
    },
  },
  {
    name: 'a deletion can be bound to a uid and a version',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        const { body } = await things.create(things.object('one'));
        const { uid, resourceVersion } = body.metadata;
        await things.patch('one', 'merge', { metadata: { labels: { app: 'a' } } });
        await things.delete('one', {
          preconditions: { uid: '00000000-0000-0000-0000-000000000001' },
        });
        await things.delete('one', { preconditions: { uid, resourceVersion } });
        await things.get('one');
        await things.delete('one', {
          kind: 'DeleteOptions',
          apiVersion: 'v1',
          preconditions: { uid },
        });
      }
    },
  },
  {
    name: 'a deletion in the background is done at once',
    async run(api) {
      const things = api.of(configMaps);
      await things.create(things.object('one'));
      await things.delete('one', { propagationPolicy: 'Background' });
      await things.get('one');
      await things.create(things.object('two'));
      await things.delete('two', { propagationPolicy: 'Sideways' });
      await things.delete('two', { gracePeriodSeconds: 0 });
    },
  },
  {
    name: 'a deletion in the foreground or with orphans waits for the garbage collector',
    async run(api) {
      for (const [name, propagationPolicy] of [
        ['one', 'Foreground'],
        ['two', 'Orphan'],
      ] as const) {
        const things = api.of(configMaps);
        await things.create(things.object(name));
        await things.delete(name, { propagationPolicy });
        await things.get(name);
        await things.patch(name, 'merge', { metadata: { finalizers: null } });
        await things.get(name);
      }
    },
  },
  {
    name: 'the options of a deletion are read as Go reads them, for one object and for many',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        for (const options of OPTIONS) {
          await things.create(things.object('one'));
          await things.delete('one', options);
        }
        for (const options of OPTIONS)
          await api.call('DELETE', things.path, { body: options, query: NOBODY });
        await things.delete('none', { dryRun: ['all'] });
      }
    },
  },
  {
    name: 'the options of a deletion can be parameters',
    async run(api) {
      const things = api.of(configMaps);
      for (const query of DELETION_PARAMETERS) {
        await things.create(things.object('one'));
        await api.call('DELETE', `${things.path}/one`, { query });
        // If there is a body, the parameters are ignored.
        await things.create(things.object('two'));
        await api.call('DELETE', `${things.path}/two`, { query, body: {} });
        await things.patch('one', 'merge', { metadata: { finalizers: null } });
      }
    },
  },
  {
    name: 'a deletion of many lists what it deletes, by its parameters',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        for (const query of LIST_PARAMETERS)
          for (const options of [{}, { body: {} }]) {
            for (const at of [0, 1, 2]) await things.create(things.object(`a${at}`, odd(at)));
            await api.call('DELETE', things.path, { query, ...options });
            await things.list();
            await things.deleteAll();
          }
      }
    },
  },
  {
    name: 'a deletion of many goes on at the version of its first page',
    async run(api) {
      const things = api.of(configMaps);
      for (const at of [0, 1, 2, 3, 4]) await things.create(things.object(`a${at}`, odd(at)));
      const { body } = await things.deleteAll({ limit: '2' });
      const rest = { limit: '2', continue: body.metadata.continue ?? '' };
      await things.create(things.object('a2a'));
      await things.deleteAll(rest);
      await things.create(things.object('a2', odd(0)));
      await things.deleteAll(rest);
      await api.of(secrets).create(api.of(secrets).object('later'));
      const { body: left } = await things.list();
      await things.create(things.object('b'));
      const query = { resourceVersion: left.metadata.resourceVersion };
      for (const options of [{ query }, { query, body: {} }])
        await api.call('DELETE', things.path, options);
      await things.list();
    },
  },
  {
    name: 'a recreated object has another uid',
    async run(api) {
      const things = api.of(configMaps);
      const { body } = await things.create(things.object('one'));
      await things.delete('one');
      await things.create(things.object('one'));
      await things.put('one', body);
    },
  },
];
