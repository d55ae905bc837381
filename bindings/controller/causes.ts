/**
 * Why each queued request is to be reconciled. A queue merges what is added twice; what led to it
 * is kept here until the run begins.
 *
 * Cheap by construction: the first cause of a request is stored as it is, no key is joined (see
 * RequestMap), and a request that comes again finds its place from before, as taking a key out of a
 * Map and putting it in again costs more than all else here. Bounded: of more than MOST_CAUSES
 * causes the first ones and the newest are kept, and the others counted; there are never more idle
 * places than others, and SPARE.
 */
import type { Request } from '../base/request.ts';
import { RequestMap } from './request-map.ts';
import type { Cause } from './source.ts';

/** How many causes of one request are kept. */
export const MOST_CAUSES = 8;

/** Places of requests that are not queued, which are kept whatever their share. */
const SPARE = 4096;

/** Where the causes of one request are; idle while there are none. */
interface Place {
  kept: Cause | Several | undefined;
}

/** More than one cause of the same request. */
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
    this.list[MOST_CAUSES - 1] = cause; // the newest one says what the state is now
    this.more++;
  }

  /** What was added last, as it came to nothing. */
  remove(cause: Cause): void {
    if (this.list.at(-1) === cause) this.list.pop();
  }
}

/** The causes of one run. */
export interface KnownCauses {
  /** The first ones and the newest, in order. */
  readonly causes: readonly Cause[];
  /** How many there were beside them. */
  readonly moreCauses: number;
}

export const NO_CAUSES: KnownCauses = { causes: Object.freeze([]), moreCauses: 0 };

/**
 * The causes of a run that begins at `now`: a requeueAfter that is not due then has led to nothing,
 * and comes last.
 */
export function inTurn(causes: readonly Cause[], now: number): readonly Cause[] {
  const place =
    causes.length > 1 ? causes.findIndex(({ due }) => due !== undefined && due > now) : -1;
  return place < 0 ? causes : [...causes.toSpliced(place, 1), causes[place] as Cause];
}

export class Causes {
  readonly #places = new RequestMap<Place>();
  /** Places with causes. */
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

  /** Takes back what was added last: the queue has refused the request. */
  remove(request: Request, cause: Cause): void {
    const kept = this.#places.get(request)?.kept;
    if (kept === cause) this.#empty(request);
    else if (kept instanceof Several) kept.remove(cause);
  }

  /** The causes of a run that will not begin now, before those that came after they were taken. */
  giveBack(request: Request, { causes, moreCauses }: KnownCauses): void {
    const [first, ...others] = causes;
    if (first === undefined) return;
    const since = known(this.#empty(request));
    this.add(request, first);
    for (const cause of [...others, ...since.causes]) this.add(request, cause);
    const kept = this.#places.get(request)?.kept;
    if (kept instanceof Several) kept.more += moreCauses + since.moreCauses;
  }

  /** The causes of a run that begins; those of the next one are kept from here on. */
  take(request: Request): KnownCauses {
    return known(this.#empty(request));
  }

  /** A copy, for reports. */
  of(request: Request): KnownCauses {
    const { causes, moreCauses } = known(this.#places.get(request)?.kept);
    return { causes: [...causes], moreCauses };
  }

  /** How many requests there are causes of. */
  get size(): number {
    return this.#live;
  }

  /** How many places there are, idle ones included. */
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
