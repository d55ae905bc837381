/** The server's log of writes, whose versions must increase, with queries for the rules. */
import type { State, Write } from './history.ts';

export class Truth {
  readonly writes: readonly Write[];
  readonly #byKey = new Map<string, Write[]>();

  constructor(writes: readonly Write[]) {
    this.writes = writes;
    let last = -1n;
    for (const write of writes) {
      if (write.version <= last)
        throw new RangeError(`the log of writes has ${write.version} after ${last}`);
      last = write.version;
      const own = this.#byKey.get(write.key);
      if (own === undefined) this.#byKey.set(write.key, [write]);
      else own.push(write);
    }
  }

  /** All writes to one object, in order. */
  of(key: string): readonly Write[] {
    return this.#byKey.get(key) ?? [];
  }

  /** The write at exactly this version. */
  at(key: string, version: bigint): Write | undefined {
    return this.of(key).find((write) => write.version === version);
  }

  /** The last write to the object up to and including a version. */
  last(key: string, version: bigint): Write | undefined {
    return this.of(key).findLast((write) => write.version <= version);
  }

  /** The object as of a version, if it was there. */
  state(key: string, version: bigint): State | undefined {
    return stateOf(this.last(key, version));
  }

  /** Every object as of a version; without one, at the end. */
  asOf(version?: bigint): Map<string, State> {
    const states = new Map<string, State>();
    for (const key of this.#byKey.keys()) {
      const state = stateOf(version === undefined ? this.of(key).at(-1) : this.last(key, version));
      if (state !== undefined) states.set(key, state);
    }
    return states;
  }

  /** The writes after one version, up to and including another. */
  between(from: bigint, to: bigint): Write[] {
    return this.writes.filter(({ version }) => version > from && version <= to);
  }
}

function stateOf(write: Write | undefined): State | undefined {
  if (write?.content === undefined) return undefined;
  return { key: write.key, version: write.version, content: write.content };
}

/** Differences of two sets of objects, one line each. */
export function stateDifferences(
  what: string,
  found: Iterable<State>,
  expected: ReadonlyMap<string, State>,
): string[] {
  const lines: string[] = [];
  const seen = new Set<string>();
  for (const { key, version, content } of found) {
    const right = expected.get(key);
    if (seen.has(key)) lines.push(`${what} has ${key} twice`);
    else if (right === undefined) lines.push(`${what} has ${key}@${version}, which is not there`);
    else if (right.version !== version)
      lines.push(`${what} has ${key}@${version}, it is at ${right.version}`);
    else if (right.content !== content)
      lines.push(`${what} has ${key}@${version} with other content: ${content}`);
    seen.add(key);
  }
  for (const { key, version } of expected.values())
    if (!seen.has(key)) lines.push(`${what} lacks ${key}@${version}`);
  return lines;
}
