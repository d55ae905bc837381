/**
 * Judges what processes that share objects have recorded, on one clock: no object is worked on by
 * two at once, none is deleted that was not, and for how long slots had no owner.
 */

/** In bytes, as `process.memoryUsage` returns it. */
interface Memory {
  readonly rss: number;
  readonly heapUsed: number;
  readonly heapTotal: number;
  readonly external: number;
}

/** An entry of a journal. Times are milliseconds of a clock that all processes share. */
export type ShardLogEntry =
  | { readonly kind: 'begin'; readonly at: number; readonly key: string; readonly run: number }
  | { readonly kind: 'end'; readonly at: number; readonly run: number }
  /** A write was acknowledged. */
  | { readonly kind: 'wrote'; readonly at: number; readonly sentAt: number; readonly run: number }
  | {
      readonly kind: 'refused';
      readonly at: number;
      readonly run: number;
      readonly message: string;
    }
  | { readonly kind: 'deleted'; readonly at: number; readonly key: string }
  | { readonly kind: 'opens' | 'closes'; readonly at: number; readonly slot: number }
  /** It stops itself by SIGSTOP. */
  | { readonly kind: 'stops'; readonly at: number }
  | {
      readonly kind: 'usage';
      readonly at: number;
      readonly cpuMs: number;
      readonly memory: Memory;
    };

export interface ShardProcessLog {
  readonly identity: string;
  readonly entries: readonly ShardLogEntry[];
  /** While it was stopped by SIGSTOP. */
  readonly stops: readonly { readonly from: number; readonly to: number }[];
  /** When it was killed; infinite if it was not. */
  readonly killedAt: number;
}

export interface ShardVerdict {
  readonly runs: number;
  readonly writes: number;
  readonly refused: number;
  /** Runs of one object in two processes at once, as text. */
  readonly overlaps: readonly string[];
  /** Keys of deletions that were told. */
  readonly deletions: readonly string[];
}

interface Run {
  readonly who: string;
  readonly key: string;
  readonly from: number;
  readonly to: number;
}

/**
 * A run lasts until its end, the death of its process, or the moment at which that is stopped: a
 * process that goes on after a stop has been told to end its work, so that from then on only what
 * it writes counts.
 */
export function judgeShards(logs: readonly ShardProcessLog[]): ShardVerdict {
  const runs: Run[] = [];
  const deletions: string[] = [];
  let writes = 0;
  let refused = 0;
  for (const { identity, entries, stops, killedAt } of logs) {
    const open = new Map<number, { key: string; from: number; stop: number | undefined }>();
    const close = (run: number, at: number): void => {
      const begun = open.get(run);
      if (begun === undefined) return;
      const to = Math.min(at, begun.stop ?? at, killedAt);
      runs.push({ who: identity, key: begun.key, from: begun.from, to });
      open.delete(run);
    };
    for (const entry of entries) {
      switch (entry.kind) {
        case 'begin': {
          const { run, key, at } = entry;
          const stop = stops.find(({ from, to }) => to > at && from < Number.POSITIVE_INFINITY);
          open.set(run, { key, from: at, stop: stop && Math.max(at, stop.from) });
          break;
        }
        case 'end':
          close(entry.run, entry.at);
          break;
        case 'wrote': {
          writes++;
          const begun = open.get(entry.run);
          // A write that went on after a stop counts for the time that it took.
          if (begun?.stop !== undefined && entry.sentAt > begun.stop)
            runs.push({ who: identity, key: begun.key, from: entry.sentAt, to: entry.at });
          break;
        }
        case 'refused':
          refused++;
          break;
        case 'deleted':
          deletions.push(`${identity}: ${entry.key}`);
      }
    }
    for (const run of [...open.keys()]) close(run, Number.POSITIVE_INFINITY);
  }
  return { runs: runs.length, writes, refused, overlaps: overlapsOf(runs), deletions };
}

function overlapsOf(runs: readonly Run[]): string[] {
  const byKey = new Map<string, Run[]>();
  for (const run of runs) {
    const of = byKey.get(run.key) ?? [];
    of.push(run);
    byKey.set(run.key, of);
  }
  const overlaps: string[] = [];
  for (const [key, of] of byKey) {
    of.sort((a, b) => a.from - b.from);
    let longest: Run | undefined;
    for (const run of of) {
      if (longest !== undefined && longest.who !== run.who && run.from < longest.to)
        overlaps.push(`${key}: ${textOf(longest)} and ${textOf(run)}`);
      if (longest === undefined || run.to > longest.to) longest = run;
    }
  }
  return overlaps;
}

const textOf = ({ who, from, to }: Run): string => `${who} ${from.toFixed(1)}-${to.toFixed(1)}`;

/**
 * For how long each slot was open nowhere after `since`, before it was opened again. A process that
 * is stopped works on nothing: each stop is longer than a lease.
 */
export function gapsOf(logs: readonly ShardProcessLog[], since: number): number[] {
  const gaps: number[] = [];
  const bySlot = new Map<number, { at: number; isOpen: boolean }[]>();
  for (const { entries, killedAt, stops } of logs) {
    const open = new Set<number>();
    const ends = [...stops.map(({ from }) => from), killedAt];
    const note = (slot: number, at: number, isOpen: boolean): void => {
      const of = bySlot.get(slot) ?? [];
      of.push({ at, isOpen });
      bySlot.set(slot, of);
    };
    const closeUntil = (at: number): void => {
      while (ends[0] !== undefined && ends[0] < at) {
        const end = ends.shift() as number;
        for (const slot of open) note(slot, end, false);
        open.clear();
      }
    };
    for (const entry of entries) {
      if (entry.kind !== 'opens' && entry.kind !== 'closes') continue;
      closeUntil(entry.at);
      const isOpen = entry.kind === 'opens';
      if (isOpen === open.has(entry.slot)) continue;
      if (isOpen) open.add(entry.slot);
      else open.delete(entry.slot);
      note(entry.slot, entry.at, isOpen);
    }
    closeUntil(Number.POSITIVE_INFINITY);
  }
  for (const events of bySlot.values()) {
    events.sort((a, b) => a.at - b.at);
    let count = 0;
    let closedAt: number | undefined;
    for (const { at, isOpen } of events) {
      count += isOpen ? 1 : -1;
      if (isOpen && count === 1 && closedAt !== undefined && at >= since) gaps.push(at - closedAt);
      if (count === 0) closedAt = at;
    }
  }
  return gaps.sort((a, b) => a - b);
}
