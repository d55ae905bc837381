/**
 * Replicas as processes, each with its own proxy to the API server and its journal, and somebody
 * who changes the objects all the time.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Client } from 'capstan/client';
import type { kubeConfigTransport } from 'capstan/client-node';
import { ConfigMap, Namespace } from 'capstan/kinds';
import { readShards, type ShardOverview } from 'capstan/manager';
import type { Program } from '../../../bindings/testing/envtest/program.ts';
import { eventually } from '../../helpers/control-plane/conditions.ts';
import type { ControlPlane } from '../../helpers/control-plane/control-plane.ts';
import type { Random } from '../../helpers/random.ts';
import type { ShardLogEntry, ShardProcessLog } from '../../helpers/shards/judge-shards.ts';
import { CuttingProxy } from '../history/cutting-proxy.ts';
import { GROUP, LOAD } from './settings.ts';

/** CLOCK_MONOTONIC, which all processes of a machine share, in milliseconds. */
export const sharedNow = (): number => Number(process.hrtime.bigint()) / 1e6;

const END_MS = 40_000;
const SETTLE_MS = 180_000; // a busy machine

export class FleetMember {
  readonly identity: string;
  readonly proxy: CuttingProxy;
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

  static async start(plane: ControlPlane, identity: string): Promise<FleetMember> {
    const proxy = await CuttingProxy.start(Number(new URL(plane.url).port));
    const kubeconfig = join(plane.folder, `kubeconfig-${identity}`);
    const direct = readFileSync(plane.kubeconfig, 'utf8');
    writeFileSync(kubeconfig, direct.replaceAll(plane.url, `https://127.0.0.1:${proxy.port}`), {
      mode: 0o600,
    });
    const journal = join(plane.folder, `journal-${identity}`);
    const path = fileURLToPath(new URL('./replica-process.ts', import.meta.url));
    const program = plane.run(identity, process.execPath, [path, kubeconfig, journal, identity]);
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
    this.#program.signal('SIGTERM');
    const how = await this.#program.exited(END_MS);
    await this.proxy.stop();
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
  #started = 0;

  constructor(
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

  async fill(namespaces: number, objects: number): Promise<void> {
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

  async start(): Promise<FleetMember> {
    const member = await FleetMember.start(this.#plane, `r${++this.#started}`);
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

  /** Changes objects until it is paused, at most `perSecond`. */
  update(perSecond = 100): void {
    this.#isPaused = false;
    this.#updating = (async () => {
      while (!this.#isPaused) {
        const { namespace, name } = this.#place(this.#random.int(this.#objects));
        const want = `${++this.#want}`;
        const body = JSON.stringify({ data: { want } });
        const path = `/api/v1/namespaces/${namespace}/configmaps/${name}`;
        const headers = { 'content-type': 'application/merge-patch+json' };
        const response = await this.#transport
          .request({ method: 'PATCH', path, headers, body })
          .catch(() => undefined); // the API server may be away
        if (response !== undefined) {
          for await (const _ of response.body);
          if (response.status === 200) {
            this.#wanted.set(`${namespace}/${name}`, want);
            this.updates++;
          }
        }
        await new Promise((resolve) => setTimeout(resolve, 1000 / perSecond));
      }
    })();
  }

  async pause(): Promise<void> {
    this.#isPaused = true;
    await this.#updating;
  }

  overview(): Promise<ShardOverview> {
    return readShards(this.#transport, GROUP);
  }

  /** All slots have living owners and none is moved. */
  async settled(ms = SETTLE_MS): Promise<void> {
    await eventually(
      'all slots have owners',
      async () => {
        for (const member of this.live) member.requireAlive();
        const { slots, replicas, map } = await this.overview();
        const alive = replicas.filter(({ state }) => state === 'live').map(({ name }) => name);
        if (alive.length !== this.live.length) return `${alive.length} replicas live`;
        const open = slots.filter(({ owner, movesTo }) => alive.includes(owner) && !movesTo);
        return open.length === 64 ? true : `map ${map}, ${open.length} slots at rest`;
      },
      ms,
    );
  }

  /** Every change was seen: pauses, and waits until what is wanted is done. */
  async everythingDone(ms = SETTLE_MS): Promise<void> {
    await this.pause();
    await eventually(
      'every change was seen',
      async () => {
        for (const member of this.live) member.requireAlive();
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

  async end(): Promise<void> {
    await this.pause();
    for (const member of this.live) await member.kill();
    this.live = [];
  }
}
