/**
 * Caches with ranges of hashes on a real API server that has ShardedListAndWatch, and on one that
 * has not: the hash is the server's, the cache is the same on both, and who leaves things out is
 * told.
 */
import {
  defineResource,
  fnv1a64,
  type HashRange,
  type KubeObject,
  ListWatch,
  SharedIndexInformer,
} from 'capstan/cache';
import { newClient } from 'capstan/client';
import { kubeConfigTransport } from 'capstan/client-node';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { HashRanges } from '../../bindings/cache/rest/hash-ranges.ts';
import { eventually } from '../helpers/control-plane/conditions.ts';
import { ControlPlane } from '../helpers/control-plane/control-plane.ts';
import { readKubeConfig } from './same-answers/servers.ts';

interface Thing extends KubeObject {
  metadata: { name: string; namespace?: string };
  data?: Record<string, string>;
}
const core = { group: '', version: 'v1' };
const ConfigMap = defineResource<Thing>()({
  ...core,
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
});
const Namespace = defineResource<Thing>()({
  ...core,
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
});
/** Names like those of a real cluster, whose hashes lie in heaps. */
const NAMES = [
  ...Array.from({ length: 20 }, (_, i) => `team-${i}`),
  ...['a', 'z9', 'with-many-parts-in-its-name', 'x'.repeat(63)],
];
const END = 2n ** 64n;

describe.each([true, false])('a server with the gate %s', (gate) => {
  let plane: ControlPlane;
  let transport: ReturnType<typeof kubeConfigTransport>;
  let client: ReturnType<typeof newClient>;
  const namespaces: string[] = [];

  beforeAll(async () => {
    plane = await ControlPlane.start({ gates: gate ? ['ShardedListAndWatch'] : [] });
    transport = kubeConfigTransport(await readKubeConfig(plane));
    client = newClient({ transport });
    for (const name of NAMES) {
      await client.create(Namespace, { metadata: { name } });
      await client.create(ConfigMap, { metadata: { name: 'there', namespace: name } });
    }
    for (const { metadata } of (await client.list(Namespace)).items) namespaces.push(metadata.name);
  });

  afterAll(async () => {
    await transport?.close?.();
    await plane?.stop();
  });

  afterEach(({ task }) => {
    if (task.result?.state === 'fail') plane?.keepLogs();
  });

  const list = async (ranges: HashRange[]) => {
    const shardSelector = HashRanges.of('ranges', ranges, ConfigMap).selector();
    const response = await transport.request({
      method: 'GET',
      path: '/api/v1/configmaps',
      query: { shardSelector },
    });
    let text = '';
    for await (const chunk of response.body) text += Buffer.from(chunk).toString();
    expect(response.status, text.slice(0, 300)).toBe(200);
    const body = JSON.parse(text) as { metadata: { shardInfo?: object }; items: Thing[] };
    return {
      isSharded: body.metadata.shardInfo !== undefined,
      namespaces: new Set(body.items.map(({ metadata }) => metadata.namespace)),
    };
  };

  test('has the hashes of fnv1a64', async () => {
    for (const name of NAMES) {
      const hash = fnv1a64(name);
      const one = await list([{ from: hash, to: hash + 1n }]);
      expect(one.isSharded).toBe(gate);
      if (gate) expect([...one.namespaces]).toEqual([name]);
      const others = await list([
        { from: 0n, to: hash },
        { from: hash + 1n, to: END },
      ]);
      expect(others.namespaces.has(name)).toBe(!gate);
    }
  });

  test.each([{}, { watchList: true }, { metadataOnly: true }])(
    'fills a cache with what its ranges have, through growth and shrinking (%j)',
    async ({ metadataOnly, ...options }: { metadataOnly?: boolean; watchList?: boolean }) => {
      const middle = [...NAMES].map(fnv1a64).sort((a, b) => (a < b ? -1 : 1))[12] as bigint;
      const low: HashRange[] = [{ from: 0n, to: middle }];
      const all: HashRange[] = [{ from: 0n, to: END }];
      const informer = new SharedIndexInformer(
        new ListWatch(transport, ConfigMap, { metadataOnly }),
        { ranges: low, ...options },
      );
      const deleted: string[] = [];
      informer.addEventHandler({
        onDelete: (object) =>
          void deleted.push('metadata' in object ? object.metadata.name : object.key),
      });
      const running = informer.run();
      const expected = async (ranges: HashRange[]): Promise<string[]> => {
        const has = HashRanges.of('ranges', ranges, ConfigMap);
        const { items } = await client.list(ConfigMap);
        return items
          .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
          .filter((key) => has.hasKey(key))
          .sort();
      };
      const has = async (ranges: HashRange[]): Promise<void> => {
        const wanted = (await expected(ranges)).join();
        await eventually('the cache', () =>
          informer.hasRanges() && informer.getIndexer().listKeys().sort().join() === wanted
            ? true
            : `${informer.getIndexer().size()} objects`,
        );
      };
      await has(low);
      const name = `made-${JSON.stringify({ metadataOnly, ...options }).length}`;
      for (const namespace of NAMES.slice(0, 10))
        await client.create(ConfigMap, { metadata: { name, namespace } });
      await has(low);
      const { outsideOfRanges = 0, leftOutBy } = informer.status();
      // shardInfo is no member of the lists of metadata, and a streamed list has no list.
      const isTold = gate && !metadataOnly && !options.watchList;
      expect(leftOutBy).toBe(isTold ? 'server' : gate ? undefined : 'client');
      expect(outsideOfRanges > 0).toBe(!gate);
      informer.setRanges(all);
      await has(all);
      informer.setRanges(low);
      await has(low);
      for (const namespace of NAMES.slice(0, 10)) {
        const object = await client.get(ConfigMap, { namespace, name });
        await client.update(ConfigMap, { ...object, data: { v: '2' } });
      }
      await has(low);
      informer.setRanges([]);
      await has([]);
      informer.setRanges(all);
      await has(all);
      expect(deleted).toEqual([]);
      await informer.stop();
      await running;
    },
  );

  test('splits Namespaces as it splits what is in them', async () => {
    const hash = fnv1a64('team-3');
    const ranges = [{ from: hash, to: hash + 1n }];
    const informer = new SharedIndexInformer(new ListWatch(transport, Namespace), { ranges });
    const running = informer.run();
    await eventually('the cache', () => informer.hasRanges());
    expect(informer.getIndexer().listKeys()).toEqual(['team-3']);
    expect(namespaces.length).toBeGreaterThan(20);
    await informer.stop();
    await running;
  });
});
