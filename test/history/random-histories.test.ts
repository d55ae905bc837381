/**
 * Informers on the embedded server under random writes and faults; every run is judged by all
 * rules. The faults are those of a correct server and a bad network: with any of them nothing may
 * be lost, invented or reported out of order. The seed is printed; time is a FakeClock, on both
 * sides.
 */
import { defineResource, type KubeObject, ListWatch, SharedIndexInformer } from 'capstan/cache';
import { ApiServer, FakeClock } from 'capstan/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CuttingTransport } from '../../examples/demo/cutting-transport.ts';
import { objectState, truthOf, type View } from '../helpers/history/content.ts';
import { judgeHistory, report } from '../helpers/history/judge.ts';
import { randomFault } from '../helpers/history/random-fault.ts';
import { RecordingHandler, RecordingTransport } from '../helpers/history/recorder.ts';
import { Random, testSeed } from '../helpers/random.ts';
import { ignoreErrors } from '../helpers/reported-errors.ts';
import { ServerLog } from './server-log.ts';

const seed = testSeed();
console.log(`judged faults: CAPSTAN_SEED=${seed}`);

const STEPS = 400;
const NAMESPACE = '/api/v1/namespaces/default/configmaps';
const ConfigMaps = defineResource<KubeObject>()({
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
});

ignoreErrors(); // failures are expected

interface Kind {
  name: string;
  watchList: boolean;
  fifo?: 'delta';
  view?: View;
  labelSelector?: string;
}

const KINDS: Kind[] = [
  { name: 'streamed lists', watchList: true },
  { name: 'lists and watches', watchList: false },
  { name: 'the queue "delta"', watchList: true, fifo: 'delta' },
  { name: 'metadata alone', watchList: false, view: { metadataOnly: true } },
  {
    name: 'a selector',
    watchList: true,
    labelSelector: 'shard=s1',
    view: {
      matches: ({ metadata }) =>
        (metadata as { labels?: Record<string, string> } | undefined)?.labels?.shard === 's1',
    },
  },
];

async function start(random: Random) {
  const clock = new FakeClock();
  const server = await ApiServer.start({ clock, bookmarkInterval: 2000, historySize: 100_000 });
  const transport = server.transport();
  const log = await ServerLog.open(transport, '/api/v1/configmaps');
  onTestFinished(async () => {
    log.close();
    await transport.close?.();
    await server.stop();
  });
  const live = new Set<string>();
  const send = async (method: string, name: string, body?: object): Promise<void> => {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const path = method === 'POST' ? NAMESPACE : `${NAMESPACE}/${name}`;
    const headers = { 'content-type': type };
    const answer = await transport.request({
      method,
      path,
      headers,
      body: body && JSON.stringify(body),
    });
    for await (const _ of answer.body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status}`);
  };
  const write = async (name = `n${random.int(12)}`): Promise<void> => {
    const labels = { shard: `s${random.int(3)}` };
    if (!live.has(name)) {
      live.add(name);
      await send('POST', name, {
        metadata: { name, labels },
        data: { v: String(random.int(1e6)) },
      });
    } else if (random.chance(0.3)) {
      live.delete(name);
      await send('DELETE', name);
    } else {
      await send('PATCH', name, { metadata: { labels }, data: { v: String(random.int(1e6)) } });
    }
  };
  /** All writes. The last object stays, so that a watch that has it has all writes before it. */
  const everything = async () => {
    await send('POST', 'end', { metadata: { name: 'end', labels: { shard: 's1' } } });
    await log.caughtUp('end');
    return log.entries;
  };
  return { clock, server, write, everything };
}

describe.each(KINDS)('an informer with $name', ({ watchList, fifo, view = {}, labelSelector }) => {
  it.each([0, 1])('satisfies every rule under random faults, run %i', async (run) => {
    const random = new Random(seed + run);
    const { clock, server, write, everything } = await start(random);
    const cutting = new CuttingTransport(server.transport());
    const transport = new RecordingTransport(cutting, view);
    const metadataOnly = view.metadataOnly === true;
    const listWatch = new ListWatch(transport, ConfigMaps, {
      namespace: 'default',
      labelSelector,
      metadataOnly,
    });
    const options = { clock, watchList, fifo, resyncPeriod: 7000, random: () => random.next() };
    const informer = new SharedIndexInformer(listWatch, options);
    const handlers: RecordingHandler[] = [];
    const add = (name: string, options: { late?: boolean; resync?: boolean }): void => {
      const handler = new RecordingHandler(name, { ...options, view });
      handlers.push(handler);
      informer.addEventHandler(handler, { resyncPeriod: options.resync ? 7000 : 0 });
    };
    add('early', {});
    add('resynced', { resync: true });
    for (let i = 0; i < 5; i++) await write();
    const running = informer.run();
    for (let step = 0; step < STEPS; step++) {
      const dice = random.next();
      if (dice < 0.85) await write();
      else if (dice < 0.93) server.inject(randomFault(random, NAMESPACE));
      else if (dice < 0.985) cutting.cut();
      else server.expireHistory();
      if (step % 130 === 129) {
        await clock.settle(); // a queued resync would still reach the handler, as in client-go
        add(`late ${step}`, { late: true });
      }
      if (random.chance(0.5)) await clock.settle();
      clock.step(random.int(random.chance(0.1) ? 60_000 : 600));
    }

    const truth = truthOf(await everything(), view);
    const expected = truth.asOf();
    const behind = (): boolean =>
      [
        new Map(informer.getIndexer().list().map(stated)),
        ...handlers.map((handler) => handler.picture()),
      ].some(
        (picture) =>
          picture.size !== expected.size ||
          [...expected].some(([key, { version }]) => picture.get(key) !== version),
      );
    // A silent stream is given up after 150 s, and back-off grows to 60 s; a pending fault adds its
    // own time.
    for (let i = 0; i < 200 && behind(); i++) await clock.run(5000);
    const history = {
      requests: transport.requests,
      handlers: handlers.map(({ record }) => record),
      cache: informer
        .getIndexer()
        .list()
        .map((object) => objectState(object, view)),
      order: fifo === 'delta' ? ('per key' as const) : ('total' as const),
    };
    await informer.stop();
    await running;
    expect(report(judgeHistory(truth, history))).toBe('');
    expect(transport.requests.length, 'it was cut and failed').toBeGreaterThan(10);
  });
});

const stated = (object: KubeObject): [string, bigint] => {
  const { key, version } = objectState(object);
  return [key, version];
};
