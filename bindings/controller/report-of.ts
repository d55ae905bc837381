/**
 * Makes a controller's report from what its parts know, when somebody asks. It reads the queue page by page and keeps of it what is asked for;
 * to count a queue it has to be read to the end.
 */
import { requireInteger } from '../errors.ts';
import type { Request } from '../request.ts';
import type { QueuedKey } from '../workqueue/index.ts';
import type { Causes } from './causes.ts';
import type { Debounce } from './debounce.ts';
import type { Failure, Journal } from './journal.ts';
import type { ReportOptions } from './manager.ts';
import type { Settings } from './options.ts';
import type { ControllerReport, KeyReport } from './report.ts';
import type { RequestQueue } from './request-queue.ts';
import { errorReport, type Run } from './run.ts';

export interface Parts {
  readonly settings: Settings;
  readonly state: ControllerReport['state'];
  readonly sources: ControllerReport['sources'];
  /** Undefined before the start and after the end. */
  readonly queue: RequestQueue | undefined;
  readonly debounce: Debounce | undefined;
  readonly causes: Causes;
  readonly journal: Journal;
  readonly running: readonly Run[];
}

const LIMIT = 100;
const PAGE = 1000;

/** Throws CapstanError INVALID_ARGUMENT. */
export function reportOf(parts: Parts, { filter = '', limit = LIMIT }: ReportOptions): ControllerReport {
  requireInteger('limit', limit, 0);
  const { settings, state, sources, queue, journal } = parts;
  const now = settings.clock.now();
  const matches = ({ namespace, name }: Request): boolean => filter === '' || `${namespace}/${name}`.includes(filter);
  const list = new KeyList(parts, now, limit, matches);
  const recent = [];
  for (const run of journal.recent()) {
    if (recent.length < limit && matches(run.request)) recent.push(run.report(now));
  }
  const counted = list.readAll();
  return {
    name: settings.name,
    groupKind: settings.groupKind,
    state,
    workers: settings.workers,
    sources,
    queue: { ...counted, hasPriorities: queue?.hasPriorities ?? false },
    keys: list.keys,
    recent,
    totals: { ...journal.totals },
    more: list.more,
  };
}

class KeyList {
  readonly keys: KeyReport[] = [];
  /** Some that match were left out. */
  more = false;
  readonly #parts: Parts;
  readonly #now: number;
  readonly #limit: number;
  readonly #matches: (request: Request) => boolean;

  constructor(parts: Parts, now: number, limit: number, matches: (request: Request) => boolean) {
    this.#parts = parts;
    this.#now = now;
    this.#limit = limit;
    this.#matches = matches;
  }

  /** What runs comes first, then the queue, then what waits to be quiet, then what was given up. */
  readAll(): { ready: number; waiting: number; processing: number } {
    const counts = { ready: 0, waiting: 0, processing: this.#parts.running.length };
    for (const run of this.#parts.running) this.#add(run.request, () => this.#ofRun(run));
    for (const key of this.#queued()) {
      if (key.state === 'processing') continue; // it is one of those that run
      counts[key.state]++;
      this.#add(key.item, () => this.#ofQueue(key));
    }
    for (const waiting of this.#parts.debounce?.entries() ?? []) {
      counts.waiting++;
      this.#add(waiting.request, () => this.#ofDebounce(waiting));
    }
    for (const failure of this.#parts.journal.terminal()) this.#add(failure.request, () => this.#ofTerminal(failure));
    return counts;
  }

  #add(request: Request, make: () => KeyReport): void {
    if (!this.#matches(request)) return;
    if (this.keys.length < this.#limit) this.keys.push(make());
    else this.more = true;
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

  #ofQueue({ item, state, priority, waitingMs, queuedMs, failures }: QueuedKey<Request>): KeyReport {
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

  #ofDebounce({ request, priority, waitingMs }: { request: Request; priority: number; waitingMs: number }): KeyReport {
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
    const failure = this.#parts.journal.failureOf({ namespace, name });
    return { namespace, name, lastError: failure === undefined ? undefined : errorReport(failure.error, this.#now) };
  }
}
