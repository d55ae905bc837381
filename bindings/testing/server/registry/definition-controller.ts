/**
 * What becomes of a CustomResourceDefinition after it is written, as the real server's controllers
 * do it: its names are accepted, then it is established and served; when it is deleted, its objects
 * go first. Each step is an update that a watch shows. apiextensions-apiserver:
 * pkg/controller/status, establish and finalizer.
 */
import { type JsonObject, objectAt, sameJson, stringAt } from '../json.ts';
import {
  awaitsCleanup,
  cleaned,
  cleaning,
  establishedOf,
  isConditionTrue,
  marked,
  withAcceptedNames,
  withStoredVersion,
} from './definitions.ts';
import { definedBy, type Kind, type Kinds } from './kinds.ts';
import { metadataOf, type ResourceStore, type Stored } from './store.ts';

/** What the controller needs of the registry. */
export interface DefinitionHost {
  kinds: Kinds;
  /** The store of definitions. */
  definitions(): ResourceStore;
  storeOf(kind: Kind): ResourceStore;
  now(): string;
  /** Deletes an object of the kind; one with finalizers stays. */
  remove(kind: Kind, store: ResourceStore, stored: Stored): void;
  /** The definition with the server itself as the owner of what it wrote into the status. */
  owned(before: JsonObject, now: JsonObject): JsonObject;
  /** Reads objects of the kind by what its definition says now. */
  reread(kind: Kind, store: ResourceStore): void;
}

export class DefinitionController {
  readonly #host: DefinitionHost;

  constructor(host: DefinitionHost) {
    this.#host = host;
  }

  /** Stores the definition, and does what follows from it. Gives it as it was stored first. */
  put(key: string, object: JsonObject): Stored {
    const store = this.#host.definitions();
    const old = store.get(key)?.object;
    const stored = store.put(key, withStoredVersion(object));
    this.#reconcile(key);
    this.#show(key, old);
    this.#rename(key, object);
    return stored;
  }

  /** The definition is marked; its objects go, and then itself. Gives it as it was marked. */
  delete(existing: Stored): Stored {
    const store = this.#host.definitions();
    if (metadataOf(existing.object).deletionTimestamp !== undefined) return existing;
    const stored = store.put(existing.key, marked(existing.object, this.#host.now()));
    const next = cleaning(stored.object, this.#host.now());
    store.put(existing.key, this.#host.owned(stored.object, next));
    const kind = this.#kindOf(stored.object);
    if (kind !== undefined) {
      const objects = this.#host.storeOf(kind);
      for (const each of objects.asOf(objects.current, '', ''))
        this.#host.remove(kind, objects, each);
    }
    this.#clean(existing.key);
    return stored;
  }

  /** An object of the kind is gone: its definition may have waited for that. */
  released(kind: Kind): void {
    const key = `${kind.plural}.${kind.group}`;
    const stored = kind.builtIn ? undefined : this.#host.definitions().get(key);
    if (stored !== undefined && awaitsCleanup(stored.object)) this.#clean(key);
  }

  /** Whether a definition of the kind is being deleted. */
  isTerminating(kind: Kind): boolean {
    if (kind.builtIn) return false;
    const stored = this.#host.definitions().get(`${kind.plural}.${kind.group}`);
    return stored !== undefined && isConditionTrue(stored.object, 'Terminating');
  }

  /** Ends the deletion where no object is left. */
  #clean(key: string): void {
    const store = this.#host.definitions();
    const stored = store.get(key);
    if (stored === undefined) return;
    const kind = this.#kindOf(stored.object);
    if (kind !== undefined && this.#host.storeOf(kind).size > 0) return;
    const last = cleaned(stored.object, this.#host.now());
    if (metadataOf(last).finalizers !== undefined) {
      store.put(key, this.#host.owned(stored.object, last));
      return;
    }
    store.remove(key);
    this.removed(stored.object);
  }

  /** The definition is gone: its kind is served no longer, and its names are free. */
  removed(crd: JsonObject): void {
    const kind = this.#kindOf(crd);
    if (kind !== undefined) {
      for (const { name } of definedBy(crd)) {
        const known = this.#host.kinds.get(name);
        if (!known.builtIn) this.#host.kinds.serve(known, false);
      }
      this.#host.storeOf(kind).close();
    }
    this.#rename(stringAt(metadataOf(crd), 'name'), crd);
  }

  #kindOf(crd: JsonObject): Kind | undefined {
    return definedBy(crd)
      .map(({ name }) => this.#host.kinds.get(name))
      .find(({ builtIn }) => !builtIn);
  }

  /** Names are accepted, then the definition is established. */
  #reconcile(key: string): void {
    const store = this.#host.definitions();
    const step = (change: (crd: JsonObject) => JsonObject | undefined): void => {
      const now = store.get(key)?.object;
      const next = now === undefined ? undefined : change(now);
      if (now !== undefined && next !== undefined) store.put(key, this.#host.owned(now, next));
    };
    step((crd) => withAcceptedNames(crd, this.#others(key, crd), this.#host.now()));
    step((crd) => establishedOf(crd, this.#host.now()));
  }

  /** Other definitions of the group that may have names now that they could not have. */
  #rename(key: string, crd: JsonObject): void {
    for (const other of this.#others(key, crd)) {
      if (isConditionTrue(other, 'NamesAccepted')) continue;
      const name = stringAt(metadataOf(other), 'name');
      this.#reconcile(name);
      this.#show(name, other);
    }
  }

  #others(key: string, crd: JsonObject): JsonObject[] {
    const store = this.#host.definitions();
    const { group } = objectAt(crd, 'spec');
    return store
      .asOf(store.current, '', '')
      .filter((each) => each.key !== key && objectAt(each.object, 'spec').group === group)
      .map(({ object }) => object);
  }

  /** What it defines is served from now on, where it is established. */
  #show(key: string, old: JsonObject | undefined): void {
    const { kinds } = this.#host;
    const crd = this.#host.definitions().get(key)?.object;
    if (crd === undefined) return;
    const gone = definedBy(crd).every(({ name }) => !kinds.get(name).served);
    kinds.define(crd);
    const kind = this.#kindOf(crd);
    if (kind === undefined) return;
    const objects = this.#host.storeOf(kind);
    if (gone) objects.expire(objects.current);
    // The real server opens the storage of a definition that has changed anew. Here there may be
    // objects before it.
    if (old === undefined ? objects.size > 0 : !sameJson(old.spec, crd.spec))
      this.#host.reread(kind, objects);
  }
}
