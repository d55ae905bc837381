import { describe, expect, test } from 'vitest';
import { Backlog } from '../../bindings/cache/backlog.ts';
import type { Delta } from '../../bindings/cache/deltas.ts';
import { RealFIFO } from '../../bindings/cache/fifo.ts';

function setUp() {
  let told = 0;
  const fifo = new RealFIFO<string>({ onDelta: () => told++ });
  const pop = (): [Delta<string>, boolean, boolean] | undefined => {
    let popped: [Delta<string>, boolean, boolean] | undefined;
    fifo.tryPop((delta, isInInitialList) => {
      popped = [delta, isInInitialList, fifo.hasSynced()];
    });
    return popped;
  };
  return { fifo, pop, told: () => told };
}

describe('RealFIFO', () => {
  test('gives every delta in the order in which it came, none merged', () => {
    const { fifo, pop, told } = setUp();
    fifo.replace(['a'], '5');
    fifo.update('a');
    fifo.update('a');
    fifo.delete('a');
    fifo.add('a');
    fifo.bookmark('9');
    fifo.resync();
    expect(fifo.len()).toBe(7);
    expect(told()).toBe(7);
    const types = Array.from({ length: 7 }, () => pop()?.[0].type);
    expect(types).toEqual(['ReplacedAll', 'Updated', 'Updated', 'Deleted', 'Added', 'Bookmark', 'SyncAll']);
    expect(pop()).toBeUndefined();
  });

  test('has synced after the first replace and all before it were processed, not while the last one is', () => {
    const { fifo, pop } = setUp();
    expect(fifo.hasSynced()).toBe(false);
    fifo.add('before');
    expect(fifo.hasSynced()).toBe(false);
    fifo.replace([], '5');
    fifo.add('after');
    expect(pop()?.slice(1)).toEqual([true, false]);
    expect(fifo.hasSynced()).toBe(false);
    expect(pop()?.slice(1)).toEqual([true, false]);
    expect(fifo.hasSynced()).toBe(true);
    expect(pop()?.slice(1)).toEqual([false, true]);
    fifo.replace(['a'], '6');
    expect(fifo.hasSynced()).toBe(true);
    expect(pop()?.slice(1)).toEqual([false, true]);
  });

  test('waits for another replace where the first one could not be processed, and stays synced later', () => {
    const { fifo, pop } = setUp();
    const fail = (): never => {
      throw new Error('no memory');
    };
    fifo.replace(['a'], '5');
    expect(() => fifo.tryPop(fail)).toThrow('no memory');
    expect(fifo.hasSynced()).toBe(false);
    fifo.replace(['a'], '6');
    pop();
    expect(fifo.hasSynced()).toBe(true);
    fifo.replace(['b'], '7');
    expect(() => fifo.tryPop(fail)).toThrow('no memory');
    expect(fifo.hasSynced()).toBe(true);
  });
});

describe('a backlog', () => {
  test('keeps its order while it grows and shrinks', () => {
    const backlog = new Backlog<{ n: number }>();
    let pushed = 0;
    let taken = 0;
    for (const [push, take] of [
      [3000, 2999],
      [5, 6],
      [5000, 1200],
      [100, 3900],
    ] as const) {
      for (let i = 0; i < push; i++) backlog.push({ n: pushed++ });
      for (let i = 0; i < take; i++) expect(backlog.shift()?.n).toBe(taken++);
      expect(backlog.length).toBe(pushed - taken);
    }
    expect(backlog.shift()).toBeUndefined();
    backlog.push({ n: -1 });
    backlog.clear();
    expect(backlog.length).toBe(0);
    expect(backlog.shift()).toBeUndefined();
  });
});
