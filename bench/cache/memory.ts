/**
 * `npm run bench:cache-memory -- [--pods same|varied] [--live 100000] [--rounds 5] [--settle 20]
 * [--json yes]`: the resident memory of 100 000 cached Pods, beside that of the same Pods parsed
 * into a Map, our informer of an empty list, and a process that does nothing. Also the peaks of the
 * first list and of a relist of the same Pods. The Pods have 4.7 KB and few differences
 * (pod-bytes.ts), or belong to 5000 Deployments, with two indices (varied-pods.ts). Medians; each
 * run in a process of its own with a server of its own on loopback. Needs Linux, where a process
 * can reset its peak.
 *
 * The goals: at most 0.45 of the parsed objects, both without the empty process; 100 000 varied
 * Pods in at most 70 MB over the empty informer; peaks of at most 1.25 times the memory that stays,
 * of the whole process.
 */

import { layout, showCount } from '../measure/figures.ts';
import { flagsOrExit } from '../measure/flags.ts';
import { inTurn, runOnce, spread, verdictOf } from '../measure/rounds.ts';
import { withServer } from '../measure/servers.ts';
import { type CacheMemory, MEMORY_PEERS } from './peers.ts';

const GOAL = 0.45;
const PEAK_GOAL = 1.25;
const BYTES_GOAL = 700; // a varied Pod, over the empty informer
const LIMIT_MS = 5 * 60_000;

const { pods, live, rounds, settle, json } = flagsOrExit('npm run bench:cache-memory --', {
  pods: ['same', 'varied'],
  live: 100_000,
  rounds: 5,
  settle: 20,
  json: ['no', 'yes'],
});
const runs = await inTurn(MEMORY_PEERS, rounds, (peer) =>
  withServer(
    'cache/pods-server.ts',
    [peer === 'empty-informer' ? '0' : String(live), pods],
    (url) => {
      const args = [
        '--peer',
        peer,
        '--pods',
        pods,
        '--live',
        String(live),
        '--settle',
        String(settle),
        '--port',
        new URL(url).port,
      ];
      return runOnce<CacheMemory>('cache/memory-load.ts', args, LIMIT_MS);
    },
  ),
);

const of = (peer: string, figure: (memory: CacheMemory) => number | undefined): number =>
  spread((runs.get(peer) ?? []).map((memory) => figure(memory) ?? Number.NaN)).median;
const empty = of('empty', (memory) => memory.listed);
const perPod = (peer: string): number => (of(peer, (memory) => memory.listed) - empty) / live;
const mib = (bytes: number): string =>
  Number.isNaN(bytes) ? '-' : (bytes / 1024 / 1024).toFixed(0);
const ratio = (value: number): string => (Number.isNaN(value) ? '-' : value.toFixed(2));

const rows = MEMORY_PEERS.map((peer) => {
  const [listed, listPeak] = [
    of(peer, (memory) => memory.listed),
    of(peer, (memory) => memory.listPeak),
  ];
  const [relisted, relistPeak] = [
    of(peer, (memory) => memory.relisted),
    of(peer, (memory) => memory.relistPeak),
  ];
  return { peer, listed, listPeak, relisted, relistPeak };
});
const print = json === 'yes' ? console.error : console.log;
if (json === 'yes') {
  for (const row of rows)
    console.log(
      JSON.stringify({ ...row, work: 'cache-memory', pods, n: live, perPod: perPod(row.peer) }),
    );
} else {
  console.log(
    `\n${showCount(live)} Pods, resident MiB, median of ${rounds}, Node ${process.version}\n`,
  );
  console.log(
    layout([
      ['', 'listed', 'bytes a Pod', 'peak', 'of listed', 'relisted', 'peak', 'of relisted'],
      ...rows.map(({ peer, listed, listPeak, relisted, relistPeak }) => [
        peer,
        mib(listed),
        peer.startsWith('empty') ? '-' : perPod(peer).toFixed(0),
        mib(listPeak),
        ratio(listPeak / listed),
        mib(relisted),
        mib(relistPeak),
        ratio(relistPeak / relisted),
      ]),
    ]),
  );
  console.log();
}
const own = rows.find((row) => row.peer === 'capstan');
if (own === undefined) throw new Error('ours was not measured');
print(verdictOf('memory of the parsed objects', perPod('capstan') / perPod('map'), GOAL));
if (pods === 'varied') {
  const over =
    of('capstan', (memory) => memory.listed) - of('empty-informer', ({ listed }) => listed);
  print(verdictOf('bytes a Pod over the empty informer', over / live, BYTES_GOAL));
}
print(verdictOf('peak of the list over what stays', own.listPeak / own.listed, PEAK_GOAL));
print(verdictOf('peak of the relist over what stays', own.relistPeak / own.relisted, PEAK_GOAL));
