/**
 * The operations on objects: create, get, update, patch, apply, delete. Each makes all its checks
 * before it writes to a store, and writes once and synchronously: a request succeeds or changes
 * nothing. The order of the checks is that of apiserver's pkg/registry/generic/registry/store.go.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../base/clock.ts';
import { formatTime } from '../../../base/times.ts';
import type { ServerUser } from '../auth/users.ts';
import { asReadBack, incrementsGeneration } from '../fields.ts';
import {
  type Json,
  type JsonObject,
  memberObject,
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
  forbiddenObject,
  notFound,
  TooLargeVersion,
} from '../status.ts';
import { Allocator } from './admission.ts';
import { servedForm, storageKey, toStoredForm } from './conversion.ts';
import { DefinitionController } from './definition-controller.ts';
import { DEFINITIONS, isDefinition } from './definitions.ts';
import { type DeletionOptions, endsByUpdate, forDeletion } from './deletion.ts';
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
  applyConfiguration,
  checkConfiguration,
  ownersAfter,
  sameObject,
  sameSpec,
  withOwners,
} from './owners.ts';
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
import { makerOf } from './subresources.ts';
import { addWarnings, ownerWarnings, type Written, warningsOf } from './warnings.ts';

/** Returns the wanted object for the existing one. */
export type ChangeObject = (existing: JsonObject) => JsonObject;

/** Options of a write. */
export interface StoreWriteOptions {
  dryRun: boolean;
  /** The field manager. */
  manager: string;
  /** The user who sent the request. */
  user?: ServerUser | undefined;
  /** Called before an object of this kind is written; throws to refuse the write. */
  guard?: ((kind: Kind, object: JsonObject, old: JsonObject | undefined) => void) | undefined;
  /** The stored object has empty lists or maps in its metadata. */
  hollow?: boolean | undefined;
}

export class Registry {
  readonly versions = new VersionCounter();
  /** Namespaces and custom kinds must exist before they are used. */
  strict: boolean;
  /** The first object of a custom kind registers it, without a definition. */
  readonly learns: boolean;
  readonly #becomesStrict: boolean;
  readonly kinds = new Kinds();
  readonly #stores = new Map<string, ResourceStore>();
  /** The resources of the stores, each by the name that was requested first. */
  readonly #resources: ResourceName[] = [];
  /** Stored objects whose next write is a change in any case, as of unreturned empty lists. */
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
        // The next write stores it, even if that changes nothing else.
        if (!sameJson(read, each)) this.#hollow.add(read);
        return read;
      }),
  });
  readonly #namespaces: NamespaceController;
  readonly #historySize: number;
  readonly #wallTime: () => number;
  /** All histories up to this version are dropped, also those of stores created later. */
  #expired = 0;

  constructor(options: {
    historySize: number;
    wallTime: () => number;
    clock: Clock;
    /** undefined: from the create of the first Namespace on */
    strict: boolean | undefined;
    /** Whether the server starts with the Namespaces of a cluster. */
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

  /** The store of a resource, created at first use. */
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
   * Makes all versions that clients have seen expire, as if etcd had been compacted after a write.
   */
  expireHistory(): void {
    this.#expired = this.versions.next();
    for (const store of this.#stores.values()) store.expire(this.#expired);
  }

  /**
   * Deletes all objects of the resource, ends its watches, and stops serving all its versions.
   * Returns a function that serves them again, without objects; watches from older versions are
   * then answered with 410.
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

  /** @param version the minimum version; a future one is answered with 504 */
  get(path: ResourcePath, version: number): Stored {
    const kind = this.kinds.get(path.resource);
    if (version > this.versions.current)
      throw new TooLargeVersion(version, this.versions.current, path.resource);
    const stored = this.store(path.resource).get(storeKey(path.namespace, path.name));
    if (stored === undefined) throw notFound(ofResource(kind, path.name));
    return servedForm(kind, stored);
  }

  create(path: ResourcePath, body: JsonObject, options: StoreWriteOptions): Written {
    const kind = this.kinds.get(path.resource);
    const object = this.#inNamespace(kind, path, body);
    return addWarnings(ownerWarnings(object), () =>
      this.#create(kind, path, object, options, undefined, true),
    );
  }

  /** An object that is returned and not stored, with its managers: a review. */
  unstored(kind: Kind, path: ResourcePath, body: JsonObject, manager: string): JsonObject {
    const object = asPosted(this.#inNamespace(kind, path, body));
    const by = { manager, now: this.now() };
    const managedFields = ownersAfter(kind, undefined, object, path.subresource, by);
    const owned = withOwners(object, managedFields);
    return assemble(kind, metadataOf(owned), owned);
  }

  /**
   * apiserver: registry/generic/registry/store.go makes up to eight tries, as a name may be taken.
   */
  #generated(prefix: string, { resource, namespace }: ResourcePath): string {
    let name = generateName(prefix);
    for (let tries = 1; tries < 8 && this.store(resource).get(storeKey(namespace, name)); tries++)
      name = generateName(prefix);
    return name;
  }

  /**
   * @param owners the `managedFields` of an object that is applied
   * @param posted the create is a POST, not an update or apply
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
    if (this.#definitions.isTerminating(kind))
      throw forbiddenObject(ofResource(kind, name), TERMINATING);
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
    return addWarnings(warningsOf(kind, made), () => {
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
      // The real server writes a claim at its first update, even if nothing changes.
      const hollow = options.hollow === true || isClaim(kind);
      return { code: 201, json: this.#put(kind, store, key, made, hollow).json };
    });
  }

  /**
   * An update replaces the object with the body; a patch changes the existing one. Both may fail
   * with a conflict.
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
    return addWarnings(ownerWarnings(wanted), () => {
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
      const how = { ...options, selfLink: memberObject(sent, 'metadata').selfLink };
      return this.#write(kind, path, existing, next, how, counts);
    });
  }

  /** Applies a configuration: creates the object, or merges the configuration into it. */
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
    const result = applyConfiguration(
      kind,
      existing?.object,
      config,
      path.subresource,
      by,
      options.force,
    );
    const how = { ...options, hollow: result.hollow };
    const wanted = this.#named(path, this.#inNamespace(kind, path, result.object));
    return addWarnings(ownerWarnings(wanted), () => {
      if (existing !== undefined) {
        requireVersion(kind, path, wanted, existing);
        const next = result.changed ? prepare(kind, wanted, true) : wanted;
        // Members that are pruned afterwards count as a change.
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
        const why =
          `uid mismatch: the provided object specified uid ${uid}, and no existing ` +
          'object was found';
        throw conflict(ofResource(kind, path.name), why);
      }
      return this.#create(found, path, withoutVersion(wanted), how, result);
    });
  }

  /** Throws 403 or 404 unless the namespace exists and is not being deleted. */
  requireOpen(kind: Kind, { namespace }: ResourcePath, name: string): void {
    if (namespace !== '') this.#namespaces.requireOpen(kind, namespace, name, this.strict);
  }

  #existing(kind: Kind, path: ResourcePath): Stored | undefined {
    const stored = this.store(path.resource).get(storeKey(path.namespace, path.name));
    return stored === undefined ? undefined : servedForm(kind, stored);
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

  /** Stores an object without checks: one of the initial ones. */
  put(kind: Kind, key: string, object: JsonObject): void {
    this.kinds.learn(kind, { kind: kind.kind, namespaced: key.includes('/') });
    this.#put(kind, this.store(kind), key, object);
  }

  /** Changes the object as the server itself, without a change of managedFields. */
  modify(
    path: ResourcePath,
    dryRun: boolean,
    change: (object: JsonObject, now: string) => JsonObject,
  ): void {
    const existing = this.get(path, 0);
    const next = change(existing.object, this.now());
    const kind = this.kinds.get(path.resource);
    if (dryRun || sameJson(next, existing.object)) return;
    this.store(path.resource).put(existing.key, toStoredForm(kind, next));
  }

  delete(path: ResourcePath, options: DeletionOptions): Written {
    const kind = this.kinds.get(path.resource);
    const store = this.store(path.resource);
    if (isNamespace(kind)) this.#namespaces.requireDeletable(kind, path.name);
    const existing = store.get(storeKey(path.namespace, path.name));
    if (existing === undefined) throw notFound(ofResource(kind, path.name));
    requirePreconditions(kind, existing, options);
    if (isDefinition(kind) && !options.dryRun)
      return { code: 200, json: this.#definitions.delete(existing).json };
    const left = this.#remove(kind, store, existing, options);
    if (left.pending || kind.returnsDeleted) {
      const object = readJson(left.json) as JsonObject;
      const code = left.pending && options.cascades === true ? 202 : 200;
      return { code, json: servedForm(kind, { object, json: left.json }).json };
    }
    const status = deleted(
      ofResource(kind, path.name),
      stringAt(metadataOf(existing.object), 'uid'),
    );
    return { code: 200, json: JSON.stringify(status) };
  }

  /** Deletes the listed objects that still exist. */
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

  /** Marks the object as deleted if it has finalizers; otherwise removes it. */
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
   * Stores the new state unless it equals the old one. Removes the object if its last finalizer was
   * removed.
   */
  #replace(
    kind: Kind,
    store: ResourceStore,
    existing: Stored,
    next: JsonObject,
    options: StoreWriteOptions & { selfLink?: Json | undefined },
  ): string {
    const was = store.get(existing.key)?.object ?? {};
    // Any write migrates an object to the current storage version.
    const hollow = options.hollow === true || this.#hollow.has(was);
    const ends = endsByUpdate(kind, next, was);
    // selfLink is dropped before a write to etcd, so that it alone is no change.
    if (options.dryRun && typeof options.selfLink === 'string')
      return writeJson({ ...next, metadata: { ...metadataOf(next), selfLink: options.selfLink } });
    if (!ends && !hollow && sameObject(toStoredForm(kind, next), was)) return existing.json;
    if (options.dryRun) return writeJson(next);
    if (ends) {
      store.remove(existing.key);
      if (isDefinition(kind)) this.#definitions.removed(next);
      else this.#released(kind, existing);
      return writeJson(next);
    }
    return this.#put(kind, store, existing.key, next, options.hollow).json;
  }

  /** A removal may end the deletion of the object's definition or namespace. */
  #released(kind: Kind, { object }: Stored): void {
    this.#definitions.released(kind);
    this.#namespaces.released(stringAt(metadataOf(object), 'namespace'));
  }

  /** Stops all timers. */
  stop(): void {
    this.#namespaces.stop();
  }

  #put(kind: Kind, store: ResourceStore, key: string, object: JsonObject, hollow = false): Stored {
    if (!isDefinition(kind)) {
      const stored = store.put(key, toStoredForm(kind, object));
      if (hollow) this.#hollow.add(stored.object);
      return servedForm(kind, stored);
    }
    return this.#definitions.put(key, object);
  }

  /**
   * The object with normalized metadata and the namespace of the path; a cluster-scoped object
   * loses a namespace that was sent.
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
        `the name of the object (${path.name} based on URL) was undeterminable: name ` +
          'must be provided',
      );
    }
    throw badRequest(
      `the name of the object (${name}) does not match the name on the URL (${path.name})`,
    );
  }

  /** The current time in the format of metadata. */
  now(): string {
    return formatTime(this.#wallTime());
  }
}

/** Why an object whose definition is being deleted is not created. */
const TERMINATING = 'create not allowed while custom resource definition is terminating';

const withoutVersion = (object: JsonObject, sent?: string): JsonObject => ({
  ...object,
  metadata: { ...metadataOf(object), resourceVersion: sent },
});

/** A dry run returns the resourceVersion that was sent, if any. */
const unstored = (object: JsonObject, sent: string): string =>
  writeJson(withoutVersion(object, sent === '' ? undefined : sent));
