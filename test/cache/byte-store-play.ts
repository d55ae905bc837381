/**
 * Random work on a store of bytes beside a model of plain JSON: objects that come as bytes, odd documents that are decoded whole, objects of
 * another cache, objects put again, lists that share what is stored, in every order. Whatever is handed out is kept and read again later.
 */
import assert from 'node:assert/strict';
import { DeletedFinalStateUnknown } from '../../bindings/cache/keys.ts';
import type { Random } from '../random.ts';
import { ByteStore, bytes, type Thing, thing } from './byte-store.ts';

const INDICES = ['namespace', 'node', 'labels', 'mine'] as const;
const indexers = {
  namespace: 'metadata.namespace',
  node: 'spec.node',
  labels: 'metadata.labels',
  mine: (object: Thing) => [`v${object.metadata.resourceVersion}`],
};

interface Spec {
  node: string | undefined;
  fill: string;
}

export class BytePlay {
  readonly #random: Random;
  readonly world = new ByteStore(indexers);
  readonly #elsewhere = new ByteStore();
  /** What the store must hold: the JSON of each key. */
  readonly #model = new Map<string, string>();
  /** What was handed out, with what it must stay. */
  #held: [object: Thing, json: string][] = [];
  #version = 0;
  #resourceVersion = '';
  /** A list that is being collected: its objects so far. */
  #list: Thing[] | undefined;

  constructor(random: Random) {
    this.#random = random;
  }

  #make(name = `o${this.#random.int(12)}`): Thing {
    const random = this.#random;
    const spec: Spec = {
      node: random.pick(['a', 'b', 'ü', 'a"', undefined]),
      fill: 'x'.repeat(random.chance(0.05) ? random.int(40_000) : random.int(600)),
    };
    const made = thing(name, ++this.#version, spec);
    if (random.chance(0.5)) made.metadata.labels = { app: random.pick(['p', 'q']), tier: random.pick(['r', '\u0000']) };
    if (random.chance(0.1)) delete made.metadata.namespace;
    return made;
  }

  /** The JSON of the current object of a key, or of a new one. */
  #again(): string {
    const known = [...this.#model.values()];
    return known.length > 0 && this.#random.chance(0.7) ? this.#random.pick(known) : JSON.stringify(this.#make());
  }

  /** Through the decoder; some in a form that is decoded whole. */
  #decoded(json: string): Thing {
    return this.world.object(this.#random.chance(0.2) ? json.replace('"kind"', '"k\\u0069nd"') : json);
  }

  #holds(object: Thing | undefined, json: string): void {
    if (object !== undefined) this.#held.push([object, json]);
  }

  #stored(json: string): void {
    const object = JSON.parse(json) as Thing;
    this.#model.set(keyOf(object), json);
    this.#resourceVersion = object.metadata.resourceVersion as string;
  }

  step(): void {
    const { store } = this.world;
    const random = this.#random;
    const kind = random.int(14);
    if (kind < 4) {
      const json = JSON.stringify(this.#make());
      const object = this.#decoded(json);
      const untold = random.chance(0.5);
      const before = this.#model.get(keyOf(object));
      const old = store.exchange(object, untold);
      if (!untold) {
        assert.equal(old === undefined ? undefined : JSON.stringify(old), before);
        if (random.chance(0.3)) this.#holds(object, json);
        if (before !== undefined && random.chance(0.3)) this.#holds(old, before);
      }
      this.#stored(json);
    } else if (kind === 4) {
      const json = this.#again();
      const object = this.#decoded(json);
      store.delete(object);
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
      const [object, json] = random.pick(this.#held); // stored, detached, of another cache: whatever it is now
      if (random.chance(0.5)) store.add(object);
      else store.exchange(object, random.chance(0.3));
      this.#stored(json);
    } else if (kind === 9) {
      const json = JSON.stringify(this.#make());
      const object = random.chance(0.5) ? this.#elsewhere.object(json) : (JSON.parse(json) as Thing);
      store.add(object);
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
      this.#list.push(...page.end().items);
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

  #replace(list: readonly Thing[]): void {
    const { store } = this.world;
    const jsons = list.map((object) => JSON.stringify(object));
    const before = new Map(this.#model);
    const { replaced, gone } = store.compare(list);
    replaced.forEach((old, i) => {
      const was = before.get(keyOf(list[i] as Thing));
      assert.equal(old === undefined ? undefined : JSON.stringify(old), was);
      if (was !== undefined && this.#random.chance(0.3)) this.#holds(old, was);
    });
    for (const { key, obj } of gone) this.#holds(obj, before.get(key) as string);
    store.replace(list, 'listed');
    this.#model.clear();
    list.forEach((object, i) => {
      this.#model.set(keyOf(object), jsons[i] as string);
      if (this.#random.chance(0.3)) this.#holds(object, jsons[i] as string);
    });
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
    const index = this.#random.pick(INDICES);
    const wanted = new Map<string, string[]>();
    for (const [key, json] of this.#model) {
      for (const value of valuesOf(index, JSON.parse(json) as Thing))
        wanted.set(value, [...(wanted.get(value) ?? []), key]);
    }
    assert.deepEqual(store.listIndexFuncValues(index).sort(), [...wanted.keys()].sort());
    for (const [value, keys] of wanted) assert.deepEqual(store.indexKeys(index, value), keys.sort());
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
  return metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`;
}

function valuesOf(index: (typeof INDICES)[number], { metadata, spec }: Thing): string[] {
  const { node } = spec as Spec;
  if (index === 'namespace') return metadata.namespace === undefined ? [] : [metadata.namespace];
  if (index === 'node') return node === undefined ? [] : [node];
  if (index === 'mine') return [`v${metadata.resourceVersion}`];
  return Object.entries(metadata.labels ?? {}).map(([name, value]) => `${name}=${value}`);
}
