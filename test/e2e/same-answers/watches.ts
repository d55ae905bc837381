/** Exchanges about watches: order, selectors, resuming, bookmarks, expiry. */
import type { Api, Collection, Query } from './api.ts';
import type { Exchange } from './exchange.ts';
import { configMaps, leases, secrets, widgets } from './resources.ts';

/** A last write whose event ends the reading of a watch: no earlier event can be missed. */
async function last(things: Collection, labels: Record<string, string> = {}): Promise<void> {
  await things.create(things.object('the-last', { metadata: { labels } }));
}

async function listedVersion(things: Collection): Promise<string> {
  return (await things.list()).body.metadata.resourceVersion;
}

export const watches: Exchange[] = [
  ...[configMaps, secrets, leases, widgets].map(
    (type): Exchange => ({
      name: `a watch on ${type.plural} from a list's version tells what happened since, in order`,
      async run(api) {
        const things = api.of(type);
        await things.create(things.object('before'));
        const resourceVersion = await listedVersion(things);
        await things.create(things.object('between'));
        const watch = await things.watch({ resourceVersion });
        await things.create(things.object('a', { metadata: { labels: { n: '1' } } }));
        await things.patch('a', 'merge', { metadata: { labels: { n: '2' } } });
        await things.patch('before', 'merge', { metadata: { labels: { n: '3' } } });
        await things.delete('a');
        await things.create(things.object('a'));
        await last(things);
        await watch.until('the-last');
      },
    }),
  ),
  {
    name: 'a watch from version 0 or none starts with the existing objects',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        await things.create(things.object('b'));
        await things.create(things.object('a', { metadata: { labels: { n: '1' } } }));
        await things.patch('b', 'merge', { metadata: { labels: { n: '2' } } });
        // The list waits until the server's cache has the writes; a watch from version 0 may be
        // served from an older cache.
        const seen = await things.watch({ resourceVersion: await listedVersion(things) });
        await last(things);
        await seen.until('the-last');
        const queries: Query[] = [{}, { resourceVersion: '0' }, { resourceVersion: '' }];
        for (const query of queries) {
          const watch = await things.watch(query);
          await watch.take(3);
          await things.patch('a', 'merge', {
            metadata: { annotations: { query: JSON.stringify(query) } },
          });
          await watch.take(1);
        }
      }
    },
  },
  {
    name: 'a watch resumes after any version it has told',
    async run(api) {
      const things = api.of(configMaps);
      const resourceVersion = await listedVersion(things);
      const watch = await things.watch({ resourceVersion });
      for (const name of ['a', 'b', 'c']) await things.create(things.object(name));
      await things.delete('b');
      const events = await watch.take(4);
      for (const { object } of events) {
        const resumed = await things.watch({
          resourceVersion: object.metadata?.resourceVersion ?? '',
        });
        await things.create({ ...things.object('x'), metadata: { generateName: 'x-' } });
        await resumed.take(events.length - events.findIndex((event) => event.object === object));
      }
    },
  },
  ...[configMaps, widgets].map(
    (type): Exchange => ({
      name: `a selector turns changes of a ${type.kind} into ADDED and DELETED`,
      async run(api) {
        const things = api.of(type);
        await things.create(things.object('in', { metadata: { labels: { app: 'a' } } }));
        await things.create(things.object('out', { metadata: { labels: { app: 'b' } } }));
        const watch = await things.watch({
          resourceVersion: await listedVersion(things),
          labelSelector: 'app=a',
        });
        await things.patch('in', 'merge', { metadata: { annotations: { x: '1' } } });
        await things.patch('out', 'merge', { metadata: { annotations: { x: '1' } } });
        await things.patch('in', 'merge', {
          metadata: { labels: { app: 'b' }, annotations: { x: '2' } },
        });
        await things.patch('in', 'merge', { metadata: { annotations: { x: '3' } } });
        await things.patch('out', 'merge', { metadata: { labels: { app: 'a' } } });
        await things.delete('in');
        await things.delete('out');
        await last(things, { app: 'a' });
        await watch.until('the-last');
      },
    }),
  ),
  {
    name: 'a watch with a field selector follows one object',
    async run(api) {
      const things = api.of(configMaps);
      const resourceVersion = await listedVersion(things);
      const watch = await things.watch({
        resourceVersion,
        fieldSelector: 'metadata.name=the-last',
      });
      await things.create(things.object('other'));
      await last(things);
      await watch.take(1);
      await things.patch('the-last', 'merge', { data: { a: '1' } });
      await things.delete('the-last');
      await watch.take(2);
    },
  },
  {
    name: 'the path of an object is read, not watched',
    async run(api) {
      const things = api.of(configMaps);
      const { body } = await things.create(things.object('one'));
      await things.get('one', { watch: 'true', resourceVersion: body.metadata.resourceVersion });
    },
  },
  {
    name: 'a watch over all namespaces takes selectors',
    async run(api) {
      const things = api.of(configMaps);
      const everywhere = api.everywhere(configMaps);
      const labels = { in: api.namespace };
      const { body } = await everywhere.list({ labelSelector: `in=${api.namespace}` });
      const { resourceVersion } = body.metadata;
      const watch = await everywhere.watch({
        resourceVersion,
        labelSelector: `in=${api.namespace}`,
      });
      await things.create(things.object('one', { metadata: { labels } }));
      await things.delete('one');
      await watch.take(2);
    },
  },
  {
    name: 'a watch tells the steps of a deletion with finalizers',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        const watch = await things.watch({ resourceVersion: await listedVersion(things) });
        await things.create(things.object('one', { metadata: { finalizers: ['e.x/a', 'e.x/b'] } }));
        await things.delete('one');
        await things.patch('one', 'merge', { metadata: { finalizers: ['e.x/b'] } });
        await things.patch('one', 'merge', { metadata: { finalizers: null } });
        await last(things);
        await watch.until('the-last');
      }
    },
  },
  {
    name: 'a write without a change sends no event',
    async run(api) {
      const things = api.of(configMaps);
      const { body } = await things.create(things.object('one', { data: { a: '1' } }));
      const watch = await things.watch({ resourceVersion: body.metadata.resourceVersion });
      await things.put('one', body);
      await things.patch('one', 'merge', { data: { a: '1' } });
      await last(things);
      await watch.until('the-last');
    },
  },
  {
    name: 'a watch tells status changes as MODIFIED',
    async run(api) {
      const things = api.of(widgets);
      const { body } = await things.create(things.object('one', { spec: { size: 1 } }));
      const watch = await things.watch({ resourceVersion: body.metadata.resourceVersion });
      await things.patch('one/status', 'merge', { status: { ready: true } });
      await things.patch('one', 'merge', { spec: { size: 2 } });
      await watch.take(2);
    },
  },
  {
    name: 'a watch can be asked for metadata alone',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        const accept =
          'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json';
        const query = {
          resourceVersion: await listedVersion(things),
          allowWatchBookmarks: 'true',
          timeoutSeconds: '3',
        };
        const watch = await api.watch(things.path, query, accept);
        await things.create(
          things.object('one', { data: { a: '1' }, metadata: { labels: { app: 'a' } } }),
        );
        await things.patch('one', 'merge', { data: { a: '2' } });
        await things.delete('one');
        await watch.take(4);
      }
    },
  },
  {
    name: 'deletecollection is told object by object',
    async run(api) {
      const things = api.of(configMaps);
      await things.create(things.object('only'));
      const watch = await things.watch({ resourceVersion: await listedVersion(things) });
      await things.deleteAll();
      await last(things);
      await watch.until('the-last');
    },
  },
  {
    name: 'a watch ends in order after timeoutSeconds',
    async run(api) {
      const things = api.of(configMaps);
      const watch = await things.watch({
        resourceVersion: await listedVersion(things),
        timeoutSeconds: '1',
      });
      await watch.end();
    },
  },
  {
    name: 'a bookmark comes before the end, when asked for, and a watch resumes from it',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        const resourceVersion = await listedVersion(things);
        const asked = await things.watch({
          resourceVersion,
          allowWatchBookmarks: 'true',
          timeoutSeconds: '4',
        });
        await things.create(things.object('one'));
        const [, bookmark] = await asked.take(2);
        const resumed = await things.watch({
          resourceVersion: bookmark?.object.metadata?.resourceVersion ?? '',
        });
        await last(things);
        await resumed.take(1);
      }
    },
  },
  {
    name: 'a watch with a version or a selector that cannot be parsed is a bad request',
    async run(api) {
      const things = api.of(configMaps);
      await things.watch({ resourceVersion: 'x' });
      await things.watch({ labelSelector: 'n=(' });
      await things.watch({ fieldSelector: 'spec.nodeName=x' });
      await things.watch({ timeoutSeconds: 'x' });
    },
  },
];

/** Requests before and after the history is dropped. */
export interface ExpiredExchange {
  name: string;
  before(api: Api): Promise<(api: Api) => Promise<void>>;
}

export const expired: ExpiredExchange[] = [configMaps, widgets].flatMap(
  (type): ExpiredExchange[] => [
    {
      name: `a watch on ${type.plural} from an expired version gets 410 as an event`,
      async before(api) {
        const things = api.of(type);
        await things.create(things.object('a'));
        const resourceVersion = await listedVersion(things);
        await things.patch('a', 'merge', { metadata: { labels: { n: '1' } } });
        return async (later) => {
          const watch = await later.of(type).watch({ resourceVersion });
          await watch.end();
          await later.of(type).list();
        };
      },
    },
    {
      name: `an expired continue token of ${type.plural} gets 410 and a token to go on with`,
      async before(api) {
        const things = api.of(type);
        for (const name of ['a', 'b', 'c', 'd']) await things.create(things.object(name));
        const { body } = await things.list({ limit: '2' });
        await things.create(things.object('c2'));
        return async (later) => {
          const answer = await later
            .of(type)
            .list({ limit: '2', continue: body.metadata.continue ?? '' });
          await later.of(type).list({ limit: '2', continue: answer.body.metadata.continue ?? '' });
        };
      },
    },
    {
      name: `a list of ${type.plural} at an expired version gets 410`,
      async before(api) {
        const things = api.of(type);
        await things.create(things.object('a'));
        const resourceVersion = await listedVersion(things);
        await things.create(things.object('b'));
        return async (later) => {
          await later.of(type).list({ resourceVersion, resourceVersionMatch: 'Exact' });
          await later.of(type).list({ resourceVersion });
        };
      },
    },
  ],
);
