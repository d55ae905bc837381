/** The store of an informer. */
import { FakeClock } from 'capstan/testing';
import { expect, test } from 'vitest';
import { CacheIndexer } from '../../../bindings/cache/store/cache-indexer.ts';
import { collectErrors } from '../../helpers/reported-errors.ts';

const reported = collectErrors();
const fails = (): string[] => {
  throw new Error('mine');
};

// It was reported for each object, without its name: for 100 000 objects that was 78 MB of text,
// and blocked for 4 s.
test('an index function that fails for every object is reported once a minute', () => {
  const clock = new FakeClock();
  const kind = { apiVersion: 'v1', kind: 'Thing' };
  const store = new CacheIndexer<{ metadata: object }, 'a' | 'b'>(
    { a: fails, b: fails },
    kind,
    clock,
  );
  let added = 0;
  const add = (count: number): void => {
    for (; count > 0; count--) store.add({ metadata: { name: `n${++added}`, namespace: 'x' } });
  };
  const said = (): string[] => reported.splice(0).map(({ what }) => what);
  add(1000);
  expect(reported[0]).toMatchObject({ error: { message: 'mine' } });
  expect(said()).toEqual([
    'index function "a" on x/n1: it is asked again',
    'index function "b" on x/n1: it is asked again',
  ]);
  clock.step(59_999);
  add(1);
  expect(said()).toEqual([]);
  clock.step(1);
  store.add({ metadata: { name: 'cluster' } });
  add(5);
  const rest = 'on cluster: it is asked again, and 1000 times since it was reported last';
  expect(said()).toEqual([`index function "a" ${rest}`, `index function "b" ${rest}`]);
  clock.step(120_000);
  store.index('a', undefined as never);
  expect(said()).toEqual([
    'index function "a" on undefined: it is asked again, and 5 times since it was reported last',
  ]);
  expect(store.size()).toBe(1007);
});
