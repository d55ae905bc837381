/**
 * The work `controller`: a controller that reads its object from the cache, in a process of its
 * own. Updates come over loopback HTTP as fast as it reads them. The result is CPU time per event
 * until the last version of every object has been reconciled, which each program checks. All are
 * measured twice, as the informers are: from their first event on, and warm.
 *
 * Ours runs with three reconcile functions, because it decodes only what is read
 * (controller-readers.ts). The peers always decode everything and run with one. All have one
 * worker, a priority queue if there is one, no debounce, and otherwise their defaults.
 */

import { cost, type Figure, showCount } from '../measure/figures.ts';
import { figuresOf, figuresOfScript, type GoProgram } from '../measure/programs.ts';
import { type Readers, readInTurn, WARM_UP } from '../measure/readers.ts';
import { verdictOf } from '../measure/rounds.ts';
import { withServer } from '../measure/servers.ts';
import { READERS } from './controller-readers.ts';

/** The number of the server's Pods. Each is updated equally often. */
const PODS = 1000;

/**
 * The goals of the controller as lines of the report, one for each goal whose peer was measured.
 */
function controllerGoals(figures: readonly Figure[]): string[] {
  const costOf = (peer: string, work: string): number | undefined => {
    const figure = figures.find((each) => each.peer === peer && each.work === work);
    return figure && cost(figure);
  };
  const lines: string[] = [];
  for (const [what, as] of variants()) {
    const work = what + as;
    const ours = costOf('capstan', work);
    for (const [peer, goal] of [
      ['client-node', 1 / 2.5],
      ['controller-runtime', 1 / 10],
    ] as const) {
      const theirs = costOf(peer, `controller${as}`);
      if (ours !== undefined && theirs !== undefined)
        lines.push(verdictOf(`${work}: our CPU of ${peer}'s`, ours / theirs, goal, 3));
    }
  }
  return lines;
}

export async function measureControllers(
  events: number,
  runtime: GoProgram,
  notes: string[],
): Promise<Figure[]> {
  if (events < PODS || events % PODS !== 0) {
    notes.push(
      `controller ${showCount(events)} is not measured: it takes a multiple of ${PODS} events`,
    );
    return [];
  }
  const cold = await measure(events, 0, runtime, notes);
  const go = cold.filter(({ peer }) => peer === 'controller-runtime');
  const warm = await measure(events, WARM_UP * events, { missing: 'it has been measured' }, notes);
  notes.push(
    ...controllerGoals([
      ...cold,
      ...warm,
      ...go.map((figure) => ({ ...figure, work: 'controller-warm' })),
    ]),
  );
  for (const { peer, work, n, reconciles } of [...cold, ...warm])
    notes.push(`${work}: ${peer} reconciled ${reconciles} times for ${n} events`);
  return [...cold, ...warm];
}

function* variants(): Generator<[work: string, suffix: string]> {
  for (const suffix of ['', '-warm'])
    for (const work of ['controller', 'controller-spec', 'controller-client']) yield [work, suffix];
}

async function measure(
  events: number,
  warmUp: number,
  runtime: GoProgram,
  notes: string[],
): Promise<Figure[]> {
  return withServer('peers/watch-server.mjs', [String(warmUp + events)], async (url) => {
    const [n, before] = [String(events), String(warmUp)];
    const readers: Readers = new Map();
    for (const reader of READERS) {
      readers.set(`capstan ${reader}`, () =>
        figuresOfScript('controller/capstan-controller.ts', [url, n, reader, before]),
      );
    }
    readers.set('client-node', () =>
      figuresOfScript('peers/client-node/controller.mjs', [url, n, before]),
    );
    if ('program' in runtime)
      readers.set('controller-runtime', () => figuresOf(runtime.program, [url, n]));
    return readInTurn('controller', events, readers, notes);
  });
}
