/**
 * Ranges of hashes, which select the part of a resource that a cache has. Namespaced kinds are
 * divided by the hash of the namespace, so that an owner and its objects stay together;
 * cluster-scoped kinds by that of the name. The hash of a Namespace object is that of its content.
 */
import { CapstanError, invalid, show } from '../../base/errors.ts';
import { fnv1a64 } from '../../base/fnv.ts';
import type { KubeObject } from '../../base/object.ts';
import { MOST_RANGES } from '../../generated/abi.ts';

/**
 * Hashes from `from` to below `to`, from 0n to 2n ** 64n: FNV-1a of the namespace, or of the name
 * of a cluster-scoped object. See {@link SharedIndexInformerOptions.ranges}.
 */
export interface HashRange {
  readonly from: bigint;
  readonly to: bigint;
}

const END = 2n ** 64n;
/** The most results that are remembered. */
const MOST_KNOWN = 4096;

/** The hashes of the objects of a resource; never changes. */
export class HashRanges {
  /** Sorted, disjoint, none empty, and no two touch. */
  readonly ranges: readonly HashRange[];
  /** Of the name, else of the namespace. */
  readonly byName: boolean;
  readonly #known = new Map<string, boolean>();

  private constructor(ranges: readonly HashRange[], byName: boolean) {
    this.ranges = ranges;
    this.byName = byName;
  }

  /** @throws CapstanError INVALID_ARGUMENT, also for more ranges than a cache can have */
  static of(
    name: string,
    ranges: readonly HashRange[],
    { namespaced }: { namespaced: boolean },
  ): HashRanges {
    if (!Array.isArray(ranges)) throw invalid(name, 'an array of { from, to }', ranges);
    for (const range of ranges as readonly Partial<HashRange>[]) {
      const { from, to } = range ?? {};
      if (
        typeof from === 'bigint' &&
        typeof to === 'bigint' &&
        0n <= from &&
        from < to &&
        to <= END
      )
        continue;
      const got = range && show(`{ from: ${String(from)}, to: ${String(to)} }`);
      throw new CapstanError(
        'INVALID_ARGUMENT',
        `${name}: expected { from, to } with bigints, 0n <= from < to <= 2n ** 64n, got ${got}`,
      );
    }
    const all = new HashRanges(merged(ranges), !namespaced);
    if (all.ranges.length > MOST_RANGES)
      throw invalid(name, `at most ${MOST_RANGES} ranges that do not touch`, all.ranges.length);
    return all;
  }

  get isEmpty(): boolean {
    return this.ranges.length === 0;
  }

  has(hash: bigint): boolean {
    return this.ranges.some(({ from, to }) => from <= hash && hash < to);
  }

  /** Whether the hash of a namespace or name is in a range. */
  hasText(text: string): boolean {
    let has = this.#known.get(text);
    if (has === undefined) {
      has = this.has(fnv1a64(text));
      if (this.#known.size >= MOST_KNOWN) this.#known.clear();
      this.#known.set(text, has);
    }
    return has;
  }

  /** Whether an object is in a range, by its key: `namespace/name` or `name`. */
  hasKey(key: string): boolean {
    if (this.byName) return this.hasText(key);
    const slash = key.indexOf('/');
    return this.hasText(slash < 0 ? '' : key.slice(0, slash));
  }

  hasObject({ metadata }: KubeObject): boolean {
    return this.hasText((this.byName ? metadata?.name : metadata?.namespace) ?? '');
  }

  equals({ ranges, byName }: HashRanges): boolean {
    return (
      byName === this.byName &&
      ranges.length === this.ranges.length &&
      ranges.every(({ from, to }, i) => from === this.ranges[i]?.from && to === this.ranges[i]?.to)
    );
  }

  union(other: HashRanges): HashRanges {
    return this.#with([...this.ranges, ...other.ranges]);
  }

  intersection(other: HashRanges): HashRanges {
    const both: HashRange[] = [];
    for (const a of this.ranges)
      for (const b of other.ranges) {
        const from = a.from > b.from ? a.from : b.from;
        const to = a.to < b.to ? a.to : b.to;
        if (from < to) both.push({ from, to });
      }
    return this.#with(both);
  }

  /** The hashes that the other ranges do not have. */
  minus(other: HashRanges): HashRanges {
    let left = this.ranges;
    for (const cut of other.ranges)
      left = left.flatMap(({ from, to }) =>
        [
          { from, to: to < cut.from ? to : cut.from },
          { from: from > cut.to ? from : cut.to, to },
        ].filter((range) => range.from < range.to),
      );
    return this.#with(left);
  }

  /**
   * The value of `shardSelector`; a server can select by namespaces only. apiserver: pkg/sharding
   * Parse, which compares numbers of 16 digits, and of 17 for the end.
   */
  selector(): string {
    const hex = (hash: bigint): string => `'0x${hash.toString(16).padStart(16, '0')}'`;
    return this.ranges
      .map(({ from, to }) => `shardRange(object.metadata.namespace,${hex(from)},${hex(to)})`)
      .join(' || ');
  }

  #with(ranges: readonly HashRange[]): HashRanges {
    return new HashRanges(merged(ranges), this.byName);
  }
}

function merged(ranges: readonly HashRange[]): HashRange[] {
  const all: HashRange[] = [];
  const sorted = [...ranges].sort((a, b) => (a.from < b.from ? -1 : a.from > b.from ? 1 : 0));
  for (const { from, to } of sorted) {
    const last = all.at(-1);
    if (last === undefined || last.to < from) all.push({ from, to });
    else if (last.to < to) all[all.length - 1] = { from: last.from, to };
  }
  return all;
}
