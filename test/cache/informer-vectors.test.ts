/**
 * The recorded scenarios of client-go's shared informer: the same script of a server must lead to the same requests, the
 * same notifications in the same order, and the same store.
 */
import { readdirSync, readFileSync } from 'node:fs';
import {
  DeletedFinalStateUnknown,
  defineResource,
  type KubeObject,
  ListWatch,
  type ResourceEventHandler,
  SharedIndexInformer,
} from 'capstan/cache';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../bindings/clock.ts';
import { setErrorHandler } from '../../bindings/handle-error.ts';
import { type ScriptEntry, ScriptedServer } from './scripted-server.ts';

interface ConfigMap extends KubeObject {
  data?: { v?: string };
}

type Seen =
  | { type: 'add'; key: string; rv: string; v: string; isInInitialList: boolean }
  | { type: 'update'; key: string; rv: string; v: string; oldRv: string; oldV: string }
  | { type: 'delete'; key: string; rv: string; v: string; tombstone: boolean };

interface Scenario {
  name: string;
  config: {
    watchList: boolean;
    namespace: string;
    labelSelector: string;
    informerResyncMs: number;
    resyncMs: number[];
    lateHandler: boolean;
    runMs: number;
  };
  script: ScriptEntry[];
  want: {
    requests: (
      | { method: string; path: string; query: Record<string, string>; atMs: number }
      | { refused: true; atMs: number }
    )[];
    notifications: ({ ordered: Seen[] } | { unordered: Seen[]; because: string })[][];
    store: { key: string; rv: string; v: string }[];
    hasSynced: boolean;
    lastSyncResourceVersion: string;
  };
}

const ConfigMaps = defineResource<ConfigMap>()({
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
});

const vectors = new URL('../conformance/vectors/', import.meta.url);

function scenarios(seed: string, subject: string): Scenario[] {
  const lines = readFileSync(new URL(`${seed}/${subject}.jsonl`, vectors), 'utf8')
    .trimEnd()
    .split('\n')
    .slice(1);
  return lines.map((line) => JSON.parse(line) as Scenario);
}

const rvOf = (object: ConfigMap): string => object.metadata?.resourceVersion ?? '';
const dataOf = (object: ConfigMap): string => object.data?.v ?? '';
const keyOf = (object: ConfigMap): string => `${object.metadata?.namespace}/${object.metadata?.name}`;

function recorder(into: Seen[]): ResourceEventHandler<ConfigMap> {
  return {
    onAdd: (object, isInInitialList) => {
      into.push({ type: 'add', key: keyOf(object), rv: rvOf(object), v: dataOf(object), isInInitialList });
    },
    onUpdate: (old, now) => {
      into.push({
        type: 'update',
        key: keyOf(now),
        rv: rvOf(now),
        v: dataOf(now),
        oldRv: rvOf(old),
        oldV: dataOf(old),
      });
    },
    onDelete: (object) => {
      const tombstone = object instanceof DeletedFinalStateUnknown;
      const last = tombstone ? object.obj : object;
      if (last === undefined) throw new Error('a tombstone without an object');
      into.push({
        type: 'delete',
        key: tombstone ? object.key : keyOf(last),
        rv: rvOf(last),
        v: dataOf(last),
        tombstone,
      });
    },
  };
}

async function replay({ config, script }: Scenario) {
  const clock = new FakeClock();
  const server = new ScriptedServer(clock, script);
  const { namespace, labelSelector } = config;
  const listWatch = new ListWatch(server, ConfigMaps, { namespace, labelSelector });
  const errors: unknown[] = [];
  const informer = new SharedIndexInformer(listWatch, {
    clock,
    random: () => 0.5,
    resyncPeriod: config.informerResyncMs,
    watchList: config.watchList,
    watchErrorHandler: (error) => errors.push(error),
  });
  const seen: Seen[][] = config.resyncMs.map(() => []);
  config.resyncMs.forEach((resyncPeriod, i) => {
    informer.addEventHandler(recorder(seen[i] ?? []), { resyncPeriod });
  });
  const running = informer.run();
  for (let ms = 0; !server.isQuiet() && ms < 400_000; ms += PAUSE_MS) await clock.run(PAUSE_MS);
  await clock.settle();
  if (config.lateHandler) {
    const late: Seen[] = [];
    seen.push(late);
    informer.addEventHandler(recorder(late));
    await clock.settle();
  }
  await clock.run(config.runMs);
  const store = informer
    .getIndexer()
    .list()
    .map((object) => ({ key: keyOf(object), rv: rvOf(object), v: dataOf(object) }));
  const result = {
    requests: server.seen,
    seen,
    store: store.sort((a, b) => (a.key < b.key ? -1 : 1)),
    hasSynced: informer.hasSynced(),
    lastSyncResourceVersion: informer.lastSyncResourceVersion(),
  };
  await informer.stop();
  await running;
  expect(informer.isStopped()).toBe(true);
  expect(clock.timers(), 'timers left behind').toBe(0);
  return result;
}

const PAUSE_MS = 10;

function sortedText(list: Seen[]): string[] {
  return list.map((one) => JSON.stringify(one)).sort();
}

/** Consumes what was seen group by group; an unordered group matches in any order. */
function compareGroups(seen: Seen[], groups: Scenario['want']['notifications'][number]): void {
  let at = 0;
  for (const group of groups) {
    if ('ordered' in group) {
      expect(seen.slice(at, at + group.ordered.length)).toEqual(group.ordered);
      at += group.ordered.length;
    } else {
      expect(sortedText(seen.slice(at, at + group.unordered.length))).toEqual(sortedText(group.unordered));
      at += group.unordered.length;
    }
  }
  expect(seen.slice(at)).toEqual([]);
}

/** Jitter is random in d to 2d on both sides, so two delays may differ by a factor of 2; what is below 800 ms has none. */
function compareRequests(got: ScriptedServer['seen'], want: Scenario['want']['requests']): void {
  const withoutTime = (list: ScriptedServer['seen']) =>
    list.map((request) => {
      if ('refused' in request) return 'refused';
      const { timeoutSeconds, ...query } = request.query;
      return { method: request.method, path: request.path, query };
    });
  expect(withoutTime(got)).toEqual(withoutTime(want));
  got.forEach((request, i) => {
    const gap = request.atMs - (got[i - 1]?.atMs ?? 0);
    const wanted = (want[i]?.atMs ?? 0) - (want[i - 1]?.atMs ?? 0);
    if (wanted < 800) expect(gap, `before request ${i}`).toBe(wanted);
    else expect(gap / wanted, `before request ${i}`).toSatisfy((ratio: number) => ratio >= 0.5 && ratio <= 2);
    if ('query' in request && request.query.watch === 'true') {
      expect(Number(request.query.timeoutSeconds)).toSatisfy(
        (s: number) => Number.isInteger(s) && s >= 300 && s <= 600,
      );
    }
  });
}

function suite(seed: string, subject: string): void {
  describe(`${subject}, ${seed}`, () => {
    for (const scenario of scenarios(seed, subject)) {
      test(scenario.name, async () => {
        const previous = setErrorHandler(() => undefined); // objects of another kind are reported
        try {
          const got = await replay(scenario);
          compareRequests(got.requests, scenario.want.requests);
          expect(got.seen.length).toBe(scenario.want.notifications.length);
          got.seen.forEach((seen, i) => {
            compareGroups(seen, scenario.want.notifications[i] ?? []);
          });
          expect(got.store).toEqual(scenario.want.store);
          expect(got.hasSynced).toBe(scenario.want.hasSynced);
          expect(got.lastSyncResourceVersion).toBe(scenario.want.lastSyncResourceVersion);
        } finally {
          setErrorHandler(previous);
        }
      });
    }
  });
}

suite('seed-1', 'informer');
for (const seed of readdirSync(vectors).sort()) suite(seed, 'informer-random');
