/**
 * Builds the report of a controller when it is asked for. The queue counts its requests itself and
 * is read page by page until enough keys were found, so that a report of a queue with a million
 * keys costs no more than one of a hundred, unless the filter matches few of them. If keys are
 * ranked, only the reports of the chosen ones are made.
 */
import { requireInteger } from '../base/errors.ts';
import type { Request } from '../base/request.ts';
import type { QueuedKey } from '../workqueue/index.ts';
import type { Causes } from './causes.ts';
import type { Debounce } from './debounce.ts';
import type { HotLoops } from './hot-loops.ts';
import type { ReportOptions } from './manager.ts';
import type { ResolvedSettings } from './options.ts';
import { type ControllerReport, type KeyReport, rankOf } from './report.ts';
import type { RequestQueue } from './request-queue.ts';
import { errorReport, type Run } from './run.ts';
import type { Failure, RunHistory } from './run-history.ts';

export interface ControllerReportParts {
  readonly settings: ResolvedSettings;
  readonly state: ControllerReport['state'];
  readonly sources: ControllerReport['sources'];
  /** Undefined before the start and after the end. */
  readonly queue: RequestQueue | undefined;
  readonly debounce: Debounce | undefined;
  /** The number of requests that wait for the objects of their namespace. */
  readonly unlisted: number;
  readonly causes: Causes;
  readonly history: RunHistory;
  readonly running: readonly Run[];
  /** Undefined before the start. */
  readonly hotLoops: HotLoops | undefined;
}

const LIMIT = 100;
const PAGE = 256;

/** Throws CapstanError INVALID_ARGUMENT. */
export function buildControllerReport(
  parts: ControllerReportParts,
  { filter = '', limit = LIMIT, among = limit }: ReportOptions,
): ControllerReport {
  requireInteger('limit', limit, 0);
  requireInteger('among', among, 0);
  const { settings, state, sources, history } = parts;
  const now = settings.clock.now();
  const matches = ({ namespace, name }: Request): boolean =>
    filter === '' || `${namespace}/${name}`.includes(filter);
  const list = new KeyList(parts, now);
  const recent = [];
  for (const run of history.recent()) {
    if (recent.length < limit && matches(run.request)) recent.push(run.report(now));
  }
  list.read(matches, filter, limit, Math.max(limit, among));
  return {
    name: settings.name,
    groupKind: settings.groupKind,
    state,
    workers: settings.workers,
    sources,
    queue: countsOf(parts),
    keys: list.keys,
    recent,
    totals: { ...history.totals },
    hotLoops: parts.hotLoops?.report(now) ?? [],
    more: list.more,
  };
}

function countsOf({
  queue,
  debounce,
  running,
  unlisted,
}: ControllerReportParts): ControllerReport['queue'] {
  const { ready, waiting } = queue?.counts() ?? { ready: 0, waiting: 0 };
  return {
    ready,
    waiting: waiting + (debounce?.size ?? 0) + unlisted,
    processing: running.length,
    hasPriorities: queue?.hasPriorities ?? false,
  };
}

/** A key that may be listed. */
interface Candidate {
  readonly rank: number;
  readonly waitingMs: number;
  readonly make: () => KeyReport;
}

type QueuedEntry = [
  Request,
  KeyReport['state'],
  failures: number,
  waitingMs: number | undefined,
  make: () => KeyReport,
];

const compare = (a: Candidate, b: Candidate): number =>
  a.rank - b.rank || a.waitingMs - b.waitingMs;

class KeyList {
  keys: readonly KeyReport[] = [];
  /** Whether matching keys were left out. */
  more = false;
  readonly #parts: ControllerReportParts;
  readonly #now: number;

  constructor(parts: ControllerReportParts, now: number) {
    this.#parts = parts;
    this.#now = now;
  }

  /**
   * Reads running requests, then the queue, then debounced ones, then those that failed with a
   * terminal error. If more match than `limit`, the key that the filter names comes first, then by
   * rank.
   */
  read(matches: (request: Request) => boolean, filter: string, limit: number, among: number): void {
    const kept: Candidate[] = [];
    let last: Candidate | undefined;
    const cut = (): void => {
      if (kept.length <= limit) return;
      this.more = true;
      kept.sort(compare).length = limit;
      last = kept.at(-1);
    };
    let seen = 0;
    for (const [request, state, failures, waitingMs = 0, make] of this.#entries()) {
      if (!matches(request)) continue;
      if (seen++ === among) {
        this.more = true;
        break;
      }
      const { namespace, name } = request;
      const named = filter !== '' && filter === (namespace === '' ? name : `${namespace}/${name}`);
      const candidate = {
        rank: named ? -1 : rankOf(state, this.#isFailing(request, failures)),
        waitingMs,
        make,
      };
      if (last !== undefined && compare(candidate, last) >= 0) continue;
      if (kept.push(candidate) >= limit + PAGE) cut();
    }
    cut();
    this.keys = kept.map(({ make }) => make());
  }

  *#entries(): Generator<QueuedEntry> {
    const { running, debounce, history, queue } = this.#parts;
    /** Terminal failures of requests that were added again since. */
    const addedAgain = new Set<Failure | undefined>();
    const seen = (request: Request): Request => {
      addedAgain.add(history.failureOf(request));
      return request;
    };
    for (const run of running)
      yield [seen(run.request), 'processing', 0, undefined, () => this.#ofRun(run)];
    for (const key of this.#queued()) {
      const { item, state, failures = 0, waitingMs } = key;
      // A key that is processed was listed as running.
      if (state !== 'processing')
        yield [seen(item), state, failures, waitingMs, () => this.#ofQueue(key)];
    }
    for (const waiting of debounce?.entries() ?? []) {
      const { request, waitingMs } = waiting;
      const failures = queue?.numRequeues(request) ?? 0;
      yield [seen(request), 'waiting', failures, waitingMs, () => this.#ofDebounce(waiting)];
    }
    for (const failure of history.terminal()) {
      if (!addedAgain.has(failure))
        yield [failure.request, 'failed', 0, undefined, () => this.#ofTerminal(failure)];
    }
  }

  /** The rate limiter also counts runs that asked for a requeue. */
  #isFailing(request: Request, failures: number): boolean {
    if (failures === 0) return false;
    const { history, causes } = this.#parts;
    return (
      history.failureOf(request) !== undefined ||
      causes.of(request).causes.some(({ kind }) => kind === 'retry')
    );
  }

  *#queued(): Generator<QueuedKey<Request>> {
    const { queue } = this.#parts;
    for (let after: number | undefined = 0; queue !== undefined && after !== undefined; ) {
      const page = queue.snapshot({ after, limit: PAGE });
      yield* page.keys;
      after = page.next;
    }
  }

  #ofRun(run: Run): KeyReport {
    const { request, attempt, causes, moreCauses, startedAt } = run;
    return {
      ...this.#common(request),
      state: 'processing',
      priority: undefined,
      waitingMs: undefined,
      sinceMs: Math.max(this.#now - startedAt, 0),
      failures: attempt - 1,
      causes: [...causes],
      moreCauses,
    };
  }

  #ofQueue({
    item,
    state,
    priority,
    waitingMs,
    queuedMs,
    failures,
  }: QueuedKey<Request>): KeyReport {
    return {
      ...this.#common(item),
      state,
      priority,
      waitingMs,
      sinceMs: queuedMs,
      failures: failures ?? 0,
      ...this.#parts.causes.of(item),
    };
  }

  #ofDebounce({
    request,
    priority,
    waitingMs,
  }: {
    request: Request;
    priority: number;
    waitingMs: number;
  }): KeyReport {
    return {
      ...this.#common(request),
      state: 'waiting',
      priority,
      waitingMs,
      sinceMs: undefined,
      failures: this.#parts.queue?.numRequeues(request) ?? 0,
      ...this.#parts.causes.of(request),
    };
  }

  #ofTerminal({ request }: Failure): KeyReport {
    return {
      ...this.#common(request),
      state: 'failed',
      priority: undefined,
      waitingMs: undefined,
      sinceMs: undefined,
      failures: this.#parts.queue?.numRequeues(request) ?? 0,
      causes: [],
      moreCauses: 0,
    };
  }

  #common({ namespace, name }: Request): Pick<KeyReport, 'namespace' | 'name' | 'lastError'> {
    const failure = this.#parts.history.failureOf({ namespace, name });
    return {
      namespace,
      name,
      lastError: failure === undefined ? undefined : errorReport(failure.error, this.#now),
    };
  }
}
