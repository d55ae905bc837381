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
interface Place {
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
export interface KnownCauses {
  /** The first ones and the newest, in order. */
  readonly causes: readonly Cause[];
  /** The number of causes that are not in `causes`. */
  readonly moreCauses: number;
}

export const NO_CAUSES: KnownCauses = { causes: Object.freeze([]), moreCauses: 0 };

/**
 * The causes of a run that begins at `now`. A `requeueAfter` that is not due yet did not lead to
 * this run, so it is moved to the end.
 */
export function inTurn(causes: readonly Cause[], now: number): readonly Cause[] {
  const place =
    causes.length > 1 ? causes.findIndex(({ due }) => due !== undefined && due > now) : -1;
  return place < 0 ? causes : [...causes.toSpliced(place, 1), causes[place] as Cause];
}

export class Causes {
  readonly #places = new RequestMap<Place>();
  /** Entries that have causes. */
  #live = 0;

  add(request: Request, cause: Cause): void {
    const place = this.#places.get(request);
    if (place === undefined) {
      this.#places.set(request, { kept: cause });
      this.#live++;
    } else if (place.kept === undefined) {
      place.kept = cause;
      this.#live++;
    } else if (place.kept instanceof Several) place.kept.add(cause);
    else place.kept = new Several(place.kept, cause);
  }

  /** Removes the cause that was added last, after the queue has refused the request. */
  remove(request: Request, cause: Cause): void {
    const kept = this.#places.get(request)?.kept;
    if (kept === cause) this.#empty(request);
    else if (kept instanceof Several) kept.remove(cause);
  }

  /**
   * Puts back the causes of a run that does not begin now, before the causes that were added since.
   */
  giveBack(request: Request, { causes, moreCauses }: KnownCauses): void {
    const [first, ...others] = causes;
    if (first === undefined) return;
    const since = known(this.#empty(request));
    this.add(request, first);
    for (const cause of [...others, ...since.causes]) this.add(request, cause);
    const kept = this.#places.get(request)?.kept;
    if (kept instanceof Several) kept.more += moreCauses + since.moreCauses;
  }

  /** Takes the causes of a run that begins. Causes added from now on belong to the next run. */
  take(request: Request): KnownCauses {
    return known(this.#empty(request));
  }

  /** A copy, for reports. */
  of(request: Request): KnownCauses {
    const { causes, moreCauses } = known(this.#places.get(request)?.kept);
    return { causes: [...causes], moreCauses };
  }

  /** The number of requests with causes. */
  get size(): number {
    return this.#live;
  }

  /** The number of entries, empty ones included. */
  get places(): number {
    return this.#places.size;
  }

  clear(): void {
    this.#places.clear();
    this.#live = 0;
  }

  #empty(request: Request): Place['kept'] {
    const place = this.#places.get(request);
    const kept = place?.kept;
    if (place === undefined || kept === undefined) return undefined;
    place.kept = undefined;
    this.#live--;
    if (this.#places.size > 2 * this.#live + SPARE) this.#sweep();
    return kept;
  }

  #sweep(): void {
    for (const [request, { kept }] of this.#places.entries())
      if (kept === undefined) this.#places.take(request);
  }
}

function known(kept: Cause | Several | undefined): KnownCauses {
  if (kept === undefined) return NO_CAUSES;
  return kept instanceof Several
    ? { causes: kept.list, moreCauses: kept.more }
    : { causes: [kept], moreCauses: 0 };
}
