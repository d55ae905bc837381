/**
 * Replays: a source of a cache's objects handles some of them again, as at its start. Shards need
 * it when a slot opens.
 */

import type { Request } from '../../base/request.ts';
import { TimeSlice } from '../../base/wait.ts';
import type { SharedIndexInformer } from '../../cache/informer/informer.ts';
import { splitMetaNamespaceKey } from '../../cache/rest/keys.ts';
import type { Source, SourceQueue } from '../source.ts';
import type { EventPipe } from './event-pipe.ts';

export interface Replay {
  /** Gets the requests. */
  readonly queue: SourceQueue;
  /** The source in the list of running calls. */
  readonly owner: object;
  /** Which objects are handled. */
  has(key: Request): boolean;
}

/** A source that has objects. */
export interface Replayable extends Source {
  /** Begins a replay. Has no effect before the source has objects; they come by its start. */
  replay(replay: Replay): void;
}

export const isReplayable = (source: Source): source is Replayable =>
  typeof (source as Partial<Replayable>).replay === 'function';

/** Passes the objects of an informer to a pipe as create events. Never rejects. */
export async function replayObjects<T extends object>(
  informer: SharedIndexInformer<T, never>,
  pipe: EventPipe<T>,
  has: (key: Request) => boolean,
  signal: AbortSignal,
): Promise<void> {
  const slice = new TimeSlice(pipe.clock);
  const handler = pipe.informerHandler();
  try {
    const indexer = informer.getIndexer();
    for (const key of indexer.listKeys()) {
      if (signal.aborted) return;
      if (!has(splitMetaNamespaceKey(key))) continue;
      const object = indexer.getByKey(key);
      if (object !== undefined) await handler.onAdd?.(object as T, true);
      if (slice.over()) await slice.yield();
    }
  } catch (error) {
    pipe.report(error, 'the objects of slots that have opened could not be read');
  }
}
