/**
 * Short runs of the cache benchmarks: they send the Pods of the peers, each measured process checks
 * its result, and the figures are complete. They run the built package.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { FAULT_SCRIPTS, FaultyServer } from '../../bench/cache/fault-scripts.ts';
import { informerGoals } from '../../bench/cache/informers.ts';
import {
  BYTES_PEERS,
  type CacheMemory,
  type CachePauses,
  MEMORY_PEERS,
  PAUSES_PEERS,
  TURNS,
  type TurnFigures,
} from '../../bench/cache/peers.ts';
import {
  chunksOf,
  frameText,
  keyOf,
  listTexts,
  podText,
  randomUpdates,
} from '../../bench/cache/pod-bytes.ts';
import { appOf, variedKeyOf, variedPodText } from '../../bench/cache/varied-pods.ts';
import { PACE_KINDS, PACE_READERS, type PaceFigures } from '../../bench/controller/pace-objects.ts';
import type { Figure } from '../../bench/measure/figures.ts';
import { spread, verdictOf } from '../../bench/measure/rounds.ts';
import { withServer } from '../../bench/measure/servers.ts';
import { pod } from '../../bench/peers/pods.mjs';

const run = promisify(execFile);
const LIVE = 600;
const LIMIT = { timeout: 60_000 };

async function load<R>(script: string, ...args: (string | number)[]): Promise<R> {
  const path = fileURLToPath(new URL(`../../bench/${script}`, import.meta.url));
  const { stdout } = await run(process.execPath, ['--expose-gc', path, ...args.map(String)]);
  return JSON.parse(stdout) as R;
}

/** A Pod without managedFields, as the informer keeps it. */
const kept = (text: string) => {
  const pod = JSON.parse(text);
  delete pod.metadata.managedFields;
  return pod;
};

const bytesOf = (texts: Iterable<string>): string => Buffer.concat([...chunksOf(texts)]).toString();

describe('Pods as bytes', () => {
  it('equal the Pods of the peers', () => {
    for (const i of [0, 7, 4_711, 99_999]) {
      const one = pod(i, 5 + i, 3);
      expect(podText(i, 5 + i, 3)).toBe(JSON.stringify(one));
      expect(keyOf(i)).toBe(`${one.metadata.namespace}/${one.metadata.name}`);
    }
  });

  it('come in lists and pages of valid JSON, in chunks of 64 KiB', () => {
    const list = JSON.parse(bytesOf(listTexts(3, 40, 99, 'more')));
    expect(list.metadata).toEqual({ resourceVersion: '99', continue: 'more' });
    expect(list.items).toEqual(Array.from({ length: 40 }, (_, i) => pod(3 + i)));
    expect([...chunksOf(listTexts(0, 40, 99))].map((chunk) => chunk.length).slice(0, -1)).toEqual([
      65_536, 65_536,
    ]);
  });

  it('are updated in a fixed order, each with the next version', () => {
    const [a, b] = [randomUpdates(LIVE), randomUpdates(LIVE)];
    const updates = Array.from({ length: 50 }, () => a());
    expect(Array.from({ length: 50 }, () => b())).toEqual(updates);
    expect(updates.map(({ version }) => version)).toEqual(
      Array.from({ length: 50 }, (_, i) => LIVE + 1 + i),
    );
    const { pod: which, version, node } = updates[0] as (typeof updates)[number];
    expect(JSON.parse(frameText({ pod: which, version, node }))).toEqual({
      type: 'MODIFIED',
      object: pod(which, version, node),
    });
  });
});

describe('varied Pods', () => {
  it('of a Deployment differ in some members, of 3.7 KB on average', () => {
    const texts = Array.from({ length: 2000 }, (_, i) => variedPodText(i * 37, 5 + i));
    const pods = texts.map(kept);
    const bytes = pods.reduce((sum, one) => sum + JSON.stringify(one).length, 0) / pods.length;
    expect(bytes).toBeGreaterThan(3600);
    expect(bytes).toBeLessThan(3850);
    pods.forEach(({ metadata }, i) => {
      expect(`${metadata.namespace}/${metadata.name}`).toBe(variedKeyOf(i * 37));
      expect(metadata.labels.app).toBe(appOf(i * 37));
    });
    expect(new Set(pods.map(({ metadata }) => metadata.uid)).size).toBe(pods.length);
    const owners = [20, 39, 40].map((i) => kept(variedPodText(i, 1)).metadata.ownerReferences);
    expect(owners[1]).toEqual(owners[0]);
    expect(owners[2]).not.toEqual(owners[0]);
  });
});

describe('verdicts', () => {
  it('report a missed goal with the goal', () => {
    expect(verdictOf('memory', 0.45, 0.45)).toBe('memory: 0.45, goal 0.45: met');
    expect(verdictOf('memory', 0.46, 0.45)).toBe('memory: 0.46, goal 0.45: MISSED');
    expect(spread([3, 1, 2])).toEqual({ median: 2, min: 1, max: 3 });
  });

  it('of informers compare CPU with each measured peer', () => {
    const figure = (peer: string, cpu: number, work = 'informer'): Figure => ({
      peer,
      work,
      n: 1,
      ns: 1,
      cpu,
    });
    const own = [figure('capstan', 12_000), figure('capstan', 25_000, 'informer-spec')];
    expect(informerGoals(own, false)).toEqual([]);
    const all = [...own, figure('client-node', 30_000), figure('null-reader', 6_000)];
    const lines = informerGoals(all, false);
    expect(lines).toEqual([
      expect.stringMatching(/minus the null reader's: 6\.00, goal 7\.00: met$/),
      expect.stringMatching(/informer: .*client-node's: 0\.400, goal 0\.400: met$/),
      expect.stringMatching(/informer-spec: .*client-node's: 0\.833, goal 0\.667: MISSED$/),
    ]);
    expect(informerGoals(all, true), 'none of them has been warmed up').toEqual([]);
    const warm = [
      figure('capstan', 9_000, 'informer-warm'),
      figure('client-node', 30_000, 'informer-warm'),
    ];
    expect(informerGoals([...all, ...warm], true)).toEqual([
      "informer-warm: our CPU of client-node's: 0.300, goal 0.400: met",
    ]);
  });
});

describe('a server of faults', () => {
  const named = (name: string) =>
    FAULT_SCRIPTS.find((script) => script.name === name) as (typeof FAULT_SCRIPTS)[number];

  it('plays its script once, and then answers normally', async () => {
    const server = await FaultyServer.start(named('lists: 500 twice'));
    const list = async (): Promise<number> => (await fetch(`${server.url}/api/v1/pods`)).status;
    expect([await list(), await list(), await list(), await list()]).toEqual([500, 500, 200, 200]);
    expect([server.lists, server.watches]).toEqual([4, 0]);
    server.stop();
  });

  it('counts the requests of our informer until it has synced', LIMIT, async () => {
    const server = await FaultyServer.start(named('watches: 429, Retry-After 1, three times'));
    const figure = await load<Figure>('cache/capstan-informer.ts', server.url, 1);
    expect(figure).toMatchObject({ peer: 'capstan', work: 'informer', n: 1 });
    expect([server.lists, server.watches]).toEqual([1, 4]);
    server.stop();
  });
});

describe('the measured processes', () => {
  it.each(BYTES_PEERS)('take updates from memory: %s', LIMIT, async (peer) => {
    const figure = await load<Figure>(
      'cache/bytes-load.ts',
      '--peer',
      peer,
      '--live',
      LIVE,
      '--events',
      400,
    );
    expect(figure).toMatchObject({ peer, work: 'cache-bytes', n: LIVE });
    expect(figure.ns).toBeGreaterThan(0);
    expect(figure.cpu).toBeGreaterThan(0);
  });

  it
    .skipIf(process.platform !== 'linux')
    .each(MEMORY_PEERS.flatMap((peer) => [[peer, 'same'] as const, [peer, 'varied'] as const]))(
    'measure memory: %s, Pods %s',
    LIMIT,
    async (peer, pods) => {
      const served = peer === 'empty-informer' ? '0' : String(LIVE);
      await withServer('cache/pods-server.ts', [served, pods], async (url) => {
        const common = ['--peer', peer, '--pods', pods, '--live', LIVE];
        const args = [...common, '--settle', 1, '--port', new URL(url).port];
        const memory = await load<CacheMemory>('cache/memory-load.ts', ...args);
        // With so few Pods, the engine's own allocations matter: a tolerance of 1 % failed once on
        // a busy machine.
        expect(memory.listPeak).toBeGreaterThan(0.9 * memory.listed);
        if (peer === 'capstan')
          expect(memory.relistPeak).toBeGreaterThan(0.9 * (memory.relisted ?? Infinity));
      });
    },
  );

  it.each(TURNS)('measure the turns of %s', LIMIT, async (work) => {
    await withServer('cache/pods-server.ts', ['1000'], async (url) => {
      const args = ['--work', work, '--live', 1000, '--port', new URL(url).port];
      const turns = await load<TurnFigures>('cache/turns-load.ts', ...args);
      expect(turns.work).toBe(work);
      for (const figure of [turns.late, turns.turnCpu, turns.totalMs])
        expect(figure).toBeGreaterThan(0);
    });
  });

  it.each(
    PACE_READERS.map((reader, i) => ({
      reader,
      kind: PACE_KINDS[i % 2] as string,
      wire: ['http', 'https', 'http2'][i % 3] as string,
    })),
  )('measure events one by one: $reader, $kind, $wire', LIMIT, async ({ reader, kind, wire }) => {
    await withServer('controller/pace-server.ts', [kind, wire, '50', '200', '0'], async (http) => {
      const url = wire === 'http' ? http : http.replace('http:', 'https:');
      const figures = await load<PaceFigures>(
        'controller/pace-load.ts',
        url,
        reader,
        kind,
        wire,
        50,
        200,
      );
      expect(figures.reader).toBe(reader);
      expect(figures.cpu).toBeGreaterThan(0);
      expect(figures.cpuWithList).toBeGreaterThan(figures.cpu);
      // a queue may merge two versions of one object
      expect(figures.handled).toBeGreaterThanOrEqual(50);
      expect(figures.handled).toBeLessThanOrEqual(200);
    });
  });

  it.each(PAUSES_PEERS)('measure pauses: %s', LIMIT, async (peer) => {
    await withServer('cache/pods-server.ts', [String(LIVE)], async (url) => {
      const args = [
        '--peer',
        peer,
        '--seconds',
        1,
        '--live',
        LIVE,
        '--rate',
        500,
        '--port',
        new URL(url).port,
      ];
      const pauses = await load<CachePauses>('cache/pauses-load.ts', ...args);
      expect(pauses.events).toBeGreaterThan(100);
      const { p50, p99, p999, max } = pauses;
      expect([p50, p99, p999, max]).toEqual([p50, p99, p999, max].toSorted((a, b) => a - b));
      expect(pauses.cpuMs).toBeGreaterThan(0);
    });
  });
});
