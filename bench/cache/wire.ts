/**
 * `npm run bench:wire -- [--pods 5000] [--rounds 5]`: the first list of an informer on a real API
 * server (KUBEBUILDER_ASSETS), with and without gzip: bytes on the wire, CPU time of the client and
 * of the server. Server and client share the machine, so the time says nothing about a network. The
 * Pods have managedFields of two managers. It prints their bytes too: a server that leaves them out
 * saves these.
 */
import type { V1Pod } from '@kubernetes/client-node';
import { newClient } from 'capstan/client';
import { kubeConfigTransport } from 'capstan/client-node';
import { Pod } from 'capstan/kinds';
import { readKubeConfig } from '../../test/e2e/same-answers/servers.ts';
import { ControlPlane } from '../../test/helpers/control-plane/control-plane.ts';
import { layout } from '../measure/figures.ts';
import { flagsOrExit } from '../measure/flags.ts';
import { inTurn, runOnce, showSpread, spread } from '../measure/rounds.ts';
import { pod } from '../peers/pods.mjs';
import { COMPRESSIONS, type WireFigures } from './peers.ts';

const { pods, rounds } = flagsOrExit('npm run bench:wire --', { pods: 5000, rounds: 5 });
/** The number of concurrent writes. */
const WRITERS = 16;

const plane = await ControlPlane.start();
try {
  process.env.CAPSTAN_WIRE_KUBECONFIG = plane.kubeconfig;
  const transport = kubeConfigTransport(await readKubeConfig(plane));
  const client = newClient({ transport });
  let next = 0;
  const write = async (): Promise<void> => {
    for (let i = next++; i < pods; i = next++) {
      const { status, metadata, ...rest } = pod(i) as unknown as V1Pod;
      const { name, labels, annotations, ownerReferences } = metadata ?? {};
      const made = await client.create(
        Pod,
        { ...rest, metadata: { namespace: 'default', name, labels, annotations, ownerReferences } },
        { fieldOwner: 'kube-controller-manager' },
      );
      await client.status().update(Pod, { ...made, status }, { fieldOwner: 'kubelet' });
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, write));

  const one = await client.get(Pod, { namespace: 'default', name: pod(0).metadata.name });
  const whole = JSON.stringify(one).length;
  const managed = JSON.stringify(one.metadata.managedFields).length;
  console.log(`\na Pod has ${whole} bytes, ${managed} of them managedFields`);

  const peers = COMPRESSIONS.flatMap((compression) =>
    ['auto', 'false'].map((http2) => `${compression} ${http2}`),
  );
  const runs = await inTurn(peers, rounds, (peer) => {
    const [compression, http2] = peer.split(' ') as [string, string];
    const args = ['--compression', compression, '--http2', http2, '--pods', String(pods)];
    return runOnce<WireFigures>('cache/wire-load.ts', args, 120_000);
  });
  const columns: readonly (readonly [keyof WireFigures, string, number])[] = [
    ['bytes', 'KB', 1000],
    ['cpuMs', 'CPU ms', 1],
    ['serverCpuMs', "server's CPU ms", 1],
    ['ms', 'ms', 1],
  ];
  console.log(`\nfirst list of ${pods} Pods, median of ${rounds}, Node ${process.version}\n`);
  console.log(
    layout([
      ['', ...columns.map(([, title]) => title)],
      ...peers.map((peer) => [
        peer.replace('auto', 'HTTP/2').replace('false', 'HTTP/1.1'),
        ...columns.map(([name, , unit]) =>
          showSpread(spread((runs.get(peer) ?? []).map((run) => run[name] / unit)), 0),
        ),
      ]),
    ]),
  );
  await transport[Symbol.asyncDispose]();
} finally {
  await plane.stop();
}
