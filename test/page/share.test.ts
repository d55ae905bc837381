/**
 * A result in a link: it is decoded unchanged, and any fragment is either shown or rejected with a
 * message.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { decodeResult, encodeResult, looksShared, ShareError } from '../../bench/page/share.ts';
import { Random, testSeed } from '../helpers/random.ts';
import { randomResult, resultOf, rowOf } from './samples.ts';

const fragmentOf = (text: string | Uint8Array): string =>
  `#r1.${deflateRawSync(text).toString('base64url')}`;
const textOf = (fragment: string): string =>
  inflateRawSync(Buffer.from(fragment.slice(4), 'base64url')).toString();

type List = (string | number | List)[];

/** The fragment of a good result with one change. */
async function changed(change: (list: List) => void): Promise<string> {
  const list = JSON.parse(textOf(await encodeResult(resultOf()))) as List;
  change(list);
  return fragmentOf(JSON.stringify(list));
}

const inside = (list: List, ...way: number[]): List => way.reduce((at, i) => at[i] as List, list);

/** The fragment of a good result with another value at one place. */
const put = ([...way]: number[], value: string | number | List): Promise<string> =>
  changed((list) => {
    const last = way.pop() ?? 0;
    inside(list, ...way)[last] = value;
  });

describe('a shared result', () => {
  it('keeps its figures to a thousandth, its words and its pauses', async () => {
    const result = resultOf();
    const back = await decodeResult(await encodeResult(result));
    const { steady, ...rest } = result;
    expect(back).toEqual({
      ...rest,
      steady: { ...steady, capstan: expect.anything(), naive: expect.anything() },
    });
    for (const [peer, longest] of [
      ['capstan', 8],
      ['naive', 80],
    ] as const) {
      expect(back.steady?.[peer].latencies).toEqual(steady?.[peer].latencies);
      expect(Math.max(...(back.steady?.[peer].pauses ?? [])) / longest).toBeCloseTo(1, 0.5);
      expect(back.steady?.[peer].pauses).toHaveLength(4);
    }
  });

  it('fits into a link for chats and mails, also with all measurements', async () => {
    const random = new Random(7);
    const all = Array.from({ length: 20 }, () => randomResult(random));
    const longest = await Promise.all(
      all.map(async (result) => (await encodeResult(result)).length),
    );
    expect(Math.max(...longest)).toBeLessThan(3_000);
  });

  it('is the same link again when it is shared again, for any result', async () => {
    const seed = testSeed();
    const random = new Random(seed);
    for (let i = 0; i < 50; i++) {
      const result = randomResult(random);
      if (result.rows.length === 0 && result.steady === undefined) continue;
      const fragment = await encodeResult(result);
      expect(
        await encodeResult(await decodeResult(fragment)),
        `CAPSTAN_SEED=${seed}, result ${i}`,
      ).toBe(fragment);
    }
  });

  it('is distinguished from other fragments', () => {
    expect(['#r1.abc', '#r2.abc', '#r17'].map(looksShared)).toEqual([true, true, true]);
    expect(['', '#', '#results', '#throughput', '#R1.abc'].map(looksShared)).toEqual([
      false,
      false,
      false,
      false,
      false,
    ]);
  });
});

describe('a hostile or broken fragment', () => {
  it.each<[string, string | Promise<string>, RegExp]>([
    ['of another form', '#r2.AAAA', /does not know its format/],
    ['that is empty', '#r1.', /characters that do not belong/],
    ['with markup', '#r1.<img src=x onerror=alert(1)>', /characters that do not belong/],
    ['that is longer than any result', `#r1.${'A'.repeat(20_001)}`, /longer than 20000 characters/],
    [
      'that is cut short',
      encodeResult(resultOf()).then((text) => text.slice(0, -9)),
      /cut short or was changed/,
    ],
    ['that is no deflated text', '#r1.AAAAAAAA', /cut short or was changed/],
    ['that inflates without end', fragmentOf(new Uint8Array(8_000_000)), /longer than 60000 bytes/],
    [
      'that is not UTF-8',
      fragmentOf(new Uint8Array([0x22, 0xff, 0x22])),
      /cut short or was changed/,
    ],
    ['that is no JSON', fragmentOf('[1,'), /cut short or was changed/],
    ['that is an object', fragmentOf('{"__proto__":[]}'), /a result expected a list of 5/],
    ['that is null', fragmentOf('null'), /a result expected a list of 5/],
    [
      'with nothing in it',
      changed((list) => void list.splice(3, 2, [], 0)),
      /nothing was measured/,
    ],
    ['with a time as text', put([3, 0, 3], '100'), /a time expected a number/],
    ['with a time below zero', put([3, 0, 4], -1), /a time expected a number/],
    ['with a median outside', put([3, 0, 3], 1e6), /between its extremes/],
    ['with an unknown work', put([3, 0, 0], 8), /a work expected a number from 0 to 7/],
    ['with half a work', put([3, 0, 0], 0.5), /a work expected a whole number/],
    ['with a work by name', put([3, 0, 0], 'constructor'), /a whole number/],
    [
      'with a row twice',
      changed((list) => void inside(list, 3).push(inside(list, 3, 0))),
      /occurs twice/,
    ],
    [
      'with more rows than a page should draw',
      put(
        [3],
        Array.from({ length: 201 }, () => [0]),
      ),
      /rows expected a list of 0 to 200/,
    ],
    ['with a long browser', put([2, 2], 'x'.repeat(121)), /at most 120 characters/],
    ['with a key table of its own', put([2, 5], 'gpu'), /expected "wasm" or "js"/],
    [
      'with wrong percentiles',
      changed((list) => void inside(list, 4, 3, 2).push(1)),
      /latencies expected a list of 5/,
    ],
    ['with a pause off the scale', put([4, 3, 7], '<<<'), /a step of the scale/],
    ['with too many pauses', put([4, 3, 7], 'A'.repeat(1002)), /at most 1001/],
    ['from the far future', put([0], 1e300), /a time of day expected/],
  ])('%s is rejected with a message', async (_name, fragment, message) => {
    const refusal = await decodeResult(await fragment).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(ShareError);
    expect((refusal as ShareError).message).toMatch(message);
  });

  it('keeps words without control characters, line breaks or bidi marks', async () => {
    const fragment = await put([2, 2], '<b>Brow\u0000ser\n\u202e\u2028x</b>');
    expect((await decodeResult(fragment)).environment.browser).toBe('<b>Browserx</b>');
  });

  it('with one changed character or value is shown or rejected, nothing else', async () => {
    const seed = testSeed();
    const random = new Random(seed);
    const good = await encodeResult(resultOf());
    const text = textOf(good);
    const strange = [
      'null',
      '-1',
      '1e999',
      '""',
      '[]',
      '{}',
      'true',
      '[[[]]]',
      '"<script>"',
      '9007199254740993',
    ];
    for (let i = 0; i < 400; i++) {
      let fragment: string;
      if (random.chance(0.5)) {
        const at = random.int(good.length);
        fragment = good.slice(0, at) + random.pick([...'AZaz09-_']) + good.slice(at + 1);
      } else {
        const values = [...text.matchAll(/[^,[\]]+/g)];
        const value = random.pick(values);
        fragment = fragmentOf(
          text.slice(0, value.index) +
            random.pick(strange) +
            text.slice(value.index + value[0].length),
        );
      }
      const outcome = await decodeResult(fragment).catch((error: unknown) => error);
      if (outcome instanceof ShareError) continue;
      expect(outcome, `CAPSTAN_SEED=${seed}, fragment ${i}`).toHaveProperty('rows');
    }
  });
});

it('a result of many rows is accepted', async () => {
  const rows = Array.from({ length: 64 }, (_, i) =>
    rowOf(i % 2 ? 'limiter' : 'add-after', 1000 + i, 10, 20),
  );
  expect((await decodeResult(await encodeResult(resultOf({ rows })))).rows).toHaveLength(64);
});
