/**
 * Replicas as processes, each with its own proxy to the API server and its journal, and somebody
 * who changes the objects all the time.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Client, newClient } from 'capstan/client';
import { kubeConfigTransport } from 'capstan/client-node';
import { ConfigMap, Namespace } from 'capstan/kinds';
import { readShards, type ShardOverview } from 'capstan/manager';
import type { Program } from '../../../bindings/testing/envtest/program.ts';
import { eventually, pauseUntil } from '../../helpers/control-plane/conditions.ts';
import { ControlPlane } from '../../helpers/control-plane/control-plane.ts';
import type { Random } from '../../helpers/random.ts';
import type { ShardLogEntry, ShardProcessLog } from '../../helpers/shards/judge-shards.ts';
import { CuttingProxy } from '../history/cutting-proxy.ts';
import { readKubeConfig } from '../same-answers/servers.ts';
import { type Behaviour, GROUP, LOAD, SHARD_DURATIONS } from './settings.ts';

/** CLOCK_MONOTONIC, which all processes of a machine share, in milliseconds. */
export const sharedNow = (): number => Number(process.hrtime.bigint()) / 1e6;

/** The path of the program of a replica. */
export const REPLICA: string = fileURLToPath(new URL('./replica-process.ts', import.meta.url));

const END_MS = 40_000;
const SETTLE_MS = 180_000; // a busy machine

/** How a replica differs from the others. */
export interface FleetMemberOptions {
  readonly behaviour?: Behaviour;
  /** The later release that it is of: see later-release.ts. Default: this release. */
  readonly later?: 'fields' | 'format' | undefined;
  /** The path of its program. Default: replica-process.ts. */
  readonly program?: string;
}

export class FleetMember {
  readonly identity: string;
  readonly proxy: CuttingProxy;
  isLeaving = false;
  readonly #program: Program;
  readonly #journal: string;
  readonly #stops: { from: number; to: number }[] = [];
  #killedAt = Number.POSITIVE_INFINITY;

  private constructor(identity: string, proxy: CuttingProxy, program: Program, journal: string) {
    this.identity = identity;
    this.proxy = proxy;
    this.#program = program;
    this.#journal = journal;
  }

  static async start(
    plane: ControlPlane,
    identity: string,
    { behaviour = {}, later, program: path = REPLICA }: FleetMemberOptions = {},
  ): Promise<FleetMember> {
    const proxy = await CuttingProxy.start(Number(new URL(plane.url).port));
    const kubeconfig = join(plane.folder, `kubeconfig-${identity}`);
    const direct = readFileSync(plane.kubeconfig, 'utf8');
    writeFileSync(kubeconfig, direct.replaceAll(plane.url, `https://127.0.0.1:${proxy.port}`), {
      mode: 0o600,
    });
    const journal = join(plane.folder, `journal-${identity}`);
    const hooks = new URL(`./later-release.ts?${later}`, import.meta.url).href;
    const program = plane.run(identity, process.execPath, [
      ...(later === undefined ? [] : ['--import', hooks]),
      ...[path, kubeconfig, journal, identity, JSON.stringify(behaviour)],
    ]);
    return new FleetMember(identity, proxy, program, journal);
  }

  entries(): ShardLogEntry[] {
    if (!existsSync(this.#journal)) return [];
    const text = readFileSync(this.#journal, 'utf8');
    const whole = text.slice(0, text.lastIndexOf('\n') + 1); // a line may be incomplete
    return whole.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
  }

  log(): ShardProcessLog {
    const { identity } = this;
    return { identity, entries: this.entries(), stops: this.#stops, killedAt: this.#killedAt };
  }

  /** Throws if it has ended by itself. */
  requireAlive(): void {
    const ended = this.#program.ended();
    if (ended !== undefined) throw new Error(`${ended}\n${this.#program.tail()}`);
  }

  /** Whether it has ended because a later release has written the map. */
  isOutdated(): boolean {
    return this.#program.ended() !== undefined && this.#program.output().includes('SHARD_OUTDATED');
  }

  /** Asks it to hand over and end, and does not wait. */
  leave(): void {
    this.isLeaving = true;
    this.#program.signal('SIGTERM');
  }

  /** Resolves with its exit code when it has ended. */
  async ended(): Promise<number | string> {
    const how = await this.#program.exited(END_MS);
    await this.proxy.stop();
    return how;
  }

  /** The last lines of its output. */
  tail(): string {
    return this.#program.tail();
  }

  /** Resolves when it has stopped itself at the moment of its `behaviour`. */
  async stopsItself(): Promise<void> {
    const count = (): number => this.entries().filter(({ kind }) => kind === 'stops').length;
    const before = count();
    this.#program.signal('SIGUSR2');
    await eventually(`${this.identity} stops itself`, () => count() > before);
    const stop = this.entries().findLast(({ kind }) => kind === 'stops');
    this.#stops.push({ from: stop?.at ?? 0, to: Number.POSITIVE_INFINITY });
  }

  freeze(): void {
    this.#stops.push({ from: sharedNow(), to: Number.POSITIVE_INFINITY });
    this.#program.signal('SIGSTOP');
  }

  thaw(): void {
    const stop = this.#stops.at(-1);
    this.#program.signal('SIGCONT');
    if (stop !== undefined) stop.to = sharedNow();
  }

  async kill(): Promise<void> {
    this.#killedAt = sharedNow();
    await this.#program.stop('SIGKILL');
    await this.proxy.stop();
  }

  async end(): Promise<void> {
    this.leave();
    const how = await this.ended();
    if (how !== 0) throw new Error(`${this.identity} ended with ${how}\n${this.#program.tail()}`);
  }
}

export class Fleet {
  readonly members: FleetMember[] = [];
  live: FleetMember[] = [];
  readonly #plane: ControlPlane;
  readonly #client: Client;
  readonly #transport: ReturnType<typeof kubeConfigTransport>;
  readonly #random: Random;
  #namespaces: readonly string[] = [];
  #objects = 0;
  #want = 0;
  /** What was last written to each object. */
  readonly #wanted = new Map<string, string>();
  #isPaused = true;
  #updating: Promise<void> | undefined;
  updates = 0;
  /** Replicas that ended because a later release has written the map. */
  readonly outdated: FleetMember[] = [];
  #started = 0;

  private constructor(
    plane: ControlPlane,
    client: Client,
    transport: ReturnType<typeof kubeConfigTransport>,
    random: Random,
  ) {
    this.#plane = plane;
    this.#client = client;
    this.#transport = transport;
    this.#random = random;
  }

  /** An API server with objects, and no replica yet. */
  static async on(
    { gate, namespaces, objects }: { gate: boolean; namespaces: number; objects: number },
    random: Random,
  ): Promise<Fleet> {
    const plane = await ControlPlane.start({ gates: gate ? ['ShardedListAndWatch'] : [] });
    const transport = kubeConfigTransport(await readKubeConfig(plane));
    const fleet = new Fleet(plane, newClient({ transport }), transport, random);
    await fleet.#fill(namespaces, objects);
    return fleet;
  }

  /** The logs of all programs stay when the API server stops: for a test that failed. */
  keepLogs(): void {
    this.#plane.keepLogs();
  }

  async #fill(namespaces: number, objects: number): Promise<void> {
    this.#objects = objects;
    this.#namespaces = Array.from({ length: namespaces }, (_, i) => `team-${i}`);
    for (const name of this.#namespaces)
      await this.#client.create(Namespace, { metadata: { name } });
    const names = Array.from({ length: objects }, (_, i) => i);
    for (let at = 0; at < objects; at += 50)
      await Promise.all(names.slice(at, at + 50).map((i) => this.#create(i)));
  }

  #place(i: number): { namespace: string; name: string } {
    return { namespace: this.#namespaces[i % this.#namespaces.length] ?? '', name: `item-${i}` };
  }

  async #create(i: number): Promise<void> {
    const metadata = { ...this.#place(i), labels: { [LOAD]: '' } };
    await this.#client.create(ConfigMap, { metadata, data: { want: '0', done: '0' } });
  }

  async start(options: FleetMemberOptions = {}): Promise<FleetMember> {
    const member = await FleetMember.start(this.#plane, `r${++this.#started}`, options);
    this.members.push(member);
    this.live.push(member);
    return member;
  }

  remove(member: FleetMember): void {
    this.live = this.live.filter((one) => one !== member);
  }

  /** One that owns slots. */
  async pick(): Promise<FleetMember> {
    const { slots } = await this.overview();
    const owners = new Set(slots.map(({ owner }) => owner.replace(/-[^-]*$/, '')));
    return this.#random.pick(this.live.filter(({ identity }) => owners.has(identity)));
  }

  /**
   * Changes objects until it is paused.
   *
   * @param atOnce how many changes are under way at a time, each of another object
   */
  update({ perSecond = 100, atOnce = 1 } = {}): void {
    this.#isPaused = false;
    const worker = async (first: number): Promise<void> => {
      while (!this.#isPaused) {
        const started = performance.now();
        const i = first + atOnce * this.#random.int(Math.floor(this.#objects / atOnce));
        const { namespace, name } = this.#place(i);
        await this.change(`${namespace}/${name}`);
        await pauseUntil(started + (1000 * atOnce) / perSecond);
      }
    };
    const workers = Array.from({ length: atOnce }, (_, first) => worker(first));
    this.#updating = Promise.all(workers).then(() => undefined);
  }

  /** Asks for a reconcile of an object. */
  async change(key: string): Promise<void> {
    const [namespace, name] = key.split('/');
    const want = `${++this.#want}`;
    const body = JSON.stringify({ data: { want } });
    const path = `/api/v1/namespaces/${namespace}/configmaps/${name}`;
    const headers = { 'content-type': 'application/merge-patch+json' };
    const response = await this.#transport
      .request({ method: 'PATCH', path, headers, body })
      .catch(() => undefined); // the API server may be away
    if (response === undefined) return;
    for await (const _ of response.body);
    if (response.status !== 200) return;
    this.#wanted.set(key, want);
    this.updates++;
  }

  /** The resourceVersion of each object. */
  async versions(): Promise<Map<string, string>> {
    const { items } = await this.#client.list(ConfigMap, { labelSelector: LOAD });
    return new Map(
      items.map(({ metadata }) => [
        `${metadata?.namespace}/${metadata?.name}`,
        `${metadata?.resourceVersion}`,
      ]),
    );
  }

  async pause(): Promise<void> {
    this.#isPaused = true;
    await this.#updating;
  }

  map(): Promise<{ data?: Record<string, string> }> {
    return this.#client.get(ConfigMap, { namespace: GROUP.namespace, name: GROUP.id });
  }

  async putMap(data: Record<string, string>): Promise<void> {
    const key = { namespace: GROUP.namespace, name: GROUP.id };
    await this.#client.patch(ConfigMap, key, { type: 'merge', body: { data } });
  }

  async deleteMap(): Promise<void> {
    await this.#client.delete(ConfigMap, { namespace: GROUP.namespace, name: GROUP.id });
  }

  async deleteLease({ identity }: FleetMember): Promise<void> {
    const { replicas } = await this.overview();
    const replica = replicas.find(({ name }) => name.startsWith(`${identity}-`));
    const leases = `/apis/coordination.k8s.io/v1/namespaces/${GROUP.namespace}/leases`;
    const path = `${leases}/${GROUP.id}-${replica?.name}`;
    const response = await this.#transport.request({ method: 'DELETE', path });
    for await (const _ of response.body);
  }

  /** Gives the Lease of the coordinator to a replica. */
  async makeCoordinator({ identity }: FleetMember): Promise<void> {
    const { replicas } = await this.overview();
    const replica = replicas.find(({ name }) => name.startsWith(`${identity}-`));
    const path = `/apis/coordination.k8s.io/v1/namespaces/${GROUP.namespace}/leases/${GROUP.id}`;
    const headers = { 'content-type': 'application/merge-patch+json' };
    const body = JSON.stringify({ spec: { holderIdentity: replica?.name } });
    const response = await this.#transport.request({ method: 'PATCH', path, headers, body });
    for await (const _ of response.body);
    // The old one acts as the coordinator until its last renewal is too old.
    await new Promise((resolve) => setTimeout(resolve, SHARD_DURATIONS.renewDeadline));
  }

  overview(): Promise<ShardOverview> {
    return readShards(this.#transport, GROUP);
  }

  /** The slots of a map of a later release. */
  async #slotsOfLater(): Promise<{ owner: string; movesTo?: string | undefined }[]> {
    const { slots, moving } = JSON.parse((await this.map()).data?.map ?? '{}') as {
      slots: string[];
      moving: { slot: number; to: string }[];
    };
    return slots.map((owner, slot) => ({
      owner,
      movesTo: moving.find((move) => move.slot === slot)?.to,
    }));
  }

  /** Throws if a replica has ended by itself, other than as outdated. */
  #requireAlive(): void {
    for (const member of this.live) {
      if (!member.isOutdated()) member.requireAlive();
      else {
        this.remove(member);
        this.outdated.push(member);
      }
    }
  }

  /** All slots have living owners and none is moved. */
  async settled(ms = SETTLE_MS): Promise<void> {
    await eventually(
      'all slots have owners',
      async () => {
        this.#requireAlive();
        const { slots, replicas, map } = await this.overview();
        const alive = replicas.filter(({ state }) => state === 'live').map(({ name }) => name);
        if (alive.length !== this.live.length) return `${alive.length} replicas live`;
        const all = map === 'newer' ? await this.#slotsOfLater() : slots;
        const open = all.filter(({ owner, movesTo }) => alive.includes(owner) && !movesTo);
        return open.length === 64 ? true : `map ${map}, ${open.length} slots at rest`;
      },
      ms,
    );
  }

  /** Waits until a new replica has its share, after a rebalance. */
  async getsSlots({ identity }: FleetMember): Promise<void> {
    await eventually(
      `${identity} has slots`,
      async () => {
        await this.settled();
        const { replicas } = await this.overview();
        const own = replicas.find(({ name }) => name.startsWith(`${identity}-`));
        return (own?.slots.length ?? 0) > 4 || `${own?.slots.length} slots`;
      },
      SETTLE_MS,
    );
  }

  /** Every change was seen: pauses, and waits until what is wanted is done. */
  async everythingDone(ms = SETTLE_MS): Promise<void> {
    await this.pause();
    await eventually(
      'every change was seen',
      async () => {
        this.#requireAlive();
        const { items } = await this.#client.list(ConfigMap, { labelSelector: LOAD });
        const late = items.filter(({ data }) => data?.want !== data?.done);
        const lost = items.filter(({ metadata, data }) => {
          const wanted = this.#wanted.get(`${metadata?.namespace}/${metadata?.name}`);
          return wanted !== undefined && wanted !== data?.want;
        });
        if (lost.length > 0) return `${lost.length} objects are not as they were written`;
        return late.length === 0 ? true : `${late.length} objects are late`;
      },
      ms,
    );
  }

  logs(): ShardProcessLog[] {
    return this.members.map((member) => member.log());
  }

  /** Ends the replicas and the API server. */
  async end(): Promise<void> {
    await this.pause();
    for (const member of this.live) await member.kill();
    this.live = [];
    await this.#transport.close?.();
    await this.#plane.stop();
  }
}

/** Throws if `capstan` cannot be resolved: plain Node runs the replicas, with the built package. */
export function requireBuilt(): void {
  const built = fileURLToPath(new URL('../../../dist/index.js', import.meta.url));
  if (!existsSync(built)) throw new Error('dist/ is missing: run "npm run build" first');
}
