/**
 * The replacement of vitest on other runtimes. It must see what vitest sees: each matcher is tried
 * on values that it must accept and on values that it must reject, and vitest's `expect` must agree
 * on every one.
 */
import { describe, expect as real, test } from 'vitest';
import { selfCheck } from './self-check.ts';
import { expect as shim, Unmet } from './shim/expect.ts';
import { Registry, titleOf } from './shim/registry.ts';

type Expect = typeof shim;

/** Whether an assertion holds, by either `expect`. */
async function holds(assert: () => unknown): Promise<boolean> {
  try {
    await assert();
    return true;
  } catch {
    return false;
  }
}

class Point {
  readonly x: number;
  constructor(x: number) {
    this.x = x;
  }
}

const cycle = (): object => {
  const value: { self?: object; n: number } = { n: 1 };
  value.self = value;
  return value;
};
const boom = () => {
  throw new TypeError('boom in here');
};
const symbol = Symbol('s');

/** Each is asserted as it is, and with `not`. */
const assertions: readonly [name: string, assert: (expect: Expect, not: boolean) => unknown][] = (
  [
    ['toBe', 1, [1], [2], [Number.NaN]],
    ['toBe', 0, [-0], [0]],
    ['toBe', Number.NaN, [Number.NaN]],
    [
      'toEqual',
      { a: 1, b: undefined },
      [{ a: 1 }],
      [{ a: 1, c: undefined }],
      [{ a: 2 }],
      [{ b: 1 }],
    ],
    ['toEqual', new Point(1), [{ x: 1 }], [new Point(1)], [new Point(2)]],
    [
      'toEqual',
      [1, [2, { a: null }]],
      [[1, [2, { a: null }]]],
      [[1, [2, { a: undefined }]]],
      [[1]],
      [{ 0: 1 }],
    ],
    ['toEqual', [undefined], [[]], [[undefined]], [[null]]],
    ['toEqual', 0, [-0], [0]],
    [
      'toEqual',
      new Set([{ a: 1 }, 2]),
      [new Set([2, { a: 1 }])],
      [new Set([2])],
      [new Set([2, 3])],
      [[2]],
    ],
    [
      'toEqual',
      new Map([['a', { b: 1 }]]),
      [new Map([['a', { b: 1 }]])],
      [new Map([['a', { b: 2 }]])],
      [new Map()],
    ],
    [
      'toEqual',
      new Uint8Array([1, 2]),
      [new Uint8Array([1, 2])],
      [new Uint8Array([1, 3])],
      [new Uint8Array([1])],
      [[1, 2]],
    ],
    ['toEqual', new Date(5), [new Date(5)], [new Date(6)], [{}]],
    ['toEqual', /a/g, [/a/g], [/a/], [/b/g]],
    ['toEqual', new Error('a'), [new Error('a')], [new Error('b')], [new TypeError('a')]],
    [
      'toEqual',
      new Error('a', { cause: 1 }),
      [new Error('a', { cause: 1 })],
      [new Error('a', { cause: 2 })],
    ],
    ['toEqual', cycle(), [cycle()], [{ n: 1, self: { n: 2 } }]],
    ['toEqual', { [symbol]: 1 }, [{ [symbol]: 1 }], [{ [symbol]: 2 }], [{}]],
    ['toEqual', null, [null], [undefined], [{}]],
    ['toStrictEqual', { a: 1, b: undefined }, [{ a: 1 }], [{ a: 1, b: undefined }]],
    ['toStrictEqual', new Point(1), [{ x: 1 }], [new Point(1)]],
    [
      'toMatchObject',
      { a: 1, b: { c: 2, d: 3 } },
      [{ b: { c: 2 } }],
      [{ b: { c: 3 } }],
      [{ e: undefined }],
      [{}],
    ],
    ['toMatchObject', [{ a: 1, b: 2 }], [[{ a: 1 }]], [[{ a: 1 }, { a: 1 }]], [[]]],
    [
      'toMatchObject',
      new RangeError('x'),
      [{ message: 'x' }],
      [{ message: 'y' }],
      [{ name: 'RangeError' }],
    ],
    ['toBeUndefined', undefined, []],
    ['toBeUndefined', null, []],
    ['toBeDefined', 1, []],
    ['toBeDefined', undefined, []],
    ['toBeNull', null, []],
    ['toBeNull', 0, []],
    ['toBeNaN', Number.NaN, []],
    ['toBeNaN', 1, []],
    ['toBeTruthy', 'a', []],
    ['toBeTruthy', '', []],
    ['toBeFalsy', 0, []],
    ['toBeFalsy', 1, []],
    ['toBeGreaterThan', 2, [1], [2], [3]],
    ['toBeGreaterThan', 'b', [1]],
    ['toBeGreaterThanOrEqual', 2, [1], [2], [3]],
    ['toBeLessThan', 2, [1], [2], [3]],
    ['toBeLessThanOrEqual', 2, [1], [2], [3]],
    ['toBeCloseTo', 1.234, [1.2341], [1.24], [1.2381, 2], [1.2345, 3]],
    ['toBeCloseTo', Number.POSITIVE_INFINITY, [Number.POSITIVE_INFINITY], [1]],
    ['toBeInstanceOf', new TypeError(), [TypeError], [Error], [RangeError]],
    ['toContain', [1, Number.NaN], [1], [Number.NaN], [2]],
    ['toContain', 'abc', ['bc'], ['cb']],
    ['toContain', new Set(['a']), ['a'], ['b']],
    ['toContainEqual', [{ a: 1 }], [{ a: 1 }], [{ a: 2 }]],
    ['toHaveLength', [1, 2], [2], [1]],
    ['toHaveLength', 'ab', [2]],
    ['toMatch', 'abc', [/b/], [/d/], ['bc'], ['cb']],
    [
      'toThrow',
      boom,
      [],
      ['in here'],
      ['out there'],
      [/^boom/],
      [/^in/],
      [TypeError],
      [RangeError],
    ],
    ['toThrow', boom, [new TypeError('boom in here')], [new TypeError('boom')]],
    ['toThrow', () => {}, [], ['x']],
  ] as [string, unknown, ...unknown[][]][]
).flatMap(([matcher, got, ...rows]) =>
  rows.map((args, i): [string, (expect: Expect, not: boolean) => unknown] => [
    `${matcher} ${i}: ${String(args[0]).slice(0, 40)}`,
    (expect, not) => {
      const on = expect(got);
      const calls = (not ? on.not : on) as unknown as Record<string, (...args: unknown[]) => void>;
      return calls[matcher]?.(...args);
    },
  ]),
);

test.each(assertions)('%s: agrees with vitest, also negated', async (_name, assert) => {
  const both = [];
  for (const not of [false, true]) {
    const [here, there] = [
      await holds(() => assert(shim, not)),
      await holds(() => assert(real as unknown as Expect, not)),
    ];
    real(here, not ? 'negated' : 'plain').toBe(there);
    both.push(here);
  }
  // A matcher that accepts or rejects everything is useless; one that throws for a wrong type
  // rejects both.
  real(both).not.toEqual([true, true]);
});

test.each([
  [(e: Expect) => e.objectContaining({ a: 1 }), { a: 1, b: 2 }, { b: 2 }],
  [(e: Expect) => e.arrayContaining([1, { a: 1 }]), [{ a: 1 }, 1, 2], [1]],
  [(e: Expect) => e.stringContaining('b'), 'abc', 'ac'],
  [(e: Expect) => e.stringMatching(/^a/), 'abc', 'bc'],
  [(e: Expect) => e.any(Number), 1, '1'],
  [(e: Expect) => e.any(String), '1', 1],
  [(e: Expect) => e.any(Error), new TypeError(), {}],
  [(e: Expect) => e.anything(), 0, null],
])('%s matches a value, also inside others', async (make, good, bad) => {
  for (const expect of [shim, real as unknown as Expect]) {
    real(await holds(() => expect({ in: [good] }).toEqual({ in: [make(expect)] }))).toBe(true);
    real(await holds(() => expect({ in: [bad] }).toEqual({ in: [make(expect)] }))).toBe(false);
  }
});

describe('promises', () => {
  test('that resolve and reject are distinguished', async () => {
    await shim(Promise.resolve([1])).resolves.toEqual([1]);
    await shim(Promise.reject(new Error('no'))).rejects.toThrow('no');
    await shim(Promise.reject({ code: 'X' })).rejects.toMatchObject({ code: 'X' });
    for (const wrong of [
      () => shim(Promise.resolve(1)).resolves.toEqual(2),
      () => shim(Promise.resolve(1)).rejects.toEqual(1),
      () => shim(Promise.reject(new Error('no'))).resolves.toBe(1),
      () => shim(Promise.reject(new Error('no'))).rejects.toThrow('yes'),
      () => shim(Promise.resolve(1)).resolves.not.toBe(1),
    ]) {
      await real(wrong()).rejects.toBeInstanceOf(Unmet);
    }
  });
});

test('a message has what was expected, what came, and the note', () => {
  real(() => shim({ a: -0 }, 'the answer').toEqual({ a: [new Map([['b', 1n]])] })).toThrow(
    'the answer: expected {"a": -0} to equal {"a": [Map {"b" => 1n}]}',
  );
  real(() => shim(1).not.toBe(1)).toThrow('expected 1 not to be 1');
  real(() => shim.fail('no way')).toThrow('no way');
  const nasty = new Proxy(
    {},
    {
      get() {
        throw new Error('no');
      },
    },
  );
  real(() => shim(nasty).toBe(1)).toThrow('a value that cannot be shown');
});

describe('the registry', () => {
  const results = async (register: (registry: Registry) => void): Promise<string[]> => {
    const registry = new Registry();
    register(registry);
    const all = await registry.run();
    return all.map(
      ({ path, state, message }) =>
        `${path.join(' > ')}: ${state}${message ? ` ${message.split('\n')[0]}` : ''}`,
    );
  };

  test('sees failures of every kind, as the self-check of each runtime does', () => selfCheck());

  test('runs tests and hooks in order, the outer hooks around the inner ones', async () => {
    const log: string[] = [];
    const say = (text: string) => () => void log.push(text);
    await results(({ describe, test, beforeAll, afterAll, beforeEach, afterEach }) => {
      beforeEach(say('+outer'));
      afterEach(say('-outer'));
      describe('group', () => {
        beforeAll(say('first'));
        afterAll(say('last'));
        beforeEach(async () => void log.push('+inner'));
        afterEach(say('-inner'));
        test('one', say('one'));
        test('two', say('two'));
      });
      test('three', say('three'));
    });
    real(log.join(' ')).toBe(
      'first +outer +inner one -inner -outer +outer +inner two ' +
        '-inner -outer last +outer three -outer',
    );
  });

  test('reports the tests of a group whose beforeAll failed', async () => {
    const fail = (text: string) => () => {
      throw new Error(text);
    };
    real(
      await results(({ describe, test, beforeAll, afterAll, afterEach }) => {
        describe('a', () => {
          beforeAll(fail('no start'));
          test('one', () => {});
          describe('inner', () => test('two', () => {}));
        });
        describe('b', () => {
          afterAll(fail('no end'));
          test('three', () => {});
        });
        describe('c', () => {
          afterEach(fail('not clean'));
          test('four', () => {});
        });
      }),
    ).toEqual([
      'a > one: failed Error: no start',
      'a > inner > two: failed Error: no start',
      'b > three: passed',
      'b > afterAll: failed Error: no end',
      'c > four: failed Error: not clean',
    ]);
  });

  test('skips by name, groups too, without their hooks', async () => {
    const never = () => {
      throw new Error('ran');
    };
    real(
      await results(({ describe, test, beforeAll, afterAll }) => {
        describe.skip('a', () => {
          beforeAll(never);
          afterAll(never);
          describe('inner', () => test('one', never));
        });
        test.skip('two', never);
        test.skipIf(true)('three', never);
        test.runIf(false)('four', never);
        test.runIf(true)('five', () => {});
      }),
    ).toEqual([
      'a > inner > one: skipped',
      'two: skipped',
      'three: skipped',
      'four: skipped',
      'five: passed',
    ]);
  });

  test('repeats groups and tests for rows, and spreads lists over the parameters', async () => {
    const seen: unknown[] = [];
    const names = await results(({ describe, test }) => {
      describe.each([{ name: 'x' }, { name: 'y' }])('group $name', (row) => {
        test.each([
          [1, 'one'],
          [2, 'two'],
        ])('%s is %s', (...args: unknown[]) => void seen.push([row, ...args]));
      });
    });
    real(names).toEqual([
      'group x > 1 is one: passed',
      'group x > 2 is two: passed',
      'group y > 1 is one: passed',
      'group y > 2 is two: passed',
    ]);
    real(seen).toHaveLength(4);
    real(seen[3]).toEqual([{ name: 'y' }, 2, 'two']);
    real(titleOf('%# %j %% %s $gone', [{ a: 1 }, undefined], 7)).toBe(
      '7 {"a":1} % undefined $gone',
    );
  });

  test('accepts options and times before or after the function, and times out', async () => {
    const hang = () => new Promise(() => {});
    real(
      await results(({ test }) => {
        test('before', { timeout: 5 }, hang);
        test('behind', hang, 5);
      }),
    ).toEqual([
      'before: failed Error: not done after 5 ms',
      'behind: failed Error: not done after 5 ms',
    ]);
  });

  test('rejects a test without a function and an asynchronous group', () => {
    const registry = new Registry();
    real(() => registry.test('nothing', {})).toThrow('expected a function');
    real(() => registry.describe('late', async () => {})).toThrow(
      'expected a synchronous function',
    );
  });

  test('reports the thrown value, whatever it is, and the causes', async () => {
    const thrown = async (value: unknown) =>
      (
        await results(({ test }) =>
          test('t', () => {
            throw value;
          }),
        )
      )[0];
    real(await thrown(undefined)).toBe('t: failed threw undefined');
    real(await thrown('text')).toBe('t: failed threw "text"');
    const registry = new Registry();
    registry.test('t', () => {
      throw new Error('outer', { cause: new Error('inner') });
    });
    real((await registry.run())[0]?.message).toMatch(/outer[\s\S]*caused by [\s\S]*inner/);
  });
});
