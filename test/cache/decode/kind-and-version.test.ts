/**
 * Cached objects always have kind and apiVersion. An API server leaves both out of list items of
 * built-in kinds, while its events have them. So objects of one informer had a kind or not,
 * depending on how they came: no Event could be recorded for those of the first list, and a patch
 * between two states removed the kind.
 */
import {
  DeletedFinalStateUnknown,
  type FromServer,
  ListWatch,
  type ListWatchOptions,
  SharedIndexInformer,
  type SharedIndexInformerOptions,
  type TransportRequest,
} from 'capstan/cache';
import { describe, expect, onTestFinished, test } from 'vitest';
import { FakeClock } from '../../../bindings/base/clock.ts';
import { answer, LiveServer } from '../../helpers/cache/live-server.ts';
import { type ConfigMap, ConfigMaps } from '../../helpers/resources.ts';
import { expectReadOnly, expectSameAsParsed } from './same-as-parsed.ts';

/** Writes objects as a real API server: members in its order, and no kinds in list items. */
class BuiltInServer extends LiveServer {
  override send(text: string): void {
    const { type, object } = JSON.parse(text);
    const { kind, apiVersion, metadata, ...rest } = object as ConfigMap;
    super.send(`${JSON.stringify({ type, object: { kind, apiVersion, metadata, ...rest } })}\n`);
  }

  override listBody(request: Partial<TransportRequest> = {}): string {
    const list = JSON.parse(super.listBody(request));
    const isMetadata = list.kind === 'PartialObjectMetadataList';
    const partial = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1' };
    list.items = list.items.map(({ kind: _, apiVersion: __, metadata, ...rest }: ConfigMap) =>
      isMetadata ? { ...partial, metadata } : { metadata, ...rest },
    );
    return JSON.stringify(list);
  }
}

const HEAD = ['kind', 'apiVersion', 'metadata'];

const ways: [
  name: string,
  options: SharedIndexInformerOptions<ConfigMap>,
  listWatch?: Partial<ListWatchOptions>,
][] = [
  ['bytes', {}],
  ['objects', { keep: 'objects' }],
  ['a transform', { transform: (object) => object }],
  ['the delta queue', { fifo: 'delta' }],
  ['a streamed list', { watchList: true }],
  ['members that are dropped', { drop: ['data', 'kind', 'apiVersion'] }],
  ['room for metadata alone', { maxBytes: 1, whenFull: 'metadata' }],
  ['metadata alone', {}, { metadataOnly: true }],
  ['metadata alone, as objects', { keep: 'objects' }, { metadataOnly: true }],
];

function follow(
  server: LiveServer,
  options: SharedIndexInformerOptions<ConfigMap> = {},
  listWatchOptions: Partial<ListWatchOptions> = {},
) {
  const clock = new FakeClock();
  const told: (ConfigMap | undefined)[] = [];
  const listWatch = new ListWatch(server, ConfigMaps, listWatchOptions);
  const informer = new SharedIndexInformer(listWatch, { clock, watchList: false, ...options });
  const changes: boolean[] = [];
  informer.addEventHandler({
    onAdd: (object) => void told.push(object),
    onUpdate(old, object, change) {
      told.push(old, object);
      changes.push(change.metadata || change.spec || change.status);
    },
    onDelete: (gone) => void told.push(gone instanceof DeletedFinalStateUnknown ? gone.obj : gone),
  });
  onTestFinished(() => informer.stop());
  return { clock, told, changes, informer, cache: informer.getIndexer() };
}

describe.each(ways)('kind and apiVersion with %s', (name, options, listWatchOptions) => {
  const metadataOnly = listWatchOptions?.metadataOnly === true;

  test('are set in all notified and cached objects, in the order of an event', async () => {
    const server = new BuiltInServer();
    server.put('listed', { data: { a: '1' } });
    server.put('gone');
    const { clock, told, informer, cache } = follow(server, options, listWatchOptions);
    void informer.run();
    await clock.settle();
    if (metadataOnly) {
      const object = {
        kind: 'PartialObjectMetadata',
        apiVersion: 'meta.k8s.io/v1',
        metadata: { namespace: 'default', name: 'watched', resourceVersion: '3' },
      };
      server.send(`${JSON.stringify({ type: 'ADDED', object })}\n`);
    } else {
      server.put('watched', { data: { a: '1' } });
      server.put('listed', { data: { a: '2' } });
      server.remove('gone');
    }
    await clock.settle();
    const all = [...told, ...cache.list()];
    expect(all.length).toBeGreaterThan(4);
    for (const object of all) {
      expect(`${object?.apiVersion} ${object?.kind}`).toBe('v1 ConfigMap');
      // the initial events of a LiveServer have another order
      if (!options.watchList) expect(Object.keys(object as object).slice(0, 3)).toEqual(HEAD);
    }
    const listed = cache.getByKey(metadataOnly ? 'default/gone' : 'default/listed') as object;
    const parsed = JSON.parse(JSON.stringify(listed));
    expectSameAsParsed(listed, parsed);
    if (name === 'bytes' || name === 'metadata alone') expectReadOnly(listed);
  });
});

// The bytes of a list item and of an event differ only in the kind: each relist gave an update of
// every object that had come by an event.
test('a list with the objects of earlier events keeps the stored objects', async () => {
  const server = new BuiltInServer();
  const { clock, told, informer, cache } = follow(server);
  void informer.run();
  await clock.settle();
  for (const name of ['a', 'b']) server.put(name, { data: { x: name }, labels: { of: name } });
  await clock.settle();
  const before = cache.list();
  const { live } = cache.bytes();
  const relist = async (): Promise<void> => {
    server.intercept = ({ query }) =>
      query?.watch === 'true' && server.watches.size === 0
        ? answer(200, '{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}\n')
        : undefined;
    server.closeWatches();
    await clock.run(60_000);
    server.intercept = undefined;
    await clock.run(60_000);
  };
  const lists = () => server.requests.filter(({ query }) => query?.watch !== 'true').length;
  const listsBefore = lists();
  await relist();
  expect(lists()).toBeGreaterThan(listsBefore);
  expect(cache.list().map((object, i) => object === before[i])).toEqual([true, true]);
  expect(cache.bytes().live).toBe(live);
  expect(told.slice(2).every((object) => before.includes(object as FromServer<ConfigMap>))).toBe(
    true,
  );
});

// The bytes of list items, from which an index by path is computed, do not have the kind.
test('an index by kind has the objects of a list and those of events', async () => {
  const server = new BuiltInServer();
  server.put('listed');
  const { clock, informer, cache } = follow(server);
  informer.addIndexers({ byKind: 'kind', byVersion: 'apiVersion' } as never);
  void informer.run();
  await clock.settle();
  server.put('watched');
  await clock.settle();
  const keys = ['default/listed', 'default/watched'];
  expect(cache.indexKeys('byKind' as never, 'ConfigMap').sort()).toEqual(keys);
  expect(cache.indexKeys('byVersion' as never, 'v1').sort()).toEqual(keys);
});

test('an event after a list changes only the members that differ', async () => {
  const server = new BuiltInServer();
  const spec = { a: 'x'.repeat(400), b: 1 };
  server.put('a', { spec });
  const { clock, changes, informer } = follow(server);
  void informer.run();
  await clock.settle();
  server.put('a', { spec, data: { other: '1' } });
  await clock.settle();
  server.put('a', { spec: { ...spec, b: 2 } });
  await clock.settle();
  expect(changes).toEqual([false, true]);
});
