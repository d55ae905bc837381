/**
 * Replicas in virtual time against the embedded API server, with faults between a replica and the
 * server: slots find an owner and never have two, a request that hangs costs no Lease, and the end
 * hands over first.
 */
import { FakeClock, fakeTransport } from 'capstan/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fnv1a64 } from '../../bindings/base/fnv.ts';
import { hashText } from '../../bindings/base/json-value.ts';
import { whenAborted } from '../../bindings/base/wait.ts';
import type { Transport, TransportRequest } from '../../bindings/cache/rest/transport.ts';
import { mapViewOf, type ShardObject } from '../../bindings/shards/objects.ts';
import {
  type ShardHost,
  ShardReplica,
  type ShardReplicaOptions,
} from '../../bindings/shards/replica.ts';
import type { ShardMap } from '../../bindings/shards/shard-map.ts';
import { SLOTS } from '../../bindings/shards/slots.ts';
import { expectError, expectRejection, invalidArgument } from '../helpers/expect-error.ts';
import { collectErrors } from '../helpers/reported-errors.ts';

const LEASE = 15_000;
const RETRY = 2000;
const NAMES = Array.from({ length: 200 }, (_, i) => `team-${i}`);
const reported = collectErrors();

/** A process: slots that it runs, work that takes a while, and a line that can be cut. */
class Process {
  readonly replica: ShardReplica;
  readonly running: Promise<void>;
  readonly warm = new Set<number>();
  readonly open = new Set<number>();
  readonly log: string[] = [];
  readonly #stop = new AbortController();
  readonly #now = new AbortController();
  readonly #at = new AbortController();
  isCut = false;
  /** Requests that are never answered. */
  hangs: (request: TransportRequest) => boolean = () => false;
  workMs = 0;
  ended: string | undefined;

  constructor(cluster: Cluster, name: string, more: Partial<ShardReplicaOptions & ShardHost> = {}) {
    const { clock } = cluster;
    let lives = 0;
    const { warm, open, close, drop, weight, survey, ...options } = more;
    const host: ShardHost = {
      warm: async (slot, range, given) => {
        await warm?.(slot, range, given);
        this.warm.add(slot);
      },
      open: (slot) => {
        cluster.opens(this, slot);
        this.open.add(slot);
        open?.(slot);
      },
      close: async (slot, why) => {
        if (close !== undefined) await close(slot, why);
        if (this.workMs > 0 && why === 'moved')
          await new Promise<void>((resolve) => void clock.setTimer(resolve, this.workMs));
        this.log.push(`closed ${slot} (${why})`);
        this.open.delete(slot);
      },
      drop: (slot) => {
        this.warm.delete(slot);
        drop?.(slot);
      },
      weight: weight ?? (() => 100),
      survey: survey ?? (async () => NAMES.map((each) => [fnv1a64(each), 1] as const)),
    };
    this.replica = new ShardReplica(this.#transport(cluster.transport), {
      id: 'web',
      namespace: 'default',
      replica: name,
      clock,
      random: () => 0.5,
      suffix: () => `${++lives}`,
      ...options,
      host,
    });
    const signals = { signal: this.#stop.signal, now: this.#now.signal, at: this.#at.signal };
    this.running = this.replica.run(signals).then(
      () => {
        this.ended = 'left';
      },
      (error: unknown) => {
        this.ended = String(error);
      },
    );
  }

  /** The slots that may be run now. */
  runs(): number[] {
    return [...this.open].filter((slot) => this.replica.mayWrite(slot)).sort((a, b) => a - b);
  }

  terminate(): void {
    this.#stop.abort();
  }

  hurry(): void {
    this.#now.abort();
  }

  /** As by SIGKILL: nothing more is sent. */
  kill(): void {
    this.isCut = true;
    this.#at.abort();
    this.open.clear();
  }

  #transport(inner: Transport): Transport {
    return {
      ...inner,
      request: async (request) => {
        if (this.isCut || this.hangs(request)) {
          const { signal = new AbortController().signal } = request;
          await whenAborted(signal);
          throw signal.reason;
        }
        return inner.request(request);
      },
    };
  }
}

class Cluster {
  readonly clock = new FakeClock();
  readonly transport = fakeTransport({
    clock: this.clock,
    objects: [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } }],
  });
  readonly processes: Process[] = [];
  readonly overlaps: string[] = [];
  /** The longest time that a slot was run by nobody, since the last call of `unowned`. */
  #unownedMs = 0;
  #ownedAt = new Array<number>(SLOTS).fill(0);

  start(name: string, more?: Partial<ShardReplicaOptions & ShardHost>): Process {
    const process = new Process(this, name, more);
    this.processes.push(process);
    return process;
  }

  /** Called before a process opens a slot. */
  opens(process: Process, slot: number): void {
    const now = this.clock.now();
    this.#unownedMs = Math.max(this.#unownedMs, now - (this.#ownedAt[slot] as number));
    for (const other of this.processes)
      if (other !== process && other.runs().includes(slot)) this.overlaps.push(`slot ${slot}`);
  }

  async run(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 100) {
      await this.clock.run(Math.min(left, 100));
      const now = this.clock.now();
      for (const process of this.processes)
        for (const slot of process.runs()) this.#ownedAt[slot] = now;
    }
    expect(this.overlaps).toEqual([]);
  }

  unowned(): number {
    const longest = this.#unownedMs;
    this.#unownedMs = 0;
    return longest;
  }

  async object(path: string): Promise<ShardObject> {
    const { body } = await this.transport.request({ method: 'GET', path });
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    return JSON.parse(Buffer.concat(chunks).toString());
  }

  map = (): Promise<ShardObject> => this.object('/api/v1/namespaces/default/configmaps/web');
  lease = (name: string): Promise<ShardObject> =>
    this.object(`/apis/coordination.k8s.io/v1/namespaces/default/leases/${name}`);
}

function cluster(): Cluster {
  const made = new Cluster();
  onTestFinished(async () => {
    for (const process of made.processes) process.kill();
    await Promise.all(made.processes.map(({ running }) => running));
    await made.transport.close();
  });
  return made;
}

const ALL = Array.from({ length: SLOTS }, (_, slot) => slot);
const mapOf = async (rig: Cluster): Promise<ShardMap | undefined> => {
  const { map } = mapViewOf(await rig.map());
  return map === 'newer' ? undefined : map;
};
const sum = (...processes: Process[]): number[] =>
  processes.flatMap((process) => process.runs()).sort((a, b) => a - b);

describe('a replica', () => {
  it('owns all slots when it is alone, and acknowledges them in its Lease', async () => {
    const rig = cluster();
    const a = rig.start('a');
    await rig.run(3 * RETRY);
    expect(a.runs()).toEqual(ALL);
    const map = await mapOf(rig);
    expect(new Set(map?.slots)).toEqual(new Set(['a-1']));
    const lease = await rig.lease('web-a-1');
    expect(lease.metadata.labels).toEqual({ 'capstan.dev/shards': 'web' });
    expect(lease.spec).toMatchObject({ holderIdentity: 'a-1', leaseDurationSeconds: 15 });
    const status = a.replica.status();
    expect(status).toMatchObject({ replica: 'a-1', isValid: true, isCoordinator: true, moves: [] });
    expect(status.owners).toEqual(new Map([['a-1', ALL]]));
    expect(status.slots.map(({ state }) => state)).toEqual(ALL.map(() => 'open'));
    expect(status.leases.map(({ replica }) => replica)).toEqual(['a-1']);
    expect(a.replica.slotOf('team-7')).toBeLessThan(SLOTS);
  });

  it('divides the slots with another one, and gets its slots when that ends', async () => {
    const rig = cluster();
    const a = rig.start('a');
    await rig.run(3 * RETRY);
    const b = rig.start('b');
    await rig.run(60_000);
    expect(sum(a, b)).toEqual(ALL);
    expect(Math.abs(a.runs().length - b.runs().length)).toBeLessThan(6);
    rig.unowned();
    b.terminate();
    await rig.run(10_000);
    expect(b.ended).toBe('left');
    expect(a.runs()).toEqual(ALL);
    expect(rig.unowned()).toBeLessThan(1000);
    await rig.run(10_000);
    expect(await rig.lease('web-b-1')).toMatchObject({ kind: 'Status', code: 404 });
  });

  it('closes a slot and waits for its work before another one opens it', async () => {
    const rig = cluster();
    const a = rig.start('a');
    a.workMs = 5000;
    await rig.run(3 * RETRY);
    const b = rig.start('b');
    await rig.run(4000);
    expect(a.log).toEqual([]);
    await rig.run(60_000);
    expect(a.log.length).toBeGreaterThan(20);
    expect(sum(a, b)).toEqual(ALL);
  });

  it('reports slots, replicas, ages of Leases, moves and the time without an owner', async () => {
    const rig = cluster();
    const a = rig.start('a');
    await rig.run(3 * RETRY);
    const b = rig.start('b');
    await rig.run(60_000);
    const report = b.replica.report();
    expect(report).toMatchObject({ id: 'web', map: 'good', replica: 'b-1', coordinator: 'a-1' });
    expect(report).toMatchObject({ isValid: true, isReady: true, isNew: false, unownedMs: 0 });
    expect(report.slots.filter(({ owner }) => owner === 'b-1')).toHaveLength(32);
    expect(report.states.filter((state) => state === 'open')).toHaveLength(32);
    expect(report.replicas).toMatchObject([
      { name: 'a-1', state: 'live', objects: 3200 },
      { name: 'b-1', state: 'live', objects: 3200 },
    ]);
    expect(report.replicas[0]?.renewedMs).toBeLessThan(2 * RETRY);
    expect(a.replica.report().moves).toMatchObject({ assigned: 64, rebalance: 32, died: 0 });
    a.kill();
    await rig.run(LEASE - RETRY);
    expect(b.replica.report().unownedMs).toBe(0);
    await rig.run(RETRY);
    expect(b.replica.report().replicas[0]?.state).toBe('expired');
    expect(b.replica.report().unownedMs).toBeGreaterThanOrEqual(LEASE);
    await rig.run(2 * RETRY + LEASE);
    expect(b.replica.report()).toMatchObject({ unownedMs: 0, isReady: true, coordinator: 'b-1' });
    expect(b.replica.report().moves).toMatchObject({ died: 32 });
  });

  it('loses its slots to others a lease duration after it was killed', async () => {
    const rig = cluster();
    const a = rig.start('a');
    const b = rig.start('b');
    await rig.run(60_000);
    expect(sum(a, b)).toEqual(ALL);
    expect(a.runs().length).toBeGreaterThan(20);
    a.kill();
    rig.unowned();
    await rig.run(LEASE - 2 * RETRY);
    expect(b.runs().length).toBeLessThan(SLOTS);
    await rig.run(LEASE);
    expect(b.runs()).toEqual(ALL);
    // 2 s since its last renewal at most, the lease, and as long until the next look.
    expect(rig.unowned()).toBeLessThan(LEASE + 2 * RETRY);
  });

  it('keeps its Lease when requests hang', async () => {
    const rig = cluster();
    const a = rig.start('a');
    const b = rig.start('b');
    await rig.run(60_000);
    let hung = 0;
    a.hangs = ({ method, path }) => method === 'PUT' && path.endsWith('-a-1') && hung++ % 2 === 0;
    const before = a.runs();
    await rig.run(60_000);
    expect(hung).toBeGreaterThan(5);
    expect(a.replica.replica).toBe('a-1');
    expect(a.log).toEqual([]);
    expect(a.runs()).toEqual(before);
    expect(sum(a, b)).toEqual(ALL);
  });

  it('closes its slots in time when it is cut off, and joins again by another name', async () => {
    const rig = cluster();
    const a = rig.start('a');
    const b = rig.start('b');
    await rig.run(60_000);
    a.isCut = true;
    await rig.run(13_000);
    expect(a.runs()).toEqual([]);
    expect(a.log.some((line) => line.includes('lapsed'))).toBe(true);
    await rig.run(20_000);
    expect(b.runs()).toEqual(ALL);
    a.isCut = false;
    await rig.run(90_000);
    expect(a.replica.replica).toBe('a-2');
    expect(a.runs().length).toBeGreaterThan(20);
    expect(sum(a, b)).toEqual(ALL);
  });

  it('keeps its slots when the API server was away for longer than a lease', async () => {
    const rig = cluster();
    const a = rig.start('a');
    const b = rig.start('b');
    await rig.run(60_000);
    const before = [a.runs(), b.runs()];
    a.isCut = true;
    b.isCut = true;
    await rig.run(3 * LEASE);
    expect(sum(a, b)).toEqual([]);
    a.isCut = false;
    b.isCut = false;
    await rig.run(3 * RETRY);
    expect([a.runs(), b.runs()]).toEqual(before);
    expect([a.replica.replica, b.replica.replica]).toEqual(['a-1', 'b-1']);
  });

  it.each(['deleted', 'changed'])('writes a new map when the old one was %s', async (how) => {
    const rig = cluster();
    const a = rig.start('a');
    const b = rig.start('b');
    await rig.run(60_000);
    const before = (await mapOf(rig))?.epoch ?? 0;
    const path = '/api/v1/namespaces/default/configmaps/web';
    if (how === 'deleted') await rig.transport.request({ method: 'DELETE', path });
    else
      await rig.transport.request({
        method: 'PATCH',
        path,
        headers: { 'content-type': 'application/merge-patch+json' },
        body: JSON.stringify({ data: { map: '{}' } }),
      });
    await rig.run(20_000);
    expect(sum(a, b)).toEqual(ALL);
    expect((await mapOf(rig))?.epoch).toBeGreaterThan(before);
  });

  it('ends without a new owner of its slots when it is told to end now', async () => {
    const rig = cluster();
    const a = rig.start('a');
    await rig.run(3 * RETRY);
    a.terminate();
    a.hurry();
    await rig.run(RETRY);
    expect(a.ended).toBe('left');
    expect(a.open.size).toBe(0);
  });

  it('closes its slots and rejects when a later release has written the map', async () => {
    const rig = cluster();
    const a = rig.start('a');
    await rig.run(3 * RETRY);
    const { data } = await rig.map();
    const map = JSON.stringify({ ...JSON.parse(data?.map ?? ''), version: 99 });
    const later = { data: { map, checksum: hashText(map, 1).toString(16) } };
    await rig.transport.request({
      method: 'PATCH',
      path: '/api/v1/namespaces/default/configmaps/web',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify(later),
    });
    await rig.run(3 * RETRY);
    expect(a.ended).toContain('a later release');
    expect(a.open.size).toBe(0);
    expect((await rig.lease('web-a-1')).spec?.holderIdentity).toBe('');
    expect((await rig.map()).data).toEqual(later.data);
  });

  it('opens no slot while a leader by leader election holds the Lease', async () => {
    const rig = cluster();
    const path = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
    const write = async (method: string, holder: string): Promise<void> => {
      const spec = { holderIdentity: holder, leaseDurationSeconds: 15 };
      const renewTime = new Date(rig.clock.now()).toISOString().replace('Z', '000Z');
      const body = { metadata: { name: 'web' }, spec: { ...spec, renewTime } };
      const isNew = method === 'POST';
      const type = isNew ? 'application/json' : 'application/merge-patch+json';
      const { status } = await rig.transport.request({
        method,
        path: isNew ? path : `${path}/web`,
        headers: { 'content-type': type },
        body: JSON.stringify(isNew ? { apiVersion: 'coordination.k8s.io/v1', ...body } : body),
      });
      expect(status).toBeLessThan(300);
    };
    await write('POST', 'old-leader');
    const a = rig.start('a');
    for (let i = 0; i < 15; i++) {
      await rig.run(RETRY);
      await write('PATCH', 'old-leader');
      expect(a.runs()).toEqual([]);
    }
    await write('PATCH', '');
    await rig.run(3 * RETRY);
    expect(a.runs()).toEqual(ALL);
  });

  it('leaves its Lease to expire when its work does not end', async () => {
    const rig = cluster();
    const a = rig.start('a');
    const b = rig.start('b');
    await rig.run(60_000);
    a.hangs = () => true;
    a.terminate();
    await rig.run(5000);
    expect(a.ended).toBeUndefined();
    a.kill();
    await rig.run(2 * LEASE);
    expect(a.ended).toBe('left');
    expect(b.runs()).toEqual(ALL);
  });

  it('calls functions of the host again when they fail, and reports the errors', async () => {
    const rig = cluster();
    const failed: string[] = [];
    const once = (what: string): void => {
      if (failed.includes(what)) return;
      failed.push(what);
      throw new Error(`${what} failed`);
    };
    const a = rig.start('a', {
      survey: async () => {
        once('survey');
        return [];
      },
      warm: async (slot) => {
        if (slot === 3) once('warm');
      },
      open: (slot) => {
        if (slot === 4) once('open');
      },
      close: async (slot) => {
        if (slot === 5) once('close');
      },
      drop: () => once('drop'),
    });
    await rig.run(6 * RETRY);
    expect(a.runs()).toEqual(ALL);
    a.terminate();
    await rig.run(3 * RETRY);
    expect(a.ended).toBe('left');
    expect(failed).toEqual(['survey', 'warm', 'open', 'close', 'drop']);
    const errors = reported.map(({ error }) => (error as Error).message);
    expect(errors).toEqual(failed.map((what) => `${what} failed`));
  });

  it('rejects invalid options', async () => {
    const rig = cluster();
    const make = (options: object) => (): unknown => rig.start('x', invalidArgument(options));
    expectError(make({ id: 'Web_1' }), 'INVALID_ARGUMENT', 'id', '63');
    expectError(make({ id: 'a'.repeat(64) }), 'INVALID_ARGUMENT', 'id');
    expectError(make({ namespace: '' }), 'INVALID_ARGUMENT', 'namespace');
    expectError(make({ leaseDuration: 10_000 }), 'INVALID_ARGUMENT', 'renewDeadline');
    expectError(make({ retryPeriod: 6000 }), 'INVALID_ARGUMENT', 'retryPeriod');
    expectError(make({ leaseDuratoin: 1 }), 'INVALID_ARGUMENT', 'did you mean');
    expectError(make({ moveTimeout: 0 }), 'INVALID_ARGUMENT', 'moveTimeout');
    const a = rig.start('a');
    const { signal } = new AbortController();
    await expectRejection(a.replica.run({ signal }), 'ALREADY_STARTED');
  });
});
