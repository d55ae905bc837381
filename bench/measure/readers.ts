/**
 * Readers of one watch in turn, each in a process of its own, some rounds of them: what disturbs
 * the machine for a while disturbs all alike, and each round begins with another one, as a shared
 * machine is slower after a process that took all of it. A peer that fails is named in the notes
 * and left out; ours must not fail.
 */
import { type Figure, median } from './figures.ts';
import { reasonOf } from './programs.ts';

/** How many times as many events come before those that are measured once warm. */
export const WARM_UP = 3;
/**
 * A run of few events is over before anything is warm: it shows that the programs work, and its
 * figures say nothing.
 */
const roundsFor = (events: number): number => (events < 10_000 ? 2 : 5);

/** By the name of each reader, which begins with `capstan` where it is ours, one run of it. */
export type Readers = Map<string, () => Promise<Figure[]>>;

export async function readInTurn(
  work: string,
  events: number,
  readers: Readers,
  notes: string[],
): Promise<Figure[]> {
  const runs = new Map([...readers.keys()].map((reader) => [reader, [] as Figure[]]));
  for (let round = 0; round < roundsFor(events); round++) {
    const all = [...readers];
    for (const [reader, read] of [
      ...all.slice(round % all.length),
      ...all.slice(0, round % all.length),
    ]) {
      try {
        runs.get(reader)?.push(...(await read()));
      } catch (error) {
        if (reader.startsWith('capstan')) throw error;
        notes.push(`${work}: ${reader} failed and is left out: ${reasonOf(error)}`);
        readers.delete(reader);
        runs.delete(reader);
      }
    }
  }
  return [...runs.values()].map(merge).filter((figure) => figure !== undefined);
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
    ...(first.reconciles === undefined
      ? {}
      : { reconciles: median(runs.map((figure) => figure.reconciles ?? 0)) }),
  };
}
