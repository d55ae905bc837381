/**
 * Members that are dropped are absent, as if the server had not sent them, whether an object stays
 * bytes or is decoded. Random documents; the seed is printed.
 */
import { CapstanError } from 'capstan/workqueue';
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../bindings/base/object.ts';
import { ByteDecoder } from '../../../bindings/cache/bytes/decoder.ts';
import { storedObjectOf } from '../../../bindings/cache/bytes/lazy.ts';
import { StoredObjects } from '../../../bindings/cache/bytes/stored-objects.ts';
import { type Decoder, jsonDecoder } from '../../../bindings/cache/decode/decoder.ts';
import type { DecoderOptions } from '../../../bindings/cache/decode/limits.ts';
import { Indexer } from '../../../bindings/cache/store/store.ts';
import { CacheCore } from '../../../bindings/wasm/cache-core.ts';
import { setUp } from '../../helpers/cache/recording-handlers.ts';
import { Random, testSeed } from '../../helpers/random.ts';
import { RandomDocuments } from './documents.ts';
import { expectSameAsParsed } from './same-as-parsed.ts';
import { asShown } from './shown-object.ts';

const seed = testSeed();
console.log(`dropped members: CAPSTAN_SEED=${seed}`);

const expected = { apiVersion: 'v1', kind: 'ConfigMap' };
let core = new CacheCore();
let made = 0;

function onBytes(options: DecoderOptions): Decoder<KubeObject> {
  if (++made % 500 === 0) core = new CacheCore();
  return new ByteDecoder<KubeObject>(
    core,
    new StoredObjects(core, core.exports.keysNew(), expected),
    expected,
    options,
  );
}
const decoders = [
  { name: 'of bytes', make: onBytes },
  {
    name: 'of JSON',
    make: (options: DecoderOptions) => jsonDecoder<KubeObject>(expected, options),
  },
];

function framed(decoder: Decoder<KubeObject>, event: string): KubeObject {
  const reader = decoder.frames();
  try {
    reader.push(new TextEncoder().encode(`${event}\n`));
    const frame = reader.next();
    if (frame === undefined || !('object' in frame))
      throw new Error(`expected an object, got ${frame?.type}`);
    return frame.object;
  } finally {
    reader.close();
  }
}

const event = (object: string): string => `{"type":"ADDED","object":${object}}`;

function listed(decoder: Decoder<KubeObject>, list: string): KubeObject[] {
  const reader = decoder.page();
  reader.push(new TextEncoder().encode(list));
  const { items } = reader.end();
  reader.close();
  return items;
}

/** The reference: deletes the member from the result of JSON.parse. */
function without(value: unknown, names: readonly string[]): void {
  if (Array.isArray(value)) for (const element of value) without(element, names);
  else if (
    typeof value === 'object' &&
    value !== null &&
    Object.hasOwn(value, names[0] as string)
  ) {
    const object = value as Record<string, unknown>;
    if (names.length === 1) delete object[names[0] as string];
    else without(object[names[0] as string], names.slice(1));
  }
}

const shownText = (text: string): string => JSON.stringify(asShown(JSON.parse(text), expected));

const pathOf = (names: readonly string[]): string =>
  names.map((name) => name.replaceAll('.', '\\.')).join('.');

const FIRST = [
  'spec',
  'status',
  'data',
  'a',
  'b',
  'c',
  '0',
  '1.5',
  '__proto__',
  'constructor',
  'kind',
  'metadata',
];
const LATER = [
  ...FIRST,
  'é',
  'ab',
  '"',
  ' ',
  '😀',
  'toString',
  'labels',
  'length',
  '-1',
  '4294967295',
];

function somePath(random: Random): readonly string[] {
  const names = [random.pick(FIRST)];
  while (random.chance(0.5)) names.push(random.pick(LATER));
  return names[0] === 'metadata' && names.length === 1 ? ['metadata', 'labels'] : names;
}

describe.each(decoders)('members that are dropped by the decoder $name', ({ make }) => {
  test('are absent, and all other members are as parsed', () => {
    const random = new Random(seed);
    const documents = new RandomDocuments(random);
    let dropped = 0;
    for (let i = 0; i < 500; i++) {
      const paths = Array.from({ length: 1 + random.int(4) }, () => somePath(random));
      const text = documents.object(2 + random.int(8));
      const before = JSON.stringify(JSON.parse(text));
      const parsed: unknown = JSON.parse(text);
      for (const path of [...paths, ['metadata', 'managedFields']]) without(parsed, path);
      if (JSON.stringify(parsed) !== before) dropped++;
      const wanted = asShown(parsed, expected);
      const drop = paths.map(pathOf);
      try {
        expectSameAsParsed(framed(make({ drop }), documents.event('ADDED', text)), wanted);
        const items = listed(make({ drop }), documents.list([text, text], '9'));
        expect(items).toHaveLength(2);
        for (const item of items) expectSameAsParsed(item, wanted);
      } catch (cause) {
        throw new Error(`${(cause as Error).message}\n  without ${JSON.stringify(drop)}: ${text}`, {
          cause,
        });
      }
    }
    expect(dropped, 'documents that had any of it').toBeGreaterThan(100);
  });

  test.each([
    ['{"metadata":{"name":"n"},"a":1,"b":2}', ['a', 'b'], '{"metadata":{"name":"n"}}'],
    ['{"a":1,"b":2,"metadata":{"name":"n"}}', ['a', 'b'], '{"metadata":{"name":"n"}}'],
    ['{ "a" : 1 , "metadata":{"name":"n"} , "b" : 2 }', ['a', 'b'], '{"metadata":{"name":"n"}}'],
    ['{"metadata":{"name":"n"},"a":{ "b" : 1 }}', ['a.b'], '{"metadata":{"name":"n"},"a":{}}'],
    [
      '{"metadata":{"name":"n"},"a":[[{"b":1,"c":2}],{"b":3},4]}',
      ['a.b'],
      '{"metadata":{"name":"n"},"a":[[{"c":2}],{},4]}',
    ],
    [
      '{"metadata":{"name":"n"},"a":{"b":{"c":1,"d":2}}}',
      ['a.b', 'a.b.c'],
      '{"metadata":{"name":"n"},"a":{}}',
    ],
    [
      '{"metadata":{"name":"n"},"a":{"b":{"c":1,"d":2}}}',
      ['a.b.c', 'a.b'],
      '{"metadata":{"name":"n"},"a":{}}',
    ],
    [
      '{"metadata":{"name":"n"},"a":{"b":1,"b":{"c":1},"d":2}}',
      ['a.b.c'],
      '{"metadata":{"name":"n"},"a":{"b":{},"d":2}}',
    ],
    [
      '{"metadata":{"name":"n"},"a":{"\\u0062":1,"d":2}}',
      ['a.b'],
      '{"metadata":{"name":"n"},"a":{"d":2}}',
    ],
    [
      '{"metadata":{"name":"n"},"a":"{\\"b\\":1}"}',
      ['a.b'],
      '{"metadata":{"name":"n"},"a":"{\\"b\\":1}"}',
    ],
    [
      '{"metadata":{"name":"n","annotations":{"x.io/y":"long","z":"1"}}}',
      ['metadata.annotations.x\\.io/y'],
      '{"metadata":{"name":"n","annotations":{"z":"1"}}}',
    ],
  ])('%s without %j', (text, drop, left) => {
    expect(JSON.stringify(framed(make({ drop }), event(text)))).toBe(shownText(left));
  });

  test('are absent in objects that nest deeper than the core supports', () => {
    const open = '['.repeat(200);
    const close = ']'.repeat(200);
    const text = `{"metadata":{"name":"n"},"a":${open}{"b":1,"c":2}${close}}`;
    const left = `{"metadata":{"name":"n"},"a":${open}{"c":2}${close}}`;
    expect(JSON.stringify(framed(make({ drop: ['a.b'] }), event(text)))).toBe(shownText(left));
  });

  test('are absent in large objects, and in small ones after them', () => {
    const decoder = make({ drop: ['a', 'c'] });
    for (const bytes of [10, 3_000_000, 100, 70_000]) {
      const text = (more: string): string =>
        `{"metadata":{"name":"n"},${more}"b":"${'x'.repeat(bytes)}"}`;
      const got = JSON.stringify(framed(decoder, event(text('"a":[1],'))));
      expect(got === shownText(text('')), `${bytes} bytes`).toBe(true);
    }
  });

  test('include managedFields, unless the option keeps them', () => {
    const text = '{"metadata":{"managedFields":[{"manager":"m"}],"name":"n"},"spec":1}';
    expect(JSON.stringify(framed(make({}), event(text)))).toBe(
      shownText('{"metadata":{"name":"n"},"spec":1}'),
    );
    expect(JSON.stringify(framed(make({ keepManagedFields: true }), event(text)))).toBe(
      shownText(text),
    );
    const kept = framed(
      make({ keepManagedFields: true, drop: ['spec', 'metadata.managedFields.manager'] }),
      event(text),
    );
    expect(JSON.stringify(kept)).toBe(shownText('{"metadata":{"managedFields":[{}],"name":"n"}}'));
    const both = framed(
      make({ keepManagedFields: true, drop: ['metadata.managedFields'] }),
      event(text),
    );
    expect(JSON.stringify(both)).toBe(shownText('{"metadata":{"name":"n"},"spec":1}'));
  });

  test('do not affect a bookmark or an object of another kind', () => {
    const reader = make({ drop: ['kind', 'metadata.annotations'] }).frames();
    const bookmark =
      '{"metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true"}}}';
    reader.push(new TextEncoder().encode(`{"type":"BOOKMARK","object":${bookmark}}\n`));
    expect(reader.next()).toEqual({
      type: 'BOOKMARK',
      resourceVersion: '7',
      initialEventsEnd: true,
    });
    reader.push(
      new TextEncoder().encode(
        '{"type":"ADDED","object":{"kind":"Secret","metadata":{"name":"n"}}}\n',
      ),
    );
    expect(reader.next()).toMatchObject({ type: 'foreign', kind: 'Secret' });
    reader.close();
  });
});

test('an object that fits with its metadata only has no dropped members either', () => {
  const random = new Random(seed);
  const documents = new RandomDocuments(random);
  let cut = 0;
  for (let i = 0; i < 1000; i++) {
    const path = random.chance(0.5) ? ['metadata', 'labels', 'a'] : ['kind'];
    const options = { drop: [pathOf(path)], maxBytes: 1, whenFull: 'metadata' } as const;
    const text = documents.object(2 + random.int(8));
    const parsed = JSON.parse(text) as Record<string, unknown>;
    for (const each of [path, ['metadata', 'managedFields']]) without(parsed, each);
    const object = framed(onBytes(options), event(text));
    if (storedObjectOf(object) === undefined) {
      expectSameAsParsed(object, asShown(parsed, expected)); // decoded whole: it counts for nothing
      continue;
    }
    for (const name of Object.keys(parsed))
      if (!['apiVersion', 'kind', 'metadata'].includes(name)) delete parsed[name];
    expectSameAsParsed(object, asShown(parsed, expected));
    cut++;
  }
  expect(cut).toBeGreaterThan(50); // 104 to 135 in eight runs
});

test('dropped members are absent in updates, which are scanned only in part', () => {
  const random = new Random(seed);
  const documents = new RandomDocuments(random);
  for (let round = 0; round < 60; round++) {
    const paths = Array.from({ length: 1 + random.int(3) }, () => somePath(random));
    const store = new Indexer<KubeObject>(undefined, {}, expected);
    const frames = store.decoder(expected, { drop: paths.map(pathOf) }).frames();
    const values = Array.from({ length: 3 }, () => documents.value(4));
    const names = random.chance(0.5) ? ['spec', 'status', 'a'] : ['é', 'a', 'data'];
    for (let version = 1; version < 20; version++) {
      const members = names.map((name) => `"${name}":${random.pick(values)}`).join(',');
      const text = `{"kind":"ConfigMap","metadata":{"name":"n","resourceVersion":"${version}"},${members}}`;
      frames.push(new TextEncoder().encode(event(text)));
      const frame = frames.next();
      if (frame === undefined || !('object' in frame)) throw new Error('expected an object');
      store.add(frame.object);
      const dropped: unknown = JSON.parse(text);
      for (const path of paths) without(dropped, path);
      const parsed = asShown(dropped, expected);
      const stored = store.getByKey('n');
      expect(JSON.stringify(stored), text).toBe(JSON.stringify(parsed));
      expectSameAsParsed(stored, parsed);
    }
    frames.close();
  }
});

test('an object is kept as bytes without its dropped members, which take no memory', () => {
  const versions = new StoredObjects(core, core.exports.keysNew(), expected);
  const decoder = new ByteDecoder<KubeObject>(core, versions, expected, { drop: ['spec'] });
  const object = framed(
    decoder,
    event(`{"metadata":{"name":"n"},"spec":"${'x'.repeat(10_000)}","data":{}}`),
  );
  expect(storedObjectOf(object)?.id).toBeGreaterThanOrEqual(0);
  expect(versions.bytes().live).toBeLessThan(200);
});

describe.each([
  ['by default', {}],
  ['with a transform', { transform: (object: never) => object }],
  ['with the mutation detector', { mutationDetector: true }],
  ['that keeps objects', { keep: 'objects' }],
  ['on a DeltaFIFO', { fifo: 'delta' }],
] as const)('an informer %s', (_, options) => {
  test('drops members from lists and events alike', async () => {
    const { clock, server, informer } = setUp({ ...options, drop: ['data.secret', 'spec'] });
    server.put('a', { data: { v: '1', secret: 'x' }, spec: { n: 1 } });
    void informer.run();
    await clock.settle();
    server.put('b', { data: { v: '2', secret: 'x' }, spec: { n: 1 } });
    await clock.settle();
    const objects = ['a', 'b'].map((name) => informer.getIndexer().getByKey(`default/${name}`));
    expect(objects.map((object) => object?.data)).toEqual([{ v: '1' }, { v: '2' }]);
    expect(objects.some((object) => object !== undefined && 'spec' in object)).toBe(false);
    expect(informer.getIndexer().byIndex('byValue', '2')).toHaveLength(1);
    await informer.stop();
  });
});

test.each([
  'spec',
  ['metadata'],
  ['metadata.name'],
  ['metadata.namespace'],
  ['metadata.resourceVersion'],
  ['spec', ''],
  ['spec..x'],
  [7],
  ['spec.\ud800'],
])('what cannot be dropped is refused: %j', (drop) => {
  const attempt = (): unknown => setUp({ drop: drop as string[] });
  expect(attempt).toThrow(CapstanError);
  expect(attempt).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
});
