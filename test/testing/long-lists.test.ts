/**
 * Lists by keys, sets and ordered lists of thousands of items: what is done with one must not take
 * longer the more there are.
 */
import { describe, expect, test } from 'vitest';
import { typeNamed } from '../../bindings/apimachinery/built-in.ts';
import { merge } from '../../bindings/testing/server/apply/merge.ts';
import { fieldsOf } from '../../bindings/testing/server/apply/typed.ts';
import {
  type Json,
  type JsonObject,
  jsonKey,
  sameJson,
} from '../../bindings/testing/server/json.ts';
import { strategicPatch } from '../../bindings/testing/server/patch/strategic.ts';
import { validateObject } from '../../bindings/testing/server/schema/validate.ts';
import { growth, STEEP } from '../helpers/growth.ts';
import { Random, testSeed } from '../helpers/random.ts';

const seed = testSeed();
console.log(`test/testing/long-lists.test.ts: CAPSTAN_SEED=${seed}`);

test('values have one key exactly if they are the same', () => {
  const random = new Random(seed);
  const scalars = [
    '',
    '1',
    'null',
    '{}',
    'a,b',
    '"',
    1,
    0,
    -0,
    1.5,
    Number.POSITIVE_INFINITY,
    true,
    null,
  ];
  const value = (depth: number): Json => {
    const kind = depth === 0 ? 2 : random.int(3);
    if (kind === 2) return random.pick(scalars);
    const few = Array.from({ length: random.int(3) }, () => value(depth - 1));
    if (kind === 0) return few;
    const member = (): [string, Json | undefined] => [
      random.pick(['a', 'b', '__proto__', '1', 'a:1']),
      random.chance(0.1) ? undefined : value(depth - 1),
    ];
    return Object.fromEntries(few.map(member)) as JsonObject;
  };
  let same = 0;
  for (let i = 0; i < 20_000; i++) {
    const [a, b] = [value(2), value(2)];
    expect(
      jsonKey(a) === jsonKey(b),
      `seed ${seed}, pair ${i}: ${jsonKey(a)} and ${jsonKey(b)}`,
    ).toBe(sameJson(a, b));
    if (sameJson(a, b)) same++;
  }
  expect(same).toBeGreaterThan(100);
  expect(jsonKey({ b: 1, a: [{ d: 1, c: undefined }] })).toBe(jsonKey({ a: [{ d: 1 }], b: 1 }));
});

const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

// Each item was held against all before it, and looked for among all of the old object.
describe('the schema of a custom object takes each item of a long list once', () => {
  const list = (type: object, items: object): object => ({
    properties: { list: { type: 'array', items, ...type } },
  });
  test.each<[what: string, schema: object, item: (i: number) => Json]>([
    [
      'by keys',
      list(
        { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] },
        { type: 'object', properties: { name: { type: 'string' } } },
      ),
      (i) => ({ name: `n${i}`, value: i }),
    ],
    ['a set', list({ 'x-kubernetes-list-type': 'set' }, { type: 'string' }), (i) => `n${i}`],
  ])('%s', async (_, schema, item) => {
    const ratio = await growth(100, (count) => {
      const old = { list: numbers(count).map(item) };
      const now = { list: [...numbers(count - 1).map(item), item(count)] };
      return () => expect(validateObject(schema as JsonObject, now, old)).toEqual([]);
    });
    expect(ratio).toBeLessThan(STEEP);
  });
});

// Each item was looked for among all others several times, by a patch of one too; to sort them did
// so for each comparison.
describe('a long list of an object is merged by taking each item once', () => {
  const POD = typeNamed('PodSpec');
  const META = typeNamed('ObjectMeta');
  const named = (i: number): JsonObject => ({ name: `n${i}` });
  const spec = (count: number, value: string): JsonObject => ({
    imagePullSecrets: numbers(count).map(named),
    containers: [{ name: 'c', env: numbers(count).map((i) => ({ ...named(i), value })) }],
  });
  test.each<[what: string, make: (count: number) => () => unknown]>([
    [
      'a patch of one item',
      (count) => () =>
        strategicPatch(POD, spec(count, 'x'), {
          containers: [{ name: 'c', env: [{ name: 'n0', value: 'y' }] }],
        }),
    ],
    ['a patch of all', (count) => () => strategicPatch(POD, spec(count, 'x'), spec(count, 'y'))],
    [
      'a patch that removes all',
      (count) => () =>
        strategicPatch(POD, spec(count, 'x'), {
          imagePullSecrets: numbers(count).map((i) => ({ ...named(i), $patch: 'delete' })),
        }),
    ],
    [
      'a patch with an order',
      (count) => () =>
        strategicPatch(POD, spec(count, 'x'), {
          '$setElementOrder/imagePullSecrets': numbers(count).map((i) => named(count - i)),
        }),
    ],
    [
      'a patch of a list of texts',
      (count) => () => {
        const [texts, others] = [numbers(count).map(String), numbers(count).map((i) => `x${i}`)];
        return strategicPatch(META, { finalizers: texts }, { finalizers: others });
      },
    ],
    [
      'a patch that removes texts',
      (count) => () => {
        const texts = numbers(count).map(String);
        return strategicPatch(
          META,
          { finalizers: texts },
          { '$deleteFromPrimitiveList/finalizers': texts },
        );
      },
    ],
    ['an applied configuration', (count) => () => merge(POD, spec(count, 'x'), spec(count, 'y'))],
    [
      'an applied configuration in another order',
      (count) => () =>
        merge(POD, spec(count, 'x'), { imagePullSecrets: numbers(count).map(named).reverse() }),
    ],
    ['what it owns', (count) => () => fieldsOf(POD, spec(count, 'x'))],
  ])('%s', async (_, make) => {
    expect(await growth(100, make)).toBeLessThan(STEEP);
  });
});
