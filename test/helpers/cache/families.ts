/**
 * Random objects in families, as those of a cluster are: the objects of one owner differ in some
 * values, those of one kind in more, and some in everything. Also what a store's core has packed.
 */
import assert from 'node:assert/strict';
import type { StoredObjects } from '../../../bindings/cache/bytes/stored-objects.ts';
import { STORED_FLAGS, STORED_REFERENCES } from '../../../bindings/generated/abi.ts';
import type { Random } from '../random.ts';

export interface FamilyObject {
  metadata: { name: string; namespace: string; resourceVersion: string; [name: string]: unknown };
  [name: string]: unknown;
}

const HEX = [...'0123456789abcdef'];
const PIECES = ['é', '𝄞', '\\', '"', '\n', '\u0000', '}', '{"a":1}', '",', ',', ']', ' ', '/'];

function text(random: Random, longest: number): string {
  let made = '';
  for (let left = random.int(longest); left > 0; left--)
    made += random.chance(0.1) ? random.pick(PIECES) : random.pick(HEX);
  return made;
}

function value(random: Random, depth: number): unknown {
  const kind = random.int(depth > 3 ? 5 : 9);
  if (kind < 3) return text(random, 60);
  if (kind === 3) return random.int(1e9) - 1e6;
  if (kind === 4) return random.pick([true, false, null, 0.5, -1e-7]);
  if (kind < 7) return Array.from({ length: random.int(5) }, () => value(random, depth + 1));
  return record(random, depth + 1);
}

function record(random: Random, depth: number): Record<string, unknown> {
  const made: Record<string, unknown> = {};
  for (let left = 1 + random.int(6); left > 0; left--)
    made[random.pick(['name', 'uid', 'time', 'é', 'args', 'env', 'node', `x${random.int(99)}`])] =
      value(random, depth);
  return made;
}

/** The same with some leaves of its own. */
function varied(random: Random, of: unknown, share: number): unknown {
  if (Array.isArray(of)) {
    const all = of.map((each) => varied(random, each, share));
    if (random.chance(share / 4)) all.splice(random.int(all.length + 1), 0, value(random, 3));
    if (random.chance(share / 4)) all.splice(random.int(all.length + 1), 1);
    return all;
  }
  if (typeof of === 'object' && of !== null)
    return Object.fromEntries(
      Object.entries(of).map(([name, each]) => [name, varied(random, each, share)]),
    );
  if (!random.chance(share)) return of;
  return typeof of === 'string' && random.chance(0.7) ? text(random, 40) : value(random, 4);
}

interface Family {
  readonly owner: unknown;
  readonly model: Record<string, unknown>;
  readonly share: number;
}

/** A maker of objects in a few families; those of `kinds` have the same names of members. */
export class Families {
  readonly #random: Random;
  readonly #families: Family[];
  #version = 0;

  constructor(random: Random, kinds: number, owners: number) {
    this.#random = random;
    this.#families = Array.from({ length: kinds }, () => {
      const kind: Record<string, unknown> = {
        spec: Array.from({ length: 1 + random.int(12) }, () => value(random, 0)),
      };
      if (random.chance(0.6)) kind.status = record(random, 0);
      if (random.chance(0.1)) kind.data = { fill: text(random, 30_000) };
      return Array.from({ length: owners }, (): Family => {
        const uid = text(random, 40);
        return {
          owner: random.chance(0.8) ? [{ uid, kind: 'ReplicaSet', name: uid }] : undefined,
          model: varied(random, kind, random.pick([0.05, 0.3, 1])) as Record<string, unknown>,
          share: random.pick([0, 0.05, 0.2, 1]),
        };
      });
    }).flat();
  }

  /** A new state of an object, of any family. */
  object(name: string): FamilyObject {
    const random = this.#random;
    const { owner, model, share } = random.pick(this.#families);
    const metadata: FamilyObject['metadata'] = {
      name,
      namespace: 'n',
      resourceVersion: String(++this.#version),
    };
    if (owner !== undefined) metadata.ownerReferences = owner;
    if (random.chance(0.3)) metadata.labels = { app: random.pick(['a', 'b']) };
    return {
      apiVersion: 'v1',
      kind: 'Thing',
      metadata,
      ...(varied(random, model, share) as object),
    };
  }

  /** Another state of an object: of its parts, some change. */
  changed(object: FamilyObject): FamilyObject {
    const random = this.#random;
    if (random.chance(0.1)) return this.object(object.metadata.name);
    const next = structuredClone(object);
    next.metadata.resourceVersion = String(++this.#version);
    if (random.chance(0.2)) next.metadata.labels = { app: random.pick(['a', 'b', 'c']) };
    for (const part of ['spec', 'status', 'data'])
      if (part in next && random.chance(0.4))
        next[part] = varied(random, next[part], random.pick([0.02, 0.2]));
    return next;
  }
}

const IS_PACKED = 4;
const IS_BASE = 8;

export interface Packed {
  /** All numbers that have bytes, bases among them. */
  readonly versions: number;
  readonly packed: number;
  readonly bases: number;
  /** Bases that are packed themselves. */
  readonly packedBases: number;
}

/** The core's number of what a version is packed against, or -1. */
export function baseOf({ core, handle }: StoredObjects, number: number): number {
  const head = (core.exports.objectHead(handle, number) >>> 0) >>> 2;
  const words = core.words();
  return ((words[head + STORED_FLAGS] as number) & IS_PACKED) === 0
    ? -1
    : (words[head + 4] as number);
}

/**
 * Requires that each base has as many references as versions are packed against it, that it is
 * plain or packed against a plain one, and that no slot has it.
 *
 * @param most more than there are numbers
 */
export function requireBases(objects: StoredObjects, slots: number, most = 4000): Packed {
  const { core, handle } = objects;
  const words = core.words();
  const references = new Map<number, number>();
  const bases = new Map<number, { references: number; isPacked: boolean }>();
  let [versions, packed] = [0, 0];
  for (let number = 0; number < most; number++) {
    const head = (core.exports.objectHead(handle, number) >>> 0) >>> 2;
    if (head === 0 || words[head + STORED_REFERENCES] === 0) continue;
    versions++;
    const flags = words[head + STORED_FLAGS] as number;
    if ((flags & IS_BASE) !== 0)
      bases.set(number, {
        references: words[head + STORED_REFERENCES] as number,
        isPacked: (flags & IS_PACKED) !== 0,
      });
    if ((flags & IS_PACKED) === 0) continue;
    packed++;
    const base = words[head + 4] as number;
    references.set(base, (references.get(base) ?? 0) + 1);
  }
  for (const [number, base] of bases) {
    assert.equal(base.references, references.get(number), `references of the base ${number}`);
    if (base.isPacked)
      assert.equal(
        bases.get(baseOf(objects, number))?.isPacked,
        false,
        `the base of the base ${number}`,
      );
  }
  for (const number of references.keys()) assert.ok(bases.has(number), `${number} is a base`);
  for (let slot = 0; slot < slots; slot++)
    assert.ok(!bases.has(core.exports.objectOf(handle, slot)), `slot ${slot} has a base`);
  const packedBases = [...bases.values()].filter(({ isPacked }) => isPacked).length;
  return { versions, packed, bases: bases.size, packedBases };
}
