/**
 * The queue of informers: atomic lists, waiting, batches, errors. The counterparts of client-go's
 * tests are in upstream-fifos.test.ts.
 */
import { describe, expect, test } from 'vitest';
import { Backlog } from '../../../bindings/base/backlog.ts';
import { setErrorHandler } from '../../../bindings/base/handle-error.ts';
import { DeltaFIFO } from '../../../bindings/cache/queue/delta-fifo.ts';
import { RealFIFO, type RealFIFOOptions } from '../../../bindings/cache/queue/fifo.ts';
import type { KeyListerGetter, Queue } from '../../../bindings/cache/queue/queue.ts';
import { DeletedFinalStateUnknown } from '../../../bindings/cache/rest/keys.ts';
import {
  codeOf,
  deltaText,
  type Item,
  item,
  knowing,
  nameOf,
  popAll,
  popBatches,
  popOne,
} from './fifo-helpers.ts';

const real = (options: RealFIFOOptions<Item> = {}): RealFIFO<Item> =>
  new RealFIFO({ keyFunction: nameOf, ...options });
const single = (...known: Item[]): RealFIFO<Item> =>
  real({ atomicEvents: false, knownObjects: knowing(...known) });
const a = item('a', 1);

describe('RealFIFO', () => {
  test('gives every delta in the order in which it came, none merged', () => {
    let told = 0;
    const fifo = real({ onDelta: () => told++ });
    fifo.replace([a], '5');
    fifo.update(a);
    fifo.update(a);
    fifo.delete(a);
    fifo.add(a);
    fifo.bookmark('9');
    fifo.resync();
    expect([fifo.len(), told]).toEqual([7, 7]);
    expect(popAll(fifo)).toEqual([
      'ReplacedAll 5: a@1 initial',
      'Updated a@1',
      'Updated a@1',
      'Deleted a@1',
      'Added a@1',
      'Bookmark 9',
      'SyncAll',
    ]);
    expect(fifo.len()).toBe(0);
  });

  test('has synced after the first list has been processed, not while it is processed', () => {
    const fifo = real();
    expect(fifo.hasSynced()).toBe(false);
    fifo.bookmark('1');
    fifo.replace([], '5');
    fifo.add(a);
    expect(popOne(fifo)).toBe('Bookmark 1 initial');
    expect(fifo.hasSynced()).toBe(false);
    const during: boolean[] = [];
    fifo.tryPop((_, isInInitialList) => during.push(isInInitialList, fifo.hasSynced()));
    expect(during).toEqual([true, false]);
    expect(fifo.hasSynced()).toBe(true);
    expect(popOne(fifo)).toBe('Added a@1');
    fifo.replace([a], '6');
    expect(fifo.hasSynced()).toBe(true);
    expect(popOne(fifo)).toBe('ReplacedAll 6: a@1');
  });

  test('is synced by another list if the first could not be processed, and stays synced', () => {
    const fifo = real();
    const fail = (): never => {
      throw new Error('no memory');
    };
    fifo.replace([a], '5');
    expect(() => fifo.tryPop(fail)).toThrow('no memory');
    fifo.add(a);
    expect(popOne(fifo)).toBe('Added a@1 initial');
    expect(fifo.hasSynced()).toBe(false);
    fifo.replace([a], '6');
    popOne(fifo);
    expect(fifo.hasSynced()).toBe(true);
    fifo.replace([a], '7');
    expect(() => fifo.tryPop(fail)).toThrow('no memory');
    expect(fifo.hasSynced()).toBe(true);
  });

  test('is synced for an async consumer when its promise has settled', async () => {
    const fifo = real({ name: 'pods' });
    fifo.replace([a], '5');
    let finish: () => void = () => undefined;
    const popping = fifo.pop(() => new Promise<void>((resolve) => (finish = resolve)));
    expect([fifo.len(), fifo.hasSynced()]).toEqual([0, false]);
    finish();
    expect((await popping).map(deltaText)).toEqual(['ReplacedAll 5: a@1']);
    expect(fifo.hasSynced()).toBe(true);
    expect(fifo.hasSyncedChecker().name).toBe('pods');
    await fifo.hasSyncedChecker().done;
  });

  test('is not synced by a pop that ends before that of the first list', async () => {
    const fifo = real();
    fifo.replace([a], '5');
    fifo.update(a);
    let finish: () => void = () => undefined;
    const list = fifo.pop(() => new Promise<void>((resolve) => (finish = resolve)));
    expect(popOne(fifo)).toBe('Updated a@1 initial');
    expect(fifo.hasSynced()).toBe(false);
    finish();
    await list;
    expect(fifo.hasSynced()).toBe(true);
  });

  test('does not queue bookmarks if the option is false, and without atomic events', () => {
    for (const fifo of [real({ emitDeltaTypeBookmark: false }), single()]) {
      fifo.bookmark('5');
      expect(fifo.len()).toBe(0);
    }
  });

  test('refuses options that contradict each other', () => {
    const refused: RealFIFOOptions<Item>[] = [
      { atomicEvents: false },
      { knownObjects: knowing() },
      { atomicEvents: false, knownObjects: knowing(), emitDeltaTypeBookmark: true },
      { keyFunction: 'name' as never },
      { transformer: 1 as never },
      { onDelta: {} as never },
      { atomicEvents: false, knownObjects: { listKeys: () => [] } as never },
    ];
    for (const options of refused)
      expect(() => new RealFIFO(options)).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
      );
    expect(() => new DeltaFIFO({ knownObjects: {} as never })).toThrow(/knownObjects/);
    expect(() => new DeltaFIFO({ keyFunction: 1 as never })).toThrow(/keyFunction/);
  });

  test('gives at most 1000 deltas a batch, and lists, resyncs and bookmarks alone', async () => {
    const fifo = real();
    fifo.replace([a], '1');
    for (let i = 0; i < 1500; i++) fifo.add(item(`n${i}`, i));
    fifo.bookmark('2');
    fifo.resync();
    fifo.delete(new DeletedFinalStateUnknown<Item>('n1', undefined));
    fifo.update(item('n2', 1));
    fifo.update(item('n1', 2));
    expect(
      (await popBatches(fifo)).map((batch) => (batch.length > 2 ? batch.length : batch.join())),
    ).toEqual([
      'ReplacedAll 1: a@1',
      1000,
      500,
      'Bookmark 2',
      'SyncAll',
      'Deleted n1@? (tombstone),Updated n2@1',
      'Updated n1@2',
    ]);
  });
});

describe('a queue of deltas', () => {
  const queues: [string, (...known: Item[]) => Queue<Item>][] = [
    ['RealFIFO', () => real()],
    ['RealFIFO without atomic events', single],
    [
      'DeltaFIFO',
      (...known) => new DeltaFIFO({ keyFunction: nameOf, knownObjects: knowing(...known) }),
    ],
  ];

  test.each(queues)(
    '%s resolves waiting pops in order, each with another delta',
    async (_, make) => {
      const queue = make();
      const got: string[] = [];
      const pops = ['one', 'two', 'three'].map((who) =>
        queue.pop((deltas) => void got.push(`${who} ${deltas.map(deltaText)}`)),
      );
      queue.add(item('x', 1));
      queue.add(item('y', 2));
      await Promise.all(pops.slice(0, 2));
      queue.add(item('z', 3));
      await pops[2];
      expect(got).toEqual(['one Added x@1', 'two Added y@2', 'three Added z@3']);
    },
  );

  test.each(queues)('%s gives what is left after close, then FIFO_CLOSED', async (_, make) => {
    const queue = make();
    const waiting = codeOf(queue.pop(() => undefined));
    expect(queue.isClosed()).toBe(false);
    queue.close();
    expect(queue.isClosed()).toBe(true);
    expect(await waiting).toBe('FIFO_CLOSED');
    queue.add(a);
    expect((await queue.pop(() => undefined)).map(deltaText)).toEqual(['Added a@1']);
    expect(await codeOf(queue.pop(() => undefined))).toBe('FIFO_CLOSED');
    expect(queue.tryPop(() => undefined)).toBe(false);
  });

  test.each(queues)('%s ends a pop with its signal alone, and nothing is lost', async (_, make) => {
    const queue = make();
    const abort = new AbortController();
    const aborted = codeOf(queue.pop(() => undefined, { signal: abort.signal }));
    const other = queue.pop(() => undefined);
    abort.abort();
    expect(await aborted).toBe('ABORTED');
    queue.add(a);
    expect(await codeOf(queue.pop(() => undefined, { signal: abort.signal }))).toBe('ABORTED');
    expect((await other).map(deltaText)).toEqual(['Added a@1']);
  });

  // A consumer passes one signal to all its pops, so a listener that is not removed would leak.
  test.each(queues)('%s leaves no listener on the signal of a pop', async (_, make) => {
    const queue = make();
    const { signal } = new AbortController();
    let listeners = 0;
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (...of: Parameters<typeof addEventListener>) => {
      listeners++;
      addEventListener.apply(signal, of);
    };
    signal.removeEventListener = (...of: Parameters<typeof removeEventListener>) => {
      listeners--;
      removeEventListener.apply(signal, of);
    };
    for (let i = 0; i < 3; i++) {
      const popping = queue.pop(() => undefined, { signal });
      expect(listeners).toBe(1);
      queue.add(item('a', i));
      await popping;
      expect(listeners).toBe(0);
    }
  });

  test.each(queues)(
    '%s throws the error of a consumer; the delta stays removed',
    async (_, make) => {
      const queue = make();
      const error = new Error('the consumer');
      queue.add(a);
      queue.add(item('b', 2));
      queue.add(item('c', 3));
      await expect(queue.pop(() => Promise.reject(error))).rejects.toBe(error);
      const fail = (): void => {
        throw error;
      };
      await expect(queue.pop(fail)).rejects.toBe(error);
      expect(() => queue.tryPop(fail)).toThrow(error);
      expect(queue.len()).toBe(0);
    },
  );

  test.each(['keyFunction', 'transformer'] as const)(
    'queues nothing of a change whose %s throws',
    (failing) => {
      const broken = item('broken', 0);
      const checked = (one: Item): Item => {
        if (one === broken) throw new Error('refused');
        return one;
      };
      const options =
        failing === 'keyFunction'
          ? { keyFunction: (one: Item) => checked(one).name }
          : { keyFunction: nameOf, transformer: checked };
      const knownObjects = knowing(a);
      for (const queue of [
        new RealFIFO(options),
        new RealFIFO({ ...options, atomicEvents: false, knownObjects }),
        new DeltaFIFO({ ...options, knownObjects: knowing(a, broken) }),
      ]) {
        expect(() => queue.add(broken)).toThrow('refused');
        expect(() => queue.update(broken)).toThrow('refused');
        expect(() => queue.delete(broken)).toThrow('refused');
        expect([queue.len(), queue.hasSynced()]).toEqual([0, false]);
      }
      for (const queue of [
        new RealFIFO({ ...options, atomicEvents: false, knownObjects }),
        new DeltaFIFO({ ...options, knownObjects }),
      ]) {
        expect(() => queue.replace([item('b', 1), broken], '5')).toThrow('refused');
        expect([queue.len(), queue.hasSynced()]).toEqual([0, false]);
      }
    },
  );

  test.each(queues.slice(1))(
    '%s reports a known key without an object, and queues a tombstone without one',
    (name) => {
      const reported: string[] = [];
      const previous = setErrorHandler((error, what) => reported.push(`${what}: ${error}`));
      try {
        const lost: KeyListerGetter<Item> = { listKeys: () => ['lost'], getByKey: () => undefined };
        const queue: Queue<Item> = name.startsWith('Delta')
          ? new DeltaFIFO({ keyFunction: nameOf, knownObjects: lost })
          : real({ atomicEvents: false, knownObjects: lost });
        queue.resync();
        expect(queue.len()).toBe(0);
        queue.replace([], '5');
        expect(popAll(queue)).toEqual(['Deleted lost@? (tombstone) initial']);
        expect(reported).toHaveLength(2);
        expect(reported[0]).toContain('"lost"');
      } finally {
        setErrorHandler(previous);
      }
    },
  );

  test.each(queues.slice(1))(
    '%s calls onDelta for an empty list too, as the queue may have synced',
    (name) => {
      let told = 0;
      const options = { keyFunction: nameOf, knownObjects: knowing(), onDelta: () => told++ };
      const queue: Queue<Item> = name.startsWith('Delta')
        ? new DeltaFIFO(options)
        : new RealFIFO({ ...options, atomicEvents: false });
      queue.replace([], '5');
      expect([told, queue.len(), queue.hasSynced()]).toEqual([1, 0, true]);
    },
  );
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
      expect(backlog.at(0)?.n).toBe(pushed === taken ? undefined : taken);
      expect(backlog.at(pushed - taken)).toBeUndefined();
    }
    expect(backlog.shift()).toBeUndefined();
    backlog.push({ n: -1 });
    backlog.clear();
    expect(backlog.length).toBe(0);
    expect(backlog.shift()).toBeUndefined();
  });
});
