/**
 * What the real server's controllers do with a CustomResourceDefinition: they accept its names,
 * establish it and serve it. When it is deleted, its objects are deleted first. Each step is an
 * update that a watch reports. apiextensions-apiserver: pkg/controller/status, establish and
 * finalizer.
 */
import { type JsonObject, memberObject, sameJson, stringAt } from '../json.ts';
import {
  awaitsCleanup,
  establishedOf,
  isConditionTrue,
  markedForDeletion,
  withAcceptedNames,
  withCleanupDone,
  withCleanupStarted,
  withStoredVersion,
} from './definitions.ts';
import { definedBy, type Kind, type Kinds } from './kinds.ts';
import { metadataOf, type ResourceStore, type Stored } from './store.ts';

/** What the controller needs from the registry. */
export interface DefinitionHost {
  kinds: Kinds;
  /** The store of CustomResourceDefinitions. */
  definitions(): ResourceStore;
  storeOf(kind: Kind): ResourceStore;
  now(): string;
  /** Deletes an object of the kind. An object with finalizers stays. */
  remove(kind: Kind, store: ResourceStore, stored: Stored): void;
  /** Makes the server itself the owner of the status fields that it wrote. */
  owned(before: JsonObject, now: JsonObject): JsonObject;
  /** Reads the objects of the kind again by the current schema. */
  reread(kind: Kind, store: ResourceStore): void;
}

export class DefinitionController {
  readonly #host: DefinitionHost;

  constructor(host: DefinitionHost) {
    this.#host = host;
  }

  /** Stores the definition and reconciles it. Returns the object of the first write. */
  put(key: string, object: JsonObject): Stored {
    const store = this.#host.definitions();
    const old = store.get(key)?.object;
    const stored = store.put(key, withStoredVersion(object));
    this.#reconcile(key);
    this.#show(key, old);
    this.#rename(key, object);
    return stored;
  }

  /**
   * Marks the definition as deleted, deletes its objects, then the definition. Returns the marked
   * state.
   */
  delete(existing: Stored): Stored {
    const store = this.#host.definitions();
    if (metadataOf(existing.object).deletionTimestamp !== undefined) return existing;
    const stored = store.put(existing.key, markedForDeletion(existing.object, this.#host.now()));
    const next = withCleanupStarted(stored.object, this.#host.now());
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

  /**
   * Called when an object of the kind was removed: a deletion of its definition may wait for it.
   */
  released(kind: Kind): void {
    const key = `${kind.plural}.${kind.group}`;
    const stored = kind.builtIn ? undefined : this.#host.definitions().get(key);
    if (stored !== undefined && awaitsCleanup(stored.object)) this.#clean(key);
  }

  /** Whether the definition of the kind is being deleted. */
  isTerminating(kind: Kind): boolean {
    if (kind.builtIn) return false;
    const stored = this.#host.definitions().get(`${kind.plural}.${kind.group}`);
    return stored !== undefined && isConditionTrue(stored.object, 'Terminating');
  }

  /** Ends the deletion if no object is left. */
  #clean(key: string): void {
    const store = this.#host.definitions();
    const stored = store.get(key);
    if (stored === undefined) return;
    const kind = this.#kindOf(stored.object);
    if (kind !== undefined && this.#host.storeOf(kind).size > 0) return;
    const last = withCleanupDone(stored.object, this.#host.now());
    if (metadataOf(last).finalizers !== undefined) {
      store.put(key, this.#host.owned(stored.object, last));
      return;
    }
    store.remove(key);
    this.removed(stored.object);
  }

  /** Called when the definition was removed: stops serving its kind and releases its names. */
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

  /** Accepts the names, then establishes the definition. */
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

  /** Gives names that became free to other definitions of the group that wait for them. */
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
    const { group } = memberObject(crd, 'spec');
    return store
      .asOf(store.current, '', '')
      .filter((each) => each.key !== key && memberObject(each.object, 'spec').group === group)
      .map(({ object }) => object);
  }

  /** Serves the resource, if the definition is established. */
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
    // The real server opens new storage for a changed definition. Here there may already be
    // objects.
    if (old === undefined ? objects.size > 0 : !sameJson(old.spec, crd.spec))
      this.#host.reread(kind, objects);
  }
}
