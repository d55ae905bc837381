/**
 * A replica of shards, as in a real program: `replica-process.ts KUBECONFIG JOURNAL IDENTITY
 * [BEHAVIOUR]`. Its controller copies `data.want` of ConfigMaps to `data.done`. It writes what it
 * does to the journal at once, so that nothing is lost when it is killed. SIGTERM hands its slots
 * over and ends it. After SIGUSR2 it stops itself, by SIGSTOP, at the moment that BEHAVIOUR says.
 */
import { openSync, writeSync } from 'node:fs';
import { KubeConfig } from '@kubernetes/client-node';
import { kubeConfigTransport } from 'capstan/client-node';
import { type Logger, newControllerManagedBy } from 'capstan/controller';
import { ConfigMap } from 'capstan/kinds';
import { newManager } from 'capstan/manager';
import { slotsOfText } from '../../../bindings/shards/slots.ts';
import type { ShardLogEntry } from '../../helpers/shards/judge-shards.ts';
import { type Behaviour, GROUP, SHARD_DURATIONS, WORK_MS } from './settings.ts';

const [kubeconfig = '', journal = '', identity = '', behaviour = '{}'] = process.argv.slice(2);
const { stops, writes = 'update' }: Behaviour = JSON.parse(behaviour);

// Before the journal exists: a process with a journal ends gracefully.
const end = new AbortController();
process.on('SIGTERM', () => end.abort());

const file = openSync(journal, 'a');
/** CLOCK_MONOTONIC, which all processes of a machine share, in milliseconds. */
const now = (): number => Number(process.hrtime.bigint()) / 1e6;
const write = (entry: ShardLogEntry): void => void writeSync(file, `${JSON.stringify(entry)}\n`);
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

let isArmed = false;
process.on('SIGUSR2', () => {
  isArmed = true;
});
function stop(): void {
  isArmed = false;
  write({ kind: 'stops', at: now() });
  process.kill(process.pid, 'SIGSTOP');
}

/** The log says when slots open and close. */
const KINDS: Readonly<Record<string, 'opens' | 'closes'>> = {
  'a slot opens': 'opens',
  'a slot closes': 'closes',
};
const closed = new Set<number>();
const logger: Logger = {
  debug(message, fields) {
    const kind = KINDS[message];
    if (kind === undefined) return;
    const slot = Number(fields?.slot);
    write({ kind, at: now(), slot });
    if (kind === 'opens') closed.delete(slot);
    else closed.add(slot);
    if (kind === 'closes' && isArmed && stops === 'closed') stop();
  },
  info: console.info,
  warn: console.warn,
  error: console.error,
};

const config = new KubeConfig();
config.loadFromFile(kubeconfig);
const network = kubeConfigTransport(config);
/** The network, and this process stops itself immediately before a request. */
const transport: typeof network = {
  ...network,
  request(request) {
    const { method, path, body } = request;
    const isWrite = method === 'PUT' || method === 'PATCH';
    if (isArmed && isWrite) {
      if (stops === 'before a write' && path.includes('/configmaps/item-')) stop();
      if (stops === 'before it acknowledges' && letsGo(path, String(body))) stop();
    }
    return network.request(request);
  },
};
const manager = newManager({
  transport,
  logger,
  shards: {
    ...GROUP,
    ...SHARD_DURATIONS,
    replica: identity,
    strictWrites: writes === 'strict patch',
  },
});

/** Whether a request acknowledges that a closed slot is let go. */
function letsGo(path: string, body: string): boolean {
  if (!path.includes(`/leases/${GROUP.id}-`)) return false;
  const { annotations } = JSON.parse(body).metadata;
  const holding = slotsOfText(JSON.parse(annotations['capstan.dev/shard-state']).holding) ?? [];
  return [...closed].some((slot) => !holding.includes(slot));
}

let runs = 0;
newControllerManagedBy(manager)
  .for(ConfigMap, {
    predicates: [
      {
        delete({ object }) {
          const { namespace, name } = object.metadata ?? {};
          const key = `${namespace}/${name}`;
          if (name !== GROUP.id) write({ kind: 'deleted', at: now(), key }); // not the map
          return false;
        },
      },
    ],
  })
  .withOptions({ maxConcurrentReconciles: 8 })
  .complete(async (request) => {
    const object = await manager.client.get(ConfigMap, request);
    const { want, done } = object.data ?? {};
    if (want === undefined || want === done) return; // nothing to do, or the map
    const run = ++runs;
    write({ kind: 'begin', at: now(), key: `${request.namespace}/${request.name}`, run });
    try {
      await sleep(WORK_MS * Math.random());
      const sentAt = now();
      const { metadata } = object;
      if (writes === 'update')
        await manager.client.update(ConfigMap, { metadata, data: { want, done: want } });
      else {
        const body = { data: { done: want } };
        await manager.client.patch(ConfigMap, request, { type: 'merge', body });
      }
      write({ kind: 'wrote', at: now(), sentAt, run });
    } catch (error) {
      const { code = 'other', message } = error as { code?: string; message: string };
      write({ kind: 'refused', at: now(), run, message });
      if (code !== 'SHARD_NOT_OWNED') throw error;
    } finally {
      write({ kind: 'end', at: now(), run });
    }
  });

setInterval(() => {
  const { user, system } = process.cpuUsage();
  const cpuMs = (user + system) / 1000;
  write({ kind: 'usage', at: now(), cpuMs, memory: process.memoryUsage() });
}, 1000).unref();

await manager.start({ signal: end.signal });
await network.close?.();
process.exit(0);
