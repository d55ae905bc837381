/**
 * Integers beyond 2^53, which JavaScript rounds, and numbers that it writes differently: what a
 * program does not change is sent back as it came, by all ways of reading and writing.
 */
import { newSharedInformerFactory, type Transport } from 'capstan/cache';
import {
  type Client,
  createOrPatch,
  createOrUpdate,
  isConflict,
  isNotFound,
  listAll,
  mergeFrom,
  newClient,
  newNamespacedClient,
} from 'capstan/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { jsonText } from '../../bindings/base/exact-json.ts';
import { at, Widgets as Kind, type Metadata } from '../helpers/resources.ts';

interface Widget {
  apiVersion?: string;
  kind?: string;
  metadata: Metadata;
  spec: {
    serial?: number | bigint;
    size?: number;
    list?: number[];
    parts?: { name: string; serial: number }[];
    byName?: Record<string, number>;
  };
  status?: { seen?: number; ready?: boolean };
}
const Widgets = Kind as unknown as typeof Kind & { indexers: never } as never as Parameters<
  typeof createOrUpdate<Widget>
>[1];

const BIG = '9007199254740993';
const SPEC = `{"serial":${BIG},"size":1}`;
const key = at('a');

/** A server of one object, as text: reads, merge patches and updates, as bytes. */
class Store {
  version = 5;
  spec: string;
  /** The bodies of writes. */
  readonly sent: string[] = [];
  readonly requests: string[] = [];
  readonly #watches = new Set<(text: string) => void>();

  constructor(spec: string) {
    this.spec = spec;
  }

  object(): string {
    const metadata = `{"namespace":"default","name":"a","uid":"u","resourceVersion":"${this.version}"}`;
    return `{"apiVersion":"example.com/v1","kind":"Widget","metadata":${metadata},"spec":${this.spec}}`;
  }

  /** Another program sets the spec. */
  set(spec: string): void {
    this.spec = spec;
    this.version++;
  }

  readonly transport: Transport = {
    request: async ({ method, path, query = {}, body, signal }) => {
      this.requests.push(query.watch ? 'WATCH' : method);
      const isWatch = query.watch === 'true';
      const text = isWatch ? '' : this.#answer(method, path, body as string | undefined);
      const waiting = new Promise<string>((resolve) => {
        if (isWatch) this.#watches.add(resolve);
        signal?.addEventListener('abort', () => resolve(''));
      });
      return {
        status: text.startsWith('{"kind":"Status"') ? 409 : 200,
        headers: { get: () => null },
        body: (async function* () {
          yield new TextEncoder().encode(isWatch ? await waiting : text);
        })(),
      };
    },
  };

  #answer(method: string, path: string, body: string | undefined): string {
    if (method === 'GET')
      return path.endsWith('/a')
        ? this.object()
        : `{"kind":"WidgetList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"${this.version}"},"items":[${this.object()}]}`;
    this.sent.push(body ?? '');
    const { metadata } = JSON.parse(body ?? '{}') as { metadata?: Metadata };
    const { resourceVersion } = metadata ?? {};
    if (resourceVersion !== undefined && resourceVersion !== String(this.version))
      return '{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409,"message":"changed"}';
    this.version++;
    for (const tell of this.#watches) tell(`{"type":"MODIFIED","object":${this.object()}}\n`);
    this.#watches.clear();
    return this.object();
  }
}

const CLIENTS: Record<string, (store: Store) => Client> = {
  live: ({ transport }) => newClient({ transport, fieldOwner: 'me' }),
  wrapped: ({ transport }) =>
    newNamespacedClient(newClient({ transport, fieldOwner: 'me' }), 'default'),
  cached: ({ transport }) => {
    const cache = newSharedInformerFactory(transport, { watchList: false });
    onTestFinished(() => cache.shutdown());
    return newClient({ transport, cache, fieldOwner: 'me' });
  },
  'cached as objects': ({ transport }) => {
    const cache = newSharedInformerFactory(transport, { watchList: false, keep: 'objects' });
    onTestFinished(() => cache.shutdown());
    return newClient({ transport, cache, fieldOwner: 'me' });
  },
};

const labelled = (widget: Widget): Widget => ({
  ...widget,
  metadata: { ...widget.metadata, labels: { seen: 'true' } },
});

// A controller that set a label on a custom resource also changed a serial number beyond 2^53 by
// one: the read had rounded it.
describe.each(Object.entries(CLIENTS))('over a client that is %s', (_, clientOf) => {
  const setUp = (spec = SPEC) => {
    const store = new Store(spec);
    return { store, client: clientOf(store) };
  };
  const READS: Record<string, (client: Client) => Promise<Widget>> = {
    get: (client) => client.get(Widgets, key),
    'get live': (client) => client.get(Widgets, key, { live: true }),
    list: async (client) => (await client.list(Widgets)).items[0] as Widget,
    listAll: async (client) => {
      for await (const widget of listAll(client, Widgets)) return widget;
      throw new Error('none');
    },
    'the answer to a write': (client) => client.patch(Widgets, key, { type: 'merge', body: {} }),
    structuredClone: async (client) => structuredClone(await client.get(Widgets, key)),
    JSON: async (client) => JSON.parse(JSON.stringify(await client.get(Widgets, key))) as Widget,
    'a spread of the spec': async (client) => {
      const widget = await client.get(Widgets, key);
      return { ...widget, spec: { ...widget.spec } };
    },
  };
  const FORMS: [string, string][] = [
    ['an integer', SPEC],
    ['a negative one', `{"serial":-${BIG},"size":1}`],
    ['the largest of int64', '{"serial":9223372036854775807}'],
    ['one beyond int64', '{"serial":18446744073709551615}'],
    ['those of a list', `{"list":[1,${BIG},9007199254740992,${BIG}]}`],
    [
      'those of objects in a list',
      `{"parts":[{"name":"x","serial":${BIG}},{"name":"y","serial":2}]}`,
    ],
    [
      'those of a map',
      `{"byName":{"a b":${BIG},"c\\"d":9007199254740995,"__proto__":9007199254740997}}`,
    ],
    ['one beside the same in a text', `{"serial":${BIG},"text":"\\":${BIG},\\\\"}`],
  ];

  describe.each(Object.entries(READS))('%s and update', (how, read) => {
    test.each(FORMS)('sends %s unchanged', async (_, spec) => {
      const { store, client } = setUp(spec);
      const widget = await read(client);
      store.sent.length = 0;
      await client.update(Widgets, labelled(widget));
      expect(store.sent[0]).toContain(`"spec":${spec}`);
      expect(store.sent[0]).toContain('"labels":{"seen":"true"}');
    });

    test('reads from the server only if numbers may have been rounded', async () => {
      const { store, client } = setUp('{"serial":9007199254740991,"size":2}');
      const widget = await read(client);
      store.requests.length = 0;
      await client.update(Widgets, labelled(widget));
      expect(store.requests.filter((method) => method !== 'WATCH')).toEqual(['PUT']);
      expect(how).not.toBe('');
    });
  });

  test('an update of a changed object is a conflict, not a guess', async () => {
    const { store, client } = setUp();
    const widget = structuredClone(await client.get(Widgets, key));
    store.set('{"serial":9007199254740992}');
    await expect(client.update(Widgets, widget)).rejects.toSatisfy(isConflict);
    expect(store.sent).toEqual([]);
  });

  test('a number that is set is sent, as a BigInt also beyond 2^53', async () => {
    const { store, client } = setUp();
    const widget = structuredClone(await client.get(Widgets, key));
    await client.update(Widgets, { ...widget, spec: { serial: 7 } });
    expect(store.sent[0]).toContain('"spec":{"serial":7}');
    await client.patch(Widgets, key, { type: 'merge', body: { spec: { serial: 2n ** 63n - 1n } } });
    expect(store.sent[1]).toBe('{"spec":{"serial":9223372036854775807}}');
    const { metadata: _, ...rest } = widget;
    await client.update(Widgets, { ...rest, metadata: key, spec: { serial: -(2n ** 60n) } });
    expect(store.sent[2]).toContain('"spec":{"serial":-1152921504606846976}');
  });

  test('a rounded number that the server does not have is rejected with its path', async () => {
    const { store, client } = setUp();
    const spec = { serial: 2 ** 60, parts: [{ name: 'x', serial: 2 ** 61 }] };
    for (const write of [
      () => client.update(Widgets, { metadata: key, spec }),
      () => client.create(Widgets, { metadata: key, spec }),
      () => client.apply(Widgets, { metadata: key, spec }),
      () => client.patch(Widgets, key, { type: 'merge', body: { spec } }),
      () => client.patch(Widgets, key, { type: 'strategic', body: { spec } }),
    ]) {
      const error = (await write().catch((error: unknown) => error)) as { message: string };
      expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' });
      expect(error.message).toMatch(
        /spec\.(serial|parts\.0\.serial)" expected an integer .* as a BigInt/,
      );
    }
    expect(store.sent).toEqual([]);
  });

  test('createOrUpdate and createOrPatch send unchanged numbers as they came', async () => {
    const spec = `{"serial":${BIG},"list":[${BIG},9007199254740992],"parts":[{"name":"x","serial":${BIG}}]}`;
    const { store, client } = setUp(spec);
    const mutate = (widget: Widget): void => {
      widget.metadata.labels = { seen: 'true' };
    };
    await createOrUpdate(client, Widgets, key, mutate);
    expect(store.sent[0]).toContain(`"spec":${spec}`);
    await createOrPatch(client, Widgets, key, (widget) => {
      widget.spec.parts?.push({ name: 'y', serial: 2 });
    });
    expect(store.sent[1]).toBe(
      `{"spec":{"parts":[{"name":"x","serial":${BIG}},{"name":"y","serial":2}]}}`,
    );
  });

  test('createOrUpdate treats a BigInt as another number', async () => {
    const { store, client } = setUp();
    const set = (serial: bigint) =>
      createOrUpdate(client, Widgets, key, (widget) => {
        widget.spec.serial = serial;
      });
    await set(9007199254740993n);
    expect(store.sent).toEqual([]);
    await set(9007199254740992n);
    expect(store.sent[0]).toContain('"serial":9007199254740992');
  });

  test('a patch of mergeFrom has the exact numbers of a replaced list', async () => {
    const { store, client } = setUp(`{"list":[${BIG},2],"byName":{"x":${BIG}}}`);
    const widget = structuredClone(await client.get(Widgets, key));
    const base = mergeFrom(widget);
    widget.spec.list?.push(3);
    await client.patch(Widgets, key, base.to(widget));
    expect(store.sent).toEqual([`{"spec":{"list":[${BIG},2,3]}}`]);
  });

  test('elements of a longer list are distinguished by their exact numbers', async () => {
    const { store, client } = setUp(`{"list":[${BIG},9007199254740992]}`);
    const widget = structuredClone(await client.get(Widgets, key));
    const base = mergeFrom(widget);
    widget.spec.list?.push(1);
    await client.patch(Widgets, key, base.to(widget));
    expect(store.sent).toEqual([`{"spec":{"list":[${BIG},9007199254740992,1]}}`]);
  });

  test('a list element at another index has no known number', async () => {
    const { store, client } = setUp(`{"list":[${BIG},9007199254740992,1]}`);
    const widget = structuredClone(await client.get(Widgets, key));
    widget.spec.list?.shift();
    await expect(client.update(Widgets, widget)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    expect(store.sent).toEqual([]);
  });

  test('a JSON patch and a status are checked too', async () => {
    const { store, client } = setUp();
    const { spec } = structuredClone(await client.get(Widgets, key));
    const value = { serial: spec.serial };
    await client.patch(Widgets, key, {
      type: 'json',
      operations: [{ op: 'replace', path: '/spec', value }],
    });
    expect(store.sent[0]).toBe(`[{"op":"replace","path":"/spec","value":{"serial":${BIG}}}]`);
    await client.status().update(Widgets, { metadata: key, spec } as Widget);
    expect(store.sent[1]).toContain(`"spec":${SPEC}`);
    const operations = [{ op: 'add', path: '/spec', value: { serial: 2 ** 60 } }] as const;
    await expect(client.patch(Widgets, key, { type: 'json', operations })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });
});

// controller-runtime: pkg/client/patch_test.go
test('mergeFrom patches an int64 to its neighbour', () => {
  const before = { metadata: key, spec: { serial: 9223372036854775806n } };
  const after = { metadata: key, spec: { serial: 9223372036854775807n } };
  const { body } = mergeFrom(before).to(after);
  expect(jsonText(body)).toBe('{"spec":{"serial":9223372036854775807}}');
  expect(mergeFrom(before).to({ ...before }).body).toEqual({});
});

describe('numbers of other forms', () => {
  test.each([
    '1.0',
    '-0',
    '-0.0',
    '1e21',
    '1E+2',
    '1.50',
    '0.0000001',
    '1e400',
    '0.12345678901234567890',
    '100000000000000000000000',
  ])('%s is sent unchanged', async (number) => {
    const spec = `{"serial":${number}}`;
    const store = new Store(spec);
    const client = CLIENTS.live?.(store) as Client;
    await client.update(Widgets, labelled(await client.get(Widgets, key)));
    await createOrUpdate(client, Widgets, key, (widget) => {
      widget.metadata.labels = { seen: 'true' };
    });
    expect(store.sent.map((text) => text.includes(`"spec":${spec}`))).toEqual([true, true]);
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY])(
    '%s is rejected with its path',
    async (serial) => {
      const client = CLIENTS.live?.(new Store(SPEC)) as Client;
      await expect(client.update(Widgets, { metadata: key, spec: { serial } })).rejects.toThrow(
        `"object.spec.serial" expected a number that JSON can say, got ${serial}`,
      );
      const body = { spec: { list: [1, serial] } };
      await expect(client.patch(Widgets, key, { type: 'merge', body })).rejects.toThrow(
        `"patch.body.spec.list.1" expected a number`,
      );
    },
  );

  test('a deleted object with rounded numbers is NotFound', async () => {
    const gone = '{"kind":"Status","status":"Failure","reason":"NotFound","code":404}';
    const transport: Transport = {
      request: async () => ({
        status: 404,
        headers: { get: () => null },
        body: (async function* () {
          yield new TextEncoder().encode(gone);
        })(),
      }),
    };
    const widget = { metadata: key, spec: { serial: 2 ** 60 } };
    await expect(newClient({ transport }).update(Widgets, widget)).rejects.toSatisfy(isNotFound);
    const applying = newClient({ transport, fieldOwner: 'me' }).apply(Widgets, widget);
    await expect(applying).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});
