/** Selectors from terms: their text, and what they select by apimachinery's rules. */
import { labelMatcher } from 'capstan/cache';
import { fieldSelectorOf, type LabelTerm, labelSelectorOf } from 'capstan/client';
import { ConfigMap, Pod } from 'capstan/kinds';
import { fakeTransport } from 'capstan/testing';
import { describe, expect, test } from 'vitest';
import { list } from '../../bindings/cache/reflector/watch.ts';
import { expectError } from '../helpers/expect-error.ts';
import { Random, testSeed } from '../helpers/random.ts';

describe('labelSelectorOf', () => {
  test.each<[Record<string, LabelTerm>, string]>([
    [{}, ''],
    [{ app: 'web' }, 'app=web'],
    [{ app: '' }, 'app='],
    [{ 'example.com/tier': ['front', 'back'] }, 'example.com/tier in (front,back)'],
    [{ a: true, b: false }, 'a,!b'],
    [{ track: { not: 'canary' } }, 'track!=canary'],
    [{ track: { not: ['canary', 'beta'] } }, 'track notin (canary,beta)'],
    [{ size: { above: 3, below: 10 } }, 'size>3,size<10'],
  ])('%j is %s', (terms, text) => {
    expect(labelSelectorOf(terms)).toBe(text);
  });

  test.each<[unknown, string]>([
    [undefined, '"terms"'],
    [{ app: undefined }, 'terms["app"]'],
    [{ app: null }, 'terms["app"]'],
    [{ app: 3 }, 'terms["app"]'],
    [{ app: [] }, 'one value or more'],
    [{ app: 'a,b' }, 'a label key or value'],
    [{ 'app=x': 'b' }, 'a label key or value'],
    [{ '': 'b' }, 'found'],
    [{ app: '-' }, 'a valid label must be'],
    [{ app: {} }, 'not, above or below'],
    [{ app: { nott: 'a' } }, 'did you mean "not"'],
    [{ size: { above: 1.5 } }, 'an integer from 0'],
  ])('refuses %j', (terms, text) => {
    expectError(() => labelSelectorOf(terms as never), 'INVALID_ARGUMENT', text);
  });

  const seed = testSeed();
  test(`selects what its terms say, seed ${seed}`, () => {
    const random = new Random(seed);
    const value = () => random.pick(['', 'a', 'b', '1', '7']);
    for (let i = 0; i < 2000; i++) {
      const labels: Record<string, string> = {};
      for (const key of ['x', 'y']) if (random.int(3) > 0) labels[key] = value();
      const [key, term, holds] = random.pick<
        () => [string, LabelTerm, (value: string | undefined) => boolean]
      >([
        () => ((v) => ['x', v, (is) => is === v])(value()),
        () => ((v) => ['x', [v, 'b'], (is) => is === v || is === 'b'])(value()),
        () => ['x', true, (is) => is !== undefined],
        () => ['x', false, (is) => is === undefined],
        () => ((v) => ['x', { not: v }, (is) => is !== v])(value()),
        () => ((v) => ['x', { not: [v, 'b'] }, (is) => is !== v && is !== 'b'])(value()),
        () => ['x', { above: 3 }, (is) => is === '7'],
        () => ['x', { below: 3 }, (is) => is === '1'],
      ])();
      const matches = labelMatcher(labelSelectorOf({ [key]: term, y: true }));
      const expected = holds(labels[key]) && labels.y !== undefined;
      expect(matches(labels), JSON.stringify({ labels, term })).toBe(expected);
    }
  });
});

describe('fieldSelectorOf', () => {
  test('escapes what the grammar would split', () => {
    expect(fieldSelectorOf({})).toBe('');
    expect(fieldSelectorOf({ 'spec.nodeName': 'a', 'status.phase': { not: 'Failed' } })).toBe(
      'spec.nodeName=a,status.phase!=Failed',
    );
    expect(fieldSelectorOf({ 'spec.a': 'a=b,c\\d' })).toBe('spec.a=a\\=b\\,c\\\\d');
  });

  test.each<[unknown, string]>([
    [undefined, '"terms"'],
    [{ '': 'a' }, 'paths of fields'],
    [{ 'a=b': 'a' }, 'paths of fields'],
    [{ a: undefined }, 'terms["a"]'],
    [{ a: ['b'] }, 'terms["a"]'],
    [{ a: { not: 3 } }, 'a string'],
  ])('refuses %j', (terms, text) => {
    expectError(() => fieldSelectorOf(terms as never), 'INVALID_ARGUMENT', text);
  });

  test('is what a server selects by', async () => {
    await using transport = fakeTransport();
    for (const name of ['a', 'b'])
      transport.add({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'x', name } });
    const phases = ['Running', 'Failed'];
    for (const phase of phases)
      transport.add({
        ...{ apiVersion: 'v1', kind: 'Pod', status: { phase } },
        metadata: { namespace: 'x', name: phase.toLowerCase() },
        spec: { containers: [{ name: 'a', image: 'a' }] },
      });
    const not = await list(transport, ConfigMap, {
      fieldSelector: fieldSelectorOf({ 'metadata.name': { not: 'a' } }),
    });
    expect(not.items.map(({ metadata }) => metadata?.name)).toEqual(['b']);
    const running = await list(transport, Pod, {
      fieldSelector: fieldSelectorOf({ 'status.phase': 'Running' }),
    });
    expect(running.items.map(({ metadata }) => metadata?.name)).toEqual(['running']);
  });
});
