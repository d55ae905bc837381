/**
 * Judges every step of informers on a real API server: what etcd wrote, what came over the wire and
 * what handlers received, while objects are written at 200 per second, connections are cut within
 * events, the API server is killed, and the history is compacted. The rules are in
 * test/helpers/history/.
 */
import { KubeConfig as Config, type KubeConfig } from '@kubernetes/client-node';
import type { Transport } from 'capstan/cache';
import { kubeConfigTransport } from 'capstan/client-node';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventually, pauseUntil } from '../helpers/control-plane/conditions.ts';
import { ControlPlane } from '../helpers/control-plane/control-plane.ts';
import { Random, testSeed } from '../helpers/random.ts';
import { CuttingProxy } from './history/cutting-proxy.ts';
import { EtcdLog } from './history/etcd-log.ts';
import { JudgedInformer } from './history/judged-informer.ts';
import { Churn } from './informer/churn.ts';
import { leases, secrets, widgets } from './same-answers/resources.ts';
import { prepareRealServer, readKubeConfig } from './same-answers/servers.ts';

const TYPES = [widgets, secrets, leases];
const NAMESPACE = 'judged';
const WRITES_PER_SECOND = 200;
const WRITES_PER_TYPE = 2000;
const seed = testSeed();

let plane: ControlPlane;
let log: EtcdLog;
let proxy: CuttingProxy;
/**
 * The transport of the writers, without the proxy, so that they go on while the informers are cut
 * off.
 */
let direct: Transport;
let throughProxy: Transport;

beforeAll(async () => {
  console.log(`judged histories: CAPSTAN_SEED=${seed}`);
  plane = await ControlPlane.start({ legible: true });
  log = await EtcdLog.open(plane.etcdUrl);
  proxy = await CuttingProxy.start(Number(new URL(plane.url).port));
  const config = await readKubeConfig(plane);
  direct = await prepareRealServer(config, [NAMESPACE]);
  throughProxy = kubeConfigTransport(at(config, `https://127.0.0.1:${proxy.port}`));
});

afterAll(async () => {
  await throughProxy?.close?.();
  await direct?.close?.();
  await proxy?.stop();
  log?.close();
  await plane?.stop();
});

afterEach(({ task }) => {
  if (task.result?.state === 'fail') plane?.keepLogs();
});

function at(config: KubeConfig, server: string): KubeConfig {
  const moved = new Config();
  moved.loadFromString(config.exportConfig());
  moved.clusters = moved.clusters.map((cluster) => ({ ...cluster, server }));
  return moved;
}

test('informers keep every rule across cut connections, crashes and compaction', async () => {
  const random = new Random(seed);
  const churns = TYPES.map(
    (type, i) => new Churn(direct, type, NAMESPACE, seed + i, WRITES_PER_SECOND / TYPES.length),
  );
  const informers = TYPES.flatMap((type) =>
    [true, false].map(
      (watchList) => new JudgedInformer(throughProxy, type, NAMESPACE, { watchList }),
    ),
  );
  const reached = (count: number) => Promise.all(churns.map((churn) => churn.reached(count)));
  const cutSeveralTimes = async (times: number): Promise<void> => {
    for (let i = 0; i < times; i++) {
      await pauseUntil(performance.now() + 400 + random.int(1000));
      proxy.cutAfter(random.int(4000));
    }
  };
  try {
    await Promise.all(churns.map((churn) => churn.create('there-before')));
    await Promise.all(informers.map((informer) => informer.start()));
    const start = performance.now();
    const writing = Promise.all(churns.map((churn) => churn.run(WRITES_PER_TYPE, 100)));

    await reached(100);
    await cutSeveralTimes(5);
    await reached(600);
    await plane.kill('SIGKILL');
    await plane.restart();
    for (const informer of informers) informer.addHandler('late');

    await reached(900);
    // the informers are cut off here, so that the compaction removes the versions that they resume
    // from
    proxy.shut();
    await reached(1100);
    await plane.expireHistory();
    await reached(1200);
    proxy.open();
    await eventually('every informer has heard that its version is gone', () =>
      informers.every((informer) => informer.expirations > 0),
    );
    for (const informer of informers) informer.addHandler('later');
    await cutSeveralTimes(5);
    await writing;
    const seconds = (performance.now() - start) / 1000;
    // an informer with this write has all earlier ones
    await Promise.all(churns.map((churn) => churn.create('there-after')));

    for (const informer of informers)
      await informer.expectTruth(await log.of(informer.type, NAMESPACE));
    for (const informer of informers) {
      expect(informer.lists, `${informer.name}: lists`).toBeGreaterThan(1);
      // A stream that is cut before its end may be followed by a list.
      if (informer.watchList) expect(informer.streamedLists, informer.name).toBeGreaterThan(0);
      else expect(informer.streamedLists, informer.name).toBe(0);
      console.log(
        `${informer.name}: ${JSON.stringify({ lists: informer.lists, ...informer.counts })}`,
      );
    }
    console.log(
      `${TYPES.length * WRITES_PER_TYPE} writes in ${seconds.toFixed(1)} s, ${proxy.cuts} cuts`,
    );
  } finally {
    await Promise.all(informers.map((informer) => informer.stop()));
  }
}, 600_000);
