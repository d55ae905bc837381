/**
 * Memory of objects that went is used for those that come, whatever their sizes: what a store takes
 * stays near what its objects have. The seed is printed.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import type { FrameReader } from '../../../bindings/cache/decode/decoder.ts';
import { Indexer } from '../../../bindings/cache/store/store.ts';
import { Random, testSeed } from '../../helpers/random.ts';

const seed = testSeed();
console.log(`memory of bytes: CAPSTAN_SEED=${seed}`);

interface Thing {
  metadata: { name: string; resourceVersion: string };
  spec: string;
}

const kind = { apiVersion: 'v1', kind: 'Thing' };
const OBJECTS = 20_000;
const BYTES = 3_400;

class World {
  readonly store = new Indexer<Thing>(undefined, { byNode: 'spec.node' }, kind);
  readonly random = new Random(seed);
  readonly sizes = new Map<string, number>();
  readonly #frames: FrameReader<Thing> = this.store.decoder(kind, { pack: false }).frames();
  #version = 0;

  put(name: string, bytes: number): void {
    const head = `{"type":"ADDED","object":{"metadata":{"name":"${name}","resourceVersion":"${++this.#version}"},"spec":"`;
    const chunk = Buffer.alloc(head.length + bytes + 3, 'x');
    chunk.write(head, 0, 'latin1');
    chunk.write('"}}', head.length + bytes, 'latin1');
    this.#frames.push(chunk);
    const frame = this.#frames.next();
    if (frame?.type !== 'ADDED') throw new Error(`expected an object, got ${frame?.type}`);
    this.store.add(frame.object);
    this.sizes.set(name, bytes);
  }

  remove(name: string): void {
    this.store.delete(this.store.getByKey(name) as Thing);
    this.sizes.delete(name);
  }

  share(): number {
    const { live, total } = this.store.bytes();
    return total / live;
  }

  /** A look at some objects: they are what was put. */
  check(): void {
    expect(this.store.size()).toBe(this.sizes.size);
    for (const [name, bytes] of this.sizes) {
      if (!this.random.chance(0.02)) continue;
      const { spec } = this.store.getByKey(name) as Thing;
      expect(spec.length === bytes && /^x*$/.test(spec), `${name} of ${bytes}`).toBe(true);
    }
  }
}

describe('memory of a store of 20 000 objects of 3.4 KB', () => {
  const world = new World();
  const { store, random } = world;

  beforeAll(() => {
    for (let i = 0; i < OBJECTS; i++)
      world.put(`o${i}`, Math.round(BYTES * (0.8 + 0.4 * random.next())));
  });

  test('stays within 25 % of the live bytes when 90 % went and as much came in other sizes', () => {
    const { live } = store.bytes();
    expect(live).toBeGreaterThan(OBJECTS * BYTES * 0.95);
    for (const name of [...world.sizes.keys()]) if (random.chance(0.9)) world.remove(name);
    expect(store.bytes().live).toBeLessThan(live * 0.12);
    for (let i = 0; store.bytes().live < live; i++) {
      // From small to large, on a logarithmic scale: no hole has the size that is asked for.
      world.put(`n${i}`, Math.round(100 * 400 ** random.next()));
    }
    const share = world.share();
    console.log(`after 90 % went and others came: ${share.toFixed(3)} of the live bytes`);
    expect(share).toBeLessThan(1.25);
    world.check();
  });

  test('stays within 15 % of them through 200 000 random updates', () => {
    const names = [...world.sizes.keys()];
    let most = 0;
    for (let i = 0; i < 200_000; i++) {
      const name = random.pick(names);
      world.put(name, Math.round((world.sizes.get(name) as number) * (0.9 + 0.2 * random.next())));
      if (i % 10_000 === 9_999) most = Math.max(most, world.share());
    }
    console.log(
      `through 200 000 updates: ${most.toFixed(3)} at most, ${world.share().toFixed(3)} at the end`,
    );
    expect(world.share()).toBeLessThan(1.15);
    world.check();
  });

  test('is given back to the core when all objects have gone', () => {
    for (const name of [...world.sizes.keys()]) world.remove(name);
    const { live, total } = store.bytes();
    expect(live).toBe(0);
    expect(total).toBeLessThan((OBJECTS * BYTES) / 20);
  });
});
