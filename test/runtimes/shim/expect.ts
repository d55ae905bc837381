/**
 * The part of vitest's `expect` that the cases use. Another matcher is undefined, so a case that
 * uses it fails.
 */
import { Expectation, equals } from './equality.ts';
import { showValue } from './show.ts';

/** The error of a failed expectation. */
export class Unmet extends Error {
  override get name(): string {
    return 'Unmet';
  }
}

interface Verdict {
  readonly met: boolean;
  /** What was expected, to be read after "expected … ". */
  readonly text: string;
}

type Matcher = (got: unknown, ...args: never[]) => Verdict;

const number = (value: unknown): number | bigint => {
  if (typeof value === 'number' || typeof value === 'bigint') return value;
  throw new Unmet(`expected a number, got ${showValue(value)}`);
};

function contains(got: unknown, part: unknown, among: (one: unknown) => boolean): boolean {
  if (typeof got === 'string') return typeof part === 'string' && got.includes(part);
  const many = got as Iterable<unknown> | null | undefined;
  if (typeof many?.[Symbol.iterator] !== 'function')
    throw new Unmet(`expected a text or a list, got ${showValue(got)}`);
  return [...many].some(among);
}

/**
 * Whether a thrown value is as expected: anything, a part or pattern of the message, a class, an
 * error with the same message.
 */
function isThrown(error: unknown, expected: unknown): boolean {
  if (expected === undefined) return true;
  if (typeof expected === 'function') return error instanceof (expected as new () => unknown);
  if (expected instanceof Expectation) return expected.matches(error);
  const message = error instanceof Error ? error.message : String(error);
  if (typeof expected === 'string') return message.includes(expected);
  if (expected instanceof RegExp) return expected.test(message);
  return expected instanceof Error ? message === expected.message : equals(error, expected);
}

/** Calls a function; the reason of a rejected promise counts as thrown. */
function thrownBy(got: unknown, rejected: boolean): { thrown: boolean; error?: unknown } {
  if (rejected) return { thrown: true, error: got };
  if (typeof got !== 'function')
    throw new Unmet(`expected a function to call, got ${showValue(got)}`);
  try {
    got();
    return { thrown: false };
  } catch (error) {
    return { thrown: true, error };
  }
}

const matchers = {
  toBe: (got: unknown, want: unknown) => ({
    met: Object.is(got, want),
    text: `to be ${showValue(want)}`,
  }),
  toEqual: (got: unknown, want: unknown) => ({
    met: equals(got, want),
    text: `to equal ${showValue(want)}`,
  }),
  toStrictEqual: (got: unknown, want: unknown) => ({
    met: equals(got, want, 'strict'),
    text: `to strictly equal ${showValue(want)}`,
  }),
  toMatchObject: (got: unknown, want: object) => ({
    met: typeof got === 'object' && got !== null && equals(got, want, 'subset'),
    text: `to match ${showValue(want)}`,
  }),
  toBeUndefined: (got: unknown) => ({ met: got === undefined, text: 'to be undefined' }),
  toBeDefined: (got: unknown) => ({ met: got !== undefined, text: 'to be defined' }),
  toBeNull: (got: unknown) => ({ met: got === null, text: 'to be null' }),
  toBeNaN: (got: unknown) => ({ met: Number.isNaN(got), text: 'to be NaN' }),
  toBeTruthy: (got: unknown) => ({ met: Boolean(got), text: 'to be truthy' }),
  toBeFalsy: (got: unknown) => ({ met: !got, text: 'to be falsy' }),
  toBeGreaterThan: (got: unknown, than: number) => ({
    met: number(got) > than,
    text: `to be above ${than}`,
  }),
  toBeGreaterThanOrEqual: (got: unknown, than: number) => ({
    met: number(got) >= than,
    text: `to be at least ${than}`,
  }),
  toBeLessThan: (got: unknown, than: number) => ({
    met: number(got) < than,
    text: `to be below ${than}`,
  }),
  toBeLessThanOrEqual: (got: unknown, than: number) => ({
    met: number(got) <= than,
    text: `to be at most ${than}`,
  }),
  toBeCloseTo: (got: unknown, want: number, digits = 2) => ({
    met: Object.is(got, want) || Math.abs(Number(number(got)) - want) < 10 ** -digits / 2,
    text: `to be ${want} to ${digits} digits`,
  }),
  toBeInstanceOf: (got: unknown, type: new (...args: never[]) => unknown) => ({
    met: got instanceof type,
    text: `to be an instance of ${type.name}`,
  }),
  toContain: (got: unknown, part: unknown) => ({
    met: contains(got, part, (one) => one === part),
    text: `to contain ${showValue(part)}`,
  }),
  toContainEqual: (got: unknown, part: unknown) => ({
    met: contains(got, undefined, (one) => equals(one, part)),
    text: `to contain an equal of ${showValue(part)}`,
  }),
  toHaveLength: (got: unknown, length: number) => ({
    met: (got as { length?: unknown } | null | undefined)?.length === length,
    text: `to have the length ${length}`,
  }),
  toMatch: (got: unknown, pattern: string | RegExp) => {
    if (typeof got !== 'string') throw new Unmet(`expected a text, got ${showValue(got)}`);
    return {
      met: typeof pattern === 'string' ? got.includes(pattern) : pattern.test(got),
      text: `to match ${pattern}`,
    };
  },
} satisfies Record<string, Matcher>;

type Arguments<M> = M extends (got: never, ...args: infer A) => Verdict ? A : never;
type Calls<Result> = {
  readonly [Name in keyof typeof matchers]: (...args: Arguments<(typeof matchers)[Name]>) => Result;
} & { readonly toThrow: (expected?: unknown) => Result };

export type Assertion<Result = void> = Calls<Result> & { readonly not: Calls<Result> };
export type Assertions = Assertion & {
  /** After the promise has resolved or rejected. */
  readonly resolves: Assertion<Promise<void>>;
  readonly rejects: Assertion<Promise<void>>;
};

function judge(
  got: unknown,
  { met, text }: Verdict,
  negated: boolean,
  note: string | undefined,
): void {
  if (met !== negated) return;
  throw new Unmet(
    `${note === undefined ? '' : `${note}: `}expected ` +
      `${showValue(got)} ${negated ? 'not ' : ''}${text}`,
  );
}

/** All matchers, on a value that `take` passes to `use` now or later. */
function calls<Result>(
  take: (use: (got: unknown) => void) => Result,
  negated: boolean,
  note: string | undefined,
  rejected: boolean,
): Calls<Result> {
  const all: Record<string, (...args: never[]) => Result> = {};
  for (const [name, matcher] of Object.entries(matchers) as [string, Matcher][]) {
    all[name] = (...args) => take((got) => judge(got, matcher(got, ...args), negated, note));
  }
  all.toThrow = (expected?: unknown) =>
    take((got) => {
      const { thrown, error } = thrownBy(got, rejected);
      const what = expected === undefined ? 'anything' : showValue(expected);
      const met = thrown && isThrown(error, expected);
      judge(
        got,
        {
          met,
          text: `to throw ${what}, ${thrown ? `threw ${showValue(error)}` : 'threw nothing'}`,
        },
        negated,
        note,
      );
    });
  return all as Calls<Result>;
}

function assertion<Result>(
  take: (use: (got: unknown) => void) => Result,
  note: string | undefined,
  rejected = false,
): Assertion<Result> {
  return { ...calls(take, false, note, rejected), not: calls(take, true, note, rejected) };
}

/** The value of a promise that must resolve, or the reason of one that must reject. */
async function outcome(promise: unknown, wanted: 'resolves' | 'rejects'): Promise<unknown> {
  let value: unknown;
  try {
    value = await promise;
  } catch (error) {
    if (wanted === 'rejects') return error;
    throw new Unmet(`expected a promise that is kept, it was broken: ${showValue(error)}`);
  }
  if (wanted === 'resolves') return value;
  throw new Unmet(`expected a promise that is broken, it was kept: ${showValue(value)}`);
}

function begin(got: unknown, note?: string): Assertions {
  const later = (wanted: 'resolves' | 'rejects') => async (use: (got: unknown) => void) =>
    use(await outcome(got, wanted));
  return {
    ...assertion((use) => use(got), note),
    resolves: assertion(later('resolves'), note),
    rejects: assertion(later('rejects'), note, true),
  };
}

const record = (value: unknown): value is object => typeof value === 'object' && value !== null;

export const expect = Object.assign(begin, {
  fail(message: string): never {
    throw new Unmet(message);
  },
  anything: () => new Expectation('anything', (value) => value !== null && value !== undefined),
  any: (type: { readonly name: string }) =>
    new Expectation(
      `any ${type.name}`,
      (value) => value instanceof (type as never) || typeof value === type.name.toLowerCase(),
    ),
  objectContaining: (want: object) =>
    new Expectation(
      `an object with ${showValue(want)}`,
      (value) =>
        record(value) &&
        Object.entries(want).every(
          ([key, part]) => key in value && equals(Reflect.get(value, key), part),
        ),
    ),
  arrayContaining: (want: readonly unknown[]) =>
    new Expectation(
      `a list with ${showValue(want)}`,
      (value) =>
        Array.isArray(value) && want.every((part) => value.some((one) => equals(one, part))),
    ),
  stringContaining: (part: string) =>
    new Expectation(
      `a text with ${showValue(part)}`,
      (value) => typeof value === 'string' && value.includes(part),
    ),
  stringMatching: (pattern: RegExp | string) =>
    new Expectation(
      `a text like ${pattern}`,
      (value) => typeof value === 'string' && new RegExp(pattern).test(value),
    ),
});
