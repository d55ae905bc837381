/**
 * Equality as in vitest: `toEqual` (undefined fields count as missing, classes are ignored),
 * `toStrictEqual`, `toMatchObject` (additional fields are ignored), and asymmetric matchers.
 */

/** An asymmetric matcher: `expect.objectContaining(…)` and others. */
export class Expectation {
  readonly text: string;
  readonly #matches: (value: unknown) => boolean;

  constructor(text: string, matches: (value: unknown) => boolean) {
    this.text = text;
    this.#matches = matches;
  }

  matches(value: unknown): boolean {
    return this.#matches(value);
  }

  toString(): string {
    return this.text;
  }
}

export type Manner = 'equal' | 'strict' | 'subset';

const tagOf = (value: object): string => Object.prototype.toString.call(value);

/** The compared fields: own, enumerable; without undefined ones unless requested. */
function fields(value: object, manner: Manner): PropertyKey[] {
  return Reflect.ownKeys(value).filter((key) => {
    if (!Object.prototype.propertyIsEnumerable.call(value, key)) return false;
    return manner !== 'equal' || Reflect.get(value, key) !== undefined;
  });
}

type Seen = readonly (readonly [object, object])[];

function sameFields(got: object, want: object, manner: Manner, seen: Seen): boolean {
  const wanted = fields(want, manner);
  if (manner !== 'subset' && fields(got, manner).length !== wanted.length) return false;
  return wanted.every((key) => {
    const present =
      manner === 'equal' || (manner === 'subset' ? key in got : Object.hasOwn(got, key));
    return present && same(Reflect.get(got, key), Reflect.get(want, key), manner, seen);
  });
}

function sameList(
  got: ArrayLike<unknown>,
  want: ArrayLike<unknown>,
  manner: Manner,
  seen: Seen,
): boolean {
  if (got.length !== want.length) return false;
  for (let i = 0; i < want.length; i++) if (!same(got[i], want[i], manner, seen)) return false;
  return true;
}

function sameSet(
  got: ReadonlySet<unknown>,
  want: ReadonlySet<unknown>,
  manner: Manner,
  seen: Seen,
): boolean {
  if (got.size !== want.size) return false;
  return [...want].every(
    (value) => got.has(value) || [...got].some((other) => same(other, value, manner, seen)),
  );
}

function sameMap(
  got: ReadonlyMap<unknown, unknown>,
  want: ReadonlyMap<unknown, unknown>,
  manner: Manner,
  seen: Seen,
): boolean {
  if (got.size !== want.size) return false;
  return [...want].every(([key, value]) =>
    got.has(key)
      ? same(got.get(key), value, manner, seen)
      : [...got].some(
          ([otherKey, other]) =>
            same(otherKey, key, manner, seen) && same(other, value, manner, seen),
        ),
  );
}

function sameObject(got: object, want: object, manner: Manner, seen: Seen): boolean {
  const anyClass = manner === 'subset' && Object.getPrototypeOf(want) === Object.prototype;
  if (!anyClass && tagOf(got) !== tagOf(want)) return false;
  if (manner === 'strict' && Object.getPrototypeOf(got) !== Object.getPrototypeOf(want))
    return false;
  // a cycle: compared where it began
  if (seen.some(([a, b]) => a === got && b === want)) return true;
  const inner: Seen = [...seen, [got, want]];
  if (Array.isArray(want)) return sameList(got as unknown[], want, manner, inner);
  if (ArrayBuffer.isView(want))
    return sameList(Array.from(got as Uint8Array), Array.from(want as Uint8Array), manner, inner);
  if (want instanceof Set) return sameSet(got as Set<unknown>, want, manner, inner);
  if (want instanceof Map) return sameMap(got as Map<unknown, unknown>, want, manner, inner);
  if (want instanceof Date) return Object.is((got as Date).getTime(), want.getTime());
  if (want instanceof RegExp) return String(got) === String(want);
  if (want instanceof Error) {
    const other = got as Error;
    if (other.name !== want.name || other.message !== want.message) return false;
    if (!same(other.cause, want.cause, manner, inner)) return false;
  }
  return sameFields(got, want, manner, inner);
}

function same(got: unknown, want: unknown, manner: Manner, seen: Seen): boolean {
  if (want instanceof Expectation) return want.matches(got);
  if (Object.is(got, want)) return true;
  if (typeof got !== 'object' || typeof want !== 'object' || got === null || want === null)
    return false;
  return sameObject(got, want, manner, seen);
}

/** Whether `got` is as expected. */
export function equals(got: unknown, want: unknown, manner: Manner = 'equal'): boolean {
  return same(got, want, manner, []);
}
