/**
 * Judges an election among processes of one machine by the logs that they wrote with a shared
 * clock. It checks that no work begins without a valid own lease, and that work which a stalled
 * process resumes while another leads ends as soon as it is told.
 */

/** A log entry of a process; times are milliseconds of the shared monotonic clock. */
export type ElectionLogEntry =
  /** A write of the lease that the server has confirmed: sent at `sentAt`, confirmed at `at`. */
  | { kind: 'write'; at: number; sentAt: number; version: string; holder: string; seconds: number }
  | { kind: 'leads' | 'stops'; at: number }
  | { kind: 'begin'; at: number; run: number }
  | { kind: 'end'; at: number; run: number; aborted: boolean };

export interface ProcessLog {
  readonly identity: string;
  readonly entries: readonly ElectionLogEntry[];
  /** When it was stopped (SIGSTOP) and continued, as seen by the process that did so. */
  readonly stops: readonly { readonly from: number; readonly to: number }[];
  /** Whether it was killed: its last work then has no end. */
  readonly killed: boolean;
}

export interface ElectionVerdict {
  readonly violations: readonly string[];
  readonly runs: number;
  readonly terms: number;
  /**
   * Runs that were still in progress when another leader began one, and how many of them ended
   * because they were told to.
   */
  readonly overlaps: number;
  readonly aborted: number;
}

/** How long a process on a busy machine may take to notice a stop after it continues. */
const NOTICE_MS = 1000;

interface Run {
  readonly owner: ProcessLog;
  readonly begin: number;
  readonly end: number | undefined;
  readonly aborted: boolean;
}

export function judgeElection(histories: readonly ProcessLog[]): ElectionVerdict {
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

function runsOf(owner: ProcessLog): Run[] {
  const ends = new Map(
    owner.entries.flatMap((entry) => (entry.kind === 'end' ? [[entry.run, entry]] : [])),
  );
  return owner.entries.flatMap((entry) => {
    if (entry.kind !== 'begin') return [];
    const end = ends.get(entry.run);
    return [{ owner, begin: entry.at, end: end?.at, aborted: end?.aborted ?? false }];
  });
}

/** Work that began without a valid own lease. */
function unlicensed(history: ProcessLog, all: readonly ProcessLog[]): string[] {
  const { identity, entries } = history;
  const writesOf = (one: ProcessLog) => one.entries.filter((entry) => entry.kind === 'write');
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
 * Work that continues while another leads. A run that ends by itself as soon as its process
 * continues was at its last step.
 */
function unheeded(earlier: Run, later: Run): string[] {
  const { owner, end } = earlier;
  const what =
    `${owner.identity} works from ${earlier.begin.toFixed(1)} on while ` +
    `${later.owner.identity} begins at ${later.begin.toFixed(1)}`;
  if (end === undefined) return [`${what}, and never ends`];
  const awake =
    owner.stops.findLast(({ from, to }) => from <= later.begin && to >= later.begin)?.to ??
    later.begin;
  const after = end - awake;
  return after <= NOTICE_MS
    ? []
    : [`${what}, and stops only ${after.toFixed(1)} ms after it could`];
}
