/**
 * The judge of an election among processes of one machine, by what each of them wrote down with the
 * clock that they share. Two promises: no piece of work begins without a lease that is the own one
 * and valid, and work that a stopped process has left unfinished beside that of another leader goes
 * on for no longer than it takes to be told.
 */

/** What a process writes down; times are milliseconds of the shared monotonic clock. */
export type Entry =
  /** A write to the lease that the server has acknowledged: sent at `sentAt`, known at `at`. */
  | { kind: 'write'; at: number; sentAt: number; version: string; holder: string; seconds: number }
  | { kind: 'leads' | 'stops'; at: number }
  | { kind: 'begin'; at: number; run: number }
  | { kind: 'end'; at: number; run: number; aborted: boolean };

export interface History {
  readonly identity: string;
  readonly entries: readonly Entry[];
  /** When it was stopped (SIGSTOP) and ran again, as the one who did that saw it. */
  readonly stops: readonly { readonly from: number; readonly to: number }[];
  /** Whether it was killed: what it did last has no end then. */
  readonly killed: boolean;
}

export interface Verdict {
  readonly violations: readonly string[];
  readonly runs: number;
  readonly terms: number;
  /**
   * Runs that were still going on when another leader began one, and how many of them ended because
   * they were told to.
   */
  readonly overlaps: number;
  readonly aborted: number;
}

/**
 * How long a process may take to notice that it was told to stop, after it runs again: for a
 * machine that is busy.
 */
export const NOTICE_MS = 1000;

interface Run {
  readonly owner: History;
  readonly begin: number;
  readonly end: number | undefined;
  readonly aborted: boolean;
}

export function judge(histories: readonly History[]): Verdict {
  const runs = histories.flatMap(runsOf).sort((a, b) => a.begin - b.begin);
  const violations = histories.flatMap((history) => unlicensed(history, histories));
  const overlapping = new Set<Run>();
  for (const later of runs) {
    for (const earlier of runs) {
      if (earlier.begin >= later.begin) break;
      if (earlier.owner === later.owner || (earlier.end ?? Number.POSITIVE_INFINITY) <= later.begin)
        continue;
      if (earlier.end === undefined && earlier.owner.killed) continue; // it ended with its process
      overlapping.add(earlier);
      violations.push(...unheeded(earlier, later));
    }
  }
  const terms = histories
    .flatMap(({ entries }) => entries)
    .filter(({ kind }) => kind === 'leads').length;
  const aborted = [...overlapping].filter((run) => run.aborted).length;
  return { violations, runs: runs.length, terms, overlaps: overlapping.size, aborted };
}

function runsOf(owner: History): Run[] {
  const ends = new Map(
    owner.entries.flatMap((entry) => (entry.kind === 'end' ? [[entry.run, entry]] : [])),
  );
  return owner.entries.flatMap((entry) => {
    if (entry.kind !== 'begin') return [];
    const end = ends.get(entry.run);
    return [{ owner, begin: entry.at, end: end?.at, aborted: end?.aborted ?? false }];
  });
}

/** Beginnings of work without an own lease that is valid, and that nobody else can have taken. */
function unlicensed(history: History, all: readonly History[]): string[] {
  const { identity, entries } = history;
  const writesOf = (one: History) => one.entries.filter((entry) => entry.kind === 'write');
  const writes = all.flatMap(writesOf);
  const own = writesOf(history).filter(({ holder }) => holder === identity);
  return entries.flatMap((begin) => {
    if (begin.kind !== 'begin') return [];
    const what = `${identity} begins work at ${begin.at.toFixed(1)}`;
    const last = own.findLast(({ at }) => at <= begin.at);
    if (last === undefined) return [`${what} without a lease`];
    const late = begin.at - (last.sentAt + last.seconds * 1000);
    if (late >= 0) return [`${what}, ${late.toFixed(1)} ms after its lease ran out`];
    const taken = writes.find(
      ({ holder, sentAt, version }) =>
        holder !== identity && sentAt <= begin.at && BigInt(version) > BigInt(last.version),
    );
    if (taken === undefined) return [];
    return [
      `${what} after the lease went to ${taken.holder || 'nobody'} at ${taken.sentAt.toFixed(1)}`,
    ];
  });
}

/**
 * Work that goes on beside another's. What ends by itself as soon as its process runs again was at
 * its last step.
 */
function unheeded(earlier: Run, later: Run): string[] {
  const { owner, end } = earlier;
  const what = `${owner.identity} works from ${earlier.begin.toFixed(1)} on while ${later.owner.identity} begins at ${later.begin.toFixed(1)}`;
  if (end === undefined) return [`${what}, and never ends`];
  const awake =
    owner.stops.findLast(({ from, to }) => from <= later.begin && to >= later.begin)?.to ??
    later.begin;
  const after = end - awake;
  return after <= NOTICE_MS
    ? []
    : [`${what}, and stops only ${after.toFixed(1)} ms after it could`];
}
