/**
 * The causes of each queued request. A queue merges requests that are added twice; their causes are
 * kept here until the run begins.
 *
 * - Fast: a single cause is stored without a wrapper, and no key is concatenated (see RequestMap).
 *   A request that comes again reuses its entry, because deleting and inserting a key of a Map
 *   costs more than everything else here.
 * - Bounded: of more than MOST_CAUSES causes the first ones and the newest are kept, and the rest
 *   is counted. There are at most as many empty entries as others, plus SPARE.
 */
import type { Request } from '../base/request.ts';
import { RequestMap } from './request-map.ts';
import type { Cause } from './source.ts';

/** The most causes that are kept of one request. */
export const MOST_CAUSES = 8;

/** Empty entries that are kept in any case. */
const SPARE = 4096;

/** The causes of one request; empty while there are none. */
interface CauseEntry {
  kept: Cause | Several | undefined;
}

/** Two or more causes of one request. */
class Several {
  readonly list: Cause[];
  more = 0;

  constructor(first: Cause, second: Cause) {
    this.list = [first, second];
  }

  add(cause: Cause): void {
    if (this.list.length < MOST_CAUSES) {
      this.list.push(cause);
      return;
    }
    this.list[MOST_CAUSES - 1] = cause; // the newest shows the current state
    this.more++;
  }

  /** Removes the cause that was added last. */
  remove(cause: Cause): void {
    if (this.list.at(-1) === cause) this.list.pop();
  }
}

/** The causes of one run. */
export interface RunCauses {
  /** The first ones and the newest, in order. */
  readonly causes: readonly Cause[];
  /** The number of causes that are not in `causes`. */
  readonly moreCauses: number;
}

export const NO_CAUSES: RunCauses = { causes: Object.freeze([]), moreCauses: 0 };

/**
 * The causes of a run that begins at `now`. A `requeueAfter` that is not due yet did not lead to
 * this run, so it is moved to the end.
 */
export function dueFirst(causes: readonly Cause[], now: number): readonly Cause[] {
  const index =
    causes.length > 1 ? causes.findIndex(({ due }) => due !== undefined && due > now) : -1;
  return index < 0 ? causes : [...causes.toSpliced(index, 1), causes[index] as Cause];
}

export class Causes {
  readonly #entries = new RequestMap<CauseEntry>();
  /** Entries that have causes. */
  #live = 0;
  /**
   * The only request that has causes, and its one cause, while a worker is about to take it: where
   * events come one by one, nothing is looked up.
   */
  #onlyRequest: Request | undefined;
  #onlyCause: Cause | undefined;

  add(request: Request, cause: Cause): void {
    if (this.#onlyRequest !== undefined) this.#store();
    else if (this.#live === 0) {
      this.#onlyRequest = request;
      this.#onlyCause = cause;
      return;
    }
    this.#add(request, cause);
  }

  /** Puts the only cause among the entries. */
  #store(): void {
    const request = this.#onlyRequest;
    const cause = this.#onlyCause;
    if (request === undefined || cause === undefined) return;
    this.#onlyRequest = undefined;
    this.#onlyCause = undefined;
    this.#add(request, cause);
  }

  #add(request: Request, cause: Cause): void {
    const entry = this.#entries.get(request);
    if (entry === undefined) {
      this.#entries.set(request, { kept: cause });
      this.#live++;
    } else if (entry.kept === undefined) {
      entry.kept = cause;
      this.#live++;
    } else if (entry.kept instanceof Several) entry.kept.add(cause);
    else entry.kept = new Several(entry.kept, cause);
  }

  /** Removes the cause that was added last, after the queue has refused the request. */
  remove(request: Request, cause: Cause): void {
    this.#store();
    const kept = this.#entries.get(request)?.kept;
    if (kept === cause) this.#empty(request);
    else if (kept instanceof Several) kept.remove(cause);
  }

  /**
   * Puts back the causes of a run that does not begin now, before the causes that were added since.
   */
  putBack(request: Request, { causes, moreCauses }: RunCauses): void {
    const [first, ...others] = causes;
    if (first === undefined) return;
    this.#store();
    const since = runCauses(this.#empty(request));
    for (const cause of [first, ...others, ...since.causes]) this.#add(request, cause);
    const kept = this.#entries.get(request)?.kept;
    if (kept instanceof Several) kept.more += moreCauses + since.moreCauses;
  }

  /** Takes the causes of a run that begins. Causes added from now on belong to the next run. */
  take(request: Request): RunCauses {
    if (this.#onlyRequest === request) {
      const cause = this.#onlyCause;
      this.#onlyRequest = undefined;
      this.#onlyCause = undefined;
      return runCauses(cause);
    }
    this.#store();
    return runCauses(this.#empty(request));
  }

  /** A copy, for reports. */
  of(request: Request): RunCauses {
    this.#store();
    const { causes, moreCauses } = runCauses(this.#entries.get(request)?.kept);
    return { causes: [...causes], moreCauses };
  }

  /** The number of requests with causes. */
  get size(): number {
    this.#store();
    return this.#live;
  }

  /** The number of entries, empty ones included. */
  get entries(): number {
    this.#store();
    return this.#entries.size;
  }

  clear(): void {
    this.#onlyRequest = undefined;
    this.#onlyCause = undefined;
    this.#entries.clear();
    this.#live = 0;
  }

  #empty(request: Request): CauseEntry['kept'] {
    const entry = this.#entries.get(request);
    const kept = entry?.kept;
    if (entry === undefined || kept === undefined) return undefined;
    entry.kept = undefined;
    this.#live--;
    if (this.#entries.size > 2 * this.#live + SPARE) this.#sweep();
    return kept;
  }

  #sweep(): void {
    for (const [request, { kept }] of this.#entries.entries())
      if (kept === undefined) this.#entries.take(request);
  }
}

function runCauses(kept: Cause | Several | undefined): RunCauses {
  if (kept === undefined) return NO_CAUSES;
  return kept instanceof Several
    ? { causes: kept.list, moreCauses: kept.more }
    : { causes: [kept], moreCauses: 0 };
}
