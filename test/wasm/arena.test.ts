/**
 * assembly/arena.ts: blocks keep their bytes when they move, and released memory is used again, for
 * blocks of any size. The arena's own check of its invariants (assembly/arena-check.ts) runs
 * between random operations.
 */
import { describe, expect, test } from 'vitest';
import { CacheCore } from '../../bindings/wasm/cache-core.ts';
import { Random, testSeed } from '../helpers/random.ts';

/** An arena, and a record of what must be in it. */
class World {
  readonly x = new CacheCore().exports;
  readonly arena = this.x.arenaNew();
  readonly sizes = new Map<number, number>(); // bytes by owner
  readonly #marks = new Map<number, number>();
  #mark = 0;
  live = 0;

  bytes(): Uint8Array {
    return new Uint8Array(this.x.memory.buffer);
  }

  /** Fills a block with a pattern of its own. */
  fill(owner: number, bytes: number, at: number): void {
    const mark = ++this.#mark & 0xff;
    this.bytes().fill(mark, at, at + bytes);
    this.live += bytes - (this.sizes.get(owner) ?? 0);
    this.sizes.set(owner, bytes);
    this.#marks.set(owner, mark);
  }

  /** Returns false if there is no memory. */
  put(owner: number, bytes: number): boolean {
    const at = this.x.arenaAlloc(this.arena, bytes, owner) >>> 0;
    if (at === 0) return false;
    expect([at % 8, this.x.arenaAt(this.arena, owner) >>> 0, this.x.arenaOwner(at)]).toEqual([
      0,
      at,
      owner,
    ]);
    expect(this.x.arenaSize(at)).toBeGreaterThanOrEqual(bytes);
    this.fill(owner, bytes, at);
    return true;
  }

  remove(owner: number): void {
    this.x.arenaRelease(this.arena, this.x.arenaAt(this.arena, owner));
    expect(this.x.arenaAt(this.arena, owner)).toBe(0);
    this.live -= this.sizes.get(owner) as number;
    this.sizes.delete(owner);
  }

  handOn(owner: number, to: number): void {
    const at = this.x.arenaAt(this.arena, owner);
    expect(this.x.arenaSetOwner(this.arena, at, to)).toBe(1);
    this.sizes.set(to, this.sizes.get(owner) as number);
    this.#marks.set(to, this.#marks.get(owner) as number);
    this.sizes.delete(owner);
  }

  get total(): number {
    return this.x.arenaTotal(this.arena) >>> 0;
  }

  /** Bytes of segments for each byte that was allocated and not released. */
  get share(): number {
    return this.total / this.live;
  }

  check(): void {
    expect(this.x.arenaCheck(this.arena)).toBe(0);
  }

  /** Every byte of every block is what was written. */
  checkBytes(): void {
    const all = this.bytes();
    for (const [owner, bytes] of this.sizes) {
      const at = this.x.arenaAt(this.arena, owner) >>> 0;
      const mark = this.#marks.get(owner) as number;
      let wrong = -1;
      for (let i = 0; i < bytes && wrong < 0; i++) if (all[at + i] !== mark) wrong = i;
      if (wrong >= 0)
        expect.fail(`block of ${bytes} bytes of owner ${owner}: byte ${wrong} was changed`);
    }
    expect(this.x.arenaLive(this.arena) >>> 0).toBeGreaterThanOrEqual(this.live);
  }
}

/** A size as in caches: mostly a few KB, some tiny, some large, and a few longer than a segment. */
function anySize(random: Random): number {
  const kind = random.int(100);
  if (kind < 10) return random.int(40);
  if (kind < 60) return 500 + random.int(4_000);
  if (kind < 90) return random.int(300);
  if (kind < 98) return 10_000 + random.int(60_000);
  return 100_000 + random.int(600_000);
}

describe('the arena', () => {
  test('keeps bytes and invariants through random allocations, releases and owner changes', () => {
    const seed = testSeed();
    console.log(`test/wasm/arena.test.ts: CAPSTAN_SEED=${seed}`);
    const random = new Random(seed);
    let moved = 0;
    for (let round = 0; round < 6; round++) {
      const world = new World();
      const owners = 30 * 4 ** (round % 3);
      for (let i = 0; i < 3_000; i++) {
        const owner = random.int(owners);
        const has = world.sizes.has(owner);
        const other = random.int(owners * 40);
        // In some phases more is released than allocated. That makes holes, which slides then join.
        if (has && random.chance(i % 1_000 < 300 ? 0.6 : 0.2)) world.remove(owner);
        else if (has && random.chance(0.1) && !world.sizes.has(other)) world.handOn(owner, other);
        else if (has && random.chance(0.5)) {
          const bytes = Math.round(
            (world.sizes.get(owner) as number) * (0.9 + random.next() * 0.2),
          );
          expect(world.put(owner, bytes)).toBe(true);
        } else expect(world.put(owner, anySize(random))).toBe(true);
        if (i % 7 === 0) world.check();
        if (i % 500 === 499) world.checkBytes();
      }
      world.checkBytes();
      moved += world.x.arenaMoved(world.arena);
      for (const owner of [...world.sizes.keys()]) world.remove(owner);
      world.check();
      expect([world.x.arenaLive(world.arena), world.total <= 1 << 20]).toEqual([0, true]);
    }
    expect(moved).toBeGreaterThan(100_000);
  });

  test('returns 0 without memory for a block, and every owner keeps its bytes', () => {
    const seed = testSeed();
    console.log(`test/wasm/arena.test.ts: CAPSTAN_SEED=${seed}`);
    const random = new Random(seed);
    const world = new World();
    let refused = 0;
    for (let i = 0; i < 4_000; i++) {
      const owner = random.int(3_000);
      if (world.sizes.has(owner) && random.chance(0.4)) {
        world.remove(owner);
        continue;
      }
      world.x.memoryGrant(random.int(2));
      if (!world.put(owner, anySize(random))) {
        refused++;
        world.check();
      }
      world.x.memoryGrant(-1);
      if (random.chance(0.01)) world.checkBytes();
    }
    world.checkBytes();
    expect(refused).toBeGreaterThan(10);
    world.x.memoryGrant(0);
    expect(
      world.x.arenaSetOwner(
        world.arena,
        world.x.arenaAt(world.arena, [...world.sizes.keys()][0] as number),
        1e6,
      ),
    ).toBe(0);
    world.x.memoryGrant(-1);
    expect(world.x.arenaAlloc(world.arena, 0x7fffffff, 1)).toBe(0);
    world.check();
  });

  test('returns all of its memory when it is freed', () => {
    const world = new World();
    const use = (): number => {
      world.x.memoryLimit(world.x.memoryPages());
      const arena = world.x.arenaNew();
      for (let i = 0; i < 300; i++) expect(world.x.arenaAlloc(arena, 5_000 + i, i * 7)).not.toBe(0);
      for (let i = 0; i < 300; i += 2) world.x.arenaRelease(arena, world.x.arenaAt(arena, i * 7));
      world.x.arenaFree(arena);
      return world.x.memoryPages();
    };
    for (let i = 0; i < 300; i++) world.put(i, 8_000); // enough pages for all that follows
    for (const owner of [...world.sizes.keys()]) world.remove(owner);
    const pages = use();
    for (let i = 0; i < 50; i++) expect(use()).toBe(pages);
  });

  test('moves any number of blocks when memory is full and the free bytes are scattered', () => {
    const { exports: x } = new CacheCore();
    const arena = x.arenaNew();
    x.memoryLimit(x.memoryPages() + 40);
    let owners = 0;
    while (x.arenaAlloc(arena, 300, owners) !== 0) owners++;
    for (let owner = 0; owner < owners; owner += 40) x.arenaRelease(arena, x.arenaAt(arena, owner));
    let larger = 0;
    // the directory has room for these owners
    while (x.arenaAlloc(arena, 1_000, larger * 40) !== 0) larger++;
    expect(x.arenaCheck(arena)).toBe(0);
    // Five blocks of 304 B were free in each segment of 64 KiB: room for one of 1000 B.
    expect(larger).toBeGreaterThanOrEqual(x.arenaTotal(arena) / 65_536 - 1);
  });

  test('arenaFits answers whether bytes fit a block without waste', () => {
    const { x, arena } = new World();
    const at = x.arenaAlloc(arena, 400, 0);
    expect([400, 350, 349, 344, 340, 401].map((bytes) => x.arenaFits(at, bytes))).toEqual([
      1, 1, 1, 1, 0, 0,
    ]);
    const large = x.arenaAlloc(arena, 8_000, 1);
    expect([8_000, 7_000, 6_990, 8_001].map((bytes) => x.arenaFits(large, bytes))).toEqual([
      1, 1, 0, 0,
    ]);
  });

  // 90 % of 100 000 blocks freed at random, then blocks of other sizes
  test('stays within a quarter of the live bytes after most blocks were freed at random', {
    timeout: 60_000,
  }, () => {
    const seed = testSeed();
    console.log(`test/wasm/arena.test.ts: CAPSTAN_SEED=${seed}`);
    const random = new Random(seed);
    const { exports: x } = new CacheCore();
    const arena = x.arenaNew();
    const sizes: number[] = [];
    let live = 0;
    let moved = 0;
    const put = (owner: number, bytes: number): void => {
      if (x.arenaAlloc(arena, bytes, owner) === 0) throw new Error('no memory');
      const now = x.arenaMoved(arena);
      // The last block that a call moves may be a quarter of what it may move.
      if (now - moved > 1.25 * (262_144 + 32 * (bytes + 16)))
        expect.fail(`a call for ${bytes} bytes moved ${now - moved}`);
      moved = now;
      live += bytes - (sizes[owner] ?? 0);
      sizes[owner] = bytes;
    };
    for (let owner = 0; owner < 100_000; owner++) put(owner, 3_000 + random.int(800));
    const full = live;
    for (const [owner, bytes] of sizes.entries()) {
      if (!random.chance(0.9)) continue;
      x.arenaRelease(arena, x.arenaAt(arena, owner));
      live -= bytes;
      sizes[owner] = 0;
    }
    expect(live / full).toBeLessThan(0.11);
    // The small blocks first, as they split the holes that the large ones need. Most bytes are in
    // large blocks.
    const free = full - live;
    for (const [size, share] of [
      [60, 0.05],
      [1_000, 0.15],
      [20_000, 0.2],
      [100_000, 0.6],
    ] as const) {
      const goal = live + free * share;
      for (let owner = sizes.length; live < goal; owner++)
        put(owner, Math.round(size * (0.7 + random.next() * 0.6)));
    }
    expect(x.arenaCheck(arena)).toBe(0);
    expect((x.arenaTotal(arena) >>> 0) / live).toBeLessThan(1.25);
    for (let i = 0; i < 300_000; i++) {
      const owner = random.int(sizes.length);
      const bytes = sizes[owner] as number;
      if (bytes !== 0) put(owner, Math.max(20, Math.round(bytes * (0.9 + random.next() * 0.2))));
    }
    expect(x.arenaCheck(arena)).toBe(0);
    expect((x.arenaTotal(arena) >>> 0) / live).toBeLessThan(1.25);
  });

  // Segments grow with the arena, so the segments of the list before the last one were too short
  // for new blocks, and memory grew to 3.4 times the live bytes.
  test.each([500, 3_400, 20_000])(
    'reuses the memory of replaced blocks, list after list, with blocks of %i bytes',
    (bytes) => {
      const { exports: x } = new CacheCore();
      const arena = x.arenaNew();
      const owners = Math.round(60e6 / bytes);
      for (let list = 0; list < 6; list++) {
        const [now, old] = [list % 2, (list + 1) % 2];
        for (let i = 0; i < owners; i++)
          if (x.arenaAlloc(arena, bytes, 2 * i + now) === 0) throw new Error('no memory');
        if (list > 0)
          for (let i = 0; i < owners; i++) x.arenaRelease(arena, x.arenaAt(arena, 2 * i + old));
      }
      expect(x.arenaCheck(arena)).toBe(0);
      // Two lists at once; and memory grows by an eighth more than it needs.
      expect((x.memoryPages() * 65_536) / (x.arenaLive(arena) >>> 0)).toBeLessThan(2.4);
    },
  );

  test('stays within 15 % of the live bytes while blocks of 3.4 KB change by a tenth for ever', {
    timeout: 60_000,
  }, () => {
    const random = new Random(testSeed());
    const { exports: x } = new CacheCore();
    const arena = x.arenaNew();
    const sizes = new Float64Array(20_000);
    for (let i = 0; i < 400_000; i++) {
      const owner = i < sizes.length ? i : random.int(sizes.length);
      sizes[owner] = Math.round(3_400 * (0.9 + random.next() * 0.2));
      if (x.arenaAlloc(arena, sizes[owner] as number, owner) === 0) throw new Error('no memory');
      if (i % 40_000 !== 39_999) continue;
      const live = sizes.reduce((sum, bytes) => sum + bytes);
      expect(x.arenaTotal(arena) / live).toBeLessThan(1.15);
    }
    expect(x.arenaCheck(arena)).toBe(0);
    // bytes that an update moves beside its own
    expect(x.arenaMoved(arena) / 400_000).toBeLessThan(3_400);
  });

  test('keeps the smallest empty segment and returns the others', () => {
    const world = new World();
    let owner = 0;
    // the segments of later ones are longer
    while (world.total < 12 << 20) world.put(owner++, 20_000);
    const empty = (owners: number[]): number => {
      const before = world.total;
      for (const each of owners) {
        world.remove(each);
        world.check();
      }
      return before - world.total;
    };
    const some = (first: number, count: number): number[] =>
      Array.from({ length: count }, (_, i) => first + i);
    // a long segment is kept, and the other one is not empty
    expect(empty(some(owner - 40, 14))).toBeLessThanOrEqual(256 << 10);
    expect(empty(some(0, 3))).toBe(256 << 10); // until a short one is empty
    expect(empty(some(3, 3))).toBe(64 << 10);
    world.put(0, 60_000); // takes the kept segment
    world.check();
    expect(empty([0])).toBe(0);
    world.checkBytes();
  });
});
