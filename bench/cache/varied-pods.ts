/**
 * Pods of many Deployments, as a cluster has them: 20 of each, side by side in a list as etcd keeps
 * them. Those of one Deployment differ in name, uid, version, node, addresses, times, container ids
 * and the name of the token's volume; Deployments differ in namespace, labels, images, environment,
 * arguments, resources, probes, volumes, and some have a second container. Of about 3.7 KB without
 * managedFields.
 */
import { Random } from '../../test/helpers/random.ts';
import { pod } from '../peers/pods.mjs';

export const PODS_A_DEPLOYMENT = 20;
const NAMESPACES = 200;
const NODES = 1000;
const WORDS = 'api auth billing cart catalog checkout feed gateway image ingest ledger mail'.split(
  ' ',
);
const FIELDS = [
  'name',
  'uid',
  'version',
  'node',
  'hostIP',
  'podIP',
  'created',
  'started',
  'ready',
  'volume',
  'container0',
  'container1',
] as const;
const CUT = new RegExp(`@(${FIELDS.join('|')})@`);
const mark = (field: (typeof FIELDS)[number]): string => `@${field}@`;

const hex = (random: Random, digits: number): string => {
  let text = '';
  while (text.length < digits)
    text += random
      .int(2 ** 32)
      .toString(16)
      .padStart(8, '0');
  return text.slice(0, digits);
};
const uid = (random: Random): string =>
  [8, 4, 4, 4, 12].map((digits) => hex(random, digits)).join('-');
const LETTERS = 'bcdfghjklmnpqrstvwxz2456789';
const letters = (random: Random, count: number): string =>
  Array.from({ length: count }, () => LETTERS[random.int(LETTERS.length)]).join('');
const time = (at: number): string => new Date(at).toISOString().replace('.000Z', 'Z');

interface Deployment {
  readonly namespace: string;
  readonly app: string;
  readonly replicaSet: string;
  /** Texts at even places, names of fields at odd ones. */
  readonly pieces: readonly string[];
}

function deploymentOf(number: number): Deployment {
  const random = new Random(number + 1);
  const word = (): string => WORDS[random.int(WORDS.length)] as string;
  const namespace = `team-${number % NAMESPACES}`;
  const app = `${word()}-${word()}-${number}`;
  const replicaSet = `${app}-${letters(random, 10)}`;
  const one = JSON.parse(JSON.stringify(pod(0)));
  const { metadata, spec, status } = one;
  const created = mark('created');
  Object.assign(metadata, {
    name: mark('name'),
    generateName: `${replicaSet}-`,
    namespace,
    uid: mark('uid'),
    resourceVersion: mark('version'),
    creationTimestamp: created,
    labels: {
      app,
      'pod-template-hash': replicaSet.slice(-10),
      'app.kubernetes.io/version': `${random.int(9)}.${random.int(30)}.${random.int(99)}`,
      team: namespace,
    },
  });
  Object.assign(metadata.ownerReferences[0], { name: replicaSet, uid: uid(random) });
  for (const fields of metadata.managedFields) fields.time = created;
  const names = random.int(8) === 0 ? ['app', 'proxy'] : ['app'];
  const mount = { name: mark('volume'), readOnly: true, mountPath: '/var/run/secrets/token' };
  const state = { running: { startedAt: mark('started') } };
  const [container] = spec.containers;
  const [containerStatus] = status.containerStatuses;
  const images = names.map((name) => `registry.example.com/${namespace}/${name}-${word()}:v1.2`);
  spec.containers = names.map((name, i) => ({
    ...container,
    name,
    image: `${images[i]}.${random.int(40)}`,
    args: [`--listen=:${8000 + random.int(999)}`, `--log-level=${['info', 'warn'][random.int(2)]}`],
    env: Array.from({ length: 1 + random.int(5) }, () => ({
      name: `${word()}_${word()}`.toUpperCase(),
      value: `${word()}.${namespace}.svc:${random.int(9999)}`,
    })),
    resources: { requests: { cpu: `${100 * (1 + random.int(9))}m`, memory: '128Mi' } },
    volumeMounts: [mount, { name: 'config', mountPath: `/etc/${app}` }],
  }));
  spec.volumes[0].name = mark('volume');
  spec.volumes.push({ name: 'config', configMap: { name: `${app}-config`, defaultMode: 420 } });
  Object.assign(spec, { nodeName: mark('node'), serviceAccountName: app, serviceAccount: app });
  status.conditions.forEach((condition: { lastTransitionTime: string }, i: number) => {
    condition.lastTransitionTime = mark(i === 0 ? 'created' : 'ready');
  });
  Object.assign(status, {
    hostIP: mark('hostIP'),
    podIP: mark('podIP'),
    podIPs: [{ ip: mark('podIP') }],
    startTime: created,
    containerStatuses: names.map((name, i) => ({
      ...containerStatus,
      name,
      state,
      image: images[i],
      imageID: `${images[i]}@sha256:${hex(random, 64)}`,
      containerID: `containerd://${mark(i === 0 ? 'container0' : 'container1')}`,
    })),
  });
  return { namespace, app, replicaSet, pieces: JSON.stringify(one).split(CUT) };
}

let lastNumber = -1;
let last: Deployment | undefined;

/** The Deployment of a number; the last one is remembered, because its Pods are made in a row. */
function deploymentAt(number: number): Deployment {
  if (number !== lastNumber || last === undefined) last = deploymentOf(number);
  lastNumber = number;
  return last;
}

const nameOf = (i: number): string =>
  `${deploymentAt(Math.floor(i / PODS_A_DEPLOYMENT)).replicaSet}-${letters(new Random(i), 5)}`;

export const variedKeyOf = (i: number): string =>
  `${deploymentAt(Math.floor(i / PODS_A_DEPLOYMENT)).namespace}/${nameOf(i)}`;

/** The label `app` of a Pod. */
export const appOf = (i: number): string => deploymentAt(Math.floor(i / PODS_A_DEPLOYMENT)).app;

/** Pod i at a version; each version is on another node. */
export function variedPodText(i: number, version: number): string {
  const { pieces } = deploymentAt(Math.floor(i / PODS_A_DEPLOYMENT));
  const random = new Random(i ^ 0x5eed);
  const node = (i * 7 + version) % NODES;
  const created = 1_795_000_000_000 + 1000 * random.int(5_000_000);
  const values: Record<string, string> = {
    name: nameOf(i),
    uid: uid(random),
    version: String(version),
    node: `node-${node}`,
    hostIP: `10.1.${node >> 8}.${node & 255}`,
    podIP: `10.${64 + random.int(64)}.${random.int(256)}.${random.int(256)}`,
    created: time(created),
    started: time(created + 1000 * random.int(20)),
    ready: time(created + 20_000 + 1000 * random.int(60)),
    volume: `kube-api-access-${letters(random, 5)}`,
    container0: hex(random, 64),
    container1: hex(random, 64),
  };
  let text = pieces[0] as string;
  for (let at = 1; at < pieces.length; at += 2)
    text += (values[pieces[at] as string] as string) + pieces[at + 1];
  return text;
}
