/**
 * The work `informer`: every reader in a process of its own, in turn, on the same watch over
 * loopback HTTP. The result is CPU time per event, because the wall time is that of the server,
 * which shares the machine. All are measured twice: from their first event on, and (`-warm`) after
 * three times as many events, when the code is compiled (our cost falls during the first 150 000
 * events). Go programs are compiled ahead and measured once.
 *
 * Our informer runs with three handlers, because it decodes only what is read: `informer` reads
 * name and resourceVersion, `informer-spec` reads the spec as well, `informer-map` stores every
 * object into a Map. The peers always decode everything and run with one handler.
 */

import { cost, type Figure } from '../measure/figures.ts';
import { figuresOf, figuresOfScript, type GoProgram } from '../measure/programs.ts';
import { readInTurn, WARM_UP } from '../measure/readers.ts';
import { verdictOf } from '../measure/rounds.ts';
import { withServer } from '../measure/servers.ts';
import { HANDLERS } from './informer-handlers.ts';

/**
 * The approximate bytes of a frame of peers/watch-server.mjs, by which the null reader knows when
 * it has all events.
 */
const FRAME_BYTES = 4740;
/** The goals of the informer as lines of the report, one for each goal whose peer was measured. */
export function informerGoals(figures: readonly Figure[], warm: boolean): string[] {
  const as = warm ? '-warm' : '';
  const find = (peer: string, work = 'informer'): number | undefined => {
    const figure = figures.find((each) => each.peer === peer && each.work === work + as);
    return figure && cost(figure);
  };
  const lines: string[] = [];
  const [own, spec, map] = ['informer', 'informer-spec', 'informer-map'].map((work) =>
    find('capstan', work),
  );
  const [floor, node, go] = [find('null-reader'), find('client-node'), find('client-go')];
  const against = (
    what: string,
    ours: number | undefined,
    theirs: number | undefined,
    goal: number,
  ): void => {
    if (ours !== undefined && theirs !== undefined)
      lines.push(verdictOf(what, ours / theirs, goal, 3));
  };
  if (own !== undefined && floor !== undefined) {
    lines.push(
      verdictOf(
        `informer${as}: µs of our CPU an event minus the null reader's`,
        (own - floor) / 1000,
        7,
      ),
    );
  }
  against(`informer${as}: our CPU of client-node's`, own, node, 1 / 2.5);
  against(`informer${as}: our CPU of client-go's`, own, go, 1 / 15);
  against(`informer-spec${as}: our CPU of client-node's`, spec, node, 2 / 3);
  if (map !== undefined && node !== undefined) {
    lines.push(`informer-map${as}: our CPU of client-node's: ${(map / node).toFixed(3)}, no goal`);
  }
  return lines;
}

/** A peer that fails is named in `notes` and left out; ours must not fail. */
export async function measureInformers(
  events: number,
  clientGo: GoProgram,
  notes: string[],
): Promise<Figure[]> {
  const cold = await measure(events, 0, clientGo, notes);
  const go = cold
    .filter(({ peer }) => peer === 'client-go')
    .map((figure) => ({ ...figure, work: 'informer-warm' }));
  const warm = await measure(events, WARM_UP * events, { missing: 'it has been measured' }, notes);
  notes.push(...informerGoals(cold, false), ...informerGoals([...warm, ...go], true));
  return [...cold, ...warm];
}

async function measure(
  events: number,
  warmUp: number,
  clientGo: GoProgram,
  notes: string[],
): Promise<Figure[]> {
  return withServer('peers/watch-server.mjs', [String(warmUp + events)], async (url) => {
    const [n, before] = [String(events), String(warmUp)];
    const readers = new Map<string, () => Promise<Figure[]>>();
    for (const handler of HANDLERS) {
      readers.set(`capstan ${handler}`, () =>
        figuresOfScript('cache/capstan-informer.ts', [url, n, handler, before]),
      );
    }
    readers.set('client-node', () =>
      figuresOfScript('peers/client-node/informer.mjs', [url, n, before]),
    );
    readers.set('null-reader', () =>
      figuresOfScript('peers/client-node/null-reader.mjs', [url, n, String(FRAME_BYTES), before]),
    );
    if ('program' in clientGo)
      readers.set('client-go', () => figuresOf(clientGo.program, ['informer', url, n]));
    return readInTurn('informer', events, readers, notes);
  });
}
