/**
 * Copies of packed objects that were replaced while a user held them (packed-copy.ts): each reads
 * as JSON.parse gives it, whatever becomes of the store and its core; a damaged copy never reads as
 * something else; a base's text goes with the last copy that needs it. The seed is printed.
 */
import assert from 'node:assert/strict';
import { expect, test, vi } from 'vitest';
import { CapstanError } from '../../../bindings/base/errors.ts';
import { storedObjectOf } from '../../../bindings/cache/bytes/lazy.ts';
import { Base, PackedCopy } from '../../../bindings/cache/bytes/packed-copy.ts';
import { DeletedFinalStateUnknown } from '../../../bindings/cache/rest/keys.ts';
import { ByteStore, type Thing } from '../../helpers/cache/byte-store.ts';
import { baseOf, Families, type FamilyObject } from '../../helpers/cache/families.ts';
import { isCollected } from '../../helpers/garbage-collection.ts';
import { Random, testSeed } from '../../helpers/random.ts';

const seed = testSeed();
console.log(`test/cache/bytes/packed-copies.test.ts: CAPSTAN_SEED=${seed}`);

function packing(): ByteStore {
  const world = new ByteStore({}, true);
  world.decoder.storedObjects.pack(true, 0);
  return world;
}

function put(world: ByteStore, json: string): Thing | undefined {
  return world.store.exchange(world.object(json), false);
}

const remove = (world: ByteStore, name: string): void =>
  world.store.delete(new DeletedFinalStateUnknown<Thing>(`n/${name}`, undefined));

const copyOf = (object: object): unknown => storedObjectOf(object)?.copy;

function trap(world: ByteStore): void {
  expect(() => world.decoder.core.exports.keysUsed(0xfffffff0)).toThrow(
    expect.objectContaining({ code: 'POISONED' }),
  );
}

/** A held object with the JSON that it must stay. */
type Held = readonly [object: Thing, json: string];

function requireHeld(held: readonly Held[], what: string): void {
  for (const [object, json] of held) {
    const now = JSON.stringify(object);
    assert.ok(now === json, `${what}: ${now}, expected ${json}`);
  }
}

/** An object whose parts are `fill` and a text, for members of its own. */
const thingOf = (name: string, owner: string, fill: unknown, spec: unknown): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Thing',
    metadata: { name, namespace: 'n', resourceVersion: '1', ownerReferences: [{ uid: owner }] },
    spec,
    status: fill,
  });

const filling = (owner: string): unknown =>
  Array.from({ length: 40 }, (_, i) => ({ name: `${owner}-${i}`, image: `registry/é/${owner}` }));

test('held objects of random families read as JSON.parse gives them, also after a trap', () => {
  const random = new Random(seed);
  const seen = { packed: 0, whole: 0, ascii: 0, bases: 0, read: 0 };
  for (let round = 0; round < 30; round++) {
    const world = packing();
    const families = new Families(random, 1 + random.int(3), 1 + random.int(4));
    const model = new Map<string, string>();
    const held: Held[] = [];
    const names = Array.from({ length: 5 + random.int(40) }, (_, i) => `o${i}`);
    for (let step = 0; step < 300; step++) {
      const name = random.pick(names);
      const known = model.get(name);
      if (known !== undefined && random.chance(0.1)) {
        held.push([world.store.getByKey(`n/${name}`) as Thing, known]);
        remove(world, name);
        model.delete(name);
        continue;
      }
      const json = JSON.stringify(
        known === undefined
          ? families.object(name)
          : families.changed(JSON.parse(known) as FamilyObject),
      );
      const old = put(world, json);
      model.set(name, json);
      if (old === undefined) continue;
      held.push([old, known as string]);
      if (random.chance(0.2)) requireHeld([random.pick(held)], 'while others come');
    }
    const copies = held.map(([object]) => copyOf(object));
    seen.bases += new Set(copies.map((copy) => copy instanceof PackedCopy && copy.base)).size;
    for (const [i, copy] of copies.entries()) {
      if (copy instanceof PackedCopy) {
        seen.packed++;
        if (/^[ -~]*$/.test(held[i]?.[1] as string)) seen.ascii++;
      } else seen.whole++;
    }
    if (round % 3 === 0) world.store.replace([], '');
    if (round % 3 === 1) trap(world);
    requireHeld(random.chance(0.5) ? held : [...held].reverse(), 'in the end');
    seen.read += held.length;
  }
  console.log(`held objects: ${JSON.stringify(seen)}`);
  expect(seen.packed).toBeGreaterThan(500);
  expect(seen.whole).toBeGreaterThan(100);
  expect(seen.ascii).toBeGreaterThan(20);
  expect(seen.packed - seen.ascii).toBeGreaterThan(20);
  expect(seen.packed / seen.bases).toBeGreaterThan(3);
});

// Held objects could not be read after a trap in a trial that restored them in the core.
test('members of a held object that were not read before a trap are read after it', () => {
  const world = packing();
  const fill = filling('a');
  const spec = (i: number, version: number): Record<string, unknown> => ({
    node: `node-${i}`,
    version,
    fill: 'é'.repeat(200),
    list: [i, { version }],
  });
  const jsonOf = (i: number, version: number): string =>
    thingOf(`o${i}`, 'a', fill, spec(i, version));
  for (let i = 0; i < 8; i++) put(world, jsonOf(i, 1));
  // Made of spans in the core; its members are read later.
  const part = world.store.getByKey('n/o5')?.spec as Record<string, unknown>;
  const held = Array.from({ length: 8 }, (_, i) => put(world, jsonOf(i, 2)) as Thing);
  const there = world.store.getByKey('n/o3') as Thing;
  const metadata = held[2]?.metadata;
  expect(held.filter((object) => copyOf(object) instanceof PackedCopy)).toHaveLength(8);
  trap(world);
  expect(metadata?.name).toBe('o2');
  expect({ ...part }).toEqual(spec(5, 1));
  for (const [i, object] of held.entries()) {
    expect((object.spec as { node: string }).node).toBe(`node-${i}`);
    expect(JSON.stringify(object)).toBe(jsonOf(i, 1));
    expect(object.status).toEqual(fill);
  }
  expect(() => there.spec).toThrow(expect.objectContaining({ code: 'POISONED' }));
});

test('members that are read in a row restore a copy once', () => {
  const world = packing();
  for (let i = 0; i < 4; i++) put(world, thingOf(`o${i}`, 'a', filling('a'), { i }));
  const held = [1, 2].map((i) => put(world, thingOf(`o${i}`, 'a', {}, {})) as Thing);
  const [first, second] = held as [Thing, Thing];
  expect(first.spec).toEqual({ i: 1 });
  const { bytes } = (copyOf(first) as PackedCopy).base;
  const was = bytes.slice();
  bytes.fill(0); // a second step from the base would fail
  expect(first.status).toEqual(filling('a'));
  expect(() => second.spec).toThrow(expect.objectContaining({ code: 'POISONED' }));
  expect(first.metadata.resourceVersion).toBe('1');
  bytes.set(was);
  expect(second.spec).toEqual({ i: 2 });
});

test('a copy of more writes than may be repeated reads as its object', () => {
  const random = new Random(seed);
  const jsonOf = (version: number): string => {
    const values = Array.from({ length: 700 }, (_, i) =>
      random.chance(0.5) ? `again ${random.int(8)}` : `${version} ${i}`,
    );
    return thingOf(
      'o1',
      'a',
      {},
      values.map((value) => [value, 'the same in all', 'this too']),
    );
  };
  for (let round = 0; round < 20; round++) {
    const world = packing();
    put(world, jsonOf(0).replace('o1', 'o0'));
    const jsons = [1, 2, 3].map(jsonOf);
    const held = jsons.map((json) => put(world, json));
    const last = put(world, jsons[0] as string);
    for (const [i, old] of [held[1], held[2], last].entries()) {
      expect(copyOf(old as Thing)).toBeInstanceOf(PackedCopy);
      requireHeld([[old as Thing, jsons[i] as string]], 'of many writes');
    }
  }
});

test('a copy is what its object differs by, and copies of a family share one text', () => {
  const world = packing();
  const owners = ['a', 'b'];
  const jsonOf = (owner: string, i: number, version: number): string =>
    thingOf(`${owner}${i}`, owner, filling(owner), { node: `node-${i}`, version });
  const held: Held[] = [];
  for (let version = 0; version < 5; version++)
    for (const owner of owners)
      for (let i = 0; i < 20; i++) {
        const old = put(world, jsonOf(owner, i, version));
        if (old !== undefined) held.push([old, jsonOf(owner, i, version - 1)]);
      }
  const copies = held.map(([object]) => copyOf(object)).filter((c) => c instanceof PackedCopy);
  expect(copies).toHaveLength(160);
  const bases = new Set(copies.map(({ base }) => base));
  expect(bases.size).toBeLessThan(4); // one of all, and of each owner from its second object on
  const { length } = jsonOf('a', 0, 0);
  for (const { bytes } of bases) expect(bytes.length).toBeGreaterThan(length);
  for (const { packed } of copies) expect(packed.length).toBeLessThan(length / 10);
  requireHeld(held, 'of two families');
  // reading makes no copy larger
  expect(held.map(([object]) => copyOf(object))).toEqual(expect.arrayContaining(copies));
});

test('texts that copies need stay shared when those of other bases are given up', () => {
  const OWNERS = 150; // from 64 on, the texts that are gone are given up
  const world = packing();
  const jsonOf = (owner: number, i: number, version: number): string =>
    thingOf(`o${owner}-${i}`, `owner ${owner}`, filling(`owner ${owner}`), { i, version });
  const held: Held[] = [];
  for (let version = 0; version < 3; version++)
    for (let owner = 0; owner < OWNERS; owner++)
      for (let i = 0; i < 3; i++) {
        const old = put(world, jsonOf(owner, i, version));
        if (old !== undefined) held.push([old, jsonOf(owner, i, version - 1)]);
      }
  const bases = new Set(held.map(([object]) => (copyOf(object) as PackedCopy).base));
  expect(held).toHaveLength(6 * OWNERS);
  expect(bases.size).toBeLessThan(OWNERS + 4);
  expect(bases.size).toBeGreaterThan(OWNERS - 4);
  requireHeld(held, 'of many owners');
});

test('a base whose number was another one’s before has a text of its own', () => {
  const random = new Random(seed);
  const numbers = new Map<number, number>();
  for (let round = 0; round < 40; round++) {
    const world = packing();
    const held: Held[] = [];
    for (let owner = 0; owner < 12; owner++) {
      const jsonOf = (i: number, version: number): string =>
        thingOf(`o${i}`, `owner ${owner}`, filling(`owner ${owner}`), { i, version, round });
      const count = 2 + random.int(5);
      for (let version = 0; version < 3; version++)
        for (let i = 0; i < count; i++) {
          const old = put(world, jsonOf(i, version));
          if (old !== undefined) held.push([old, jsonOf(i, version - 1)]);
          const { id } = storedObjectOf(world.store.getByKey(`n/o${i}`) as object) ?? { id: -1 };
          const base = baseOf(world.decoder.storedObjects, id);
          if (version === 2 && i === 0) numbers.set(base, (numbers.get(base) ?? 0) + 1);
        }
      for (let i = 0; i < count; i++) remove(world, `o${i}`);
    }
    requireHeld(held, 'of owners in turn');
  }
  numbers.delete(-1);
  // of 480, so that most numbers were those of several bases of one store
  expect(Math.max(...numbers.values())).toBeGreaterThan(60);
});

test('an edit within a long string is a small difference, wherever and whatever it is', () => {
  const random = new Random(seed);
  const words = Array.from({ length: 600 }, () => random.next().toString(36).slice(2)).join(' ');
  let small = 0;
  let all = 0;
  for (const data of [words, words.replaceAll('a', 'é')]) {
    const world = packing();
    put(world, thingOf('o0', 'a', {}, { text: data }));
    put(world, thingOf('o1', 'a', {}, { text: data }));
    const held: Held[] = [];
    let last = '';
    for (let step = 0; step < 400; step++) {
      const at = random.int(data.length);
      const gone = random.int(random.pick([2, 12, 40, 600]));
      const come = words.slice(0, random.int(random.pick([2, 12, 40, 600])));
      const text = data.slice(0, at) + come + data.slice(at + gone);
      const json = thingOf('o1', 'a', {}, { text });
      const old = put(world, json);
      if (step > 0) held.push([old as Thing, last]);
      last = json;
      if (step === 0) continue;
      const copy = copyOf(old as Thing);
      all++;
      if (copy instanceof PackedCopy && copy.packed.length < come.length + 1000) small++;
    }
    requireHeld(held, 'edited');
    expect(JSON.stringify(world.store.getByKey('n/o1'))).toBe(last);
  }
  console.log(`edits of long strings: ${small} of ${all} are small`);
  expect(small / all).toBeGreaterThan(0.95);
});

test.each([
  ['a digit more in front, and one less at the end', (t: string) => `10000 ${t}`.slice(0, 4000)],
  ['the same length', (t: string) => `9998 ${t}`.slice(0, 4000)],
  ['16 more', (t: string) => `${'x'.repeat(16)}9999 ${t}`.slice(0, 4000)],
  ['16 less', (t: string) => t.slice(11, 3984)],
  ['only its end', (t: string) => `9999 ${t}`.slice(0, 3990)],
  ['nothing', (t: string) => `9999 ${t}`.slice(0, 4000)],
  [
    'a range of 400 bytes',
    (t: string) => `9999 ${t.slice(0, 300)}${'z'.repeat(400)}${t.slice(700)}`,
  ],
  ['a range of 1500 bytes', (t: string) => `9999 ${'z'.repeat(1500)}${t.slice(1500)}`],
])('a long string that differs in %s', (what, edit) => {
  const random = new Random(seed);
  const words = Array.from({ length: 500 }, () => random.next().toString(36).slice(2));
  const text = words.join(' ').slice(0, 3995);
  const world = packing();
  for (const name of ['o0', 'o1']) put(world, thingOf(name, 'a', {}, { text: `9999 ${text}` }));
  const json = thingOf('o1', 'a', {}, { text: edit(text) });
  put(world, json);
  const old = put(world, json) as Thing;
  const copy = copyOf(old) as PackedCopy;
  expect(JSON.stringify(old)).toBe(json);
  // What was not there before is written; a string of thousands has its end, or is found again.
  const most = what.includes('1500') ? 1600 : what.includes('400') ? 500 : 130;
  expect(copy).toBeInstanceOf(PackedCopy);
  expect(copy.packed.length).toBeLessThan(most);
});

test('a damaged copy throws, or reads as its object, and never as something else', () => {
  const random = new Random(seed);
  const world = packing();
  const families = ['a', 'b'].map((owner) => {
    const jsons = Array.from({ length: 6 }, (_, i) =>
      thingOf(`${owner}${i}`, owner, filling(owner), {
        uid: random.next(),
        // a value that is written twice, which a difference repeats
        ip: [`10.${i}.${random.int(99)}`, 'host'],
        ips: `10.${i}.${random.int(99)}`,
        again: Array.from({ length: 3 }, () => `only of ${owner}${i}`),
      }),
    );
    for (const json of jsons) put(world, json);
    return jsons.map((json): Held => [put(world, json) as Thing, json]);
  });
  const held = families.flat().filter(([object]) => copyOf(object) instanceof PackedCopy);
  expect(held).toHaveLength(12);
  const seen = { thrown: 0, same: 0 };
  const readAs = (object: Thing, copy: PackedCopy): string | undefined => {
    const stored = storedObjectOf(object);
    assert.ok(stored !== undefined);
    const { copy: own } = stored;
    stored.copy = copy;
    try {
      const { spans } = stored.shape;
      return JSON.stringify(Array.from({ length: spans }, (_, i) => stored.member(i)));
    } catch (error) {
      assert.ok(error instanceof CapstanError && error.code === 'POISONED', String(error));
      return undefined;
    } finally {
      stored.copy = own;
    }
  };
  const check = (object: Thing, copy: PackedCopy, whole: string | undefined): void => {
    const read = readAs(object, copy);
    if (read === undefined) seen.thrown++;
    else {
      assert.equal(read, whole);
      seen.same++;
    }
  };
  for (const [object] of held) {
    const own = copyOf(object) as PackedCopy;
    const whole = readAs(object, new PackedCopy(own.base, own.packed));
    assert.ok(whole !== undefined);
    for (let at = 0; at < own.packed.length; at++) {
      const was = own.packed.charCodeAt(at);
      for (const byte of [was ^ (1 << random.int(8)), random.int(256), 0, 255]) {
        const packed =
          own.packed.slice(0, at) + String.fromCharCode(byte) + own.packed.slice(at + 1);
        check(object, new PackedCopy(own.base, packed), whole);
      }
      check(object, new PackedCopy(own.base, own.packed.slice(0, at)), whole);
    }
    for (let i = 0; i < 50; i++) {
      const bytes = own.base.bytes.slice();
      const at = random.int(bytes.length);
      bytes[at] = (bytes[at] as number) ^ (1 << random.int(8));
      check(object, new PackedCopy(new Base(bytes, own.base.spans.length), own.packed), whole);
    }
    for (const [other] of held) {
      const { base } = copyOf(other) as PackedCopy;
      check(object, new PackedCopy(base, own.packed), whole);
    }
  }
  console.log(`damaged copies: ${JSON.stringify(seen)}`);
  expect(seen.thrown).toBeGreaterThan(2500);
});

test('the text of a base goes with the last copy that needs it', async () => {
  const fill = filling('a');
  const jsonOf = (i: number, version: number): string => thingOf(`o${i}`, 'a', fill, { version });
  // Functions of their own, as a frame that waits keeps what it has had.
  const holdOne = (world: ByteStore): { held: Thing[]; text: WeakRef<Base> } => {
    const held: Thing[] = [];
    for (let version = 0; version < 2; version++)
      for (let i = 0; i < 4; i++) {
        const old = put(world, jsonOf(i, version));
        if (old !== undefined) held.push(old);
      }
    const bases = held.map((object) => (copyOf(object) as PackedCopy).base);
    expect(bases[3]).toBe(bases[2]);
    return { held: held.slice(3), text: new WeakRef(bases[3] as Base) };
  };
  const readHeld = (held: readonly Thing[]): void =>
    expect(JSON.stringify(held[0])).toBe(jsonOf(3, 0));
  const readAnother = (world: ByteStore): void => readHeld(holdOne(world).held);
  const world = packing();
  const { held, text } = holdOne(world);
  expect(await isCollected(text)).toBe(false);
  readHeld(held);
  held.length = 0;
  readAnother(packing()); // as the whole of the copy that was read last is kept
  expect(await isCollected(text)).toBe(true);
  // The core still has the base, and its text is made again.
  const old = put(world, jsonOf(2, 5)) as Thing;
  expect(copyOf(old)).toBeInstanceOf(PackedCopy);
  expect(JSON.stringify(old)).toBe(jsonOf(2, 1));
});

test('objects that are not packed are copied whole', () => {
  const random = new Random(seed);
  const world = packing();
  const unlike = (version: number): string =>
    thingOf('alien', 'b', {}, [version, ...Array.from({ length: 99 }, () => random.next())]);
  put(world, thingOf('o0', 'a', filling('a'), 1));
  const json = unlike(1);
  put(world, json);
  const old = put(world, unlike(2)) as Thing;
  expect(typeof copyOf(old)).toBe('string');
  expect(JSON.stringify(old)).toBe(json);
});

test('a host without a string of any bytes copies packed objects whole', async () => {
  const latin1Slice = Object.getOwnPropertyDescriptor(Buffer.prototype, 'latin1Slice');
  vi.resetModules();
  try {
    Object.defineProperty(Buffer.prototype, 'latin1Slice', {
      value: undefined,
      configurable: true,
    });
    const fresh = await import('../../helpers/cache/byte-store.ts');
    const { storedObjectOf: storedOf } = await import('../../../bindings/cache/bytes/lazy.ts');
    const world = new fresh.ByteStore({}, true);
    world.decoder.storedObjects.pack(true, 0);
    const jsons = [0, 1].map((version) => thingOf('o0', 'a', filling('a'), { version }));
    const ascii = [0, 1].map((version) => thingOf('o0', 'a', 'x'.repeat(400), { version }));
    put(world, thingOf('o1', 'a', filling('a'), 1));
    const held = [...jsons, ...jsons, ...ascii, ...ascii].map((json): Held => {
      put(world, json);
      return [put(world, json) as Thing, json];
    });
    for (const [object] of held) expect(storedOf(object)?.copy).not.toHaveProperty('packed');
    requireHeld(held, 'without latin1Slice');
  } finally {
    if (latin1Slice !== undefined)
      Object.defineProperty(Buffer.prototype, 'latin1Slice', latin1Slice);
    vi.resetModules();
  }
});
