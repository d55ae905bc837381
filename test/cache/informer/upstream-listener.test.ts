/**
 * Counterparts of client-go's tools/cache/synctrack/synctrack_test.go for a handler's own "has
 * synced". Upstream has a separate tracker of starts and ends, which panics at one end too many;
 * here a listener counts its own notifications, so that cannot happen. AsyncTracker and Lazy have
 * no counterpart, because there is one thread.
 */
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../bindings/base/clock.ts';
import type { HandlerOptions } from '../../../bindings/cache/informer/handler.ts';
import { ProcessorListener } from '../../../bindings/cache/informer/listener.ts';
import { heldHandler } from '../../helpers/cache/recording-handlers.ts';
import type { ConfigMap } from '../../helpers/resources.ts';

const object: ConfigMap = { metadata: { namespace: 'default', name: 'a' } };
const initial = { type: 'add', object, isInInitialList: true, repeated: false } as const;

const other = { ...object, metadata: { ...object.metadata, name: 'b' } };
const added = { type: 'add', object: other, isInInitialList: false, repeated: false } as const;

function listener(options: HandlerOptions = {}) {
  const clock = new FakeClock();
  const held = heldHandler();
  const made = new ProcessorListener<ConfigMap>(held.handler, {
    ...options,
    name: 'test',
    clock,
    resync: 0,
  });
  let done = false;
  void made.hasSyncedChecker().done.then(() => {
    done = true;
  });
  return { clock, held, listener: made, isDone: () => done };
}

describe('a handler has synced', () => {
  // TestBasicLogic, TestSingleFile
  test.each([
    { synced: false, first: false, finish: true, expected: false },
    { synced: true, first: false, finish: false, expected: false },
    { synced: true, first: true, finish: false, expected: false },
    { synced: false, first: false, finish: false, expected: false },
    { synced: true, first: false, finish: true, expected: true },
    { synced: true, first: true, finish: true, expected: true },
  ])(
    '$expected: upstream $synced, before the end of the call: $first, call ended: $finish',
    async (row) => {
      const { clock, held, listener: one, isDone } = listener();
      const state = async (): Promise<boolean> => {
        await clock.settle();
        expect(isDone()).toBe(one.hasSynced());
        return one.hasSynced();
      };
      expect(await state()).toBe(false);
      one.add(initial);
      expect(await state()).toBe(false);
      if (row.synced && row.first) {
        one.upstreamSynced();
        expect(await state()).toBe(false);
      }
      if (row.finish) held.next();
      await clock.settle();
      if (row.synced && !row.first) {
        expect(await state()).toBe(false);
        one.upstreamSynced();
      }
      expect(await state()).toBe(row.expected);
    },
  );

  test.each([
    ['what is told in between', {}, [initial, added, initial], 2],
    [
      'what came and went unheard of',
      { coalesceAbove: 0 },
      [initial, added, { type: 'delete', object: other }],
      0,
    ],
  ] as const)(
    'no sooner for %s, which is not in the initial list',
    async (_, options, notifications, early) => {
      const { clock, held, listener: one } = listener(options);
      one.add(notifications[0]);
      await clock.settle();
      for (const notification of notifications.slice(1)) one.add(notification);
      one.upstreamSynced();
      for (let call = 0; call < early; call++) {
        held.next();
        await clock.settle();
      }
      expect([held.told.length, one.hasSynced()]).toEqual([early + 1, false]);
      held.next();
      await clock.settle();
      expect(one.hasSynced()).toBe(true);
    },
  );

  test('never, once it has been stopped, and nothing more is delivered', async () => {
    const { clock, held, listener: one } = listener();
    one.stop();
    one.add(initial);
    one.upstreamSynced();
    await clock.settle();
    expect([held.told, one.pending(), one.hasSynced()]).toEqual([[], 0, false]);
  });

  // TestSingleFileCounting
  test('only when the last of a hundred initial calls has ended, and stays so', async () => {
    const { clock, held, listener: one } = listener();
    for (let i = 0; i < 100; i++) one.add(initial);
    one.upstreamSynced();
    for (let i = 0; i < 100; i++) {
      await Promise.resolve();
      expect(one.hasSynced()).toBe(false);
      held.next();
      for (let turn = 0; turn < 6; turn++) await Promise.resolve();
    }
    await clock.settle();
    expect(held.told).toHaveLength(100);
    expect(one.hasSynced()).toBe(true);
    one.add(initial);
    await clock.settle();
    expect(one.hasSynced()).toBe(true);
  });
});
