/**
 * Random work on a store of bytes beside a model of plain JSON: objects that come as bytes, odd
 * documents that are decoded whole, objects of another cache, objects put again, lists that share
 * what is stored, in every order; half of the stores get what stands for objects and make these
 * when somebody is told. Whatever is handed out is kept and read again later.
 */

import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import type { Request } from '../../../bindings/base/request.ts';
import { runSteps } from '../../../bindings/base/wait.ts';
import { LazyChange } from '../../../bindings/cache/bytes/change.ts';
import { nameOfStored, storedObjectOf, toObject } from '../../../bindings/cache/bytes/lazy.ts';
import { NOT_HANDED_OUT } from '../../../bindings/cache/bytes/stored-object.ts';
import { DeletedFinalStateUnknown } from '../../../bindings/cache/rest/keys.ts';
import { ByteStore, bytes, type Thing, thing } from '../../helpers/cache/byte-store.ts';
import type { Random } from '../../helpers/random.ts';

const indexers = {
  namespace: 'metadata.namespace',
  node: 'spec.node',
  labels: 'metadata.labels',
  phase: 'status.phase',
  data: 'data.key',
  version: 'metadata.resourceVersion',
  mine: (object: Thing) => [`v${object.metadata.resourceVersion}`],
};
type Index = keyof typeof indexers;

/**
 * With a function every event goes the long way; with paths, or without an index, what moves none
 * goes the short one.
 */
export const INDICES: Record<string, readonly Index[]> = {
  'paths and a function': ['namespace', 'node', 'labels', 'mine'],
  paths: ['namespace', 'node', 'labels', 'phase'],
  'one path': ['namespace'],
  'a path that no bit of a change speaks of': ['data'],
  'the version, of which a bit speaks that is no part': ['version'],
  nothing: [],
};

interface Spec {
  node: string | undefined;
  fill: string;
}

interface Status {
  phase: string;
  seen: string[];
}

export class BytePlay {
  readonly #random: Random;
  readonly #indices: Index[] = [];
  /** Those that are added later, over what is there. */
  readonly #later: Index[] = [];
  readonly world: ByteStore;
  readonly #elsewhere = new ByteStore();
  /** What the store must hold: the JSON of each key. */
  readonly #model = new Map<string, string>();
  /** Names that objects gave, by which they are asked for later, whatever has become of them. */
  readonly #names: Request[] = [];
  /** What was handed out, with what it must stay. */
  #held: [object: Thing, json: string][] = [];
  #version = 0;
  #resourceVersion = '';
  /** A list that is being collected: its objects so far, with their JSON. */
  #list: [object: Thing, json: string][] | undefined;

  /**
   * How often a version took the place of another the short way, and how often a change was told.
   */
  readonly seen = { short: 0, changes: 0, proofs: 0, names: 0 };

  constructor(
    random: Random,
    indices: readonly Index[] = INDICES['paths and a function'] as readonly Index[],
  ) {
    this.#random = random;
    for (const name of indices) (random.chance(0.3) ? this.#later : this.#indices).push(name);
    this.world = new ByteStore(
      Object.fromEntries(this.#indices.map((name) => [name, indexers[name]])),
      random.chance(0.5),
    );
    const { storedObjects } = this.world.decoder;
    // Some pack from the first object on, some from a few on, some not.
    storedObjects.pack(random.chance(0.8), random.int(6));
    const supersede = storedObjects.supersede.bind(storedObjects);
    storedObjects.supersede = (...args) => {
      const old = supersede(...args);
      if (!storedObjects.superseded) return old;
      this.seen.short++;
      const long = ['mine', 'data', 'version'] as const;
      assert.ok(
        !long.some((name) => this.#indices.includes(name)),
        'an index may have other values',
      );
      return old;
    };
  }

  /**
   * An object that is new all through, or the one that is stored with a part or two of it changed.
   */
  #make(name = `o${this.#random.int(12)}`): Thing {
    const random = this.#random;
    const known = this.#model.get(`n/${name}`);
    if (known === undefined || random.chance(0.3)) return this.#makeNew(name);
    const made = JSON.parse(known) as Thing;
    const other = this.#makeNew(name);
    const part = random.int(10);
    // Without another version no bit tells of a member that is none of the parts.
    if (part !== 9 || random.chance(0.4)) made.metadata.resourceVersion = String(++this.#version);
    if (part === 9) (made as { data?: unknown }).data = { key: random.pick(['k', 'l']) };
    if (part === 0) made.spec = other.spec;
    if (part === 1) made.metadata.labels = { tier: 'r', app: random.pick(['p', 'q']) };
    if (part === 2) made.metadata.annotations = { a: random.pick(['1', '2']), é: '3' };
    if (part === 3) made.metadata.generation = random.int(3);
    if (part === 4) made.metadata.deletionTimestamp = random.pick(['t', 'u']);
    if (part === 5) delete made.metadata.deletionTimestamp;
    if (part > 6 && part < 9) made.status = other.status;
    if (part === 6 && made.status !== undefined)
      (made.status as Status).seen = [`at ${this.#version}`];
    return made;
  }

  #makeNew(name: string): Thing {
    const random = this.#random;
    const spec: Spec = {
      node: random.pick(['a', 'b', 'ü', 'a"', undefined]),
      fill: 'x'.repeat(random.chance(0.05) ? random.int(40_000) : random.int(600)),
    };
    const made = thing(name, ++this.#version, spec);
    if (random.chance(0.5))
      made.metadata.labels = { app: random.pick(['p', 'q']), tier: random.pick(['r', '\u0000']) };
    if (random.chance(0.1)) delete made.metadata.namespace;
    // With the key of an object that has a namespace.
    if (made.metadata.namespace === undefined && random.chance(0.5))
      made.metadata.name = `n/${name}`;
    if (random.chance(0.7)) {
      const seen = Array.from({ length: random.int(20) }, () =>
        random.pick(['é', 'seen at noon', '\\"]}', '']),
      );
      made.status = { phase: random.pick(['up', 'down']), seen } satisfies Status;
    }
    return made;
  }

  /** The JSON of the current object of a key, or of a new one. */
  #again(): string {
    const known = [...this.#model.values()];
    return known.length > 0 && this.#random.chance(0.7)
      ? this.#random.pick(known)
      : JSON.stringify(this.#make());
  }

  /** Through the decoder; some in a form that is decoded whole. */
  #decoded(json: string): Thing {
    return this.world.object(
      this.#random.chance(0.2) ? json.replace('"kind"', '"k\\u0069nd"') : json,
    );
  }

  #holds(object: Thing | undefined, json: string): void {
    if (object === undefined) return;
    this.#held.push([object, json]);
    // Some of it is read now, and the rest when it may have left the core.
    if (this.#random.chance(0.3))
      assert.equal((object.spec as Spec).node, (JSON.parse(json).spec as Spec).node);
    if (this.#random.chance(0.2)) void (object.status as Status | undefined)?.seen;
  }

  /**
   * Namespace and name are the object's own, though they may have been read of a version before it.
   */
  #judgeName(object: Thing, json: string): void {
    const version = storedObjectOf(object);
    if (version === undefined || this.#random.chance(0.3)) return;
    const { namespace = '', name } = (JSON.parse(json) as Thing).metadata;
    const given = nameOfStored(version) as Request;
    assert.deepEqual(given, { namespace, name });
    this.#names[this.#random.int(8)] = given;
    this.seen.names++;
  }

  /**
   * A bit that is off proves that the part is the same; one that is on is right but for labels and
   * annotations in another order, which are compared.
   */
  #judgeChange(old: Thing, now: Thing, before: string, after: string): void {
    const [was, is] = [JSON.parse(before) as Thing, JSON.parse(after) as Thing];
    const change = new LazyChange(old, now);
    const rest = ({ metadata: { resourceVersion: _, ...metadata } }: Thing): unknown => metadata;
    const parts = {
      spec: (of: Thing) => of.spec,
      status: (of: Thing) => of.status,
      generation: (of: Thing) => of.metadata.generation,
      labels: (of: Thing) => of.metadata.labels,
      annotations: (of: Thing) => of.metadata.annotations,
      deletion: (of: Thing) => of.metadata.deletionTimestamp,
      metadata: rest,
      sameResourceVersion: (of: Thing) => of.metadata.resourceVersion,
    };
    this.seen.changes++;
    for (const [name, part] of Object.entries(parts)) {
      const same = isDeepStrictEqual(part(was), part(is));
      const told = change[name as keyof typeof parts] !== (name === 'sameResourceVersion');
      assert.ok(told || same, `${name} is told to be the same: ${before} and ${after}`);
      if (!told) this.seen.proofs++;
      if (name !== 'metadata')
        assert.equal(told, !same, `${name} is told to have changed: ${before} and ${after}`);
    }
  }

  #stored(json: string): void {
    const object = JSON.parse(json) as Thing;
    this.#model.set(keyOf(object), json);
    this.#resourceVersion = object.metadata.resourceVersion as string;
  }

  step(): void {
    const { store } = this.world;
    const random = this.#random;
    const late = this.#later[0];
    if (late !== undefined && random.chance(0.02)) {
      store.addIndexers({ [late]: indexers[late] });
      this.#indices.push(late);
      this.#later.shift();
    }
    if (random.chance(0.001)) this.#tellOfOthers();
    const kind = random.int(14);
    if (kind < 4) {
      const json = JSON.stringify(this.#make());
      const given = this.#decoded(json);
      const noListeners = random.chance(0.5);
      const before = this.#model.get(keyOf(given));
      const old = store.exchange(given, noListeners);
      if (!noListeners) {
        const object = toObject(given);
        if (object !== given)
          assert.equal(
            store.getByKey(keyOf(object)),
            object,
            'who is told and who asks get one object',
          );
        if (old !== undefined && random.chance(0.7))
          this.#judgeChange(old, object, before as string, json);
        assert.equal(old === undefined ? undefined : JSON.stringify(old), before);
        this.#judgeName(object, json);
        if (random.chance(0.3)) this.#holds(object, json);
        if (before !== undefined && random.chance(0.3)) this.#holds(old, before);
      }
      this.#stored(json);
    } else if (kind === 4) {
      const json = this.#again();
      const given = this.#decoded(json);
      store.delete(given);
      const object = toObject(given);
      this.#holds(object, json);
      this.#model.delete(keyOf(object));
      this.#resourceVersion = object.metadata.resourceVersion as string;
    } else if (kind === 5) {
      const key = random.pick([...this.#model.keys(), 'n/none']);
      store.delete(new DeletedFinalStateUnknown<Thing>(key, undefined));
      this.#model.delete(key);
    } else if (kind === 6) {
      const [key, json] = random.pick([...this.#model, ['n/none', ''] as const]);
      const object = store.getByKey(key);
      assert.equal(object === undefined ? '' : JSON.stringify(object), json);
      this.#holds(object, json);
    } else if (kind === 7) {
      const listed = new Map(this.#model);
      for (const object of store.list()) {
        const json = listed.get(keyOf(object)) as string;
        if (random.chance(0.2)) this.#holds(object, json);
        if (random.chance(0.1)) {
          const other = JSON.stringify(this.#make('while-it-is-listed'));
          store.add(this.#decoded(other));
          this.#stored(other);
        }
      }
    } else if (kind === 8 && this.#held.length > 0) {
      // stored, detached, of another cache: whatever it is now
      const [object, json] = random.pick(this.#held);
      if (random.chance(0.5)) store.add(object);
      else {
        const before = this.#model.get(keyOf(object));
        // Of an object that was told of alone, as a deletion's, the store does not know that
        // somebody has it: nobody says then that nobody listens.
        const isKnown = storedObjectOf(object)?.seen !== NOT_HANDED_OUT;
        const old = store.exchange(object, isKnown && random.chance(0.3));
        if (old !== undefined) this.#judgeChange(old, object, before as string, json);
        if (random.chance(0.3)) store.exchange(object, random.chance(0.3)); // and once more
      }
      this.#stored(json);
    } else if (kind === 9) {
      const json = JSON.stringify(this.#make());
      const object = random.chance(0.5)
        ? this.#elsewhere.object(json)
        : (JSON.parse(json) as Thing);
      if (random.chance(0.5)) store.add(object);
      else {
        const old = store.exchange(object, false);
        const before = this.#model.get(keyOf(object));
        assert.equal(old === undefined ? undefined : JSON.stringify(old), before);
        if (old !== undefined) this.#judgeChange(old, object, before as string, json);
      }
      this.#holds(object, json);
      this.#stored(json);
    } else if (kind === 10) {
      if (this.#list === undefined) this.world.decoder.gather(true);
      this.#list ??= [];
      const jsons = Array.from({ length: random.int(8) }, () => this.#again());
      const page = this.world.decoder.page();
      const body = bytes(`{"items":[${jsons.join(',')}],"metadata":{}}`);
      const cut = random.int(body.length);
      page.push(body.subarray(0, cut));
      page.push(body.subarray(cut));
      this.#list.push(
        ...page.end().items.map((object, i): [Thing, string] => [object, jsons[i] as string]),
      );
      page.close();
    } else if (kind === 11 && this.#list !== undefined) {
      const list = this.#list;
      this.#list = undefined;
      this.world.decoder.gather(false);
      if (random.chance(0.7)) this.#replace(list);
    } else if (kind === 12) {
      store.settle();
    } else {
      for (const object of store.list()) store.add(object); // a resync of some stores
      for (const json of this.#model.values())
        this.#resourceVersion = (JSON.parse(json) as Thing).metadata.resourceVersion ?? '';
      store.bookmark('1');
      this.#resourceVersion = '1';
    }
    this.check();
  }

  /** Until nothing is kept of what was told before. */
  #tellOfOthers(): void {
    const { store } = this.world;
    const spec = { node: 'a', fill: '' } satisfies Spec;
    const { short } = this.seen;
    for (let i = 0; i < 2048; i++) {
      const json = JSON.stringify(thing('other', ++this.#version, spec));
      store.exchange(this.world.object(json), false);
      this.#stored(json);
    }
    store.delete(new DeletedFinalStateUnknown<Thing>('n/other', undefined));
    this.#model.delete('n/other');
    this.seen.short = short;
  }

  #replace(list: readonly (readonly [Thing, string])[]): void {
    const { store } = this.world;
    const objects = list.map(([object]) => object);
    const before = new Map(this.#model);
    const inSteps = this.#random.chance(0.5);
    const isOver = (): boolean => inSteps && this.#random.chance(0.3);
    const { replaced, gone } = runSteps(store.replaceInSteps(objects, 'listed', false, isOver));
    const told = objects.map((_, i) => replaced(i));
    told.forEach((old, i) => {
      const was = before.get(keyOf(objects[i] as Thing));
      assert.equal(old === undefined ? undefined : JSON.stringify(toObject(old)), was);
      if (old !== undefined && was !== undefined && this.#random.chance(0.3))
        this.#holds(toObject(old), was);
    });
    for (const { key, obj } of gone) this.#holds(obj, before.get(key) as string);
    this.#model.clear();
    for (const [object, json] of list) {
      this.#model.set(keyOf(object), json);
      if (this.#random.chance(0.3)) this.#holds(toObject(object), json);
    }
    this.#resourceVersion = 'listed';
  }

  /** The store against the model, and one of those that are held. */
  check(): void {
    const { store } = this.world;
    assert.equal(store.size(), this.#model.size);
    assert.equal(store.lastStoreSyncResourceVersion(), this.#resourceVersion);
    if (this.#held.length > 0) {
      const [object, json] = this.#random.pick(this.#held);
      assert.equal(JSON.stringify(object), json);
    }
    const name = this.#names[this.#random.int(8)];
    if (name !== undefined) {
      const key = name.namespace === '' ? name.name : `${name.namespace}/${name.name}`;
      const found = store.getByName(name);
      assert.equal(found && JSON.stringify(found), this.#model.get(key));
      assert.equal(found, store.getByKey(key));
      assert.equal(this.#elsewhere.store.getByName(name), undefined);
    }
    if (this.#indices.length === 0) return;
    const index = this.#random.pick(this.#indices);
    const wanted = new Map<string, string[]>();
    for (const [key, json] of this.#model) {
      for (const value of valuesOf(index, JSON.parse(json) as Thing))
        wanted.set(value, [...(wanted.get(value) ?? []), key]);
    }
    assert.deepEqual(store.listIndexFuncValues(index).sort(), [...wanted.keys()].sort());
    for (const [value, keys] of wanted)
      assert.deepEqual(store.indexKeys(index, value), keys.sort());
  }

  /** Everything, at the end; then the store is emptied, and must have given all bytes back. */
  finish(): void {
    const { store, decoder } = this.world;
    for (const [key, json] of this.#model) assert.equal(JSON.stringify(store.getByKey(key)), json);
    assert.deepEqual(store.listKeys().sort(), [...this.#model.keys()].sort());
    decoder.gather(false);
    store.settle();
    store.replace([], '');
    for (const [object, json] of this.#held) assert.equal(JSON.stringify(object), json);
    assert.equal(store.bytes().live, 0);
    assert.equal(store.size(), 0);
    this.#held = [];
  }
}

function keyOf({ metadata }: Thing): string {
  return metadata.namespace === undefined
    ? metadata.name
    : `${metadata.namespace}/${metadata.name}`;
}

function valuesOf(
  index: Index,
  { metadata, spec, status, data }: Thing & { data?: { key: string } },
): string[] {
  const { node } = spec as Spec;
  if (index === 'phase') return status === undefined ? [] : [(status as Status).phase];
  if (index === 'namespace') return metadata.namespace === undefined ? [] : [metadata.namespace];
  if (index === 'node') return node === undefined ? [] : [node];
  if (index === 'data') return data === undefined ? [] : [data.key];
  if (index === 'version') return [String(metadata.resourceVersion)];
  if (index === 'mine') return [`v${metadata.resourceVersion}`];
  return Object.entries(metadata.labels ?? {}).map(([name, value]) => `${name}=${value}`);
}
