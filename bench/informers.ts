/**
 * The informer work: every reader in a process of its own, in turn, on the same watch over loopback HTTP. What counts is
 * its CPU time per event; the wall time is the pace of the server, which shares the machine.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { type Figure, median } from './figures.ts';
import { at, type ClientGo, figuresOf, figuresOfScript, reasonOf } from './programs.ts';

/** About the bytes of a frame of peers/watch-server.mjs, from which the null reader knows where the events end. */
const FRAME_BYTES = 4740;
const ROUNDS = 3;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no TCP port on loopback');
  return address.port;
}

async function withWatchServer<R>(events: number, use: (url: string) => Promise<R>): Promise<R> {
  const port = await freePort();
  const server = spawn(process.execPath, [at('./peers/watch-server.mjs'), String(events), String(port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const stop = (): void => void server.kill();
  process.once('exit', stop);
  try {
    const exited = once(server, 'exit').then(([code]) => {
      throw new Error(`peers/watch-server.mjs ended with ${code} before it was ready`);
    });
    exited.catch(() => {});
    await Promise.race([once(createInterface({ input: server.stdout }), 'line'), exited]);
    return await use(`http://127.0.0.1:${port}`);
  } finally {
    process.off('exit', stop);
    stop();
  }
}

function merge(runs: readonly Figure[]): Figure | undefined {
  const [first] = runs;
  if (first === undefined) return undefined;
  const wall = runs.map((figure) => figure.ns);
  const cpu = runs.map((figure) => figure.cpu ?? Number.NaN);
  return {
    ...first,
    ns: median(wall),
    min: Math.min(...wall),
    max: Math.max(...wall),
    cpu: median(cpu),
    cpuMin: Math.min(...cpu),
    cpuMax: Math.max(...cpu),
  };
}

/** A peer that fails is named in `notes` and left out; ours must not fail. */
export async function measureInformers(events: number, clientGo: ClientGo, notes: string[]): Promise<Figure[]> {
  return withWatchServer(events, async (url) => {
    const n = String(events);
    const readers = new Map<string, () => Promise<Figure[]>>([
      ['capstan', () => figuresOfScript('./capstan-informer.ts', [url, n])],
      ['client-node', () => figuresOfScript('./peers/client-node/informer.mjs', [url, n])],
      ['null-reader', () => figuresOfScript('./peers/client-node/null-reader.mjs', [url, n, String(FRAME_BYTES)])],
    ]);
    if ('program' in clientGo) readers.set('client-go', () => figuresOf(clientGo.program, ['informer', url, n]));
    const runs = new Map([...readers.keys()].map((peer) => [peer, [] as Figure[]]));
    for (let round = 0; round < ROUNDS; round++) {
      for (const [peer, read] of readers) {
        try {
          runs.get(peer)?.push(...(await read()));
        } catch (error) {
          if (peer === 'capstan') throw error;
          notes.push(`informer ${n}: ${peer} failed and is left out: ${reasonOf(error)}`);
          readers.delete(peer);
          runs.delete(peer);
        }
      }
    }
    return [...runs.values()].map(merge).filter((figure) => figure !== undefined);
  });
}
