/**
 * Handlers that need more CPU time than the reader: the reader lets them catch up, and no handler
 * can stop it.
 *
 * Reader and handlers had time slices of one length, so the backlog of a handler that costs more
 * than reading grew: 31 000 of 50 000 notifications in 296 MB, which reached the old generation, so
 * that an event cost 52 µs of CPU instead of 22.
 */
import { ListWatch, SharedIndexInformer } from 'capstan/cache';
import { expect, test } from 'vitest';
import { FakeClock, macrotask } from '../../../bindings/base/clock.ts';
import { ProcessorListener } from '../../../bindings/cache/informer/listener.ts';
import { SharedProcessor } from '../../../bindings/cache/informer/processor.ts';
import { answer } from '../../helpers/cache/live-server.ts';
import { configMapAt, event, listBody, Replies } from '../../helpers/cache/scripted-server.ts';
import { type ConfigMap, ConfigMaps } from '../../helpers/resources.ts';

const FLOOD = 20_000;
const CHUNK = 100;
/**
 * processor.ts: MAX_OVERDUE, MIN_BETWEEN_WAITS, and the rest of a chunk before the reader awaits
 * `behind`.
 */
const MOST = 1000 + 256 + CHUNK;

/**
 * An informer whose server sends all events at once. Reading one takes 0.01 ms on the clock;
 * handlers call `spend`.
 */
function flooded(fifo: 'real' | 'delta' = 'real') {
  let spent = 0;
  const clock = new (class extends FakeClock {
    override now(): number {
      return super.now() + spent;
    }
  })();
  async function* body(): AsyncGenerator<Uint8Array> {
    for (let i = 0; i < FLOOD; i += CHUNK) {
      const events = Array.from({ length: CHUNK }, (_, j) =>
        event('MODIFIED', configMapAt('a', `${6 + i + j}`)),
      );
      yield new TextEncoder().encode(events.join(''));
    }
    await new Promise(() => undefined);
  }
  const server = new Replies(
    () => answer(200, listBody('5', [configMapAt('a', '5')])),
    () => ({ status: 200, headers: new Headers(), body: body() }),
  );
  const made = new SharedIndexInformer(new ListWatch(server, ConfigMaps), {
    ...{ clock, random: () => 0, fifo },
    transform: (object: ConfigMap) => {
      spent += 0.01;
      return object;
    },
  });
  const spend = (ms: number): void => {
    spent += ms;
  };
  const read = (): boolean =>
    made.lastSyncResourceVersion() === `${5 + FLOOD}` && made.status().queued === 0;
  return { clock, made, spend, read };
}

test.each(['real', 'delta'] as const)(
  'a flood is read no faster than synchronous handlers process it: queue %s',
  async (queue) => {
    const { made, spend, read } = flooded(queue);
    let most = 0;
    const told: number[] = [];
    const registration = made.addEventHandler({
      onUpdate: (_, { metadata }) => {
        spend(0.05);
        most = Math.max(most, registration.pending());
        told.push(Number(metadata.resourceVersion));
      },
    });
    const running = made.run();
    while (!read() || registration.pending() > 0) await macrotask();
    await made.stop();
    await running;
    expect(most).toBeGreaterThan(500); // the handler was behind at all
    expect(most).toBeLessThanOrEqual(MOST);
    expect(told, 'everything, in order').toEqual(
      queue === 'real' ? versions() : [...told].sort((a, b) => a - b),
    );
    expect(told.at(-1)).toBe(5 + FLOOD);
  },
);

const versions = (): number[] => Array.from({ length: FLOOD }, (_, i) => 6 + i);

test('a handler that never catches up delays reading by a few turns at a time', async () => {
  const { made, spend, read } = flooded();
  const quick: number[] = [];
  const slow = made.addEventHandler({ onUpdate: () => spend(4) }, { name: 'slow' }); // one a turn
  made.addEventHandler({
    onUpdate: (_, { metadata }) => void quick.push(Number(metadata.resourceVersion)),
  });
  const running = made.run();
  let turns = 0;
  for (; !read() || quick.length < FLOOD; turns++) await macrotask();
  expect(quick).toEqual(versions());
  expect(slow.pending()).toBeGreaterThan(FLOOD / 2);
  // 8 turns for each 256 events, and those of the reader's own time slices.
  expect(turns).toBeLessThan(3 * 8 * (FLOOD / 256));
  await made.stop();
  await running;
});

test('a handler with a pending promise does not delay reading', async () => {
  const { made, read } = flooded();
  const gate = Promise.withResolvers<void>();
  const hanging = made.addEventHandler({ onUpdate: () => gate.promise });
  const running = made.run();
  for (let turns = 0; !read(); turns++) {
    expect(turns).toBeLessThan(8 * 16); // the reader's own, of 2.5 ms, are 80
    await macrotask();
  }
  expect(hanging.pending()).toBe(FLOOD - 1);
  gate.resolve();
  await made.stop();
  await running;
});

test('notifications are overdue only while no promise of the handler is pending', async () => {
  const processor = new SharedProcessor<ConfigMap>();
  const clock = new FakeClock();
  let settle = (): void => undefined;
  let answer: unknown;
  const listener = new ProcessorListener<ConfigMap>(
    { onAdd: () => answer as undefined },
    { name: 'test', clock, resync: 0 },
  );
  processor.add(listener, false);
  const add = (count: number): void => {
    for (let i = 0; i < count; i++)
      processor.distribute(
        { type: 'add', object: configMapAt('a', '1'), isInInitialList: false, repeated: false },
        false,
      );
  };
  expect(processor.behind()).toBeUndefined();
  add(1000);
  expect(listener.overdue()).toBe(1000);
  expect(processor.behind(), 'at the bound').toBeUndefined();
  add(1);
  const behind = processor.behind();
  expect(behind, 'beyond it').toBeInstanceOf(Promise);
  await behind;
  expect(listener.overdue()).toBe(0);

  answer = new Promise<void>((resolve) => {
    settle = resolve;
  });
  add(2000);
  await macrotask();
  expect(listener.pending()).toBe(1999);
  expect(listener.overdue(), 'its promise is waited for').toBe(0);
  expect(processor.behind()).toBeUndefined();
  answer = undefined;
  settle();
  await clock.settle();
  expect(listener.pending()).toBe(0);

  add(2000);
  processor.remove(listener);
  expect(processor.behind(), 'it has gone').toBeUndefined();
});

test('stopping does not wait for handlers that are behind', async () => {
  const { made, spend } = flooded();
  const registration = made.addEventHandler({ onUpdate: () => spend(4) });
  const running = made.run();
  while (registration.pending() <= 1000) await macrotask();
  await made.stop();
  await running;
  expect(registration.pending()).toBe(0);
});
