/**
 * `spec` and `status` are read in parts: each member is found in the bytes and decoded when it is
 * first read. The values must equal those of JSON.parse for any members, and at any time: while the
 * object is stored, after it was replaced or deleted, and after its bytes were moved. The documents
 * are random; the seed is printed.
 */
import assert from 'node:assert/strict';
import { describe, expect, test } from 'vitest';
import { storedObjectOf } from '../../../bindings/cache/bytes/lazy.ts';
import { ByteStore, bytes, expected, type Thing } from '../../helpers/cache/byte-store.ts';
import { Random, testSeed } from '../../helpers/random.ts';
import { RandomDocuments } from '../decode/documents.ts';
import { expectReadOnly, expectSameAsParsed } from '../decode/same-as-parsed.ts';
import { asShown } from '../decode/shown-object.ts';

const seed = testSeed();
console.log(`test/cache/bytes/lazy-members.test.ts: CAPSTAN_SEED=${seed}`);

type Members = Record<string, unknown>;
type Large = Thing & { spec: Members; status: Members };

const isObject = (value: unknown): value is Members => typeof value === 'object' && value !== null;

/** As long as an object must be to be read in parts. */
const LARGE = 256;

/**
 * Whether its members are decoded one by one; a value that was decoded whole has none that are
 * accessors.
 */
function isLazy(object: object): boolean {
  return Object.values(Object.getOwnPropertyDescriptors(object)).some(
    ({ get }) => get !== undefined,
  );
}

/** Whether an object's text has all it needs to be read in parts. */
function canBeLazy(text: string): boolean {
  if (text[0] !== '{' || bytes(text).length < LARGE) return false;
  const names: string[] = [];
  let rest = text.slice(1, -1);
  // The names of the outermost members: what is around a value that parses.
  while (rest.trim() !== '') {
    const [, name = '', colon = ''] = /^\s*"((?:[^"\\]|\\.)*)"(\s*:)/.exec(rest) ?? [];
    rest = rest.slice(rest.indexOf('"') + name.length + 2 + colon.length);
    rest = rest.slice(valueLength(rest)).replace(/^\s*,/, '');
    names.push(name);
  }
  const isOdd =
    names.some((name) => name.includes('\\') || name === '__proto__') ||
    new Set(names).size < names.length;
  return !isOdd && names.length > 0 && names.length <= 64;
}

/** How long the value is that a text of members begins with, by brackets outside of strings. */
function valueLength(text: string): number {
  let depth = 0;
  let inText = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i] as string;
    if (inText) {
      if (c === '\\') i++;
      else if (c === '"') inText = false;
    } else if (c === '"') inText = true;
    else if ('{['.includes(c)) depth++;
    else if ('}]'.includes(c)) depth--;
    else if (c === ',' && depth === 0) return i;
  }
  return text.length;
}

const textOf = (name: string, spec: string, status: string, version = 1): string =>
  `{"kind":"Thing","apiVersion":"v1","metadata":{"name":"${name}","namespace":"n","resourceVersion":"${version}"},` +
  `"spec":${spec} ,"status": ${status}}`;

function sizeOf(random: Random): number {
  return random.chance(0.2)
    ? LARGE - 20 + random.int(40)
    : 200 + random.int(random.chance(0.1) ? 5000 : 900);
}

/** A failure says which text it was. */
function about(text: string, judge: () => void): void {
  try {
    judge();
  } catch (cause) {
    throw new Error(`${(cause as Error).message}\n  of ${JSON.stringify(text)}`, { cause });
  }
}

const shownOf = (text: string): unknown => asShown<unknown>(JSON.parse(text), expected);

/** All that can be asked of an object that JSON.parse gives frozen. */
function requireLikeParsed(object: unknown, parsed: unknown): void {
  expectSameAsParsed(object, parsed);
  if (!isObject(object)) return;
  expectReadOnly(object);
  assert.ok(Object.isFrozen(object), 'frozen');
  assert.equal(Object.getPrototypeOf(object), Object.getPrototypeOf(parsed), 'prototype');
  const enumerable = Object.getOwnPropertySymbols(object).filter((s) =>
    Object.prototype.propertyIsEnumerable.call(object, s),
  );
  assert.deepEqual(enumerable, [], 'symbols');
  assert.deepEqual(Object.getOwnPropertyNames(object), Object.getOwnPropertyNames(parsed), 'names');
  for (const [name, { enumerable, configurable, set, writable }] of Object.entries(
    Object.getOwnPropertyDescriptors(object),
  )) {
    assert.deepEqual(
      [enumerable, configurable, set, writable ?? false],
      [true, false, undefined, false],
      name,
    );
    assert.equal(object[name], object[name], `${name} is the same each time`);
  }
}

describe('an object that is read in parts', () => {
  test('is as parsed, whatever its members are', () => {
    const documents = new RandomDocuments(new Random(seed));
    const { random } = documents;
    let world = new ByteStore();
    const seen = { lazy: 0, whole: 0, odd: 0, 'beyond ASCII': 0 };
    for (let i = 0; i < 500; i++) {
      // beyond 256 sets of names none is kept any more, see below
      if (i % 100 === 0) world = new ByteStore();
      const members = random.chance(0.15) ? random.pick([63, 64, 65, 66, 100]) : undefined;
      const make = (): string =>
        documents.large(sizeOf(random), members === undefined ? {} : { members });
      const text = textOf('a', make(), make(), i);
      about(text, () => {
        const object = world.object(text) as Large;
        const parsed = JSON.parse(text) as Large;
        assert.ok(storedObjectOf(object), 'kept as bytes');
        const parts = ['spec', 'status'] as const;
        for (const part of random.chance(0.5) ? parts : [...parts].reverse()) {
          assert.equal(object[part], object[part], `${part} is one object each time`);
          requireLikeParsed(object[part], parsed[part]);
          seen[isLazy(object[part]) ? 'lazy' : 'whole']++;
        }
        expectSameAsParsed(object, parsed);
        const [, spec = '', status = ''] = /"spec":(.*) ,"status": (.*)\}$/s.exec(text) ?? [];
        for (const [part, value] of [
          ['spec', spec],
          ['status', status],
        ] as const) {
          assert.equal(isLazy(object[part]), canBeLazy(value), `${part} is read in parts`);
          if (bytes(value).length >= LARGE && !canBeLazy(value)) seen.odd++;
          if (bytes(value).length > value.length) seen['beyond ASCII']++;
        }
      });
      world.store.settle();
    }
    console.log(`of 500 documents: ${JSON.stringify(seen)}`);
    for (const [what, times] of Object.entries(seen)) expect(times, what).toBeGreaterThan(40);
  });

  test.each<[string, string, boolean]>([
    ['64 members', many(64), true],
    ['65 members', many(65), false],
    ['64 members and one twice', `${many(63).slice(0, -1)},"m0":"again"}`, false],
    ['one twice', `{"a":1,"b":"${'x'.repeat(300)}","a":{"c":2}}`, false],
    ['one twice, by an escape', `{"a":1,"b":"${'x'.repeat(300)}","\\u0061":{"c":2}}`, false],
    ['an own __proto__', `{"__proto__":{"x":1},"b":"${'x'.repeat(300)}"}`, false],
    [
      'names like integers',
      `{"b":"${'x'.repeat(300)}","10":1,"01":2,"1":3,"":4,"4294967295":5,"4294967294":6}`,
      true,
    ],
    ['no name but the empty one', `{"":["${'x'.repeat(300)}"]}`, true],
    ['nothing but space', `{${' \n\t\r'.repeat(80)}}`, false],
    ['a last word', `{"b":"${'x'.repeat(300)}","c":-0,"d":1E+2,"e":null }`, true],
    ['a last number against the brace', `{"b":"${'x'.repeat(300)}","c":-0.5e-3}`, true],
    [
      'space around every token',
      `{ \n"b" \t: \r"${'x'.repeat(300)}" , "c"\n:\n[ ]\t,\t"d" : { } , "e" : 1 \n}`,
      true,
    ],
    ['256 bytes', `{"b":"${'x'.repeat(256 - 8)}"}`, true],
    ['255 bytes', `{"b":"${'x'.repeat(255 - 8)}"}`, false],
    ['256 bytes of fewer characters', `{"b":"${'é'.repeat((256 - 8) / 2)}"}`, true],
    ['an array', `[${'1,'.repeat(300)}1]`, false],
    ['a string', `"{${'x'.repeat(300)}}"`, false],
    ['names too long to be kept', `{"${'n'.repeat(4000)}":1,"${'m'.repeat(200)}":2}`, false],
    [
      'names that differ in their last byte',
      `{"${'n'.repeat(200)}1":1,"${'n'.repeat(200)}2":2}`,
      true,
    ],
    [
      'a name of another object in front of it',
      `{"spec":{"spec":1},"kind":"x${'x'.repeat(300)}","metadata":[]}`,
      true,
    ],
    [
      '2000 levels',
      `{"a":${new RandomDocuments(new Random(1)).nested(2000)},"b":"${'x'.repeat(20)}"}`,
      true,
    ],
  ])('%s', (_, spec, lazy) => {
    const world = new ByteStore();
    const text = textOf('a', spec, spec);
    const object = world.object(text) as Large;
    expect(storedObjectOf(object)).toBeDefined();
    expect(isLazy(object.spec as object)).toBe(lazy);
    world.store.add(object);
    const read = world.store.getByKey('n/a') as Large;
    world.store.add(world.object(textOf('a', '1', '2')));
    const parsed = JSON.parse(text) as Large;
    for (const one of [object, read]) {
      expect(Object.keys(one.spec)).toEqual(Object.keys(parsed.spec));
      expect(JSON.stringify(one)).toBe(JSON.stringify(parsed));
      if (!text.includes('[[') && !text.includes('{"a":[')) requireLikeParsed(one, parsed);
    }
  });

  test('has strings that end in any number of backslashes, wherever in the bytes', () => {
    const world = new ByteStore();
    for (let slashes = 0; slashes < 140; slashes++) {
      const value = `${'\\\\'.repeat(slashes)}`;
      for (const quote of ['', '\\"']) {
        const pad = 'p'.repeat(slashes % 67);
        const nested = `[{"x":"${pad}${value}${quote}"},"${value}${quote}",["]}","${quote}${value}"]]`;
        const text = textOf(
          'a',
          `{"a":${nested},"b}":"${value}${quote}","c":"{[${value}","d":${nested},"e":"${'x'.repeat(200)}"}`,
          '1',
        );
        const object = world.object(text) as Large;
        expect(isLazy(object.spec)).toBe(true);
        assert.deepEqual(object, JSON.parse(text));
      }
      world.store.settle();
    }
  });

  test('keeps an identity, and its members theirs, when it is replaced between two looks', () => {
    const documents = new RandomDocuments(new Random(seed));
    const world = new ByteStore();
    const spec = (): string => documents.large(300, { odd: false, name: 'deep' });
    for (let version = 1; version < 100; version++) {
      const text = textOf('a', spec(), spec(), version);
      const object = world.object(text) as Large;
      world.store.exchange(object, false);
      const { spec: before } = object;
      const names = Object.keys(before);
      const some = names.filter((_, i) => i % 2 === 0).map((name) => [name, before[name]] as const);
      world.store.exchange(world.object(textOf('a', '1', '1', version)), false);
      expect(storedObjectOf(object)).toBeDefined();
      assert.equal(object.spec, before);
      for (const [name, value] of some) assert.ok(Object.is(before[name], value), name);
      for (const name of names) assert.ok(Object.is(before[name], before[name]), name);
      about(text, () => expectSameAsParsed(object, JSON.parse(text)));
    }
  });
});

// As for the object itself: a member that was `undefined` there would be an answer, and a wrong
// one.
test('reading a part through a Proxy or copied accessors is an error', () => {
  const world = new ByteStore();
  const spec = `{"a":"${'x'.repeat(300)}","b":{"c":1}}`;
  const { spec: part } = world.object(textOf('a', spec, '1')) as Large;
  const copied: Members = Object.defineProperties({}, Object.getOwnPropertyDescriptors(part));
  for (const other of [new Proxy(part, {}), copied]) {
    expect(() => other.b).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  }
  expect(Object.create(part).b).toBe(part.b);
  expect({ ...part }).toStrictEqual(JSON.parse(spec));
  expect(Object.assign({}, part)).toStrictEqual(JSON.parse(spec));
});

function many(members: number): string {
  return `{${Array.from({ length: members }, (_, i) => `"m${i}":"value ${i}"`).join(',')}}`;
}

/** What somebody holds of a store, with what it must stay. */
interface Held {
  readonly value: unknown;
  readonly parsed: unknown;
}

/** Random work on a store whose objects are held and read in parts, now and later. */
class Readers {
  readonly documents: RandomDocuments;
  readonly #random: Random;
  #world: ByteStore | undefined = new ByteStore({ namespace: 'metadata.namespace' });
  readonly #model = new Map<string, string>();
  readonly #held: Held[] = [];
  #version = 0;
  /** Addresses of versions, to know that they move. */
  readonly #addresses = new Map<object, number>();
  moved = 0;
  readsOfCopies = 0;

  constructor(random: Random) {
    this.#random = random;
    this.documents = new RandomDocuments(random);
  }

  step(): void {
    const random = this.#random;
    const kind = random.int(12);
    const { store, decoder } = this.#world as ByteStore;
    const name = `o${random.int(30)}`;
    const key = `n/${name}`;
    if (kind < 4) {
      const size = random.chance(0.05) ? random.int(60_000) : sizeOf(random);
      const text = textOf(
        name,
        this.documents.large(size),
        this.documents.large(sizeOf(random)),
        ++this.#version,
      );
      const before = this.#model.get(key);
      const noListeners = random.chance(0.3);
      const object = (this.#world as ByteStore).object(text);
      if (!noListeners) this.#hold(object, JSON.parse(text));
      const old = store.exchange(object, noListeners);
      if (!noListeners && before !== undefined) this.#hold(old, JSON.parse(before));
      this.#model.set(key, text);
    } else if (kind === 4) {
      const text =
        this.#model.get(key) ?? textOf(name, this.documents.large(300), '{}', ++this.#version);
      const object = (this.#world as ByteStore).object(text);
      store.delete(object);
      this.#hold(object, JSON.parse(text));
      this.#model.delete(key);
    } else if (kind === 5) {
      const text = this.#model.get(key);
      if (text !== undefined) this.#hold(store.getByKey(key), JSON.parse(text));
    } else if (kind === 6) {
      store.settle();
    } else if (kind === 7 && random.chance(0.1)) {
      decoder.gather(true);
      const kept = [...this.#model].filter(() => random.chance(0.7));
      const page = decoder.page();
      page.push(bytes(`{"items":[${kept.map(([, text]) => text).join(',')}],"metadata":{}}`));
      const { items } = page.end();
      page.close();
      decoder.gather(false);
      store.replace(items, '1');
      this.#model.clear();
      for (const [i, [key, text]] of kept.entries()) {
        this.#model.set(key, text);
        this.#hold(items[i], JSON.parse(text));
      }
    } else this.read();
    this.#look();
  }

  /** Whether blocks have moved since the last look. */
  #look(): void {
    const { core, storedObjects } = (this.#world as ByteStore).decoder;
    for (const { value } of this.#held) {
      const version = isObject(value) ? storedObjectOf(value) : undefined;
      if (version === undefined || version.id < 0) continue;
      const at = core.exports.objectAt(storedObjects.handle, version.id);
      if ((this.#addresses.get(version) ?? at) !== at) this.moved++;
      this.#addresses.set(version, at);
    }
  }

  #hold(value: unknown, parsed: unknown): void {
    if (this.#held.length < 200) this.#held.push({ value, parsed });
    else this.#held[this.#random.int(200)] = { value, parsed };
  }

  /** One member of something that is held, which is held from then on. */
  read(): void {
    const random = this.#random;
    if (this.#held.length === 0) return;
    const { value, parsed } = random.pick(this.#held);
    if (!isObject(value) || !isObject(parsed) || Object.keys(parsed).length === 0) {
      assert.deepEqual(value, parsed);
      return;
    }
    const version = storedObjectOf(value);
    if (version !== undefined && version.id < 0) this.readsOfCopies++;
    const name = random.pick(Object.keys(parsed));
    if (isObject(parsed[name])) this.#hold(value[name], parsed[name]);
    else
      assert.ok(
        Object.is(value[name], parsed[name]),
        `${name} of ${JSON.stringify(parsed)}: ${String(value[name])}`,
      );
  }

  /** The store goes; what is held is read on. */
  finish(): void {
    const { store } = this.#world as ByteStore;
    for (const [key, text] of this.#model)
      about(text, () => assert.deepEqual(store.getByKey(key), JSON.parse(text)));
    if (this.#random.chance(0.5)) {
      store.replace([], '');
      store.settle();
      assert.equal(store.bytes().live, 0);
    }
    this.#world = undefined;
    for (let i = 0; i < 100; i++) this.read();
    for (const { value, parsed } of this.#held) {
      assert.equal(JSON.stringify(value), JSON.stringify(parsed));
      assert.deepEqual(value, parsed);
    }
  }
}

describe('members that are read', () => {
  test('at any moment are as parsed, of whatever is held', () => {
    let moved = 0;
    let copies = 0;
    for (let round = 0; round < 30; round++) {
      const readers = new Readers(new Random((seed + round) >>> 0));
      for (let i = 0; i < 500; i++) readers.step();
      readers.finish();
      moved += readers.moved;
      copies += readers.readsOfCopies;
    }
    console.log(
      `30 rounds of 500 steps: ${moved} moves, ${copies} reads of objects that had left the core`,
    );
    expect(moved).toBeGreaterThan(10);
    expect(copies).toBeGreaterThan(500);
  });

  const moments: Record<string, (world: ByteStore, object: Thing) => void> = {
    'while it is staged': () => undefined,
    'when nobody has stored it': (w) => w.store.settle(),
    'while it is stored': (w, object) => void w.store.exchange(object, false),
    'when it has been replaced': (w, object) => {
      w.store.exchange(object, false);
      w.store.exchange(w.object(textOf('a', '1', '2', 2)), false);
    },
    'when it has been replaced by the slow way': (w, object) => {
      w.store.add(object);
      w.store.add(w.object(textOf('a', '1', '2', 2)));
    },
    'when what replaced it came untold': (w, object) => {
      w.store.exchange(object, false);
      w.store.exchange(w.object(textOf('a', '1', '2', 2)), true);
    },
    'when a decoded object has replaced it': (w, object) => {
      w.store.exchange(object, false);
      w.store.exchange(JSON.parse(textOf('a', '1', '2', 2)) as Thing, false);
    },
    'when it has been deleted': (w, object) => {
      w.store.exchange(object, false);
      w.store.delete(object);
    },
    'when a list without it has come': (w, object) => {
      w.store.exchange(object, false);
      w.store.replace([], '9');
    },
    'when its place has been taken by others': (w, object) => {
      w.store.exchange(object, false);
      w.store.delete(object);
      for (let i = 0; i < 50; i++)
        w.store.exchange(w.object(textOf(`b${i}`, `"${'y'.repeat(50 * i)}"`, '2', 2)), false);
    },
  };
  const kinds = [
    ['ASCII', true],
    ['beyond ASCII', false],
  ] as const;

  test.each(
    Object.keys(moments).flatMap((moment) =>
      kinds.map(([kind, ascii]) => [moment, kind, ascii] as const),
    ),
  )(
    'first %s are as parsed, and so are those of an object that was made before, of %s',
    (moment, _, ascii) => {
      const documents = new RandomDocuments(new Random(seed));
      for (let i = 0; i < 20; i++) {
        const make = (): string =>
          documents.large(300 + documents.random.int(1000), { odd: false, ascii });
        const text = textOf(
          'a',
          make(),
          `{"é":"${ascii ? '' : 'ü'}${'s'.repeat(300)}","b":[1],"c":{"d":{}}}`.replace(
            'é',
            ascii ? 'e' : 'é',
          ),
        );
        about(text, () => {
          const world = new ByteStore({ name: 'metadata.name' });
          const object = world.object(text) as Large;
          const parsed = JSON.parse(text) as Large;
          assert.ok(isLazy(object.spec)); // spec is made now, status is not
          const names = Object.keys(parsed.spec);
          for (const name of names.filter(() => documents.random.chance(0.3)))
            void object.spec[name];
          moments[moment]?.(world, object);
          for (const name of names.filter(() => documents.random.chance(0.5))) {
            assert.deepEqual(object.spec[name], parsed.spec[name]);
          }
          requireLikeParsed(object.status, parsed.status);
          requireLikeParsed(object, parsed);
        });
      }
    },
  );

  test('keep text beyond ASCII when a similar update is replaced', () => {
    const random = new Random(seed);
    // Members that are like those of the stored object are not scanned again, where it would have
    // been seen whether they are ASCII.
    const world = new ByteStore();
    const words = ['a', 'b', 'c', 'd', 'e', 'f'];
    const held: [Large, string][] = [];
    for (let version = 1; version < 1000; version++) {
      const word = random.pick([
        'a',
        'ab',
        'é',
        'éa',
        'aé',
        '😀',
        '\\u00e9',
        '日本',
        'x'.repeat(20),
        `é${'x'.repeat(20)}`,
      ]);
      if (random.chance(0.1)) words.fill(word);
      else words[random.int(words.length)] = random.chance(0.5) ? word : 'a';
      const [a, b, c, d, e, f] = words;
      const fill = 'x'.repeat(300);
      const spec = `{"a":"${a}","b":["${b}",1,{"c":"${c}10"}],"fill":"${fill}"}`;
      const status = `{"d":[{"e":"${d}"},2],"f":"${e}","fill":"${fill}","g":"${f}"}`;
      const text = textOf('a', spec, status, version);
      const object = world.object(text) as Large;
      if (random.chance(0.5)) void object.spec.a;
      if (random.chance(0.3)) void object.status;
      world.store.exchange(object, false);
      held.push([object, text]);
    }
    for (const [object, text] of held)
      about(text, () => assert.deepEqual(object, JSON.parse(text)));
  });
});

describe('sets of names', () => {
  const named = (i: number, version: number): string =>
    textOf(
      `o${i}`,
      `{"s${i}":"${'x'.repeat(300)}","n":{"v":${version}}}`,
      `{"t${i}":[${i}],"l":"${'é'.repeat(150)}"}`,
      version,
    );

  test('of any number are read correctly, and leave room for those of whole objects', () => {
    const world = new ByteStore();
    const { store } = world;
    let lazy = 0;
    for (const version of [1, 2]) {
      for (let i = 0; i < 1200; i++) {
        const text = named(i, version);
        const object = world.object(text) as Large;
        expect(storedObjectOf(object), `object ${i} is kept as bytes`).toBeDefined();
        assert.deepEqual(object, JSON.parse(text));
        for (const part of [object.spec, object.status]) if (isLazy(part)) lazy++;
        store.exchange(object, false);
      }
    }
    expect(lazy).toBeGreaterThan(2 * 200);
    expect(lazy).toBeLessThan(2 * 256);
    // Objects and metadata with names of their own, each two sets more.
    for (let i = 0; i < 350; i++) {
      const text = `{"metadata":{"name":"w${i}","l${i}":1},"x${i}":2,"spec":{"y":"${'x'.repeat(300)}"}}`;
      const object = world.object(text);
      expect(
        storedObjectOf(object),
        `object ${i} with names of its own is kept as bytes`,
      ).toBeDefined();
      store.exchange(object, false);
    }
    for (let i = 0; i < 1200; i++)
      assert.deepEqual(store.getByKey(`n/o${i}`), JSON.parse(named(i, 2)));
  });

  test('that have no room any more leave objects what they are', () => {
    const world = new ByteStore();
    const texts = Array.from(
      { length: 1100 },
      (_, i) =>
        `{"metadata":{"name":"w${i}"},"x${i}":2,"spec":{"y${i}":"${'x'.repeat(300)}"},"status":{"z":"${'x'.repeat(300)}"}}`,
    );
    let kept = 0;
    for (const text of texts) {
      const object = world.object(text);
      if (storedObjectOf(object) !== undefined) kept++;
      if (kept % 2 === 0) assert.deepEqual(object, shownOf(text));
      world.store.exchange(object, false);
    }
    expect(kept).toBeGreaterThan(1024 - 300);
    for (const text of texts) {
      const { metadata } = JSON.parse(text) as Thing;
      assert.deepEqual(world.store.getByKey(metadata.name), shownOf(text));
    }
  });

  test('are the same at the top and inside', () => {
    const world = new ByteStore();
    const inner = `{"metadata":{"name":"a"},"spec":{"x":1},"status":"${'x'.repeat(300)}"}`;
    const text = `{"metadata":{"name":"a"},"spec":${inner},"status":${inner}}`;
    const object = world.object(text) as Large;
    requireLikeParsed(object, shownOf(text));
    expect(isLazy(object.spec)).toBe(true);
    expect(storedObjectOf(object.spec), 'a part is no object of the store').toBeUndefined();
    expect(storedObjectOf(object.spec.metadata as object)).toBeUndefined();
    world.store.add(object);
    // named like an object: it is kept as a plain one
    world.store.add(object.spec as unknown as Thing);
    expect(world.store.size()).toBe(1);
    requireLikeParsed(world.store.getByKey('a'), JSON.parse(inner));
    requireLikeParsed(object, shownOf(text));
  });
});

describe('memory', () => {
  test('that ends while members are read changes nothing of what they are', () => {
    const documents = new RandomDocuments(new Random(seed));
    let refused = 0;
    for (let granted = 0; granted < 4; granted++) {
      for (let i = 0; i < 60; i++) {
        const world = new ByteStore();
        const { exports: x } = world.decoder.core;
        const make = (): string =>
          documents.large(400, { odd: false, members: 1 + documents.random.int(30) });
        const text = textOf('a', make(), make());
        const parsed = JSON.parse(text) as Large;
        const object = world.object(text) as Large;
        world.store.exchange(object, false);
        x.memoryGrant(granted);
        const { spec } = object;
        if (!isLazy(spec)) refused++;
        for (const name of Object.keys(parsed.spec).filter((_, n) => n % 2 === 0)) {
          assert.deepEqual(spec[name], parsed.spec[name]);
        }
        world.store.delete(object); // takes no memory, and its bytes go
        assert.deepEqual(object, parsed);
        x.memoryGrant(-1);
        about(text, () => requireLikeParsed(object, parsed));
        const again = world.object(text) as Large;
        expect(isLazy(again.spec), 'when there is memory again').toBe(true);
        requireLikeParsed(again, parsed);
      }
    }
    expect(refused, 'reads that found no memory').toBeGreaterThan(50);
  });
});
