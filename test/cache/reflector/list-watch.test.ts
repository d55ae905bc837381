import {
  ListWatch,
  type ListWatchOptions,
  list,
  SharedIndexInformer,
  type SharedIndexInformerOptions,
} from 'capstan/cache';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../bindings/base/clock.ts';
import type { PageReader } from '../../../bindings/cache/decode/decoder.ts';
import { answer, LiveServer, Stream } from '../../helpers/cache/live-server.ts';
import {
  configMapAt,
  listBody,
  Replies,
  type Reply,
  status,
  stream,
} from '../../helpers/cache/scripted-server.ts';
import { type ConfigMap, ConfigMaps } from '../../helpers/resources.ts';

const caller = () => ({ clock: new FakeClock(), signal: new AbortController().signal });
const query = { resourceVersion: '5', limit: 10, continue: '' };
const lists: Reply = () => answer(200, listBody('7', [configMapAt('a', '1')]));

/** A reader that records its calls. */
function noting(page: PageReader<ConfigMap>['end']) {
  const calls: string[] = [];
  const reader: PageReader<ConfigMap> = {
    push: (chunk) => calls.push(`push ${chunk.length}`),
    end: () => {
      calls.push('end');
      return page();
    },
    close: () => calls.push('close'),
  };
  return { calls, reader };
}

describe('a list', () => {
  const page = { items: [], resourceVersion: '1', continue: '' };

  test('passes its chunks to the reader as they arrive, and closes the reader', async () => {
    const body = new Stream();
    const server = new Replies(() => ({
      status: 200,
      headers: new Headers(),
      body: body.body(undefined),
    }));
    const { calls, reader } = noting(() => page);
    const { clock, signal } = caller();
    const reading = new ListWatch(server, ConfigMaps).list(query, { clock, signal }, reader);
    body.send('{"ite');
    await clock.settle();
    expect(calls).toEqual(['push 5']);
    body.send('ms":[]}');
    body.close();
    expect(await reading).toBe(page);
    expect(calls).toEqual(['push 5', 'push 7', 'end', 'close']);
    expect(clock.timers()).toBe(0);
  });

  test.each<[string, Reply]>([
    ['is refused', () => answer(403, JSON.stringify(status(403, 'Forbidden')))],
    ['is cut', () => stream(['{"items"'], 'reset')],
    [
      'cannot be asked for',
      () => {
        throw new Error('oh');
      },
    ],
  ])('that %s closes its reader', async (_, reply) => {
    const { calls, reader } = noting(() => page);
    await expect(
      new ListWatch(new Replies(reply), ConfigMaps).list(query, caller(), reader),
    ).rejects.toThrow();
    expect(calls.at(-1)).toBe('close');
    expect(calls).not.toContain('end');
  });

  test('closes the connection if the reader throws', async () => {
    let aborted = false;
    const server = new Replies(({ signal }) => {
      signal?.addEventListener('abort', () => {
        aborted = true;
      });
      return stream(['<html>'], 'hold', signal);
    });
    const { reader } = noting(() => page);
    reader.push = () => {
      throw new Error('no list');
    };
    await expect(new ListWatch(server, ConfigMaps).list(query, caller(), reader)).rejects.toThrow(
      'no list',
    );
    expect(aborted).toBe(true);
  });
});

test.each<[string, Reply, number[]]>([
  [
    'is a sign of life with its first byte to come',
    ({ signal }) => stream([], 'hold', signal),
    [100],
  ],
  ['that is refused is none', () => answer(403, JSON.stringify(status(403, 'Forbidden'))), []],
])('a watch %s', async (_, reply, heard) => {
  const told: number[] = [];
  const clock = new FakeClock(100);
  const watching = new ListWatch(new Replies(reply), ConfigMaps).watch(
    { resourceVersion: '5', timeoutSeconds: 60 },
    { ...caller(), clock, onBytes: (now) => told.push(now) },
  );
  await watching.then(
    (exchange) => exchange.close(),
    () => undefined,
  );
  expect(told).toEqual(heard);
});

test.each([1, 2, 3, 4])(
  'a clock that throws at call %i leaves no connection and no timer',
  async (nth) => {
    const clock = new FakeClock();
    let asked = 0;
    const broken = {
      now() {
        if (++asked === nth) throw new Error('broken clock');
        return clock.now();
      },
      setTimer: clock.setTimer.bind(clock),
      clearTimer: clock.clearTimer.bind(clock),
    };
    let open = 0;
    const server = new Replies(({ signal }) => {
      open++;
      signal?.addEventListener('abort', () => open--);
      return stream([], 'hold', signal);
    });
    const listWatch = new ListWatch(server, ConfigMaps);
    const watching = listWatch.watch(
      { resourceVersion: '5', timeoutSeconds: 60 },
      { ...caller(), clock: broken },
    );
    if (nth < 4) await expect(watching).rejects.toThrow('broken clock');
    else (await watching).close();
    expect([open, clock.timers()]).toEqual([0, 0]);
  },
);

describe('a request', () => {
  const requests = async (options: ListWatchOptions) => {
    const server = new Replies(lists, ({ signal }) => stream([], 'hold', signal));
    const listWatch = new ListWatch(server, ConfigMaps, options);
    await listWatch.list(query, caller()).catch(() => undefined);
    (
      await listWatch.watch(
        { resourceVersion: '7', timeoutSeconds: 60, sendInitialEvents: true },
        caller(),
      )
    ).close();
    return server.requests;
  };

  test('can be tweaked: the function gets each query, and may override all of it', async () => {
    const seen: object[] = [];
    const [list, watch] = await requests({
      labelSelector: 'a=b',
      tweak: (parameters) => {
        seen.push({ ...parameters });
        parameters.fieldSelector = 'metadata.name=a';
        delete parameters.labelSelector;
        if (parameters.resourceVersion === '5') parameters.resourceVersion = '6';
      },
    });
    expect(seen).toEqual([
      { labelSelector: 'a=b', limit: '10', resourceVersion: '5' },
      {
        labelSelector: 'a=b',
        allowWatchBookmarks: 'true',
        watch: 'true',
        resourceVersion: '7',
        sendInitialEvents: 'true',
        resourceVersionMatch: 'NotOlderThan',
        timeoutSeconds: '60',
      },
    ]);
    expect(list?.query).toEqual({
      limit: '10',
      resourceVersion: '6',
      fieldSelector: 'metadata.name=a',
    });
    expect(watch?.query).toMatchObject({ resourceVersion: '7', fieldSelector: 'metadata.name=a' });
    expect(() => new ListWatch(new Replies(), ConfigMaps, { tweak: 'x' as never })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
  });

  test('asks for metadata only, for lists and watches', async () => {
    const [list, watch] = await requests({ metadataOnly: true });
    expect(list?.headers?.accept).toBe(
      'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
    );
    expect(watch?.headers?.accept).toBe(
      'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
    );
  });
});

// A selector object was sent to the server as "[object Object]", which it refused for ever.
test.each(['labelSelector', 'fieldSelector'])(
  'a %s that is not a string is refused before any request',
  (name) => {
    const selector = { matchLabels: { app: 'web' } };
    expect(() => new ListWatch(new Replies(lists), ConfigMaps, { [name]: selector })).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: `"${name}" expected a string, got an object`,
      }),
    );
  },
);

// It stood for no selector: an informer had all objects where the wanted selector was missing.
test.each(['labelSelector', 'fieldSelector'])('a %s that is null is refused', (name) => {
  expect(() => new ListWatch(new Replies(lists), ConfigMaps, { [name]: null })).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
  );
});

// ".." changed the path: an informer of one tenant's namespace listed the objects of all. A lone
// surrogate was a URIError.
test.each(['..', '.', 'a/../b', 'a%2f', '\ud800'])(
  'a namespace that is not a path segment, %j, is refused',
  (namespace) => {
    expect(() => new ListWatch(new Replies(lists), ConfigMaps, { namespace })).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining('"namespace" expected a name'),
      }),
    );
  },
);

describe('a ListWatch with metadataOnly', () => {
  const listWatch = (server: Replies) => new ListWatch(server, ConfigMaps, { metadataOnly: true });
  const partial = {
    kind: 'PartialObjectMetadata',
    apiVersion: 'meta.k8s.io/v1',
    metadata: { name: 'a' },
  };

  test('expects PartialObjectMetadata', async () => {
    const body = {
      kind: 'PartialObjectMetadataList',
      metadata: { resourceVersion: '7' },
      items: [partial],
    };
    const server = new Replies(() => answer(200, JSON.stringify(body)));
    const whole = { ...partial, kind: 'ConfigMap', apiVersion: 'v1' };
    expect((await listWatch(server).list(query, caller())).items).toEqual([whole]);
    expect(listWatch(server).describe()).toBe('v1 ConfigMap');
  });

  test('refuses whole objects', async () => {
    await expect(listWatch(new Replies(lists)).list(query, caller())).rejects.toMatchObject({
      code: 'DECODE',
      message: expect.stringContaining('the server sends whole objects'),
    });
  });
});

describe('managedFields', () => {
  const json = 'application/json';
  const as = (kind: string) => `${json};as=${kind};g=meta.k8s.io;v=v1`;
  const less = (type: string) => `${type};drop=metadata.managedFields,${type};q=0.9`;

  test.each<[SharedIndexInformerOptions<ConfigMap>, boolean]>([
    [{}, true],
    [{ keep: 'objects' }, true],
    [{ transform: (object) => object }, true],
    [{ keepManagedFields: true }, false],
    [{ keepManagedFields: true, keep: 'objects' }, false],
  ])(
    'of an informer with %o: the server is asked to leave them out: %s',
    async (options, leaves) => {
      for (const metadataOnly of [false, true]) {
        const server = new LiveServer();
        const informer = new SharedIndexInformer(
          new ListWatch(server, ConfigMaps, { metadataOnly }),
          { ...options, clock: new FakeClock(), watchErrorHandler: () => undefined },
        );
        const stop = new AbortController();
        const running = informer.run({ signal: stop.signal });
        await new FakeClock().settle();
        stop.abort();
        await running;
        const types = metadataOnly
          ? [as('PartialObjectMetadataList'), as('PartialObjectMetadata')]
          : [json, json];
        const accepted = server.requests.map(({ headers }) => headers?.accept);
        const expected = types.map((type) => (leaves ? less(type) : type));
        expect(accepted).toEqual(metadataOnly ? expected.slice(0, accepted.length) : expected);
      }
    },
  );

  test('of a single list or watch asks for managedFields too', async () => {
    const server = new LiveServer();
    await list(server, ConfigMaps);
    expect(server.requests.map(({ headers }) => headers?.accept)).toEqual([json]);
  });
});
