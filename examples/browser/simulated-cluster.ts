/**
 * A simulated cluster: the embedded API server with nodes and workloads, whose Pods are created,
 * scheduled, run, end and are replaced. One step changes one object; all choices come from one
 * seed.
 */
import { type Transport, TransportError } from 'capstan/cache';
import { type Client, newClient } from 'capstan/client';
import { ApiServer } from 'capstan/testing';
import { Random } from '../demo/random.ts';
import { Node, Pod, type PodObject } from './resources.ts';

const NODES = 12;
const ZONES = ['north', 'east', 'south'];
/** The replicas of each workload, by namespace/name. */
const WORKLOADS: Readonly<Record<string, number>> = {
  'shop/cart': 30,
  'shop/catalog': 42,
  'shop/checkout': 26,
  'media/encoder': 48,
  'media/thumbnails': 34,
  'infra/ingress': 12,
  'infra/metrics': 18,
  'batch/report': 30,
};

type Step = (cluster: SimulatedCluster, random: Random) => Promise<void>;

export class SimulatedCluster {
  readonly server: ApiServer;
  readonly client: Client;
  readonly #transport: Transport;
  readonly #random: Random;
  #made = 0;

  static async start(seed = 1): Promise<SimulatedCluster> {
    const cluster = new SimulatedCluster(await ApiServer.start(), seed);
    await cluster.#fill();
    return cluster;
  }

  private constructor(server: ApiServer, seed: number) {
    this.server = server;
    this.#transport = server.transport();
    this.client = newClient({ transport: this.#transport, fieldOwner: 'simulated-cluster' });
    this.#random = new Random(seed);
  }

  /** Makes one random change. */
  async step(): Promise<void> {
    const random = this.#random;
    const dice = random.next();
    await (STEPS.find(([upTo]) => dice < upTo)?.[1] ?? settle)(this, random);
  }

  /** Makes a change every `everyMs` milliseconds until the signal fires. */
  async churn(everyMs: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.step().catch((error: unknown) => {
        // this client's connections are cut, too
        if (!(error instanceof TransportError)) throw error;
      });
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, everyMs);
        signal.addEventListener('abort', () => resolve(clearTimeout(timer)), { once: true });
      });
    }
  }

  async stop(): Promise<void> {
    await this.#transport.close?.();
    await this.server.stop();
  }

  async createPod(workload: string): Promise<void> {
    const [namespace = '', app = ''] = workload.split('/');
    this.#made++;
    const name = `${app}-${(this.#made * 7919 + 46_656).toString(36)}`;
    const labels = { app, tier: namespace };
    const spec = { containers: [{ name: 'main', image: `${app}:1` }] };
    await this.client.create(Pod, { metadata: { name, namespace, labels }, spec });
  }

  async pods(): Promise<PodObject[]> {
    return (await this.client.list(Pod)).items;
  }

  /** Binds a Pod to a node, as a scheduler does. */
  async bind({ metadata }: PodObject, node: string): Promise<void> {
    await this.client.subResource('binding').create(Pod, metadata, {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name: metadata.name, namespace: metadata.namespace },
      target: { kind: 'Node', name: node },
    });
  }

  /** Deletes the Pod, as the kubelet does when its containers have ended. */
  async remove({ metadata }: PodObject): Promise<void> {
    await this.client.delete(Pod, metadata, { gracePeriodSeconds: 0 });
  }

  async setStatus({ metadata }: PodObject, status: PodObject['status']): Promise<void> {
    await this.client.status().patch(Pod, metadata, { type: 'merge', body: { status } });
  }

  /** Schedules a Pod on the node with the fewest Pods. */
  async place(pod: PodObject, pods: readonly PodObject[]): Promise<void> {
    const load = (node: string): number =>
      pods.filter(({ spec }) => spec?.nodeName === node).length;
    const [node = ''] = nodeNames().sort((a, b) => load(a) - load(b));
    await this.bind(pod, node);
  }

  async setReady(node: string, ready: boolean): Promise<void> {
    const conditions = [
      {
        type: 'Ready',
        status: ready ? 'True' : 'Unknown',
        reason: ready ? 'KubeletReady' : 'NodeStatusUnknown',
      },
    ];
    await this.client
      .status()
      .patch(Node, { name: node }, { type: 'merge', body: { status: { conditions } } });
  }

  async #fill(): Promise<void> {
    for (const [i, name] of nodeNames().entries()) {
      const labels = { 'topology.kubernetes.io/zone': ZONES[i % ZONES.length] ?? '' };
      await this.client.create(Node, { metadata: { name, labels } });
      await this.setReady(name, true);
    }
    for (const [workload, replicas] of Object.entries(WORKLOADS)) {
      for (let i = 0; i < replicas; i++) await this.createPod(workload);
    }
    const pods = await this.pods();
    for (const [i, pod] of pods.entries()) {
      if (i % 23 === 22) continue; // a few stay pending
      await this.bind(pod, nodeNames()[(i * 5) % NODES] ?? '');
      if (i % 17 !== 16) await this.setStatus(pod, running());
    }
  }
}

const nodeNames = (): string[] =>
  Array.from({ length: NODES }, (_, i) => `node-${String.fromCharCode(97 + i)}`);
const phaseOf = (status: PodObject['status']): string => status?.phase ?? 'Pending';
const running = (): PodObject['status'] => ({
  phase: 'Running',
  containerStatuses: [{ ready: true, restartCount: 0 }],
});

/** Schedules pending Pods, and starts scheduled ones. */
async function settle(cluster: SimulatedCluster, random: Random): Promise<void> {
  const pods = await cluster.pods();
  const waiting = pods.filter(({ status }) => phaseOf(status) === 'Pending');
  if (waiting.length === 0) return;
  const pod = random.pick(waiting);
  if (pod.spec?.nodeName === undefined) await cluster.place(pod, pods);
  else await cluster.setStatus(pod, running());
}

async function end(cluster: SimulatedCluster, random: Random): Promise<void> {
  const alive = (await cluster.pods()).filter(({ status }) => status?.phase === 'Running');
  if (alive.length === 0) return;
  const pod = random.pick(alive);
  if (pod.metadata.labels?.app === 'report') await cluster.setStatus(pod, { phase: 'Succeeded' });
  else if (random.chance(0.5)) await cluster.setStatus(pod, { phase: 'Failed', reason: 'Evicted' });
  else
    await cluster.setStatus(pod, {
      phase: 'Running',
      containerStatuses: [
        { ready: false, restartCount: 3, state: { waiting: { reason: 'CrashLoopBackOff' } } },
      ],
    });
}

/** Deletes a Pod that has ended and creates a replacement. */
async function replace(cluster: SimulatedCluster, random: Random): Promise<void> {
  const done = (await cluster.pods()).filter(
    ({ status }) => phaseOf(status) !== 'Pending' && status?.containerStatuses?.[0]?.ready !== true,
  );
  if (done.length === 0) return;
  const pod = random.pick(done);
  const { metadata } = pod;
  await cluster.remove(pod);
  await cluster.createPod(`${metadata.namespace}/${metadata.labels?.app}`);
}

async function trouble(cluster: SimulatedCluster, random: Random): Promise<void> {
  const { items } = await cluster.client.list(Node);
  const away = items.find(({ status }) => status?.conditions?.[0]?.status !== 'True');
  await cluster.setReady(away?.metadata.name ?? random.pick(nodeNames()), away !== undefined);
}

const STEPS: readonly (readonly [upTo: number, step: Step])[] = [
  [0.27, end],
  [0.49, replace],
  [0.505, trouble],
];
