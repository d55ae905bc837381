/**
 * Makes a controller's report from what its parts know, when somebody asks. The queue counts itself; its keys are read page by page until as many
 * are found as were asked for. So a look at a queue of a million keys costs no more than one at a hundred, unless it looks for what is not there.
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
const PAGE = 256;

/** Throws CapstanError INVALID_ARGUMENT. */
export function reportOf(parts: Parts, { filter = '', limit = LIMIT }: ReportOptions): ControllerReport {
  requireInteger('limit', limit, 0);
  const { settings, state, sources, journal } = parts;
  const now = settings.clock.now();
  const matches = ({ namespace, name }: Request): boolean => filter === '' || `${namespace}/${name}`.includes(filter);
  const list = new KeyList(parts, now, limit, matches);
  const recent = [];
  for (const run of journal.recent()) {
    if (recent.length < limit && matches(run.request)) recent.push(run.report(now));
  }
  list.read();
  return {
    name: settings.name,
    groupKind: settings.groupKind,
    state,
    workers: settings.workers,
    sources,
    queue: countsOf(parts),
    keys: list.keys,
    recent,
    totals: { ...journal.totals },
    more: list.more,
  };
}

function countsOf({ queue, debounce, running }: Parts): ControllerReport['queue'] {
  const { ready, waiting } = queue?.counts() ?? { ready: 0, waiting: 0 };
  return {
    ready,
    waiting: waiting + (debounce?.size ?? 0),
    processing: running.length,
    hasPriorities: queue?.hasPriorities ?? false,
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
  read(): void {
    for (const [request, make] of this.#all()) {
      if (!this.#matches(request)) continue;
      if (this.keys.length === this.#limit) {
        this.more = true;
        return;
      }
      this.keys.push(make());
    }
  }

  *#all(): Generator<[Request, () => KeyReport]> {
    const { running, debounce, journal } = this.#parts;
    /** Given up, and asked for since: they are no longer what they were. */
    const again = new Set<Failure | undefined>();
    const seen = (request: Request): Request => {
      again.add(journal.failureOf(request));
      return request;
    };
    for (const run of running) yield [seen(run.request), () => this.#ofRun(run)];
    for (const key of this.#queued()) {
      // What is processed is one of those that run.
      if (key.state !== 'processing') yield [seen(key.item), () => this.#ofQueue(key)];
    }
    for (const waiting of debounce?.entries() ?? []) yield [seen(waiting.request), () => this.#ofDebounce(waiting)];
    for (const failure of journal.terminal()) {
      if (!again.has(failure)) yield [failure.request, () => this.#ofTerminal(failure)];
    }
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
