/**
 * An informer whose ranges change at random, under random writes and faults, against what the
 * server has. The server applies a shardSelector, ignores it, or refuses it; time is a FakeClock on
 * both sides. The seed is printed.
 */
import {
  fnv1a64,
  type HashRange,
  type KubeObject,
  ListWatch,
  SharedIndexInformer,
} from 'capstan/cache';
import { ApiServer, FakeClock } from 'capstan/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CuttingTransport } from '../../../examples/demo/cutting-transport.ts';
import { type ShardGate, ShardingTransport } from '../../helpers/cache/sharding-transport.ts';
import { randomFault } from '../../helpers/history/random-fault.ts';
import { Random, testSeed } from '../../helpers/random.ts';
import { ignoreErrors } from '../../helpers/reported-errors.ts';
import { ConfigMaps } from '../../helpers/resources.ts';

const seed = testSeed();
console.log(`ranges: CAPSTAN_SEED=${seed}`);
const STEPS = 400;
const ALL = '/api/v1/configmaps';
const NAMESPACES = Array.from({ length: 24 }, (_, i) => `team-${i}`);

ignoreErrors(); // failures are expected

interface State {
  uid: string;
  version: bigint;
}

const stateOf = ({ metadata }: KubeObject): State => {
  const { uid, resourceVersion } = metadata as { uid: string; resourceVersion: string };
  return { uid, version: BigInt(resourceVersion) };
};
const keyOf = ({ metadata }: KubeObject): string => `${metadata?.namespace}/${metadata?.name}`;
const namespaceOf = (key: string): string => key.slice(0, key.indexOf('/'));

/** Ranges whose edges lie at the hashes of namespaces, where an error by one shows. */
function randomRanges(random: Random): HashRange[] {
  const edges = [0n, 2n ** 64n, ...NAMESPACES.map(fnv1a64)].sort((a, b) => (a < b ? -1 : 1));
  const share = random.pick([0, 0.2, 0.5, 0.9, 1]);
  return edges
    .slice(1)
    .flatMap((to, i) => (random.chance(share) ? [{ from: edges[i] as bigint, to }] : []));
}

interface Kind {
  gate: ShardGate;
  watchList?: boolean;
  keep?: 'objects';
  maxBytes?: number;
}

const KINDS: Kind[] = [
  { gate: 'on' },
  { gate: 'off' },
  { gate: 'refuses' },
  { gate: 'on', watchList: true },
  { gate: 'off', watchList: true },
  { gate: 'on', keep: 'objects' },
  { gate: 'off', keep: 'objects' },
  { gate: 'off', maxBytes: 1e6 },
];

/** Which calls a handler must get, and which were wrong. */
class Judge {
  readonly wrong: string[] = [];
  readonly known = new Map<string, State>();
  readonly #live: Map<string, State>;

  constructor(live: Map<string, State>) {
    this.#live = live;
  }

  told(what: 'add' | 'update' | 'delete', object: KubeObject, key = keyOf(object)): void {
    const now = stateOf(object);
    const before = this.known.get(key);
    const is = `${what} of ${key} at ${now.version}`;
    if (what === 'delete') {
      this.known.delete(key);
      if (this.#live.get(key)?.uid === now.uid) this.wrong.push(`${is}: it was not deleted`);
      return;
    }
    if (before !== undefined && what === 'add')
      this.wrong.push(`${is}: known at ${before.version}`);
    if (before === undefined && what === 'update') this.wrong.push(`${is}: unknown`);
    if (before !== undefined && before.version > now.version)
      this.wrong.push(`${is}: after ${before.version}`);
    this.known.set(key, now);
  }

  /** Objects that left the ranges need no call. */
  letGo(has: (key: string) => boolean): void {
    for (const key of this.known.keys()) if (!has(key)) this.known.delete(key);
  }
}

const inRanges =
  (ranges: readonly HashRange[]) =>
  (key: string): boolean => {
    const hash = fnv1a64(namespaceOf(key));
    return ranges.some(({ from, to }) => from <= hash && hash < to);
  };

describe.each(KINDS)('with the gate $gate, watchList $watchList, keep $keep, $maxBytes', (kind) => {
  it.each([0, 1, 2])('has what the server has in its ranges, run %i', async (run) => {
    const { gate, watchList, ...limits } = kind;
    const random = new Random(seed + run);
    const clock = new FakeClock();
    const server = await ApiServer.start({ clock, bookmarkInterval: 2000, historySize: 100_000 });
    const direct = server.transport();
    onTestFinished(async () => {
      await direct.close?.();
      await server.stop();
    });
    for (const name of NAMESPACES) await send('POST', '/api/v1/namespaces', { metadata: { name } });
    const live = new Map<string, State>();
    const judge = new Judge(live);
    async function send(method: string, path: string, body?: object): Promise<KubeObject> {
      const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
      const headers = { 'content-type': type };
      const text = body && JSON.stringify(body);
      const response = await direct.request({ method, path, headers, body: text });
      let json = '';
      for await (const chunk of response.body) json += Buffer.from(chunk).toString();
      if (response.status >= 300) throw new Error(`${method} ${path}: ${response.status} ${json}`);
      return JSON.parse(json) as KubeObject;
    }
    const late: (() => void)[] = [];
    const write = async (): Promise<void> => {
      const namespace = random.pick(NAMESPACES);
      const name = `n${random.int(3)}`;
      const key = `${namespace}/${name}`;
      const base = `/api/v1/namespaces/${namespace}/configmaps`;
      const data = { v: String(random.int(1e6)) };
      if (live.has(key) && random.chance(0.3)) {
        live.delete(key);
        await send('DELETE', `${base}/${name}`);
        return;
      }
      const object = live.has(key)
        ? await send('PATCH', `${base}/${name}`, { data })
        : await send('POST', base, { metadata: { name }, data });
      live.set(key, stateOf(object));
      if (random.chance(0.3)) late.push(() => informer.wrote(object as never));
    };

    let ranges = randomRanges(random);
    const cutting = new CuttingTransport(direct);
    const transport = new ShardingTransport(cutting, gate);
    const informer = new SharedIndexInformer(new ListWatch(transport, ConfigMaps), {
      clock,
      watchList,
      ranges,
      ...limits,
      random: () => random.next(),
    });
    informer.addEventHandler({
      onAdd: (object) => judge.told('add', object),
      onUpdate: (_, object) => judge.told('update', object),
      onDelete: (deleted) => {
        const object = 'obj' in deleted ? (deleted.obj as KubeObject) : deleted;
        judge.told('delete', object as KubeObject);
      },
    });
    for (let i = 0; i < 30; i++) await write();
    const running = informer.run();
    for (let step = 0; step < STEPS; step++) {
      const dice = random.next();
      if (dice < 0.8) await write();
      else if (dice < 0.88) server.inject(randomFault(random, ALL));
      else if (dice < 0.92) cutting.cut();
      else if (dice < 0.93) server.expireHistory();
      else {
        if (random.chance(0.7)) await clock.settle();
        const before = ranges;
        ranges = randomRanges(random);
        if (random.chance(0.2))
          ranges = before; // the same again
        else if (random.chance(0.3)) ranges = before.filter(() => random.chance(0.7));
        informer.setRanges(ranges);
        if (random.chance(0.5)) {
          informer.setRanges(before); // for a moment
          informer.setRanges(ranges);
        }
        // Notifications that are queued may still come; those after them may not.
        await clock.settle();
        judge.letGo(inRanges(ranges));
        for (const key of informer.getIndexer().listKeys())
          if (!inRanges(ranges)(key)) judge.wrong.push(`${key} is cached outside of the ranges`);
        for (const key of [...judge.known.keys()])
          if (informer.getIndexer().getByKey(key) === undefined) judge.known.delete(key);
      }
      if (random.chance(0.3)) for (const tell of late.splice(0)) tell();
      if (random.chance(0.5)) await clock.settle();
      clock.step(random.int(random.chance(0.1) ? 60_000 : 600));
    }

    const expected = [...live]
      .filter(([key]) => inRanges(ranges)(key))
      .map(shown)
      .sort();
    const cached = () =>
      informer
        .getIndexer()
        .list()
        .map((object) => shown([keyOf(object), stateOf(object as KubeObject)]))
        .sort();
    const isDone = (): boolean => informer.hasRanges() && cached().join() === expected.join();
    for (let i = 0; i < 200 && !isDone(); i++) await clock.run(5000);
    expect(cached()).toEqual(expected);
    expect(informer.hasRanges()).toBe(true);
    expect([...judge.known].map(shown).sort()).toEqual(expected);
    expect(judge.wrong).toEqual([]);
    await informer.stop();
    await running;
  });
});

const shown = ([key, { version }]: readonly [string, State]): string => `${key}@${version}`;
