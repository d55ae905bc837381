/** Waiting for a state of one object over a watch, and for anything by polling. */
import { StatusError } from 'capstan/cache';
import {
  newClient,
  newDryRunClient,
  pollUntil,
  until,
  watchObject,
  withInterceptors,
} from 'capstan/client';
import { ConfigMap, Namespace } from 'capstan/kinds';
import { FakeClock, fakeClient, fakeTransport } from 'capstan/testing';
import { describe, expect, it, test } from 'vitest';
import { expectRejection } from '../helpers/expect-error.ts';
import { track } from '../helpers/promise-state.ts';

const key = { namespace: 'default', name: 'a' };
const map = (value: string) => ({ metadata: { ...key }, data: { value } });

function start() {
  const clock = new FakeClock();
  const client = fakeClient({ server: { clock } });
  return { clock, client, transport: client.transport };
}

describe('until', () => {
  it('resolves at once for an object that is as wanted', async () => {
    const { client, clock } = start();
    await client.create(ConfigMap, map('1'));
    const found = await until(client, ConfigMap, key, (object) => object !== undefined, { clock });
    expect(found?.data).toEqual({ value: '1' });
  });

  it('waits over a watch for the creation, a change and the deletion', async () => {
    const { client, clock } = start();
    const seen: (string | undefined)[] = [];
    const wait = (value: string | undefined) =>
      track(
        until(
          client,
          ConfigMap,
          key,
          (object) => {
            seen.push(object?.data?.value);
            return object?.data?.value === value;
          },
          { clock },
        ),
      );
    const created = wait('2');
    await clock.settle();
    expect(created.state).toBe('pending');
    await client.create(ConfigMap, map('1'));
    await clock.settle();
    await client.create(ConfigMap, { ...map('2'), metadata: { ...key, name: 'other' } });
    await clock.settle();
    expect(seen).toEqual([undefined, '1']);
    await client.update(ConfigMap, map('2'));
    await clock.settle();
    expect(created.state).toBe('fulfilled');
    const gone = wait(undefined);
    await clock.settle();
    await client.delete(ConfigMap, key);
    await clock.settle();
    expect(gone.state).toBe('fulfilled');
    expect(seen).toEqual([undefined, '1', '2', '2', undefined]);
    expect(clock.timers()).toBe(0);
  });

  it('goes on after a lost watch and an expired history', async () => {
    const { client, clock, transport } = start();
    const waiting = track(
      until(client, ConfigMap, key, (object) => object?.data?.value === '2', { clock }),
    );
    await clock.settle();
    await client.create(ConfigMap, map('1'));
    transport.dropConnections();
    transport.expireHistory();
    await client.update(ConfigMap, map('2'));
    await clock.run(60_000);
    expect(waiting.state).toBe('fulfilled');
  });

  it('calls the predicate with the newest state when it is slow', async () => {
    const { client, clock } = start();
    const seen: (string | undefined)[] = [];
    let go: () => void = () => undefined;
    const waiting = track(
      until(
        client,
        ConfigMap,
        key,
        async (object) => {
          seen.push(object?.data?.value);
          await new Promise<void>((resolve) => {
            go = resolve;
          });
          return object?.data?.value === '3';
        },
        { clock },
      ),
    );
    await clock.settle();
    await client.create(ConfigMap, map('1'));
    await client.update(ConfigMap, map('2'));
    await client.update(ConfigMap, map('3'));
    await clock.settle();
    go();
    await clock.settle();
    go();
    await clock.settle();
    expect(seen).toEqual([undefined, '3']);
    expect(waiting.state).toBe('fulfilled');
  });

  it('takes transports, wrapped clients and kinds without a namespace', async () => {
    const { client, clock, transport } = start();
    const wrapped = withInterceptors(newDryRunClient(newClient({ transport })), {});
    await client.create(Namespace, { metadata: { name: 'team' } });
    for (const from of [transport, client, wrapped])
      expect(
        await until(from, Namespace, { name: 'team' }, (one) => one !== undefined, { clock }),
      ).toMatchObject({ metadata: { name: 'team' } });
  });

  it('ends by its timeout, with the last failure as the cause', async () => {
    const { client, clock, transport } = start();
    transport.inject({ do: 'status', status: 500, verb: 'list' });
    const waiting = track(until(client, ConfigMap, key, () => false, { clock, timeout: 5000 }));
    await clock.run(4999);
    expect(waiting.state).toBe('pending');
    await clock.run(1);
    expect(waiting.state).toBe('rejected');
    expect(waiting.error).toMatchObject({
      code: 'TIMEOUT',
      message: 'waiting for ConfigMap default/a: the condition was not met within 5000 ms',
      cause: { code: 'STATUS', status: 500 },
    });
    expect(clock.timers()).toBe(0);
  });

  it('ends by its signal, also while a predicate never settles', async () => {
    const { client, clock } = start();
    const stop = new AbortController();
    const waiting = track(
      until(client, ConfigMap, key, () => new Promise<boolean>(() => undefined), {
        clock,
        signal: stop.signal,
      }),
    );
    await clock.settle();
    stop.abort(new Error('enough'));
    await clock.settle();
    expect(waiting.error).toMatchObject({ code: 'ABORTED', cause: { message: 'enough' } });
    expect(clock.timers()).toBe(0);
  });

  it('rejects with what the predicate throws, and refuses what is no answer', async () => {
    const { client, clock } = start();
    const fails = () => {
      throw new RangeError('no');
    };
    await expect(until(client, ConfigMap, key, fails, { clock })).rejects.toThrow('no');
    const answer = until(client, ConfigMap, key, () => 'yes' as never, { clock });
    await expectRejection(answer, 'INVALID_ARGUMENT', 'predicate()');
    expect(clock.timers()).toBe(0);
  });

  it('rejects at once where the server forbids it', async () => {
    const { client, clock, transport } = start();
    transport.inject({ do: 'status', status: 403, reason: 'Forbidden', verb: 'list' });
    const waiting = track(until(client, ConfigMap, key, () => true, { clock }));
    await clock.settle();
    expect(waiting.error).toBeInstanceOf(StatusError);
    expect(waiting.error).toMatchObject({ status: 403 });
  });

  it('refuses wrong arguments', async () => {
    const { client } = start();
    const own = { ...client, transport: undefined } as never;
    await expectRejection(
      until(own, ConfigMap, key, () => true),
      'INVALID_ARGUMENT',
      '"from"',
    );
    await expectRejection(
      until(client, ConfigMap, { name: 'a' }, () => true),
      'INVALID_ARGUMENT',
      'namespace',
    );
    await expectRejection(
      until(client, ConfigMap, key, () => true, { timeOut: 1 } as never),
      'INVALID_ARGUMENT',
      'did you mean "timeout"',
    );
    await expectRejection(
      until(client, ConfigMap, key, () => true, { timeout: -1 }),
      'INVALID_ARGUMENT',
      'timeout',
    );
  });
});

test('watchObject gives each state, and leaves nothing behind when its loop is left', async () => {
  const { client, clock } = start();
  const seen: (string | undefined)[] = [];
  const loop = (async () => {
    for await (const object of watchObject(client, ConfigMap, key, { clock })) {
      seen.push(object?.data?.value);
      if (object?.data?.value === '2') break;
    }
  })();
  await clock.settle();
  await client.create(ConfigMap, map('1'));
  await clock.settle();
  await client.delete(ConfigMap, key);
  await clock.settle();
  await client.create(ConfigMap, map('2'));
  await clock.settle();
  await loop;
  expect(seen).toEqual([undefined, '1', undefined, '2']);
  expect(clock.timers()).toBe(0);
});

test('watchObject ends by its signal, and tells of failures that it survives', async () => {
  const clock = new FakeClock();
  await using transport = fakeTransport({ clock });
  transport.inject({ do: 'status', status: 500, verb: 'list', times: 1 });
  const stop = new AbortController();
  const failures: unknown[] = [];
  const loop = track(
    (async () => {
      const options = {
        clock,
        signal: stop.signal,
        watchErrorHandler: (error: unknown) => failures.push(error),
      };
      for await (const _ of watchObject(transport, ConfigMap, key, options));
    })(),
  );
  await clock.run(10_000);
  expect(failures).toHaveLength(1);
  stop.abort();
  await clock.settle();
  expect(loop.state).toBe('fulfilled');
});

describe('pollUntil', () => {
  it('asks at once and then with growing pauses, until there is a value', async () => {
    const clock = new FakeClock();
    const at: number[] = [];
    const polled = track(
      pollUntil(() => (at.push(clock.now()) < 5 ? undefined : 'done'), {
        clock,
        backoff: { duration: 100, factor: 2, jitter: 0, cap: 300 },
      }),
    );
    await clock.run(10_000);
    expect(at).toEqual([0, 100, 300, 600, 900]);
    expect(polled.value).toBe('done');
    expect(clock.timers()).toBe(0);
  });

  it('varies the pauses by its jitter, and may begin with one', async () => {
    const clock = new FakeClock();
    const at: number[] = [];
    const polled = track(
      pollUntil(() => at.push(clock.now()) === 3, { clock, random: () => 0.5, immediate: false }),
    );
    await clock.run(4000);
    expect(at).toEqual([1050, 2100, 3150]);
    expect(polled.value).toBe(true);
  });

  it('rejects with what the function throws', async () => {
    const polled = pollUntil(() => Promise.reject(new RangeError('no')));
    await expect(polled).rejects.toThrow('no');
  });

  it('ends by its timeout, and tells the function', async () => {
    const clock = new FakeClock();
    let told: AbortSignal | undefined;
    const polled = track(
      pollUntil(
        ({ signal }) => {
          told = signal;
          return new Promise<undefined>(() => undefined);
        },
        { clock, timeout: 100 },
      ),
    );
    await clock.run(100);
    expect(polled.error).toMatchObject({ code: 'TIMEOUT' });
    expect(told?.aborted).toBe(true);
    expect(clock.timers()).toBe(0);
  });

  it('refuses wrong options', async () => {
    await expectRejection(
      pollUntil(() => true, { backoff: { factor: 0 } }),
      'INVALID_ARGUMENT',
      'factor',
    );
    await expectRejection(pollUntil(1 as never), 'INVALID_ARGUMENT', '"check"');
  });
});
