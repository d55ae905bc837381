/**
 * Common code of the candidates' processes. Their arguments are KUBECONFIG, JOURNAL and IDENTITY.
 * They write what they do to the journal at once, so that nothing is lost when they are killed.
 */
import { openSync, writeSync } from 'node:fs';
import { KubeConfig } from '@kubernetes/client-node';
import type { Transport } from 'capstan/cache';
import { kubeConfigTransport } from 'capstan/client-node';
import type { ElectionLogEntry } from '../../helpers/leaderelection/judge-election.ts';
import { LEASE, STEP_MS, stepsOf } from './settings.ts';

const [kubeconfig = '', journal = '', identity = ''] = process.argv.slice(2);

// Before the journal exists: a process with a journal ends gracefully.
const end = new AbortController();
process.on('SIGTERM', () => end.abort());

/** Aborts at SIGTERM. */
export const endSignal: AbortSignal = end.signal;

const file = openSync(journal, 'a');

export { identity };

/** CLOCK_MONOTONIC, which all processes of a machine share, in milliseconds. */
export const now = (): number => Number(process.hrtime.bigint()) / 1e6;

export const writeEntry = (entry: ElectionLogEntry): void =>
  void writeSync(file, `${JSON.stringify(entry)}\n`);

/** A transport to the API server that records acknowledged writes to the lease. */
export function journalingTransport(): Transport {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  const transport = kubeConfigTransport(config);
  return {
    async request(request) {
      const sentAt = now();
      const response = await transport.request(request);
      if (request.method === 'GET' || response.status > 299 || !request.path.includes('/leases'))
        return response;
      const chunks: Uint8Array[] = [];
      for await (const chunk of response.body) chunks.push(chunk);
      const { metadata, spec } = JSON.parse(Buffer.concat(chunks).toString()) as {
        metadata: { name: string; resourceVersion: string };
        spec: { holderIdentity?: string; leaseDurationSeconds: number };
      };
      if (metadata.name !== LEASE.name)
        throw new Error(`a write to a lease of another name: ${metadata.name}`);
      const { holderIdentity: holder = '', leaseDurationSeconds: seconds } = spec;
      writeEntry({
        kind: 'write',
        at: now(),
        sentAt,
        version: metadata.resourceVersion,
        holder,
        seconds,
      });
      return { ...response, body: bodyOf(chunks) };
    },
    close: () => transport.close?.() ?? Promise.resolve(),
  };
}

async function* bodyOf(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });
}

let run = 0;

/** A piece of work that began at `at`: ends by itself, or at the first step after an abort. */
export async function work(at: number, signal: AbortSignal): Promise<void> {
  const number = ++run;
  writeEntry({ kind: 'begin', at, run: number });
  const steps = stepsOf(number);
  for (let step = 0; step < steps && !signal.aborted; step++) await sleep(STEP_MS, signal);
  writeEntry({ kind: 'end', at: now(), run: number, aborted: signal.aborted });
}
