/**
 * Why each queued request is to be reconciled. A queue merges what is added twice; what led to it is kept here until the run begins.
 *
 * Cheap by construction: the first cause of a request is stored as it is, nothing else is allocated, and no key is joined (see
 * RequestMap). Bounded: of more than MOST_CAUSES causes the first ones and the newest are kept, and the others counted.
 */
import type { Request } from '../request.ts';
import { RequestMap } from './request-map.ts';
import type { Cause } from './source.ts';

/** How many causes of one request are kept. */
export const MOST_CAUSES = 8;

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

export class Causes {
  readonly #kept = new RequestMap<Cause | Several>();

  add(request: Request, cause: Cause): void {
    const kept = this.#kept.get(request);
    if (kept === undefined) this.#kept.set(request, cause);
    else if (kept instanceof Several) kept.add(cause);
    else this.#kept.set(request, new Several(kept, cause));
  }

  /** Takes back what was added last: the queue has refused the request. */
  remove(request: Request, cause: Cause): void {
    const kept = this.#kept.get(request);
    if (kept === cause) this.#kept.take(request);
    else if (kept instanceof Several) kept.remove(cause);
  }

  /** The causes of a run that will not begin now, before those that came after they were taken. */
  giveBack(request: Request, { causes, moreCauses }: KnownCauses): void {
    const [first, ...others] = causes;
    if (first === undefined) return;
    const since = known(this.#kept.take(request));
    this.add(request, first);
    for (const cause of [...others, ...since.causes]) this.add(request, cause);
    const kept = this.#kept.get(request);
    if (kept instanceof Several) kept.more += moreCauses + since.moreCauses;
  }

  /** The causes of a run that begins; those of the next one are kept from here on. */
  take(request: Request): KnownCauses {
    return known(this.#kept.take(request));
  }

  /** A copy, for reports. */
  of(request: Request): KnownCauses {
    const { causes, moreCauses } = known(this.#kept.get(request));
    return { causes: [...causes], moreCauses };
  }

  /** How many requests there are causes of. */
  get size(): number {
    return this.#kept.size;
  }

  clear(): void {
    this.#kept.clear();
  }
}

function known(kept: Cause | Several | undefined): KnownCauses {
  if (kept === undefined) return NO_CAUSES;
  return kept instanceof Several ? { causes: kept.list, moreCauses: kept.more } : { causes: [kept], moreCauses: 0 };
}
