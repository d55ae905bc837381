/**
 * One first list of an informer on a real API server, in a process of its own, as a JSON line:
 *
 *     node bench/cache/wire-load.ts --compression C --http2 H --pods N
 *
 * The kubeconfig is named by CAPSTAN_WIRE_KUBECONFIG. Bytes are those of all sockets, with TLS. The
 * CPU time of the server is read from its metrics.
 */
import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import { ListWatch, SharedIndexInformer, type Transport, waitForCacheSync } from 'capstan/cache';
import { kubeConfigTransport } from 'capstan/client-node';
import { Pod } from 'capstan/kinds';
import { flagsOrExit } from '../measure/flags.ts';
import { COMPRESSIONS, type WireFigures } from './peers.ts';

const { compression, http2, pods } = flagsOrExit('cache/wire-load.ts', {
  compression: COMPRESSIONS,
  http2: ['auto', 'false'],
  pods: 5000,
});

const sockets: Socket[] = [];
subscribe('net.client.socket', (message) => sockets.push((message as { socket: Socket }).socket));
const received = (): number => sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0);

async function serverCpuMs(of: Transport): Promise<number> {
  const { body } = await of.request({ method: 'GET', path: '/metrics' });
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  const line = /^process_cpu_seconds_total (\S+)$/m.exec(Buffer.concat(chunks).toString());
  return Number(line?.[1]) * 1000;
}

const config = new KubeConfig();
config.loadFromFile(process.env.CAPSTAN_WIRE_KUBECONFIG as string);
const transport = kubeConfigTransport(config, { http2: http2 === 'auto' ? 'auto' : false });
const serverBefore = await serverCpuMs(transport);
const informer = new SharedIndexInformer(
  new ListWatch(transport, Pod, { compression: compression as 'gzip' | 'identity' }),
);
const [bytesBefore, cpu, start] = [received(), process.cpuUsage(), performance.now()];
const stop = new AbortController();
const running = informer.run({ signal: stop.signal });
await waitForCacheSync({ signal: AbortSignal.timeout(60_000) }, informer);
const used = process.cpuUsage(cpu);
const figures: WireFigures = {
  bytes: received() - bytesBefore,
  ms: performance.now() - start,
  cpuMs: (used.user + used.system) / 1000,
  serverCpuMs: (await serverCpuMs(transport)) - serverBefore,
};
const cached = informer.getIndexer().size();
if (cached !== pods) throw new Error(`the cache has ${cached} Pods, expected ${pods}`);
console.log(JSON.stringify(figures));
stop.abort();
await running;
await transport[Symbol.asyncDispose]();
