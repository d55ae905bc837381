/**
 * Objects as bytes in the core: what is staged, shared, replaced and let go, and what stays
 * readable.
 */
import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { ByteDecoder } from '../../../bindings/cache/bytes/decoder.ts';
import { storedObjectOf } from '../../../bindings/cache/bytes/lazy.ts';
import type { StoredObject } from '../../../bindings/cache/bytes/stored-object.ts';
import { StoredObjects } from '../../../bindings/cache/bytes/stored-objects.ts';
import type { Frame } from '../../../bindings/cache/decode/decoder.ts';
import { CacheCore } from '../../../bindings/wasm/cache-core.ts';
import { ByteStore } from '../../helpers/cache/byte-store.ts';
import { asShown } from '../decode/shown-object.ts';

interface Thing {
  apiVersion?: string;
  kind?: string;
  metadata: {
    name: string;
    namespace?: string;
    resourceVersion?: string;
    labels?: Record<string, string>;
  };
  spec?: unknown;
}

const encoder = new TextEncoder();
const expected = { apiVersion: 'v1', kind: 'Thing' };

class World {
  readonly core = new CacheCore();
  readonly versions = new StoredObjects(this.core, this.core.exports.keysNew(), expected);
  readonly decoder = new ByteDecoder<Thing>(this.core, this.versions, expected);
  readonly frames = this.decoder.frames();

  frame(text: string): Frame<Thing> {
    this.frames.push(encoder.encode(text));
    const frame = this.frames.next();
    if (frame === undefined) throw new Error('not complete');
    return frame;
  }

  object(text: string, type = 'ADDED'): Thing {
    return (this.frame(`{"type":"${type}","object":${text}}`) as { object: Thing }).object;
  }

  live(): number {
    return this.core.exports.objectsLive(this.versions.handle);
  }
}

function versionIn(object: object): StoredObject {
  const version = storedObjectOf(object);
  if (version === undefined) throw new Error('not an object kept as bytes');
  return version;
}

const TEXT =
  '{"kind":"Thing","apiVersion":"v1","metadata":{"name":"a\\u0041é","namespace":"n","resourceVersion":"12",' +
  '"managedFields":[{"manager":"m"}],"labels":{"x":"y\\n"}},"spec":[1,-2.5e3,true,null,{"a":[[]]}],"status":{}}';
const PARSED = {
  kind: 'Thing',
  apiVersion: 'v1',
  metadata: { name: 'aAé', namespace: 'n', resourceVersion: '12', labels: { x: 'y\n' } },
  spec: [1, -2500, true, null, { a: [[]] }],
  status: {},
};

describe('an object kept as bytes', () => {
  test('is what JSON.parse gives, less managedFields, to all that looks at it', () => {
    const object = new World().object(TEXT);
    expect(storedObjectOf(object)).toBeDefined();
    assert.deepStrictEqual(object, PARSED);
    expect(object).toStrictEqual(PARSED);
    expect(JSON.stringify(object)).toBe(JSON.stringify(PARSED));
    expect(structuredClone(object)).toStrictEqual(PARSED);
    expect(inspect(object, { depth: 9 })).toBe(inspect(PARSED, { depth: 9 }));
    expect({ ...object }).toStrictEqual(PARSED);
    expect(Object.keys(object.metadata)).toEqual([
      'name',
      'namespace',
      'resourceVersion',
      'labels',
    ]);
    expect(Object.create(object).spec).toEqual(PARSED.spec);
    expect(object.metadata).toBe(object.metadata);
  });

  test('refuses every write, at every depth', () => {
    const object = new World().object(TEXT) as unknown as Record<string, unknown>;
    const metadata = object.metadata as Record<string, unknown>;
    for (const write of [
      () => (object.spec = 1),
      () => (object.more = 1),
      () => delete object.spec,
      () => (metadata.name = 'x'),
      () => ((metadata.labels as Record<string, unknown>).x = 'z'),
      () => (object.spec as unknown[]).push(1),
      () => Object.defineProperty(object, 'spec', { value: 1 }),
      () => Object.setPrototypeOf(object, {}),
    ]) {
      expect(write).toThrow(TypeError);
    }
    expect(object).toStrictEqual(PARSED);
  });

  test('loses managedFields of any length, and what comes after them is as it was sent', () => {
    // Those that were checked last are kept beside what the decoder knows of its kind, in 8 KiB:
    // longer ones are not.
    const world = new World();
    for (let length = 8160; length < 8200; length++) {
      const managed = `[${'1'.repeat(length - 2)}]`;
      for (const fields of [managed, managed, managed.replace('1', '2'), '[]']) {
        const object = world.object(TEXT.replace('[{"manager":"m"}]', fields));
        expect(storedObjectOf(object), `${length} bytes`).toBeDefined();
        expect(object, `${length} bytes`).toStrictEqual(PARSED);
      }
      world.versions.settle();
    }
  });

  test('comes out whole wherever the network cut its bytes', () => {
    const world = new World();
    const bytes = encoder.encode(`${JSON.stringify({ type: 'ADDED', object: PARSED })}{"type":`);
    for (let cut = 0; cut <= bytes.length; cut++) {
      const frames = world.decoder.frames();
      frames.push(bytes.subarray(0, cut));
      let frame = frames.next();
      frames.push(bytes.subarray(cut));
      frame ??= frames.next();
      expect((frame as { object: Thing }).object, `cut at ${cut}`).toStrictEqual(PARSED);
      expect(frames.next()).toBeUndefined();
      frames.close();
    }
  });
});

describe('a version', () => {
  test('stays readable after it was replaced, and its bytes are given back', () => {
    const world = new World();
    const first = world.object(TEXT);
    world.versions.put(0, versionIn(first));
    const live = world.live();
    const second = world.object(TEXT.replace('"12"', '"13"'), 'MODIFIED');
    world.versions.put(0, versionIn(second));
    expect(world.live()).toBe(live);
    expect(versionIn(first).id).toBe(-1);
    expect(first).toStrictEqual(PARSED);
    expect(second.metadata.resourceVersion).toBe('13');
    world.versions.remove(0);
    expect(world.live()).toBe(0);
    expect(second.metadata.labels).toEqual({ x: 'y\n' });
  });

  test('that no store takes over leaves the core when the cache settles', () => {
    const world = new World();
    const object = world.object(TEXT, 'DELETED');
    expect(world.live()).toBeGreaterThan(0);
    world.versions.settle();
    expect(world.live()).toBe(0);
    expect(object).toStrictEqual(PARSED);
  });

  test('of a page does not hold the others of that page, nor they it', () => {
    const world = new World();
    world.versions.pack(false);
    const page = world.decoder.page();
    const texts = Array.from({ length: 100 }, (_, i) => TEXT.replace('"12"', `"${1000 + i}"`));
    page.push(encoder.encode(`{"metadata":{"resourceVersion":"20"},"items":[${texts}]}`));
    const stored = page.end().items.map(versionIn);
    page.close();
    stored.forEach((version, slot) => {
      world.versions.put(slot, version);
    });
    const live = world.live();
    for (let slot = 0; slot < 100; slot++) if (slot !== 25) world.versions.remove(slot);
    world.versions.settle();
    expect(world.live()).toBe(live / 100);
    world.versions.remove(25);
    expect(world.live()).toBe(0);
  });

  test('of a list is the stored one where the bytes are the same', () => {
    const world = new World();
    const stored = versionIn(world.object(TEXT));
    world.versions.put(world.versions.slot(stored, true), stored);
    const live = world.live();
    world.decoder.gather(true);
    const page = world.decoder.page();
    const changed = TEXT.replace('"12"', '"13"');
    page.push(encoder.encode(`{"metadata":{"resourceVersion":"20"},"items":[${TEXT},${changed}]}`));
    const { items, resourceVersion } = page.end();
    page.close();
    expect(resourceVersion).toBe('20');
    const [same, other] = items.map(versionIn);
    expect(same).toBe(stored);
    expect(other).not.toBe(same);
    expect(world.live()).toBe(live * 2);
    world.versions.settle();
    expect(world.live(), 'the list may still be collected').toBe(live * 2);
    world.decoder.gather(false);
    world.versions.settle();
    expect(world.live()).toBe(live);
  });

  test('says what it changed against the one it replaced', () => {
    const world = new World();
    const object = (of: object): Thing => world.object(JSON.stringify(of));
    const base = {
      metadata: { name: 'a', resourceVersion: '1', generation: 1, labels: { a: 'b' } },
      spec: 1,
      status: 1,
    };
    const changes = (next: object): number => {
      const before = versionIn(object(base));
      world.versions.put(world.versions.slot(before, true), before);
      const version = versionIn(object(next));
      world.versions.supersede(version, 0, {});
      expect(world.versions.superseded).toBe(true);
      return version.changes;
    };
    const metadata = base.metadata;
    expect(changes({ ...base, metadata: { ...metadata, resourceVersion: '2' } })).toBe(128);
    expect(changes({ ...base, spec: 2 })).toBe(8);
    expect(changes({ ...base, status: [1] })).toBe(16);
    expect(changes({ ...base, metadata: { ...metadata, generation: 2 } })).toBe(32 | 1);
    expect(changes({ ...base, metadata: { ...metadata, labels: {} } })).toBe(32 | 2);
    expect(changes({ ...base, metadata: { ...metadata, annotations: { a: 'b' } } })).toBe(32 | 4);
    expect(changes({ ...base, metadata: { ...metadata, deletionTimestamp: 'x' } })).toBe(32 | 64);
    expect(changes({ metadata, status: 1 })).toBe(8);
  });
});

describe('what is not an ordinary object', () => {
  test.each([
    [
      'a member twice',
      '{"metadata":{"name":"a"},"spec":1,"spec":2}',
      { metadata: { name: 'a' }, spec: 2 },
    ],
    ['a name twice', '{"metadata":{"name":"a","name":"b"}}', { metadata: { name: 'b' } }],
    ['an escape in a name', '{"metad\\u0061ta":{"n\\u0061me":"a"}}', { metadata: { name: 'a' } }],
    [
      'metadata twice',
      '{"metadata":{"name":"a"},"metadata":{"name":"b"}}',
      { metadata: { name: 'b' } },
    ],
    [
      'managedFields alone',
      '{"metadata":{"managedFields":[],"name":"a"}}',
      { metadata: { name: 'a' } },
    ],
    [
      '70 members',
      `{"metadata":{"name":"a"},${many(70)}}`,
      { metadata: { name: 'a' }, ...JSON.parse(`{${many(70)}}`) },
    ],
  ])('%s: still what JSON.parse gives', (_what, text, wanted) => {
    const object = new World().object(text);
    expect(object).toStrictEqual(asShown<object>(wanted, expected));
    expect(Object.isFrozen(object)).toBe(true);
  });

  test('is text that is not UTF-8; all valid characters are kept, also in keys', () => {
    const points = [
      0x80, 0x7ff, 0x800, 0xfff, 0x1000, 0xd7ff, 0xe000, 0xffff, 0x10000, 0x3ffff, 0x40000,
      0x10ffff,
    ];
    const wellFormed = points.map((point) => [...encoder.encode(String.fromCodePoint(point))]);
    const others =
      '80 bf c080 c1bf c241 c2c2 e09fbf e18041 e1c280 eda080 edbfbf f08fbfbf f18080 ' +
      'f1804180 f4908080 f5808080 ff';
    const illFormed = others.split(' ').map((hex) => [...Buffer.from(hex, 'hex')]);
    for (const some of [...wellFormed, ...illFormed]) {
      const world = new ByteStore();
      const all = Uint8Array.from([
        ...encoder.encode('{"type":"ADDED","object":{"metadata":{"name":"<'),
        ...some,
        ...encoder.encode('>"},"spec":[]}}'),
      ]);
      world.frames.push(all);
      const { object } = world.frames.next() as { object: Thing };
      const name = new TextDecoder('utf-8', { ignoreBOM: true }).decode(
        Uint8Array.from([0x3c, ...some, 0x3e]),
      );
      expect(object.metadata.name).toBe(name);
      expect(storedObjectOf(object) !== undefined, name).toBe(wellFormed.includes(some));
      world.store.add(object);
      expect(world.store.listKeys()).toEqual([name]);
      expect(world.store.getByKey(name)).toBeDefined();
    }
  });

  // There is room for 1024 sets of names.
  test('is none of a few that take turns, however often they come', () => {
    const world = new World();
    for (let i = 0; i < 3_000; i++) {
      const uid = i % 2 === 0 ? '' : ',"uid":"u"';
      const member = ['spec', 'data', 'status'][i % 3];
      const text = `{"metadata":{"name":"a"${uid}},"${member}":${i}}`;
      const object = world.object(text);
      expect(storedObjectOf(object), text).toBeDefined();
      if (i % 100 === 0) expect(object).toStrictEqual(asShown(JSON.parse(text), expected));
      world.versions.settle();
    }
  });

  // Members that were counted beyond the room for them would stand in that of the metadata.
  test('is one with more than 64 members in the object or its metadata', () => {
    for (const count of [1, 62, 63, 64, 65, 66, 100, 300]) {
      for (const text of [
        `{"metadata":{"name":"a","namespace":"n"},${many(count - 1)}}`.replace(',}', '}'),
        `{${many(count - 1)},"metadata":{"name":"a","namespace":"n"}}`.replace('{,', '{'),
        '{"metadata":{"name":"a","namespace":"n"' +
          `${count > 2 ? ',' : ''}${many(count - 2)}},"spec":1}`,
      ]) {
        const world = new ByteStore();
        const object = world.object(text);
        expect(object, text).toStrictEqual(asShown(JSON.parse(text), expected));
        expect(storedObjectOf(object) !== undefined, text).toBe(count <= 64);
        world.store.add(object);
        expect(world.store.listKeys(), text).toEqual(['n/a']);
        expect(world.store.getByKey('n/a'), text).toStrictEqual(object);
      }
    }
  });

  test('an own __proto__ is a member', () => {
    const object = new World().object('{"metadata":{"name":"a"},"__proto__":{"x":1}}');
    expect(Object.keys(object)).toEqual(['kind', 'apiVersion', 'metadata', '__proto__']);
    expect(Object.getPrototypeOf(object)).toBe(Object.prototype);
  });

  test('text that is not UTF-8 is read as every decoder reads it', () => {
    const world = new World();
    const bytes = encoder.encode('{"type":"ADDED","object":{"metadata":{"name":"a?b"}}}');
    bytes[bytes.indexOf(0x3f)] = 0xff;
    world.frames.push(bytes);
    expect((world.frames.next() as { object: Thing }).object.metadata.name).toBe('a\ufffdb');
  });

  test.each([
    ['a byte order mark', '\ufeff{"type":"ADDED","object":{"metadata":{"name":"a"}}}'],
    ['an array', '[1]'],
    ['a comma too much', '{"type":"ADDED","object":{"metadata":{"name":"a",}}}'],
    ['brackets that cross', '{"type":"ADDED","object":{"metadata":[}]}}          '],
    ['no object', '{"type":"ADDED","object":1}'],
    ['no name', '{"type":"ADDED","object":{"metadata":{}}}'],
    ['a name that is no string', '{"type":"ADDED","object":{"metadata":{"name":1}}}'],
    ['an unknown type', '{"type":"PATCHED","object":{"metadata":{"name":"a"}}}'],
    [
      'a number with a leading zero',
      '{"type":"ADDED","object":{"metadata":{"name":"a"},"spec":01}}',
    ],
    ['a line feed in a string', '{"type":"ADDED","object":{"metadata":{"name":"a\n"}}}'],
  ])('%s: DECODE', (_what, text) => {
    expect(() => new World().frame(text)).toThrow(expect.objectContaining({ code: 'DECODE' }));
  });
});

function many(count: number): string {
  return Array.from({ length: Math.max(count, 0) }, (_, i) => `"m${i}":${i}`).join(',');
}
