/**
 * informer, informer-random: a shared informer against a server that follows a script. It must send
 * the same requests and notifications in the same order, and have the same store.
 *
 * Values that are open within bounds are replaced by the recorded ones if they are within them: the
 * pauses of the back-off, the time-out of a watch, the order within a group that client-go took
 * from a map.
 */
import {
  DeletedFinalStateUnknown,
  defineResource,
  type KubeObject,
  ListWatch,
  type ResourceEventHandler,
  SharedIndexInformer,
} from 'capstan/cache';
import { FakeClock, setErrorHandler } from 'capstan/workqueue';
import type { Observed, TraceStep, TraceSubject } from '../runner.ts';
import { sameValue } from '../same-value.ts';
import { unknownOp } from './fields.ts';
import { SCRIPT_PAUSE_MS, type ScriptEntry, ScriptedServer } from './scripted-server.ts';

interface ConfigMap extends KubeObject {
  data?: { v?: string };
}

type Seen =
  | { type: 'add'; key: string; rv: string; v: string; isInInitialList: boolean }
  | { type: 'update'; key: string; rv: string; v: string; oldRv: string; oldV: string }
  | { type: 'delete'; key: string; rv: string; v: string; tombstone: boolean };

type Group = { ordered: readonly Seen[] } | { unordered: readonly Seen[]; because: string };

type WantedRequest =
  | { method: string; path: string; query: Record<string, string>; atMs: number }
  | { refused: true; atMs: number };

interface Scenario {
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
    requests: WantedRequest[];
    notifications: Group[][];
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

const rvOf = (object: ConfigMap): string => object.metadata?.resourceVersion ?? '';
const dataOf = (object: ConfigMap): string => object.data?.v ?? '';
const keyOf = (object: ConfigMap): string =>
  `${object.metadata?.namespace}/${object.metadata?.name}`;

function recorder(into: Seen[]): ResourceEventHandler<ConfigMap> {
  return {
    onAdd: (object, isInInitialList) => {
      into.push({
        type: 'add',
        key: keyOf(object),
        rv: rvOf(object),
        v: dataOf(object),
        isInInitialList,
      });
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

async function replay({ config, script, want }: Scenario): Promise<Observed> {
  const clock = new FakeClock();
  const server = new ScriptedServer(clock, script);
  const { namespace, labelSelector } = config;
  const listWatch = new ListWatch(server, ConfigMaps, { namespace, labelSelector });
  const informer = new SharedIndexInformer(listWatch, {
    clock,
    random: () => 0.5,
    resyncPeriod: config.informerResyncMs,
    watchList: config.watchList,
    watchErrorHandler: () => undefined, // the script's failures
  });
  const seen: Seen[][] = [];
  const listen = (options: { resyncPeriod?: number }): void => {
    const list: Seen[] = [];
    seen.push(list);
    informer.addEventHandler(recorder(list), options);
  };
  for (const resyncPeriod of config.resyncMs) listen({ resyncPeriod });
  const running = informer.run();
  for (let ms = 0; !server.isQuiet() && ms < LONGEST_SCRIPT_MS; ms += SCRIPT_PAUSE_MS)
    await clock.run(SCRIPT_PAUSE_MS);
  await clock.settle();
  if (config.lateHandler) {
    listen({});
    await clock.settle();
  }
  await clock.run(config.runMs);
  const store = informer
    .getIndexer()
    .list()
    .map((object) => ({ key: keyOf(object), rv: rvOf(object), v: dataOf(object) }));
  const result = {
    requests: requestsAsRecorded(server.seen, want.requests),
    notifications: seen.map((list, i) => inGroups(list, want.notifications[i] ?? [])),
    store: store.sort((a, b) => (a.key < b.key ? -1 : 1)),
    hasSynced: informer.hasSynced(),
    lastSyncResourceVersion: informer.lastSyncResourceVersion(),
  };
  await informer.stop();
  await running;
  if (!informer.isStopped()) throw new Error('the informer has not stopped');
  if (clock.timers() > 0) throw new Error(`the informer left ${clock.timers()} timers behind`);
  return { want: result };
}

const LONGEST_SCRIPT_MS = 400_000;

/**
 * The notifications, cut into the groups of the recording; if a group's order is open, in the
 * recorded order.
 */
function inGroups(seen: readonly Seen[], groups: readonly Group[]): Group[] {
  const sorted = (list: readonly Seen[]): string[] => list.map((one) => JSON.stringify(one)).sort();
  let at = 0;
  const found = groups.map((group): Group => {
    const size = 'ordered' in group ? group.ordered.length : group.unordered.length;
    const part = seen.slice(at, at + size);
    at += size;
    if ('ordered' in group) return { ordered: part };
    const { unordered, because } = group;
    return { unordered: sameValue(sorted(part), sorted(unordered)) ? unordered : part, because };
  });
  return at < seen.length ? [...found, { ordered: seen.slice(at) }] : found;
}

/**
 * Jitter is random in d to 2d on both sides, so two delays may differ by a factor of 2; what is
 * below 800 ms has none.
 */
function requestsAsRecorded(
  seen: ScriptedServer['seen'],
  want: readonly WantedRequest[],
): WantedRequest[] {
  return seen.map((request, i) => {
    const gap = request.atMs - (seen[i - 1]?.atMs ?? 0);
    const recordedAt = want[i]?.atMs ?? 0;
    const recorded = recordedAt - (want[i - 1]?.atMs ?? 0);
    const close =
      recorded < JITTER_FROM_MS ? gap === recorded : gap >= recorded / 2 && gap <= recorded * 2;
    const atMs = close ? recordedAt : request.atMs;
    if ('refused' in request) return { refused: true, atMs };
    const { timeoutSeconds, ...query } = request.query;
    const { method, path } = request;
    const asked = Number(timeoutSeconds);
    const open = query.watch === 'true' && Number.isInteger(asked) && asked >= 300 && asked <= 600;
    return {
      method,
      path,
      query: open || timeoutSeconds === undefined ? query : request.query,
      atMs,
    };
  });
}

const JITTER_FROM_MS = 800;

export const informer: TraceSubject = {
  observes: ['want'],
  begin: () => ({
    async step(step: TraceStep): Promise<Observed> {
      if (step.op !== 'scenario') throw unknownOp(step);
      const previous = setErrorHandler(() => undefined); // objects of another kind are reported
      try {
        return await replay(step as unknown as Scenario);
      } finally {
        setErrorHandler(previous);
      }
    },
  }),
};
