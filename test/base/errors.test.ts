/**
 * Errors are recognised by their code, and tombstones by their mark, so that those of another copy
 * of the package work. A helper library may bring its own copy, whose classes fail our
 * `instanceof`. A TerminalError of it was retried for ever, and `isNotFound` was false for its 404.
 * Over its transport no GET was repeated after a reset, its informer's tombstones reached no
 * controller, and its rate limiter was ignored.
 */
import {
  deletionHandlingMetaNamespaceKeyFunc,
  deletionHandlingObjectToName,
  FilteringResourceEventHandler,
  Indexer,
  type KubeObject,
  MutationCache,
} from 'capstan/cache';
import {
  isConflict,
  isNotFound,
  newClient,
  rateLimitedTransport,
  retryOnConflict,
  suggestsClientDelay,
} from 'capstan/client';
import { TerminalError } from 'capstan/controller';
import { FakeClock, setErrorHandler } from 'capstan/workqueue';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { hasCode } from '../../bindings/base/errors.ts';
import { isBusy, isWorthReporting } from '../../bindings/cache/reflector/reflector-errors.ts';
import { EventPipe } from '../../bindings/controller/sources/event-pipe.ts';
import { configMapAt, Replies, stream } from '../helpers/cache/scripted-server.ts';
import { reconcileResults, rig } from '../helpers/controller/controller-rig.ts';
import { ConfigMaps } from '../helpers/resources.ts';

/** Another copy of the package, with its own classes. */
async function otherCopy() {
  vi.resetModules();
  return {
    ...(await import('capstan/cache')),
    ...(await import('capstan/client')),
    ...(await import('capstan/controller')),
  };
}

describe('an error of another copy of the package', () => {
  let other: Awaited<ReturnType<typeof otherCopy>>;
  beforeEach(async () => {
    other = await otherCopy();
    expect(other.TerminalError).not.toBe(TerminalError);
  });

  test('stops the retries if it is a TerminalError, also as a cause', async () => {
    const reported: unknown[] = [];
    const previous = setErrorHandler((error) => reported.push(error));
    onTestFinished(() => void setErrorHandler(previous));
    const terminal = new other.TerminalError('no such image');
    const { source, start, clock, calls } = rig(
      reconcileResults({
        a: [() => Promise.reject(terminal)],
        b: [() => Promise.reject(new Error('while applying', { cause: terminal }))],
      }),
    );
    await start();
    source.add('a');
    source.add('b');
    await clock.run(10_000);
    expect(calls).toHaveLength(2);
    expect(reported[0]).toBe(terminal);
  });

  test("is recognised as the server's failure", async () => {
    const failure = (code: number, reason: string) =>
      new other.StatusError(code, { code, reason, details: { retryAfterSeconds: 2 } }, 'GET /x');
    expect(isNotFound(failure(404, 'NotFound'))).toBe(true);
    expect(isNotFound(failure(500, 'InternalError'))).toBe(false);
    expect(isConflict(failure(409, 'Conflict'))).toBe(true);
    expect(suggestsClientDelay(failure(429, 'TooManyRequests'))).toBe(2000);
    let calls = 0;
    const update = async () => {
      if (++calls < 3) throw failure(409, 'Conflict');
      return 'updated';
    };
    expect(await retryOnConflict({ steps: 3, duration: 0 }, update)).toBe('updated');
  });

  test('is recognised as a lost connection', async () => {
    const clock = new FakeClock();
    let sent = 0;
    const request = async () => {
      if (++sent < 3) throw new other.TransportError('reset', 'socket hang up');
      return {
        status: 200,
        headers: new Headers(),
        body: new Blob([JSON.stringify(configMapAt('a', '1'))]).stream(),
      };
    };
    const got = newClient({ transport: { request }, clock }).get(ConfigMaps, {
      namespace: 'default',
      name: 'a',
    });
    got.catch(() => undefined); // awaited below
    await clock.run(2000);
    expect((await got).metadata.name).toBe('a');

    const [reset, refused] = (['reset', 'refused'] as const).map(
      (kind) => new other.TransportError(kind, 'lost'),
    );
    expect([isBusy(reset), isBusy(refused)]).toEqual([false, true]);
    expect(isWorthReporting(reset, { class: 'network', next: 'relist', afterMs: 10_000 })).toBe(
      false,
    );
  });
});

describe('an object of another copy of the package', () => {
  let other: Awaited<ReturnType<typeof otherCopy>>;
  beforeEach(async () => {
    other = await otherCopy();
  });

  test('is a tombstone for delete handlers', () => {
    const web = { metadata: { namespace: 'ns', name: 'web', resourceVersion: '7' } };
    const tombstone = new other.DeletedFinalStateUnknown<KubeObject>('ns/web', web);
    expect(deletionHandlingMetaNamespaceKeyFunc(tombstone)).toBe('ns/web');
    expect(String(deletionHandlingObjectToName(tombstone))).toBe('ns/web');

    const received: unknown[] = [];
    const handler = { onDelete: (object: unknown) => received.push(object) };
    new FilteringResourceEventHandler<KubeObject>({
      filterFunc: ({ metadata }) => metadata?.name === 'web',
      handler,
    }).onDelete(tombstone);
    expect(received).toEqual([tombstone]);

    const events: unknown[] = [];
    const pipe = new EventPipe<KubeObject>({
      name: 'pods',
      handler: { delete: (event) => void events.push(event) },
    });
    const queue = { addWithCause: () => undefined };
    pipe.open({ queue, signal: new AbortController().signal } as unknown as Parameters<
      typeof pipe.open
    >[0]);
    pipe.informerHandler().onDelete?.(tombstone);
    expect(events).toEqual([{ object: web, deleteStateUnknown: true }]);

    const store = new Indexer<KubeObject>();
    store.replace([web], '9');
    store.delete(tombstone);
    expect([store.list(), store.lastStoreSyncResourceVersion()]).toEqual([[], '9']);

    const writes = new MutationCache<KubeObject>(new Indexer<KubeObject>(), { includeAdds: true });
    writes.mutation(web);
    writes.onDelete(tombstone);
    expect(writes.getByKey('ns/web')).toBeUndefined();
  });

  test('is a rate limiter that is applied', async () => {
    const clock = new FakeClock();
    const limiter = new other.RequestRateLimiter({ qps: 1, burst: 1, clock });
    const server = new Replies(() => stream([], 'close'));
    const limited = rateLimitedTransport(server, limiter);
    const both = Promise.all([1, 2].map(() => limited.request({ method: 'GET', path: '/api' })));
    await clock.run(0);
    expect(server.requests).toHaveLength(1);
    await clock.run(1000);
    expect(server.requests).toHaveLength(2);
    await both;
  });
});

test('a value whose code cannot be read has none', () => {
  const hostile = Object.defineProperty(new Error('x'), 'code', {
    get() {
      throw new Error('no');
    },
  });
  const { proxy, revoke } = Proxy.revocable(new Error('x'), {});
  revoke();
  for (const value of [
    hostile,
    proxy,
    undefined,
    null,
    'TERMINAL',
    { code: 'STATUS' },
    new Error('STATUS'),
  ]) {
    expect(hasCode(value, 'STATUS')).toBe(false);
    expect(isNotFound(value)).toBe(false);
  }
  expect(isNotFound(Object.assign(new Error('x'), { code: 'STATUS' }))).toBe(false);
});
