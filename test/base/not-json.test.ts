/**
 * Errors for a text that is not JSON describe it without quoting data, which may be that of a
 * Secret.
 */
import { inspect } from 'node:util';
import {
  defineResource,
  Indexer,
  type KubeObject,
  ListWatch,
  list,
  listItems,
  Reflector,
  resourceOf,
  type Transport,
  watch,
} from 'capstan/cache';
import { mergeFrom, newClient } from 'capstan/client';
import { LeaseLock } from 'capstan/leaderelection';
import { FakeClock } from 'capstan/testing';
import { describe, expect, test } from 'vitest';
import { excerpt, notJson } from '../../bindings/base/not-json.ts';
import { decoders } from '../helpers/cache/decoders.ts';
import { expectRejection } from '../helpers/expect-error.ts';
import { at } from '../helpers/resources.ts';

const Secrets = defineResource<KubeObject>()({
  group: '',
  version: 'v1',
  kind: 'Secret',
  plural: 'secrets',
  namespaced: true,
});

const VALUE = 'c3VwZXItc2VjcmV0LXZhbHVl';

const answering = (body: string): Transport => ({
  request: async () => ({
    status: 200,
    headers: { get: () => null },
    body: (async function* () {
      yield new TextEncoder().encode(body);
    })(),
  }),
});

const head = '"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"1"}';
const BODIES: Record<string, string> = {
  'a comma too many': `{"data":{"password":"${VALUE}"},,"kind":"Secret"}`,
  'a body that ends early': `{"data":{"password":"${VALUE}`,
  'an array': `["${VALUE}"]`,
  'a text': `"${VALUE}"`,
  'the rest of a body': `${VALUE}"},"kind":"Secret"}`,
  'a list with a comma too many': `{${head},"items":[{"data":{"password":"${VALUE}"},}]}`,
  'a list of texts': `{${head},"items":["${VALUE}"]}`,
  'items that are a text': `{${head},"items":"${VALUE}"}`,
  'an event that is not JSON': `{"type":"ADDED","object":{"data":{"a":"${VALUE}"},x}}\n`,
  'an event of a text': `{"type":"ADDED","object":"${VALUE}"}\n`,
};

const first = <T>(items: AsyncIterable<T>): Promise<unknown> =>
  items[Symbol.asyncIterator]().next();
const reflect = (transport: Transport): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const stop = new AbortController();
    const reflector = new Reflector(new ListWatch(transport, Secrets), new Indexer(), {
      watchList: false,
      watchErrorHandler: (error) => {
        stop.abort();
        reject(error as Error);
      },
    });
    reflector.run({ signal: stop.signal }).then(resolve, reject);
  });
const CALLS: Record<string, (transport: Transport) => Promise<unknown>> = {
  'client.get': (transport) => newClient({ transport }).get(Secrets, at('a')),
  'client.list': (transport) => newClient({ transport }).list(Secrets),
  'client.delete': (transport) => newClient({ transport }).delete(Secrets, at('a')),
  list: (transport) => list(transport, Secrets),
  listItems: (transport) => first(listItems(transport, Secrets)),
  watch: (transport) => first(watch(transport, Secrets, { resourceVersion: '1' })),
  resourceOf: (transport) => resourceOf(transport, { group: 'apps', plural: 'deployments' }),
  'LeaseLock.get': (transport) =>
    new LeaseLock(transport, { namespace: 'a', name: 'b', identity: 'c' }).get({
      signal: new AbortController().signal,
      clock: new FakeClock(),
      timeout: 1000,
    }),
  Reflector: reflect,
};

// The message quoted the first sixty characters of a body, and the cause the text around the fault:
// the data of a Secret was in the log of a controller behind a proxy that cut answers.
describe.each(Object.entries(BODIES))('%s', (_, body) => {
  test.each(Object.entries(CALLS))('is reported without its data by %s', async (_, call) => {
    const error = await call(answering(body)).then(
      () => 'no error', // some bodies are no error for some calls
      (error: unknown) => error,
    );
    expect(inspect(error, { depth: 8 })).not.toMatch(/c3Vw|Xtc2V|dmFs/);
  });

  test('is an error', async () => {
    await expectRejection(list(answering(body), Secrets), 'DECODE');
  });

  test.each(decoders)('is reported without its data by the decoder $name', ({ make }) => {
    const decoder = make({ apiVersion: 'v1', kind: 'Secret' });
    const bytes = new TextEncoder().encode(body);
    const readers = {
      frames() {
        const frames = decoder.frames();
        frames.push(bytes);
        while (frames.next() !== undefined);
      },
      page() {
        const page = decoder.page();
        page.push(bytes);
        page.end();
      },
    };
    const failed: string[] = [];
    for (const [name, read] of Object.entries(readers)) {
      try {
        read();
      } catch (error) {
        failed.push(name);
        expect(inspect(error, { depth: 8 })).not.toMatch(/c3Vw|Xtc2V|dmFs/);
      }
    }
    expect(failed).toContain('page'); // a watch may wait for more bytes
  });
});

test.each([
  ['upstream connect error or disconnect/reset', true],
  ['<html><body>502 Bad Gateway</body></html>', true],
  ['404 page not found\n', true],
  ['cGFzc3dvcmQ=', false],
  [`${VALUE}${VALUE}${VALUE} and so on`, false],
  ['{"a":1', false],
  ['', false],
])('words and pages are quoted, of other texts only the length: %j', (text, shown) => {
  const what = shown ? JSON.stringify(text) : `${text.length} characters`;
  expect(excerpt(text)).toContain(what);
});

test('the cause has the position of the fault', () => {
  const met = (text: string): unknown => {
    try {
      return JSON.parse(text);
    } catch (error) {
      return notJson('it', text, error).cause;
    }
  };
  expect(String(met('{"a":1,"b"x'))).toMatch(/no JSON at position 10$/);
  expect(String(met('hunter2'))).toBe('SyntaxError: Unexpected token');
});

// A body was passed as text, and the error quoted it.
test('a text in place of an object is not quoted, because it may be a Secret', async () => {
  const client = newClient({ transport: answering('{}'), fieldOwner: 'me' });
  const text = '{"stringData":{"password":"hunter2"}}';
  const given = text as unknown as object;
  const operations = text as unknown as [];
  for (const call of [
    () => client.create(Secrets, given as KubeObject),
    () => client.apply(Secrets, given as KubeObject),
    () => client.create(Secrets, { metadata: given } as KubeObject),
    () => client.patch(Secrets, at('a'), { type: 'merge', body: given }),
    () => client.patch(Secrets, at('a'), { type: 'json', operations }),
    async () => mergeFrom(given),
  ])
    await expect(call()).rejects.toThrow(/^"[\w.]+" expected an \w+, got a text of 37 characters$/);
});
