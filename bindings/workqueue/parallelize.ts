/**
 * A bounded pool over numbered pieces: client-go util/workqueue/parallelizer.go. Each piece runs
 * once.
 */
import { invalid, requireFunction, requireInteger } from '../base/errors.ts';
import { namesOf, requireNames } from '../base/names.ts';

const NAMES = namesOf<{ signal: AbortSignal; chunkSize: number }>()({ signal: 1, chunkSize: 1 });

/**
 * Runs `run(0)` to `run(pieces - 1)`, at most `workers` at a time, each worker taking `chunkSize`
 * pieces (default 1) in a row.
 *
 * Resolves when all have ended. When the signal fires no more pieces are begun and it resolves
 * after those that run, as in client-go. A piece that throws stops further chunks too; the first
 * error rejects once the running pieces have ended.
 *
 * @example
 * await parallelizeUntil(16, nodes.length, async (i) => check(nodes[i]), { signal });
 */
export async function parallelizeUntil(
  workers: number,
  pieces: number,
  run: (piece: number) => Promise<void> | void,
  options: { signal?: AbortSignal | undefined; chunkSize?: number | undefined } = {},
): Promise<void> {
  requireInteger('workers', workers, 1);
  requireInteger('pieces', pieces, 0);
  requireFunction('run', run);
  requireNames('options', options, 'option of parallelizeUntil()', NAMES);
  const { signal, chunkSize = 1 } = options;
  if (!Number.isSafeInteger(chunkSize)) throw invalid('chunkSize', 'an integer', chunkSize);
  const chunk = Math.max(chunkSize, 1); // client-go: a size below 1 means 1
  let next = 0;
  let failed = false;
  let failure: unknown;
  const work = async (): Promise<void> => {
    while (next < pieces && !failed && !signal?.aborted) {
      const start = next;
      next += chunk;
      for (
        let piece = start;
        piece < Math.min(start + chunk, pieces) && !failed && !signal?.aborted;
        piece++
      ) {
        try {
          await run(piece);
        } catch (error) {
          if (!failed) failure = error;
          failed = true;
        }
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(workers, Math.ceil(pieces / chunk)) }, work));
  if (failed) throw failure;
}
