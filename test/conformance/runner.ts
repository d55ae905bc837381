/**
 * Replays recorded traces on the real classes and compares every step. It knows the format of the
 * files (README.md beside it) but no subject: those are in subjects/. Nothing passes by omission: a
 * recorded field that the replayer does not report, an unknown op and an exception are all
 * mismatches.
 *
 * It runs on every runtime (test/runtimes/): traces come as text; files.ts reads them where there
 * are files.
 */
import { firstDifference, sameValue } from './same-value.ts';

/** One line of a file after the first. Everything but `op` depends on the subject. */
export type TraceStep = { readonly op: string } & Readonly<Record<string, unknown>>;

/** The results of a step, under the names in the file: `want`, `len`, `now`, … */
export type Observed = Record<string, unknown>;

/**
 * One trace during its replay. The first step is the `new` that began it (if the subject has such a
 * step).
 */
export interface Trace {
  /** Why this step cannot be replayed, or undefined. The rest of the trace is skipped then. */
  skip?(step: TraceStep): string | undefined;
  step(step: TraceStep): Observed | Promise<Observed>;
  /** Frees what the trace holds. */
  end?(): void;
}

export interface TraceSubject {
  /** The fields of a step that are results, not arguments. */
  readonly observes: readonly string[];
  /** Begins a trace; `step` is its first step, which is also passed to the trace. */
  begin(step: TraceStep, options: ReplayOptions): Trace;
  /** Default: deep equality. */
  same?(field: string, want: unknown, got: unknown, trace: Trace): boolean;
}

/**
 * The queue item for a recorded key: the string itself, a request whose namespace is everything up
 * to and including the first `/`, or an object with a key function. All three must behave the same.
 */
export type ItemForm = 'string' | 'request' | 'object';

export interface ReplayOptions {
  readonly form: ItemForm;
}

export interface Mismatch {
  readonly file: string;
  readonly line: number;
  readonly step: TraceStep | undefined;
  readonly message: string;
}

export interface SubjectReport {
  readonly subject: string;
  readonly covered: boolean;
  files: number;
  steps: number; // replayed and compared
  skipped: number; // not replayed, by name of the reason in `reasons`
  readonly reasons: Map<string, number>;
  mismatches: Mismatch[];
}

export interface Report {
  readonly subjects: SubjectReport[]; // sorted by name
  readonly steps: number;
  readonly mismatches: number;
  /** No mismatch, and at least one step was replayed. */
  readonly ok: boolean;
}

/**
 * Replays the texts of files, by their names in the report. Subjects that are not in `subjects` are
 * counted as not covered.
 */
export async function replayTexts(
  files: Iterable<readonly [file: string, text: string]>,
  subjects: ReadonlyMap<string, TraceSubject>,
  options: ReplayOptions = { form: 'string' },
): Promise<Report> {
  const reports = new Map<string, SubjectReport>();
  for (const [file, text] of files) await replayText(text, file, subjects, options, reports);
  return summarise(reports);
}

/** Replays the text of one file. */
export async function replayFile(
  text: string,
  file: string,
  subjects: ReadonlyMap<string, TraceSubject>,
  options: ReplayOptions = { form: 'string' },
): Promise<Report> {
  return replayTexts([[file, text]], subjects, options);
}

function summarise(reports: ReadonlyMap<string, SubjectReport>): Report {
  const list = [...reports.values()].sort((a, b) => (a.subject < b.subject ? -1 : 1));
  const steps = list.reduce((sum, report) => sum + report.steps, 0);
  const mismatches = list.reduce((sum, report) => sum + report.mismatches.length, 0);
  return { subjects: list, steps, mismatches, ok: mismatches === 0 && steps > 0 };
}

async function replayText(
  text: string,
  file: string,
  subjects: ReadonlyMap<string, TraceSubject>,
  options: ReplayOptions,
  reports: Map<string, SubjectReport>,
): Promise<void> {
  const lines = text.split('\n');
  const header = parse(lines[0] ?? '');
  const name = typeof header?.subject === 'string' ? header.subject : `(no subject: ${file})`;
  const subject = subjects.get(name);
  let report = reports.get(name);
  if (report === undefined) {
    const covered = subject !== undefined || header === undefined;
    report = {
      subject: name,
      covered,
      files: 0,
      steps: 0,
      skipped: 0,
      reasons: new Map(),
      mismatches: [],
    };
    reports.set(name, report);
  }
  report.files++;
  if (header === undefined) {
    report.mismatches.push({
      file,
      line: 1,
      step: undefined,
      message: 'the first line is not a JSON object',
    });
    return;
  }
  await replaySteps(lines, file, subject, options, report);
}

async function replaySteps(
  lines: readonly string[],
  file: string,
  subject: TraceSubject | undefined,
  options: ReplayOptions,
  report: SubjectReport,
): Promise<void> {
  let trace: Trace | undefined;
  let stopped: string | undefined; // why the rest of the trace is not replayed
  const skip = (reason: string) => {
    report.skipped++;
    report.reasons.set(reason, (report.reasons.get(reason) ?? 0) + 1);
  };
  const mismatch = (line: number, step: TraceStep | undefined, message: string) =>
    report.mismatches.push({ file, line, step, message });

  for (let line = 2; line <= lines.length; line++) {
    const text = lines[line - 1] ?? '';
    if (text.trim() === '') continue;
    if (subject === undefined) {
      skip('not yet covered');
      continue;
    }
    const step = parse(text);
    if (step === undefined || typeof step.op !== 'string') {
      mismatch(line, undefined, 'the line is not a JSON object with an "op"');
      continue;
    }
    if (step.op === 'new' || (trace === undefined && stopped === undefined)) {
      trace?.end?.();
      trace = undefined;
      stopped = undefined;
      try {
        trace = subject.begin(step as TraceStep, options);
      } catch (error) {
        mismatch(line, step as TraceStep, `threw ${String(error)}`);
        stopped = 'after a trace that could not begin';
        continue;
      }
    }
    stopped ??= trace?.skip?.(step as TraceStep);
    if (stopped !== undefined || trace === undefined) {
      skip(stopped ?? '');
      continue;
    }
    report.steps++;
    for (const message of await compare(subject, trace, step as TraceStep))
      mismatch(line, step as TraceStep, message);
  }
  trace?.end?.();
}

async function compare(subject: TraceSubject, trace: Trace, step: TraceStep): Promise<string[]> {
  let observed: Observed;
  try {
    observed = await trace.step(step);
  } catch (error) {
    return [`threw ${error instanceof Error ? (error.stack ?? String(error)) : String(error)}`];
  }
  const messages: string[] = [];
  for (const field of subject.observes) {
    if (!Object.hasOwn(step, field)) continue;
    const want = step[field];
    const got = observed[field];
    const same = subject.same?.(field, want, got, trace) ?? sameValue(want, got);
    if (same) continue;
    const { path, a, b } = firstDifference(want, got, field);
    messages.push(`${path}: expected ${JSON.stringify(a)}, got ${JSON.stringify(b)}`);
  }
  return messages;
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** The report as text: a line per subject, then the first mismatches of each, then the verdict. */
export function formatReport(report: Report, details = 5): string {
  const lines: string[] = [];
  for (const subject of report.subjects) {
    const name = subject.subject.padEnd(20);
    if (!subject.covered) {
      lines.push(`${name} not yet covered (${subject.skipped} steps in ${subject.files} files)`);
      continue;
    }
    const skipped = [...subject.reasons]
      .map(([reason, count]) => `, ${count} steps skipped: ${reason}`)
      .join('');
    lines.push(`${name} ${subject.steps} steps, ${subject.mismatches.length} mismatches${skipped}`);
  }
  for (const subject of report.subjects) {
    for (const { file, line, step, message } of subject.mismatches.slice(0, details)) {
      lines.push('', `${subject.subject}: ${file}:${line}`, `  ${message}`);
      if (step !== undefined) lines.push(`  ${JSON.stringify(step).slice(0, 400)}`);
    }
    const more = subject.mismatches.length - details;
    if (more > 0) lines.push('', `${subject.subject}: ${more} more mismatches`);
  }
  lines.push('');
  if (report.steps === 0) lines.push('FAILED: no step was replayed');
  else
    lines.push(
      `${report.ok ? 'ok' : 'FAILED'}: ${report.steps} steps, ${report.mismatches} mismatches`,
    );
  return lines.join('\n');
}
