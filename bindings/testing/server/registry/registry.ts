/**
 * The operations on objects: create, read, update, patch, delete. Each checks all there is to check
 * before it touches a store, and touches it once, in one turn: a request either happened or changed
 * nothing. apiserver: pkg/registry/generic/registry/store.go, whose order of checks this keeps.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../base/clock.ts';
import { formatTime } from '../../../base/times.ts';
import type { ServerUser } from '../auth/users.ts';
import { asReadBack, incrementsGeneration } from '../fields.ts';
import {
  type Json,
  type JsonObject,
  objectAt,
  readJson,
  sameJson,
  stringAt,
  without,
  writeJson,
} from '../json.ts';
import type { ResourcePath } from '../paths.ts';
import { pruneAndDefault, withDefaults } from '../schema/defaults.ts';
import {
  ApiError,
  alreadyExists,
  badRequest,
  conflict,
  deleted,
  notFound,
  TooLargeVersion,
  terminatingDefinition,
} from '../status.ts';
import { Allocator } from './admission.ts';
import { DefinitionController } from './definition-controller.ts';
import { isDefinition } from './definitions.ts';
import { type DeletionOptions, endsByUpdate, forDeletion } from './deletion.ts';
import { asStored, shownAs, storageKey } from './forms.ts';
import {
  isClaim,
  isNamespace,
  type Kind,
  Kinds,
  type ResourceName,
  splitApiVersion,
} from './kinds.ts';
import { normalizeMetadata } from './metadata.ts';
import { generateName, madeUpName } from './names.ts';
import { NAMESPACES, NamespaceController, OWN_NAMESPACES } from './namespaces.ts';
import {
  applied,
  checkConfiguration,
  ownersAfter,
  sameObject,
  sameSpec,
  withOwners,
} from './owners.ts';
import { makerOf } from './parts.ts';
import { requirePreconditions, requireUid, requireVersion } from './preconditions.ts';
import { metadataOf, ResourceStore, type Stored, storeKey, VersionCounter } from './store.ts';
import {
  asPosted,
  assemble,
  forCreate,
  ofResource,
  prepare,
  requireKind,
  withNextGeneration,
} from './strategy.ts';
import { ownerWarnings, telling, type Written, warningsOf } from './warnings.ts';

/** Turns the existing object into the one the client wants. */
export type ChangeObject = (existing: JsonObject) => JsonObject;

/** How to write: who does, and whether it counts. */
export interface StoreWriteOptions {
  dryRun: boolean;
  /** The field manager. */
  manager: string;
  /** Who sent the request. */
  user?: ServerUser | undefined;
  /** Asked before an object of this kind is written; throws what is refused. */
  guard?: ((kind: Kind, object: JsonObject, old: JsonObject | undefined) => void) | undefined;
  /** What is stored has empty lists or maps in its metadata. */
  hollow?: boolean | undefined;
}

export class Registry {
  readonly versions = new VersionCounter();
  /** Namespaces and custom kinds have to be there before they are used. */
  strict: boolean;
  /** The first object of a custom kind tells of it, without a definition. */
  readonly learns: boolean;
  readonly #becomesStrict: boolean;
  readonly kinds = new Kinds();
  readonly #stores = new Map<string, ResourceStore>();
  /** The resources of these, each by the name that it was asked for first. */
  readonly #resources: ResourceName[] = [];
  /**
   * Stored objects that have empty lists or maps in their metadata. Nobody reads them, so that each
   * write is a change.
   */
  readonly #hollow = new WeakSet<JsonObject>();
  readonly #allocator = new Allocator();
  readonly #definitions = new DefinitionController({
    kinds: this.kinds,
    definitions: () => this.store(DEFINITIONS),
    storeOf: (kind) => this.store(kind),
    now: () => this.now(),
    remove: (kind, store, stored) => void this.#remove(kind, store, stored, { dryRun: false }),
    owned: (before, now) => {
      const by = { manager: 'kube-apiserver', now: this.now() };
      const kind = this.kinds.get(DEFINITIONS);
      return withOwners(now, ownersAfter(kind, before, now, 'status', by));
    },
    reread: (kind, store) =>
      store.reread((each) => {
        const version = splitApiVersion(stringAt(each, 'apiVersion'));
        const { schema } = this.kinds.get({ ...kind, ...version });
        if (schema === undefined) return each;
        const read = pruneAndDefault(schema, each, false);
        if (!sameJson(read, each)) this.#hollow.add(read); // as it lies, until it is written
        return read;
      }),
  });
  readonly #namespaces: NamespaceController;
  readonly #historySize: number;
  readonly #wallTime: () => number;
  /** Up to here every history was dropped; stores that are made later know nothing older either. */
  #expired = 0;

  constructor(options: {
    historySize: number;
    wallTime: () => number;
    clock: Clock;
    /** undefined: from the first Namespace that is created on */
    strict: boolean | undefined;
    /** Whether there are the Namespaces of a cluster. */
    ofCluster: boolean;
  }) {
    this.learns = options.strict !== true;
    this.#becomesStrict = options.strict === undefined;
    this.#historySize = options.historySize;
    this.#wallTime = options.wallTime;
    this.#namespaces = new NamespaceController(
      {
        namespaces: () => this.store(NAMESPACES),
        resources: () =>
          this.#resources.map((name) => ({ kind: this.kinds.get(name), store: this.store(name) })),
        now: () => this.now(),
        remove: (kind, store, stored) => void this.#remove(kind, store, stored, { dryRun: false }),
      },
      options.clock,
      options.ofCluster,
    );
    if (options.ofCluster)
      for (const name of OWN_NAMESPACES) {
        const of = {
          type: 'resource',
          namespace: '',
          name: '',
          subresource: '',
          watch: false,
        } as const;
        const by = { dryRun: false, manager: 'kube-apiserver' };
        this.create({ ...of, resource: NAMESPACES }, { metadata: { name } }, by);
      }
    this.strict = options.strict === true;
  }

  /** The store of a resource, made at first use. */
  store(resource: ResourceName): ResourceStore {
    const key = storageKey(this.kinds.get(resource));
    let store = this.#stores.get(key);
    if (store === undefined) {
      store = new ResourceStore(this.versions, this.#historySize);
      if (this.#expired > 0) store.expire(this.#expired);
      this.#stores.set(key, store);
      this.#resources.push(resource);
    }
    return store;
  }

  /**
   * Makes every version that any client has seen too old, as if something had been written and etcd
   * compacted.
   */
  expireHistory(): void {
    this.#expired = this.versions.next();
    for (const store of this.#stores.values()) store.expire(this.#expired);
  }

  /**
   * Deletes all objects of the resource, ends its watches, and serves none of its versions any
   * longer. Gives the function that serves them again, empty; versions from before are too old to
   * watch from.
   */
  removeResource(resource: ResourceName): () => void {
    const store = this.store(resource);
    for (const { key } of store.asOf(this.versions.current, '', '')) store.remove(key);
    const kind = this.kinds.get(resource);
    const others = kind.builtIn ? [] : this.kinds.otherVersions(resource);
    const removed = [kind, ...others].filter(({ served }) => served);
    for (const each of removed) this.kinds.serve(each, false);
    store.close();
    return () => {
      const gone = removed.filter((each) => !this.kinds.get(each).served);
      for (const each of gone) this.kinds.serve(each, true);
      if (gone.length > 0) store.expire(this.versions.current);
    };
  }

  /** @param version at least this one; a version that does not exist yet is a 504 */
  get(path: ResourcePath, version: number): Stored {
    const kind = this.kinds.get(path.resource);
    if (version > this.versions.current)
      throw new TooLargeVersion(version, this.versions.current, path.resource);
    const stored = this.store(path.resource).get(storeKey(path.namespace, path.name));
    if (stored === undefined) throw notFound(ofResource(kind, path.name));
    return shownAs(kind, stored);
  }

  create(path: ResourcePath, body: JsonObject, options: StoreWriteOptions): Written {
    const kind = this.kinds.get(path.resource);
    const object = this.#inNamespace(kind, path, body);
    return telling(ownerWarnings(object), () =>
      this.#create(kind, path, object, options, undefined, true),
    );
  }

  /** An object that is answered and not stored, with its managers: a review. */
  unstored(kind: Kind, path: ResourcePath, body: JsonObject, manager: string): JsonObject {
    const object = asPosted(this.#inNamespace(kind, path, body));
    const by = { manager, now: this.now() };
    const managedFields = ownersAfter(kind, undefined, object, path.subresource, by);
    const owned = withOwners(object, managedFields);
    return assemble(kind, metadataOf(owned), owned);
  }

  /** apiserver: registry/generic/registry/store.go: eight tries, as a name may be taken. */
  #generated(prefix: string, { resource, namespace }: ResourcePath): string {
    let name = generateName(prefix);
    for (let tries = 1; tries < 8 && this.store(resource).get(storeKey(namespace, name)); tries++)
      name = generateName(prefix);
    return name;
  }

  /**
   * @param owners the `managedFields` where they are known: of an object that is applied
   * @param posted it is created by a POST, and not by an update or an apply
   */
  #create(
    kind: Kind,
    path: ResourcePath,
    object: JsonObject,
    options: StoreWriteOptions,
    owners?: { managedFields: Json | undefined },
    posted = false,
  ): Written {
    const given = metadataOf(object);
    const name =
      stringAt(given, 'name') ||
      madeUpName(kind, stringAt(given, 'generateName'), (prefix) => this.#generated(prefix, path));
    this.requireOpen(kind, path, name);
    requireKind(kind, object, name);
    if (this.#definitions.isTerminating(kind)) throw terminatingDefinition(ofResource(kind, name));
    const learned = kind.known ? kind : { ...kind, kind: String(object.kind) };
    const checked = prepare(learned, object, owners !== undefined);
    const prepared = posted ? asPosted(checked) : checked;
    options.guard?.(learned, prepared, undefined);
    const now = this.now();
    const managedFields =
      owners === undefined
        ? ownersAfter(learned, undefined, prepared, '', { manager: options.manager, now })
        : owners.managedFields;
    const made = forCreate(learned, withOwners(asReadBack(learned, prepared), managedFields), {
      name,
      uid: randomUUID(),
      now,
      sent: given,
      allocate: this.#allocator,
      user: options.user,
      dryRun: options.dryRun,
    });
    const store = this.store(path.resource);
    const key = storeKey(path.namespace, name);
    return telling(warningsOf(kind, made), () => {
      const version = stringAt(given, 'resourceVersion');
      if (!options.dryRun && Number(version) > 0)
        throw new ApiError(500, 'resourceVersion should not be set on objects to be created');
      const existing = store.get(key);
      if (existing !== undefined) {
        const isEnding = metadataOf(existing.object).deletionTimestamp !== undefined;
        throw alreadyExists(ofResource(kind, name), isEnding);
      }
      if (options.dryRun) return { code: 201, json: unstored(made, version) };
      this.kinds.learn(kind, { kind: String(object.kind), namespaced: path.namespace !== '' });
      if (this.#becomesStrict && isNamespace(kind)) this.strict = true;
      // The real server writes a claim again by the first update, whatever it changes.
      const hollow = options.hollow === true || isClaim(kind);
      return { code: 201, json: this.#put(kind, store, key, made, hollow).json };
    });
  }

  /**
   * An update replaces the object by the body; a patch changes the existing one. Both may fail on a
   * stale version.
   */
  update(
    path: ResourcePath,
    change: ChangeObject | { body: JsonObject },
    options: StoreWriteOptions,
  ): Written {
    const kind = this.kinds.get(path.resource);
    const key = storeKey(path.namespace, path.name);
    const patch = typeof change === 'function';
    const whole = patch ? undefined : this.#named(path, this.#inNamespace(kind, path, change.body));
    const existing = this.#existing(kind, path);
    const creates = whole !== undefined && kind.createOnUpdate && path.subresource === '';
    if (existing === undefined && !creates) throw notFound(ofResource(kind, path.name));
    const sent = patch ? change(existing?.object ?? {}) : change.body;
    const wanted = whole ?? this.#named(path, this.#inNamespace(kind, path, sent));
    return telling(ownerWarnings(wanted), () => {
      const uid = stringAt(metadataOf(existing?.object ?? {}), 'uid');
      if (whole !== undefined) requireUid(kind, path, whole, { key, uid });
      if (existing === undefined) return this.#create(kind, path, withoutVersion(wanted), options);
      requireVersion(kind, path, wanted, existing);
      requireKind(kind, wanted, path.name);
      const prepared = prepare(kind, wanted);
      const by = { manager: options.manager, now: this.now() };
      const managedFields = ownersAfter(kind, existing.object, prepared, path.subresource, by);
      const counts = path.subresource === '' && incrementsGeneration(kind, wanted);
      const next = withOwners(prepared, managedFields);
      const how = { ...options, selfLink: objectAt(sent, 'metadata').selfLink };
      return this.#write(kind, path, existing, next, how, counts);
    });
  }

  /** Applies a configuration: creates the object, or merges into it what its owners allow. */
  apply(
    path: ResourcePath,
    config: JsonObject,
    options: StoreWriteOptions & { force: boolean },
  ): Written {
    const found = this.kinds.get(path.resource);
    const kind = found.known ? found : { ...found, kind: stringAt(config, 'kind') };
    checkConfiguration(kind, config);
    const existing = this.#existing(kind, path);
    if (existing === undefined && path.subresource !== '')
      throw notFound(ofResource(kind, path.name));
    const by = { manager: options.manager, now: this.now() };
    const result = applied(kind, existing?.object, config, path.subresource, by, options.force);
    const how = { ...options, hollow: result.hollow };
    const wanted = this.#named(path, this.#inNamespace(kind, path, result.object));
    return telling(ownerWarnings(wanted), () => {
      if (existing !== undefined) {
        requireVersion(kind, path, wanted, existing);
        const next = result.changed ? prepare(kind, wanted, true) : wanted;
        // What is pruned afterwards was a change.
        const counts =
          kind.schema !== undefined &&
          kind.generation === 'all' &&
          path.subresource === '' &&
          !sameSpec(wanted, existing.object) &&
          !sameSpec(withDefaults(kind.schema, wanted) as JsonObject, existing.object);
        return this.#write(
          kind,
          path,
          existing,
          withOwners(next, result.managedFields),
          how,
          counts,
        );
      }
      const uid = stringAt(metadataOf(wanted), 'uid');
      if (uid !== '') {
        const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
        throw conflict(ofResource(kind, path.name), why);
      }
      return this.#create(found, path, withoutVersion(wanted), how, result);
    });
  }

  /** Only a namespace that is there, and does not end, takes new objects. Throws 403 or 404. */
  requireOpen(kind: Kind, { namespace }: ResourcePath, name: string): void {
    if (namespace !== '') this.#namespaces.requireOpen(kind, namespace, name, this.strict);
  }

  #existing(kind: Kind, path: ResourcePath): Stored | undefined {
    const stored = this.store(path.resource).get(storeKey(path.namespace, path.name));
    return stored === undefined ? undefined : shownAs(kind, stored);
  }

  #write(
    kind: Kind,
    path: ResourcePath,
    existing: Stored,
    prepared: JsonObject,
    options: StoreWriteOptions & { selfLink?: Json | undefined },
    counts = false,
  ): Written {
    options.guard?.(kind, prepared, existing.object);
    const made = makerOf(kind, path.subresource)(
      kind,
      asReadBack(kind, prepared),
      existing.object,
      this.now(),
    );
    const next = counts ? withNextGeneration(made, existing.object) : made;
    const part =
      path.subresource === '' ? 'object' : path.subresource === 'status' ? 'status' : undefined;
    return {
      code: 200,
      json: this.#replace(kind, this.store(path.resource), existing, next, options),
      warnings: part === undefined ? [] : warningsOf(kind, next, existing.object, part),
    };
  }

  /** Stores an object as it is: one that is there from the beginning. */
  put(kind: Kind, key: string, object: JsonObject): void {
    this.kinds.learn(kind, { kind: kind.kind, namespaced: key.includes('/') });
    this.#put(kind, this.store(kind), key, object);
  }

  /** Changes the object as the server itself does: no manager comes to own anything by it. */
  modify(
    path: ResourcePath,
    dryRun: boolean,
    change: (object: JsonObject, now: string) => JsonObject,
  ): void {
    const existing = this.get(path, 0);
    const next = change(existing.object, this.now());
    const kind = this.kinds.get(path.resource);
    if (dryRun || sameJson(next, existing.object)) return;
    this.store(path.resource).put(existing.key, asStored(kind, next));
  }

  delete(path: ResourcePath, options: DeletionOptions): Written {
    const kind = this.kinds.get(path.resource);
    const store = this.store(path.resource);
    if (isNamespace(kind)) this.#namespaces.requireMortal(kind, path.name);
    const existing = store.get(storeKey(path.namespace, path.name));
    if (existing === undefined) throw notFound(ofResource(kind, path.name));
    requirePreconditions(kind, existing, options);
    if (isDefinition(kind) && !options.dryRun)
      return { code: 200, json: this.#definitions.delete(existing).json };
    const left = this.#remove(kind, store, existing, options);
    if (left.pending || kind.returnsDeleted) {
      const object = readJson(left.json) as JsonObject;
      const code = left.pending && options.cascades === true ? 202 : 200;
      return { code, json: shownAs(kind, { object, json: left.json }).json };
    }
    const status = deleted(
      ofResource(kind, path.name),
      stringAt(metadataOf(existing.object), 'uid'),
    );
    return { code: 200, json: JSON.stringify(status) };
  }

  /** Deletes what was listed and is still there. */
  deleteCollection(path: ResourcePath, listed: readonly Stored[], options: DeletionOptions): void {
    const kind = this.kinds.get(path.resource);
    const store = this.store(path.resource);
    for (const { key } of listed) {
      const stored = store.get(key);
      if (stored === undefined) continue;
      requirePreconditions(kind, stored, options);
      if (isDefinition(kind) && !options.dryRun) this.#definitions.delete(stored);
      else this.#remove(kind, store, stored, options);
    }
  }

  /** Marks the object for deletion while finalizers hold it, and removes it when none does. */
  #remove(
    kind: Kind,
    store: ResourceStore,
    existing: Stored,
    options: DeletionOptions,
  ): { pending: boolean; json: string } {
    const held = isNamespace(kind) ? this.#namespaces.deleted(kind, existing, options) : undefined;
    const { object, stays } =
      held === undefined
        ? forDeletion(kind, existing.object, options, this.now())
        : { object: held, stays: true };
    if (options.dryRun) return { pending: stays, json: writeJson(object) };
    const isMarked = !sameJson(object, existing.object);
    const marked = isMarked ? store.put(existing.key, object) : existing;
    if (held !== undefined && isMarked) this.#namespaces.marked(existing.key);
    if (stays) return { pending: true, json: marked.json };
    const { json } = store.remove(existing.key) ?? existing;
    this.#released(kind, existing);
    return { pending: false, json };
  }

  /**
   * Stores the new state unless it is the old one; removes the object when its last finalizer went.
   */
  #replace(
    kind: Kind,
    store: ResourceStore,
    existing: Stored,
    next: JsonObject,
    options: StoreWriteOptions & { selfLink?: Json | undefined },
  ): string {
    const was = store.get(existing.key)?.object ?? {};
    // What lies in a version that is not stored any more is moved by any write.
    const hollow = options.hollow === true || this.#hollow.has(was);
    const ends = endsByUpdate(kind, next, was);
    // Nobody wrote it to etcd, where a link is dropped.
    if (options.dryRun && typeof options.selfLink === 'string')
      return writeJson({ ...next, metadata: { ...metadataOf(next), selfLink: options.selfLink } });
    if (!ends && !hollow && sameObject(asStored(kind, next), was)) return existing.json;
    if (options.dryRun) return writeJson(next);
    if (ends) {
      store.remove(existing.key);
      if (isDefinition(kind)) this.#definitions.removed(next);
      else this.#released(kind, existing);
      return writeJson(next);
    }
    return this.#put(kind, store, existing.key, next, options.hollow).json;
  }

  /** An object is gone: its definition or its namespace may have waited for that. */
  #released(kind: Kind, { object }: Stored): void {
    this.#definitions.released(kind);
    this.#namespaces.released(stringAt(metadataOf(object), 'namespace'));
  }

  /** Nothing happens any more by itself. */
  stop(): void {
    this.#namespaces.stop();
  }

  #put(kind: Kind, store: ResourceStore, key: string, object: JsonObject, hollow = false): Stored {
    if (!isDefinition(kind)) {
      const stored = store.put(key, asStored(kind, object));
      if (hollow) this.#hollow.add(stored.object);
      return shownAs(kind, stored);
    }
    return this.#definitions.put(key, object);
  }

  /**
   * The object with its metadata in shape and its namespace that of the path; what has none loses
   * the one it is sent with.
   */
  #inNamespace(kind: Kind, path: ResourcePath, object: JsonObject): JsonObject {
    const metadata = normalizeMetadata(kind, object.metadata);
    if (kind.namespaced === false) return { ...object, metadata: without(metadata, 'namespace') };
    const namespace = stringAt(metadata, 'namespace');
    if (namespace !== '' && namespace !== path.namespace) {
      throw badRequest(
        'the namespace of the provided object does not match the namespace sent on the request',
      );
    }
    const placed = path.namespace === '' ? metadata : { ...metadata, namespace: path.namespace };
    return { ...object, metadata: placed };
  }

  #named(path: ResourcePath, object: JsonObject): JsonObject {
    const name = stringAt(metadataOf(object), 'name');
    if (name === path.name) return object;
    if (name === '') {
      throw badRequest(
        `the name of the object (${path.name} based on URL) was undeterminable: name must be provided`,
      );
    }
    throw badRequest(
      `the name of the object (${name}) does not match the name on the URL (${path.name})`,
    );
  }

  /** The time of day as objects have it. */
  now(): string {
    return formatTime(this.#wallTime());
  }
}

const DEFINITIONS: ResourceName = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
};

const withoutVersion = (object: JsonObject, sent?: string): JsonObject => ({
  ...object,
  metadata: { ...metadataOf(object), resourceVersion: sent },
});

/** A dry run's object has no version but the one that it was sent with. */
const unstored = (object: JsonObject, sent: string): string =>
  writeJson(withoutVersion(object, sent === '' ? undefined : sent));
