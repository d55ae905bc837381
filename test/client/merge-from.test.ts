/**
 * Patches from two states: what they contain, that they lead from one state to the other, and what
 * they cannot express.
 */
import { mergeFrom, rawPatch } from 'capstan/client';
import { describe, expect, test } from 'vitest';
import { mergePatch } from '../../bindings/testing/server/patch/json-patch.ts';
import { live } from '../helpers/client/clients.ts';
import { Random, testSeed } from '../helpers/random.ts';
import { at, ConfigMaps, configMap } from '../helpers/resources.ts';

const base = {
  metadata: {
    name: 'a',
    resourceVersion: '7',
    labels: { x: '1', y: '2' } as Record<string, string>,
  },
  spec: { list: [1, 2], deep: { a: 1, b: 2 } },
};

describe('mergeFrom', () => {
  test('contains only changes, additions and removals', () => {
    const modified = {
      ...base,
      metadata: { ...base.metadata, labels: { x: '1', z: '3' } },
      spec: { ...base.spec, list: [2] },
    };
    expect(mergeFrom(base).to(modified)).toEqual({
      type: 'merge',
      body: { metadata: { labels: { y: null, z: '3' } }, spec: { list: [2] } },
    });
    expect(mergeFrom(base).to(structuredClone(base)).body).toEqual({});
  });

  // A real API server rejects a patch that removes apiVersion: "the name of the object (a based on
  // URL) was undeterminable". One state was an answer, the other an item of a list.
  test('never contains kind or apiVersion', async () => {
    const head = { kind: 'ConfigMap', apiVersion: 'v1' };
    const spec = { ...base.spec, list: [3], ref: head };
    for (const [before, after] of [
      [
        { ...head, ...base },
        { ...base, spec },
      ],
      [base, { ...head, ...base, spec }],
      [
        { ...head, ...base },
        { ...base, spec, kind: null, apiVersion: undefined },
      ],
      [
        { ...head, ...base },
        { kind: 'Other', apiVersion: 'v2', ...base, spec },
      ],
    ])
      expect(mergeFrom<object>(before as object).to(after as object).body).toEqual({
        spec: { list: [3], ref: head },
      });
  });

  // The object came from a cache, which drops them.
  test('removes no managedFields', () => {
    const answer = { ...base, metadata: { ...base.metadata, managedFields: [{ manager: 'me' }] } };
    expect(mergeFrom<object>(answer).to(base).body).toEqual({});
    expect(mergeFrom<object>(base).to(answer).body).toEqual({
      metadata: { managedFields: [{ manager: 'me' }] },
    });
  });

  test('has the original resourceVersion on request', () => {
    const { body } = mergeFrom(base, { optimisticLock: true }).to({
      ...base,
      spec: { ...base.spec, list: [] },
    });
    expect(body).toEqual({ metadata: { resourceVersion: '7' }, spec: { list: [] } });
    expect(() => mergeFrom({ metadata: {} }, { optimisticLock: true })).toThrow(/version/);
  });

  test('copies the original, so that the object itself may be changed', () => {
    const object = structuredClone(base);
    const patch = mergeFrom(object);
    object.spec.deep.a = 5;
    expect(patch.to(object).body).toEqual({ spec: { deep: { a: 5 } } });
  });

  test('treats undefined members as absent, whatever their order', () => {
    const before: { a?: number; b?: number; c: object } = { a: 1, b: 2, c: { x: 1, y: 2 } };
    expect(mergeFrom(before).to({ c: { y: 2, x: 1 }, b: undefined, a: 1 }).body).toEqual({
      b: null,
    });
  });

  test('keeps the member name __proto__', () => {
    const { body } = mergeFrom<object>({}).to(JSON.parse('{"__proto__": {"a": 1}}') as object);
    expect(JSON.stringify(body)).toBe('{"__proto__":{"a":1}}');
  });

  test('rejects a null that a merge patch cannot set', () => {
    const before: { a: number | null; b: object } = { a: 1, b: {} };
    for (const modified of [
      { a: null, b: {} },
      { a: 1, b: { deep: { c: null } } },
      // kept in the patch, and dropped by the server silently
      { a: 1, b: { list: [[{ c: null, d: 1 }]] } },
    ])
      expect(() => mergeFrom(before).to(modified)).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
      );
    expect(mergeFrom(before).to({ a: 1, b: { list: [null] } }).body).toEqual({
      b: { list: [null] },
    });
  });

  test('leads from any state to any other', () => {
    const seed = testSeed();
    console.log(`merge patches: CAPSTAN_SEED=${seed}`);
    const random = new Random(seed);
    for (let i = 0; i < 2000; i++) {
      const [before, after] = [state(random, 3), state(random, 3)];
      const { body } = mergeFrom<object>(before).to(after);
      expect(mergePatch(before as never, body as never)).toEqual(after);
    }
  });

  test('is a conflict for a changed object only with the optimistic lock', async () => {
    const { client } = await live();
    const created = await client.create(ConfigMaps, configMap('a', { page: '1' }));
    await client.patch(ConfigMaps, at('a'), { type: 'merge', body: { data: { other: '1' } } });
    const locked = mergeFrom(created, { optimisticLock: true }).to({
      ...created,
      data: { page: '2' },
    });
    await expect(client.patch(ConfigMaps, at('a'), locked)).rejects.toMatchObject({
      reason: 'Conflict',
    });
    const free = mergeFrom(created).to({ ...created, data: { page: '2' } });
    expect((await client.patch(ConfigMaps, at('a'), free)).data).toEqual({ page: '2', other: '1' });
  });
});

function state(random: Random, depth: number): Record<string, unknown> {
  const names = ['a', 'b', 'c', 'd'].filter(() => random.chance(0.6));
  return Object.fromEntries(
    names.map((name) => {
      if (depth > 0 && random.chance(0.5)) return [name, state(random, depth - 1)];
      return [name, random.pick<unknown>([0, 1, '', 'x', true, [1], [{ a: 1 }], []])];
    }),
  );
}

describe('rawPatch', () => {
  test('is sent unchanged, with numbers that JavaScript cannot represent', () => {
    const data = '{"spec":{"big":9223372036854775807}}';
    expect(rawPatch('merge', data)).toEqual({
      type: 'raw',
      contentType: 'application/merge-patch+json',
      data,
    });
    expect(rawPatch('application/apply-patch+cbor', data)).toMatchObject({
      contentType: 'application/apply-patch+cbor',
    });
  });

  test('rejects what is not a patch', () => {
    expect(() => rawPatch('other' as never, '{}')).toThrow(/media type/);
    expect(() => rawPatch('merge', {} as never)).toThrow(/text/);
  });
});
