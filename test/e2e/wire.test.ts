/** What informers ask of a real API server about the form of its answers, and what it answers. */
import {
  type ListWatchOptions,
  list,
  newSharedInformerFactory,
  type Transport,
  waitForCacheSync,
} from 'capstan/cache';
import { newClient } from 'capstan/client';
import { kubeConfigTransport } from 'capstan/client-node';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { ControlPlane } from '../helpers/control-plane/control-plane.ts';
import { type ConfigMap, ConfigMaps, configMap } from '../helpers/resources.ts';
import { readKubeConfig } from './same-answers/servers.ts';

/** Together more than the 128 KiB from which a kube-apiserver compresses. */
const COUNT = 200;

interface Answer {
  accept: string | undefined;
  encoding: string | null;
}

describe.each(['auto', false] as const)('on a real server, with http2: %s', (http2) => {
  let plane: ControlPlane;
  let transport: Transport;
  const answers: Answer[] = [];
  beforeAll(async () => {
    plane = await ControlPlane.start();
    const direct = kubeConfigTransport(await readKubeConfig(plane), { http2 });
    transport = {
      close: async () => direct[Symbol.asyncDispose](),
      async request(request) {
        const response = await direct.request(request);
        const encoding = response.headers.get('content-encoding');
        answers.push({ accept: request.headers?.accept, encoding });
        return response;
      },
    };
    const client = newClient({ transport });
    const made = Array.from({ length: COUNT }, (_, i) =>
      configMap(`c${i}`, { v: 'x'.repeat(1000) }),
    );
    await Promise.all(made.map((object) => client.create(ConfigMaps, object)));
  });
  afterAll(async () => {
    await transport?.close?.();
    await plane?.stop();
  });
  afterEach(({ task }) => {
    if (task.result?.state === 'fail') plane?.keepLogs();
  });

  const read = async (compression: ListWatchOptions['compression']) => {
    answers.length = 0;
    const { items } = await list(transport, ConfigMaps, {
      namespace: 'default',
      compression,
      pageSize: 0,
    });
    return items as ConfigMap[];
  };

  test('a list by gzip has the same objects as an uncompressed one', async () => {
    const compressed = await read('gzip');
    expect(answers.map(({ encoding }) => encoding)).toEqual(['gzip']);
    const plain = await read('auto'); // the server is on this machine
    expect(answers.map(({ encoding }) => encoding)).toEqual([null]);
    expect(compressed).toEqual(plain);
    expect(compressed.filter(({ metadata }) => /^c\d+$/.test(metadata.name))).toHaveLength(COUNT);
  });

  test('a server that does not know the parameter `drop` ignores it', async () => {
    answers.length = 0;
    const factory = newSharedInformerFactory(transport, {
      namespace: 'default',
      compression: 'gzip',
    });
    const stop = new AbortController();
    const informer = factory.informerFor(ConfigMaps);
    const metadata = factory.informerFor(ConfigMaps, { metadataOnly: true });
    const running = [informer, metadata].map((one) => one.run({ signal: stop.signal }));
    await waitForCacheSync({ signal: AbortSignal.timeout(30_000) }, informer, metadata);
    await expect.poll(() => answers.length).toBe(4); // two lists, two watches
    for (const { accept } of answers) expect(accept).toContain(';drop=metadata.managedFields,');
    // the list of metadata is too short
    expect(answers.filter(({ encoding }) => encoding === 'gzip')).toHaveLength(1);
    const watched = async (name: string) => {
      for (const one of [informer, metadata])
        await expect.poll(() => one.getIndexer().getByKey(`default/${name}`)).toBeDefined();
    };
    await newClient({ transport }).create(ConfigMaps, configMap('later', { v: '1' }));
    await watched('later');
    stop.abort();
    await Promise.all(running);
  });
});
