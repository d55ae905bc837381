/** Exchanges about watches with initial events (WatchList), and about contradictory parameters. */
import type { Api, Collection, Query } from './api.ts';
import type { Exchange } from './exchange.ts';
import { configMaps, leases, secrets, widgets } from './resources.ts';

const ASKED: Query = { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' };
const WITH_END: Query = { ...ASKED, allowWatchBookmarks: 'true' };

/** Two objects, one of them changed. Waits until the real server's watch cache has them. */
async function fill(things: Collection): Promise<string> {
  await things.create(things.object('b', { metadata: { labels: { app: 'b' } } }));
  await things.create(things.object('a', { metadata: { labels: { app: 'a' } } }));
  await things.patch('b', 'merge', { metadata: { annotations: { x: '1' } } });
  return (await things.list()).body.metadata.resourceVersion;
}

function refused(method: 'watch' | 'list', queries: readonly Query[]) {
  return async (api: Api): Promise<void> => {
    const things = api.of(configMaps);
    for (const query of queries)
      await (method === 'watch' ? things.watch(query) : things.list(query));
  };
}

export const initialEvents: Exchange[] = [
  ...[configMaps, secrets, leases, widgets].map(
    (type): Exchange => ({
      name:
        `a watch on ${type.plural} with initial events gets them, their bookmark and ` +
        'later events',
      async run(api) {
        const things = api.of(type);
        const resourceVersion = await fill(things);
        const versions: Query[] = [{}, { resourceVersion: '0' }, { resourceVersion }];
        for (const [n, version] of versions.entries()) {
          const watch = await things.watch({ ...WITH_END, ...version });
          await watch.take(3);
          await things.patch('a', 'merge', { metadata: { annotations: { round: String(n) } } });
          await watch.take(1);
          await things.list();
        }
      },
    }),
  ),
  {
    name: 'an empty collection has an end of its initial events too',
    async run(api) {
      for (const type of [configMaps, widgets]) await (await api.of(type).watch(WITH_END)).take(1);
    },
  },
  {
    name: 'initial events are those that the selectors choose, also of metadata alone',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        await fill(things);
        await (await things.watch({ ...WITH_END, labelSelector: 'app=a' })).take(2);
        await (await things.watch({ ...WITH_END, fieldSelector: 'metadata.name=b' })).take(2);
        await (await things.watch({ ...WITH_END, fieldSelector: 'metadata.name=none' })).take(1);
        for (const version of ['v1', 'v1beta1']) {
          const accept = `application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=${version},application/json`;
          await (await api.watch(things.path, WITH_END, accept)).take(3);
        }
      }
    },
  },
  {
    name: 'initial events end without a bookmark where none is allowed',
    async run(api) {
      const things = api.of(configMaps);
      await fill(things);
      const watch = await things.watch({ ...ASKED, timeoutSeconds: '1' });
      await watch.end();
    },
  },
  {
    name: 'a watch from version 0 or none ends its initial events with a bookmark, if allowed',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        await fill(things);
        const queries: Query[] = [{}, { resourceVersion: '0' }, { resourceVersion: '' }];
        for (const query of queries)
          await (await things.watch({ ...query, allowWatchBookmarks: 'true' })).take(3);
      }
    },
  },
  {
    name: 'a watch without initial events starts with the next event',
    async run(api) {
      const things = api.of(configMaps);
      await fill(things);
      const queries: Query[] = [{}, { resourceVersion: '0' }];
      for (const query of queries) {
        const watch = await things.watch({ ...query, ...WITH_END, sendInitialEvents: 'false' });
        await things.patch('a', 'merge', {
          metadata: { annotations: { query: JSON.stringify(query) } },
        });
        await watch.take(1);
      }
    },
  },
  {
    name: 'initial events newer than what exists are an ERROR event after a while',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        await fill(things);
        const watch = await things.watch({ ...WITH_END, resourceVersion: '1000000000' });
        await watch.end();
      }
    },
  },
  {
    name: 'parameters of a watch that contradict each other are invalid',
    run: refused('watch', [
      { sendInitialEvents: 'true' },
      { sendInitialEvents: '' },
      { sendInitialEvents: 'false' },
      { sendInitialEvents: 'true', resourceVersionMatch: 'Exact' },
      { sendInitialEvents: 'true', resourceVersionMatch: 'Newest' },
      { resourceVersionMatch: 'NotOlderThan' },
      { resourceVersionMatch: 'NotOlderThan', resourceVersion: '1' },
      { resourceVersionMatch: 'Exact', resourceVersion: '1' },
      { resourceVersionMatch: 'Newest', continue: 'x' },
      { continue: 'x' },
      { sendInitialEvents: 'true', continue: 'x' },
      { ...ASKED, continue: 'x' },
      { ...ASKED, resourceVersion: 'x' },
    ]),
  },
  {
    name: 'parameters of a list that contradict each other are invalid',
    run: refused('list', [
      { sendInitialEvents: 'true' },
      { sendInitialEvents: 'false' },
      ASKED,
      { ...ASKED, resourceVersion: '1' },
      { resourceVersionMatch: 'Newest', continue: 'x' },
      { resourceVersionMatch: 'Exact', resourceVersion: '0', continue: 'x' },
      { resourceVersionMatch: 'NotOlderThan' },
    ]),
  },
  {
    name: 'a list can be asked for a version that is not older',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        const resourceVersion = await fill(things);
        await things.create(things.object('c'));
        await things.list({ resourceVersion, resourceVersionMatch: 'NotOlderThan' });
        await things.list({ resourceVersion, resourceVersionMatch: 'NotOlderThan', limit: '2' });
        await things.list({ resourceVersion, limit: '2' });
        const missing = { resourceVersion: '1000000000' };
        await things.list({ ...missing, resourceVersionMatch: 'NotOlderThan' });
        await things.list({ ...missing, resourceVersionMatch: 'Exact' });
      }
    },
  },
];
