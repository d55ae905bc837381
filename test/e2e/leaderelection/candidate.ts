/**
 * A candidate as a process of its own: `candidate.ts KUBECONFIG JOURNAL IDENTITY`. While it leads it works: piece after piece, each of which
 * begins only if holdsLease says so at that moment, and ends by itself or when it is told to. What it does it writes down at
 * once, so that nothing is lost when it is killed. SIGTERM ends it in order, and gives the lease back.
 */
import { openSync, writeSync } from 'node:fs';
import { KubeConfig } from '@kubernetes/client-node';
import type { Transport } from 'capstan/cache';
import { kubeConfigTransport } from 'capstan/client-node';
import { LeaderElector, LeaseLock } from 'capstan/leaderelection';
import type { Entry } from '../../leaderelection/judge.ts';
import { DURATIONS, LEASE, STEP_MS, stepsOf } from './settings.ts';

const PAUSE_MS = 5;

const [kubeconfig = '', journal = '', identity = ''] = process.argv.slice(2);
const file = openSync(journal, 'a');
const now = (): number => Number(process.hrtime.bigint()) / 1e6;
const note = (entry: Entry): void => void writeSync(file, `${JSON.stringify(entry)}\n`);

/** Writes down what the server has acknowledged. */
function noting(transport: Transport): Transport {
  return {
    async request(request) {
      const sentAt = now();
      const response = await transport.request(request);
      if (request.method === 'GET' || response.status > 299) return response;
      const chunks: Uint8Array[] = [];
      for await (const chunk of response.body) chunks.push(chunk);
      const { metadata, spec } = JSON.parse(Buffer.concat(chunks).toString()) as {
        metadata: { resourceVersion: string };
        spec: { holderIdentity?: string; leaseDurationSeconds: number };
      };
      const { resourceVersion: version } = metadata;
      const { holderIdentity: holder = '', leaseDurationSeconds: seconds } = spec;
      note({ kind: 'write', at: now(), sentAt, version, holder, seconds });
      return { ...response, body: bodyOf(chunks) };
    },
  };
}

async function* bodyOf(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

let run = 0;
async function work(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const at = now(); // before the question: a stop between the two is nothing that any check could see
    if (elector.holdsLease()) {
      note({ kind: 'begin', at, run: ++run });
      const steps = stepsOf(run);
      for (let step = 0; step < steps && !signal.aborted; step++) await sleep(STEP_MS, signal);
      note({ kind: 'end', at: now(), run, aborted: signal.aborted });
    }
    await sleep(PAUSE_MS, signal);
  }
}

const config = new KubeConfig();
config.loadFromFile(kubeconfig);
const transport = kubeConfigTransport(config);
const elector = new LeaderElector({
  lock: new LeaseLock(noting(transport), { ...LEASE, identity }),
  ...DURATIONS,
  releaseOnCancel: true,
  stepDown: 'lapse',
  logger: console,
  callbacks: {
    onStartedLeading: (signal) => {
      note({ kind: 'leads', at: now() });
      return work(signal);
    },
    onStoppedLeading: () => note({ kind: 'stops', at: now() }),
  },
});

const end = new AbortController();
process.on('SIGTERM', () => end.abort());
while (!end.signal.aborted) await elector.run({ signal: end.signal });
await transport.close?.();
