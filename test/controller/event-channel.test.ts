/**
 * The channel from a program's callbacks to a source: order, capacity, aborted sends, and the end.
 */
import { EventChannel } from 'capstan/controller';
import { FakeClock } from 'capstan/workqueue';
import { describe, expect, test } from 'vitest';
import { Random, testSeed } from '../helpers/random.ts';

const clock = new FakeClock();

describe('an event channel', () => {
  test('returns false when it is full; waiting sends are served in order', async () => {
    const channel = new EventChannel<string>({ capacity: 2 });
    expect([
      channel.trySend('a'),
      channel.trySend('b'),
      channel.trySend('c'),
      channel.length,
    ]).toEqual([true, true, false, 2]);
    const given = new AbortController();
    const sent: string[] = [];
    const givenUp = channel.send('c', { signal: given.signal });
    const waiting = channel.send('d').then(() => void sent.push('d'));
    given.abort();
    await expect(givenUp).rejects.toMatchObject({ code: 'ABORTED' });
    await expect(channel.send('e', { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'ABORTED',
    });
    const reader = channel[Symbol.asyncIterator]();
    expect(await reader.next()).toEqual({ done: false, value: { object: 'a' } });
    await waiting;
    expect(sent).toEqual(['d']);
    channel.close();
    expect([(await reader.next()).value, (await reader.next()).value]).toEqual([
      { object: 'b' },
      { object: 'd' },
    ]);
    expect(await reader.next()).toEqual({ done: true, value: undefined });
  });

  test('that is closed rejects waiting sends and ends readers', async () => {
    const channel = new EventChannel<string>({ capacity: 1 });
    channel.trySend('a');
    const sending = channel.send('b');
    const empty = new EventChannel<string>();
    const reading = empty[Symbol.asyncIterator]().next();
    channel.close();
    empty.close();
    empty.close();
    await expect(sending).rejects.toMatchObject({ code: 'STOPPED' });
    expect(await reading).toEqual({ done: true, value: undefined });
  });

  test('delivers each event to one reader', async () => {
    const channel = new EventChannel<number>();
    const [first, second] = [channel[Symbol.asyncIterator](), channel[Symbol.asyncIterator]()];
    const reads = [first.next(), second.next()];
    channel.trySend(1);
    channel.trySend(2);
    expect((await Promise.all(reads)).map(({ value }) => value)).toEqual([
      { object: 1 },
      { object: 2 },
    ]);
  });
});

test('random sends, aborts and reads: each event is delivered once, in order', async () => {
  const seed = testSeed();
  console.log(`event channel: CAPSTAN_SEED=${seed}`);
  const random = new Random(seed);
  for (let round = 0; round < 40; round++) {
    const capacity = 1 + random.int(4);
    const channel = new EventChannel<number>({ capacity });
    const reader = channel[Symbol.asyncIterator]();
    /** In the order in which they asked for room, without those that were aborted. */
    const accepted: number[] = [];
    const read: number[] = [];
    const reads: Promise<unknown>[] = [];
    const waiting = new Map<number, AbortController>();
    for (let next = 0; next < 200; next++) {
      const what = random.int(4);
      if (what === 0) {
        if (channel.trySend(next)) accepted.push(next);
        else expect(channel.length).toBe(capacity);
      } else if (what === 1) {
        const given = new AbortController();
        accepted.push(next);
        waiting.set(next, given);
        const sent = channel.send(next, { signal: given.signal });
        void sent
          .catch(() => accepted.splice(accepted.indexOf(next), 1))
          .finally(() => waiting.delete(next));
      } else if (what === 2) {
        reads.push(
          reader.next().then(({ value }) => value !== undefined && read.push(value.object)),
        );
      } else if (waiting.size > 0) {
        random.pick([...waiting.values()]).abort();
      }
      if (random.chance(0.5)) await clock.settle();
      expect(channel.length).toBeLessThanOrEqual(capacity);
    }
    while (channel.length > 0 || waiting.size > 0) {
      reads.push(reader.next().then(({ value }) => value !== undefined && read.push(value.object)));
      await clock.settle();
    }
    channel.close();
    await Promise.all(reads);
    expect(read, `seed ${seed}, round ${round}`).toEqual(accepted);
  }
});
