/**
 * The queue of the provisioner: what comes when, what is given up, and who works. Time is a
 * FakeClock's.
 */
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
 * A queue that runs, and what it did: the seconds at which each uid was worked on, and the failures
 * that were told.
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

test('a uid that fails comes again after 15 s and 30 s, and is given up at the third failure', async () => {
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

test('what was given up stays so until it changes, and begins anew then', async () => {
  const { clock, queue, tries } = running({ work: fails });
  queue.add('a');
  await clock.run(100_000);
  tries.length = 0;
  queue.add('a'); // as a new list does
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

test('what can never work is given up at once', async () => {
  const work = async (): Promise<void> => {
    throw new TerminalError('never');
  };
  const { clock, queue, tries, failed } = running({ work });
  queue.add('a');
  await clock.run(3600_000);
  expect(tries).toEqual(['a at 0']);
  expect(failed).toEqual([['a', { failures: 1, givenUp: true }]]);
});

test('while the server is away items stay in hand, and the others wait behind them without failing', async () => {
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

test('a try ends with its time, also while the server is away, and is a failure', async () => {
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

test('nothing is worked on while this process does not lead', async () => {
  let leads = false;
  const { clock, queue, tries } = running({ mayWork: () => leads });
  queue.add('a');
  await clock.run(10_500);
  expect(tries).toEqual([]);
  leads = true;
  await clock.run(1000);
  expect(tries).toEqual(['a at 11']);
});

test('an end is no failure: what was in hand is put down, and nothing new is begun', async () => {
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
