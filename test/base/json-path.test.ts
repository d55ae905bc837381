/**
 * Index values that the core reads from bytes (assembly/path.ts, skip.ts) equal those of the parsed
 * document (bindings/base/json-path.ts), or the core reports that it cannot tell; it can for what
 * API servers write.
 */

import { describe, expect, test } from 'vitest';
import { parsePath, pathIndexFunc } from '../../bindings/base/json-path.ts';
import { FALLBACK } from '../../bindings/generated/abi.ts';
import { CacheCore } from '../../bindings/wasm/cache-core.ts';
import { NO_MEMORY } from '../../bindings/wasm/core.ts';
import { keyText } from '../../bindings/wasm/key-text.ts';
import { PathBlock } from '../../bindings/wasm/path-block.ts';
import { Random, testSeed } from '../helpers/random.ts';

class World {
  readonly core = new CacheCore();
  readonly x = this.core.exports;
  readonly #arena = this.x.arenaNew();
  readonly #encoder = new TextEncoder();

  /**
   * Copies a document into memory, followed by bytes that would confuse a reader that reads too
   * far.
   */
  put(text: string): [from: number, end: number] {
    const bytes = this.#encoder.encode(text);
    const at = this.x.arenaAlloc(this.#arena, bytes.length + 80, 0);
    const all = new Uint8Array(this.x.memory.buffer);
    all.fill(0x22, at, at + bytes.length + 80);
    all.set(bytes, at + 5);
    return [at + 5, at + 5 + bytes.length];
  }

  /**
   * The values under a path, sorted, without duplicates; undefined if the document must be decoded.
   */
  values(text: string, path: string): string[] | undefined {
    const { core, x } = this;
    const block = new PathBlock(core, parsePath(path));
    const index = x.indexNew();
    const answer = x.indexByPath(index, 7, block.handle, 0, ...this.put(text));
    block.dispose(core);
    const table = x.indexValues(index);
    const found = Array.from({ length: x.keysUsed(table) }, (_, slot) =>
      keyText(core, table, slot),
    );
    x.indexFree(index);
    expect([0, FALLBACK]).toContain(answer);
    if (answer === 0) return found.sort();
    expect(found).toEqual([]);
    return undefined;
  }
}

const wanted = (text: string, path: string): string[] =>
  [...new Set(pathIndexFunc(path)(JSON.parse(text) as object))].sort();

const names = [
  'a',
  'b',
  'metadata',
  'ownerReferences',
  'spec',
  'nodeName',
  'x.y/z',
  '__proto__',
  'ünï',
  'a name of more than sixteen bytes',
  '𝒩',
  '',
];
const plainScalars = [
  '"node-1"',
  '""',
  '"ü ☃ 𝒩"',
  '"a\\"b\\\\"',
  '"\\u0041\\ud83d\\ude00\\ud800"',
  'true',
  'false',
  'null',
  '0',
  '7',
  '-12',
  '123456789012345',
];
const oddScalars = [
  '-0',
  '1.0',
  '0.5',
  '1e3',
  '1E+2',
  '-1.5e-7',
  '1234567890123456',
  '9007199254740993',
  '-0.0',
  '1e400',
];
const structural = [
  '"]}{[,:"',
  '"\\\\"',
  '"\\"}"',
  '"\\\\\\"]"',
  `"${'\\\\'.repeat(40)}"`,
  `"${'\\"'.repeat(45)}{"`,
  `"${'long '.repeat(30)}"`,
];

/** A random document as text. `odd`: with forms that the core leaves to json-path.ts. */
class Documents {
  readonly #random: Random;
  readonly #odd: boolean;

  constructor(random: Random, odd: boolean) {
    this.#random = random;
    this.#odd = odd;
  }

  #space(): string {
    return this.#random.chance(0.8)
      ? ''
      : this.#random.pick([' ', '\n', '\t', '\r\n  ', ' '.repeat(70)]);
  }

  #name(): string {
    const name = this.#random.pick(names);
    if (!this.#odd || !this.#random.chance(0.04)) return `"${name}"`;
    return this.#random.pick(['"\\u0061"', '"spe\\u0063"', '"\\n"', '"a\\"b"']);
  }

  value(depth: number): string {
    const random = this.#random;
    const kind = random.int(depth > 5 ? 4 : 9);
    if (kind < 2) return random.pick(plainScalars);
    if (kind === 2) return random.pick(structural);
    if (kind === 3) return this.#odd ? random.pick(oddScalars) : random.pick(plainScalars);
    return kind < 6 ? this.#array(depth) : this.object(depth);
  }

  #array(depth: number): string {
    const elements = Array.from({ length: this.#random.int(4) }, () => this.value(depth + 1));
    return `[${this.#space()}${elements.join(`${this.#space()},${this.#space()}`)}${this.#space()}]`;
  }

  object(depth: number): string {
    const count =
      this.#odd && this.#random.chance(0.01) ? 70 + this.#random.int(60) : this.#random.int(7);
    const members = Array.from(
      { length: count },
      () => `${this.#name()}${this.#space()}:${this.#space()}${this.value(depth + 1)}`,
    );
    return `{${this.#space()}${members.join(`${this.#space()},${this.#space()}`)}${this.#space()}}`;
  }
}

/** A path that mostly exists in the document. */
function anyPath(random: Random, document: unknown): string {
  const parts: string[] = [];
  let at = document;
  for (let left = 1 + random.int(4); left > 0; left--) {
    while (Array.isArray(at) && at.length > 0) at = random.pick(at as unknown[]);
    const here =
      typeof at === 'object' && at !== null ? Object.keys(at).filter((name) => name !== '') : [];
    if (here.length === 0 && parts.length > 0 && random.chance(0.8)) break;
    const name =
      here.length > 0 && random.chance(0.9) ? random.pick(here) : random.pick(names.slice(0, -1));
    at = here.includes(name) ? (at as Record<string, unknown>)[name] : undefined;
    parts.push(name.replaceAll('.', '\\.'));
  }
  return parts.join('.');
}

describe('index values on bytes', () => {
  test.each([true, false])(
    'equal those of the parsed document: random documents, odd forms: %s',
    (odd) => {
      const seed = testSeed();
      console.log(`test/base/json-path.test.ts: CAPSTAN_SEED=${seed}`);
      const random = new Random(seed);
      const documents = new Documents(random, odd);
      const world = new World();
      let told = 0;
      let fallbacks = 0;
      for (let i = 0; i < 6_000; i++) {
        const text = documents.object(0);
        const document: unknown = JSON.parse(text);
        for (let path = 0; path < 3; path++) {
          const names = anyPath(random, document);
          const values = world.values(text, names);
          if (values === undefined) {
            fallbacks++;
            continue;
          }
          const parsed = wanted(text, names);
          if (parsed.length > 0) told++;
          if (JSON.stringify(values) !== JSON.stringify(parsed))
            expect(values, `${names} in ${text}`).toEqual(parsed);
        }
      }
      expect(told).toBeGreaterThan(odd ? 2_000 : 4_000);
      if (odd) expect(fallbacks).toBeGreaterThan(100);
      else expect(fallbacks).toBe(0);
    },
  );

  test('of objects as API servers write them need no decoding', () => {
    const pod = JSON.stringify({
      apiVersion: 'v1',
      metadata: {
        name: 'web-0',
        labels: { app: 'web', 'pod-template-hash': '5d8f', empty: '' },
        ownerReferences: [
          { kind: 'ReplicaSet', uid: 'u-1', controller: true },
          { kind: 'Other', uid: 'u-2' },
        ],
        annotations: {
          'kubectl.kubernetes.io/last-applied-configuration': '{"spec":{"nodeName":"wrong"}}\n',
        },
        generation: 3,
      },
      spec: {
        nodeName: 'node-7',
        containers: [{ ports: [{ containerPort: 80 }, { containerPort: 443 }] }],
        hostNetwork: true,
      },
      status: {},
    });
    const world = new World();
    const found = (path: string): string[] | undefined => world.values(pod, path);
    expect(found('spec.nodeName')).toEqual(['node-7']);
    expect(found('metadata.labels')).toEqual(['app=web', 'empty=', 'pod-template-hash=5d8f']);
    expect(found('metadata.labels.pod-template-hash')).toEqual(['5d8f']);
    expect(found('metadata.ownerReferences.uid')).toEqual(['u-1', 'u-2']);
    expect(found('spec.containers.ports.containerPort')).toEqual(['443', '80']);
    expect(found('spec.hostNetwork')).toEqual(['true']);
    expect(found('metadata.generation')).toEqual(['3']);
    expect(found('status.phase')).toEqual([]);
    expect(found('spec.nodeName.more')).toEqual([]);
    expect(found('metadata.annotations')).toEqual(wanted(pod, 'metadata.annotations'));
  });

  test('are left to the decoder for escapes in names and unusual numbers', () => {
    const world = new World();
    expect(world.values('{"\\u0061":1,"b":2}', 'b')).toBeUndefined();
    expect(world.values('{"b":{"\\u0061":1},"c":2}', 'c')).toEqual(['2']);
    expect(world.values('{"a":1.0}', 'a')).toBeUndefined();
    expect(world.values('{"a":-0}', 'a')).toBeUndefined();
    expect(world.values('{"a":1234567890123456}', 'a')).toBeUndefined();
    expect(world.values(`{"a":${'['.repeat(40)}${']'.repeat(40)}}`, 'a')).toBeUndefined();
    const many = Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`n${i}`, 'v']));
    expect(world.values(JSON.stringify({ a: many }), 'a')).toBeUndefined();
    delete many.n0;
    expect(world.values(JSON.stringify({ a: many }), 'a')).toHaveLength(64);
    expect(new PathBlock(world.core, ['a\ud800']).handle).toBe(0);
  });

  test('distinguish names of one length wherever they differ', () => {
    const world = new World();
    for (let length = 1; length <= 50; length++) {
      for (let at = 0; at < length; at++) {
        const name = 'n'.repeat(length);
        const other = `${name.slice(0, at)}o${name.slice(at + 1)}`;
        const text = JSON.stringify({ labels: { [name]: 'a', [other]: 'b' } });
        expect(world.values(text, `labels.${name}`)).toEqual(['a']);
        expect(world.values(text, 'labels')).toEqual([`${name}=a`, `${other}=b`]);
      }
    }
  });

  test('can continue from where the first names of the path have led', () => {
    const world = new World();
    const block = new PathBlock(world.core, [
      'metadata',
      'a name of more than sixteen bytes',
      'uid',
    ]);
    const [from, end] = world.put('{"uid":"x"}');
    expect(world.x.pathValues(block.handle, 2, from, end)).toBe(1);
    expect(world.x.pathValues(block.handle, 1, from, end)).toBe(0);
    // uid=x: the path ends at the object
    expect(world.x.pathValues(block.handle, 3, from, end)).toBe(1);
  });

  test('move an object in its index when its document changes', () => {
    const seed = testSeed();
    console.log(`test/base/json-path.test.ts: CAPSTAN_SEED=${seed}`);
    const random = new Random(seed);
    const world = new World();
    const { core, x } = world;
    const index = x.indexNew();
    const table = x.indexValues(index);
    const block = new PathBlock(core, ['v']);
    const model = new Map<number, Set<string>>();
    for (let i = 0; i < 5_000; i++) {
      const slot = random.int(40);
      const values = Array.from(
        { length: random.int(6) },
        () => `value ${random.int(25)}${random.chance(0.2) ? ' ☃' : ''}`,
      );
      const given = x.indexByPath(
        index,
        slot,
        block.handle,
        0,
        ...world.put(JSON.stringify({ v: values })),
      );
      expect(given).toBeGreaterThanOrEqual(0);
      model.set(slot, new Set(values));
      const all = new Set([...model.values()].flatMap((each) => [...each]));
      expect(x.keysUsed(table)).toBe(all.size);
      const value = random.pick([...all, 'none']);
      const found = x.keysFind(table, value);
      const slots = [...model.keys()].filter((each) => model.get(each)?.has(value)).sort();
      if (found < 0) expect(slots).toEqual([]);
      else {
        const start = x.indexSet(index, found) >>> 2;
        expect(
          [...core.words().subarray(start, start + x.indexSetCount(index, found))].sort(),
        ).toEqual(slots);
      }
    }
  });

  // A single value is stored on another path, and is freed at once if the object is not indexed.
  test.each([
    [1, 1],
    [100, 100],
  ])(
    'without memory return NO_MEMORY, and the object keeps its value: %i values',
    (count, atLeast) => {
      const world = new World();
      const { core, x } = world;
      const index = x.indexNew();
      const block = new PathBlock(core, ['v']);
      const before = world.put('{"v":"old"}');
      expect(x.indexByPath(index, 1, block.handle, 0, ...before)).toBe(0);
      const text = JSON.stringify({
        v: Array.from({ length: count }, (_, i) => `${i}${'v'.repeat(60)}`),
      });
      const [from, end] = world.put(text);
      let refused = 0;
      for (let granted = 0; ; granted++) {
        x.memoryGrant(granted);
        const answer = x.indexByPath(index, 1, block.handle, 0, from, end);
        x.memoryGrant(-1);
        if (answer !== NO_MEMORY) {
          expect([answer, x.keysUsed(x.indexValues(index))]).toEqual([1, count]);
          break;
        }
        refused++;
        x.indexAbort(index);
        expect([x.keysUsed(x.indexValues(index)), x.keysFind(x.indexValues(index), 'old')]).toEqual(
          [1, 0],
        );
      }
      expect(refused).toBeGreaterThan(atLeast);
    },
  );
});
