/**
 * Measures several readers of one watch in turn, each in a process of its own, for some rounds. So
 * other work on the machine disturbs all of them alike. Each round begins with another reader,
 * because a shared machine is slower right after a process that used all of it. A peer that fails
 * is named in the notes and left out; ours must not fail.
 */
import { type Figure, median } from './figures.ts';
import { reasonOf } from './programs.ts';

/** A warm measurement is preceded by this many times its number of events. */
export const WARM_UP = 3;
/**
 * Few events only show that the programs work: the run ends before the code is compiled, so two
 * rounds are enough.
 */
const roundsFor = (events: number): number => (events < 10_000 ? 2 : 5);

/**
 * By the name of a reader, a function that runs it once. Names of our readers begin with `capstan`.
 */
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
