/**
 * Groups of runnables, with the counterparts of controller-runtime's
 * pkg/manager/runnable_group_test.go.
 */
import type { GroupedRunnable } from 'capstan/manager';
import { CapstanError } from 'capstan/workqueue';
import { describe, expect, test } from 'vitest';
import { RunnableGroup } from '../../bindings/manager/runnable-group.ts';
import { Runnables } from '../../bindings/manager/runnables.ts';
import { recordedRunnable } from './recording-runnables.ts';

const never = new AbortController().signal;

function group() {
  const log: string[] = [];
  const errors: unknown[] = [];
  return { log, errors, group: new RunnableGroup('others', (error) => errors.push(error)) };
}

describe('a group of runnables', () => {
  test('starts nothing before it is started (…new runnables before it starts)', () => {
    const { log, group: one } = group();
    one.add(recordedRunnable(log, 'a'));
    expect(one.started).toBe(false);
    expect(log).toEqual([]);
  });

  test('starts earlier runnables with the group (…before and after start)', async () => {
    const { log, group: one } = group();
    one.add(recordedRunnable(log, 'a'));
    one.add(recordedRunnable(log, 'b'));
    await one.start();
    expect(log).toEqual(['a starts', 'b starts']);
    one.add(recordedRunnable(log, 'c'));
    expect(log).toEqual(['a starts', 'b starts', 'c starts']);
    expect(one.running()).toBe(3);
  });

  test('starts each runnable once, however often it is started itself', async () => {
    const { log, group: one } = group();
    one.add(recordedRunnable(log, 'a'));
    await Promise.all([one.start(), one.start()]);
    await one.start();
    expect(log).toEqual(['a starts']);
  });

  test('has started when all are ready, in any order (…different intervals)', async () => {
    const { log, group: one } = group();
    const gates = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
    for (const [i, gate] of gates.entries())
      one.add(recordedRunnable(log, `${i}`), () => gate.promise);
    let started = false;
    const start = one.start().then(() => {
      started = true;
    });
    for (const i of [3, 0, 4, 1]) gates[i]?.resolve();
    await new Promise(setImmediate);
    expect(started).toBe(false);
    gates[2]?.resolve();
    await start;
  });

  test('reports a readiness that fails, and continues (…readiness check fail)', async () => {
    const { log, errors, group: one } = group();
    const failure = new Error('not ready');
    one.add(recordedRunnable(log, 'a'), () => Promise.reject(failure));
    one.add(recordedRunnable(log, 'b'));
    await one.start();
    expect(errors).toEqual([failure]);
    expect(one.members().map(({ name, state }) => `${name} ${state}`)).toEqual([
      'a failed',
      'b running',
    ]);
  });

  test('waits for all to end when it is stopped (…close the group and wait…)', async () => {
    const { log, group: one } = group();
    const slow = recordedRunnable(log, 'slow', { endsBySignal: false });
    one.add(slow);
    one.add(recordedRunnable(log, 'quick'));
    await one.start();
    let stopped = false;
    const stopping = one.stopAndWait(never).then((left) => {
      stopped = true;
      return left;
    });
    await new Promise(setImmediate);
    expect(log.slice(2)).toEqual(['slow is stopped', 'quick is stopped', 'quick ends']);
    expect(stopped).toBe(false);
    expect(() => one.add(recordedRunnable(log, 'late'))).toThrow(CapstanError);
    slow.finish();
    expect(await stopping).toEqual([]);
    expect(log.at(-1)).toBe('slow ends');
  });

  test('waits until the deadline, and returns the runnables still running', async () => {
    const { log, group: one } = group();
    one.add(recordedRunnable(log, 'slow', { endsBySignal: false }));
    one.add(recordedRunnable(log, 'quick'));
    await one.start();
    const deadline = new AbortController();
    const stopping = one.stopAndWait(deadline.signal);
    await new Promise(setImmediate);
    deadline.abort();
    expect((await stopping).map(({ name }) => name)).toEqual(['slow']);
  });

  test('never starts its runnables if it is stopped before its start', async () => {
    const { log, group: one } = group();
    one.add(recordedRunnable(log, 'a'));
    expect(await one.stopAndWait(never)).toEqual([]);
    await one.start();
    expect(log).toEqual([]);
  });

  test('accepts or refuses a runnable during its stop (…while stopping)', async () => {
    const { log, group: one } = group();
    await one.start();
    const outcomes: string[] = [];
    for (let i = 0; i < 200; i++) {
      if (i === 100) void one.stopAndWait(never);
      try {
        one.add(recordedRunnable(log, `${i}`));
        outcomes.push('added');
      } catch (error) {
        outcomes.push((error as CapstanError).code);
      }
    }
    await one.stopAndWait(never);
    expect(outcomes.filter((each) => each === 'added')).toHaveLength(100);
    expect(outcomes.slice(100)).toEqual(Array.from({ length: 100 }, () => 'STOPPED'));
    expect(one.running()).toBe(0);
  });

  test('treats a synchronous error as a rejection', async () => {
    const { errors, group: one } = group();
    const failure = new Error('at once');
    one.add({
      start() {
        throw failure;
      },
    });
    await one.start();
    await one.stopAndWait(never);
    expect(errors).toEqual([failure]);
  });

  test('keeps a bounded number of ended runnables', async () => {
    const { group: one } = group();
    await one.start();
    for (let i = 0; i < 100; i++) one.add({ name: `${i}`, start: () => Promise.resolve() });
    await one.stopAndWait(never);
    expect(one.members().map(({ name }) => name)).toEqual(
      Array.from({ length: 20 }, (_, i) => `${i + 80}`),
    );
  });
});

describe('the groups of a manager', () => {
  const nothing = (): Promise<void> => Promise.resolve();
  const groupsOf = (add: Parameters<Runnables['add']>[0]): string[] => {
    const runnables = new Runnables(() => undefined);
    runnables.add(add);
    return runnables.members().map(({ group: name }) => name);
  };

  test.each<[string, Partial<GroupedRunnable>, string[]]>([
    ['an HTTP server', { group: 'HTTP servers' }, ['HTTP servers']],
    ['a cache', { group: 'caches' }, ['caches']],
    ['a webhook server', { group: 'webhooks' }, ['webhooks']],
    ['any other runnable', {}, ['leader election']],
    ['one that needs no leadership', { needLeaderElection: () => false }, ['others']],
    ['one with a warm-up', { warmup: nothing }, ['warmup', 'leader election']],
    [
      'one with a warm-up that needs no leadership',
      { warmup: nothing, needLeaderElection: () => false },
      ['others', 'warmup'],
    ],
    [
      'one with a warm-up that needs it',
      { warmup: nothing, needLeaderElection: () => true },
      ['warmup', 'leader election'],
    ],
    [
      'a server of the leader',
      { group: 'HTTP servers', needLeaderElection: () => true },
      ['leader election'],
    ],
  ])('take %s', (_, more, groups) => {
    expect(groupsOf({ start: nothing, ...more })).toEqual(groups);
  });

  test('refuse values that are not runnables', () => {
    const runnables = new Runnables(() => undefined);
    expect(() => runnables.add({} as never)).toThrow('"runnable.start" expected a function');
    expect(() => runnables.add({ start: nothing, group: 'mine' } as never)).toThrow(
      '"runnable.group" expected',
    );
    expect(runnables.members()).toEqual([]);
  });

  test('report the rejection of a warm-up (…function to error channel)', async () => {
    const failure = new Error('cold');
    const received: unknown[] = [];
    const runnables = new Runnables((error, { name }) => received.push([name, error]));
    runnables.add({ name: 'controller', start: nothing, warmup: () => Promise.reject(failure) });
    await runnables.group('warmup').start();
    await runnables.group('warmup').stopAndWait(never);
    expect(received).toEqual([['controller', failure]]);
  });

  test('run a warm-up with the group (TestWarmupFunctionIsExecutedWhen…)', async () => {
    let warm = false;
    const runnables = new Runnables(() => undefined);
    runnables.add({
      start: nothing,
      warmup: () => {
        warm = true;
        return nothing();
      },
    });
    await runnables.group('warmup').start();
    expect(warm).toBe(true);
  });
});
