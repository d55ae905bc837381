/** The queue of the provisioner: back-off, giving up, leadership. Time is a FakeClock. */
import { TransportError } from 'capstan/cache';
import { silentLogger, TerminalError } from 'capstan/controller';
import { FakeClock } from 'capstan/workqueue';
import { expect, onTestFinished, test } from 'vitest';
import {
  type Failure,
  UidQueue,
  type UidQueueOptions,
} from '../../examples/provisioner/uid-queue.ts';

/**
 * A running queue and its record: the seconds at which each uid was processed, and the reported
 * failures.
 */
function running(options: Partial<UidQueueOptions> = {}) {
  const clock = new FakeClock();
  const tries: string[] = [];
  const failed: [string, Omit<Failure, 'error'>][] = [];
  const messages: string[] = [];
  const { work = async () => undefined, ...rest } = options;
  const queue = new UidQueue({
    name: 'test',
    workers: 2,
    timeout: 60_000,
    maxFailures: 3,
    clock,
    logger: silentLogger,
    mayWork: () => true,
    work: (uid, signal) => {
      tries.push(`${uid} at ${clock.now() / 1000}`);
      return work(uid, signal);
    },
    onFailure: (uid, { error, ...failure }) => {
      failed.push([uid, failure]);
      messages.push((error as Error).message);
    },
    ...rest,
  });
  const stop = new AbortController();
  const done = queue.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await done;
  });
  return { clock, queue, tries, failed, messages, stop, done };
}

const fails = async (): Promise<void> => {
  throw new Error('no');
};

test('a failed uid is retried after 15 s and 30 s, and given up at the third failure', async () => {
  const { clock, queue, tries, failed } = running({ work: fails });
  queue.add('a');
  await clock.run(3600_000);
  expect(tries).toEqual(['a at 0', 'a at 15', 'a at 45']);
  expect(failed).toEqual([
    ['a', { failures: 1, givenUp: false }],
    ['a', { failures: 2, givenUp: false }],
    ['a', { failures: 3, givenUp: true }],
  ]);
});

test('a uid that was given up stays so until its object changes', async () => {
  const { clock, queue, tries } = running({ work: fails });
  queue.add('a');
  await clock.run(100_000);
  tries.length = 0;
  queue.add('a'); // as a relist does
  await clock.run(100_000);
  expect(tries).toEqual([]);
  queue.changed('a');
  await clock.run(100_000);
  expect(tries).toEqual(['a at 200', 'a at 215', 'a at 245']);
});

test('a change does not end the back-off, and a deletion does', async () => {
  const { clock, queue, tries } = running({ work: fails, maxFailures: 10 });
  queue.add('a');
  await clock.run(1000);
  queue.changed('a');
  queue.add('a');
  await clock.run(1000);
  expect(tries).toEqual(['a at 0']);
  queue.gone('a');
  await clock.run(1000);
  expect(tries).toEqual(['a at 0', 'a at 2']);
  await clock.run(14_000);
  expect(tries.slice(2), 'its failures are forgotten: 15 s again').toEqual(['a at 17']);
});

test('a TerminalError gives a uid up at once', async () => {
  const work = async (): Promise<void> => {
    throw new TerminalError('never');
  };
  const { clock, queue, tries, failed } = running({ work });
  queue.add('a');
  await clock.run(3600_000);
  expect(tries).toEqual(['a at 0']);
  expect(failed).toEqual([['a', { failures: 1, givenUp: true }]]);
});

test('while the server is unreachable workers keep their items', async () => {
  let away = true;
  const work = async (): Promise<void> => {
    if (away) throw new TransportError('refused', 'nobody is there');
  };
  const { clock, queue, tries, failed } = running({ work });
  for (const uid of ['a', 'b', 'c', 'd']) queue.add(uid);
  await clock.run(5000);
  expect(new Set(tries.map((line) => line.split(' ')[0]))).toEqual(new Set(['a', 'b']));
  away = false;
  await clock.run(1000);
  expect(tries.filter((line) => line.endsWith(' 6')).sort()).toEqual([
    'a at 6',
    'b at 6',
    'c at 6',
    'd at 6',
  ]);
  expect(failed).toEqual([]);
});

test('a try ends at its time limit and counts as a failure', async () => {
  const hangs = (_: string, signal: AbortSignal) =>
    new Promise<void>((_, reject) =>
      signal.addEventListener('abort', () => reject(new TransportError('aborted', 'x'))),
    );
  const away = async (): Promise<void> => {
    throw new TransportError('refused', 'nobody is there');
  };
  for (const work of [hangs, away]) {
    const { clock, queue, failed, messages } = running({ work });
    queue.add('a');
    await clock.run(59_000);
    expect(failed).toEqual([]);
    await clock.run(2000);
    expect(failed).toEqual([['a', { failures: 1, givenUp: false }]]);
    expect(messages).toEqual(['not done within 60000 ms']);
  }
});

test('nothing is processed while this process does not lead', async () => {
  let leads = false;
  const { clock, queue, tries } = running({ mayWork: () => leads });
  queue.add('a');
  await clock.run(10_500);
  expect(tries).toEqual([]);
  leads = true;
  await clock.run(1000);
  expect(tries).toEqual(['a at 11']);
});

test('a stop is no failure: the running item is put back, and none is started', async () => {
  const hangs = (_: string, signal: AbortSignal) =>
    new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  const { clock, queue, tries, failed, stop, done } = running({ workers: 1, work: hangs });
  queue.add('a');
  queue.add('b');
  await clock.settle();
  stop.abort();
  await done;
  expect(tries).toEqual(['a at 0']);
  expect(failed).toEqual([]);
});
