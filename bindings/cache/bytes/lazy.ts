/**
 * Objects whose members are decoded when they are first read. To a program they look like the
 * result of JSON.parse, frozen: own enumerable members in the order of the document,
 * Object.prototype, a write throws; `console.log` shows the object.
 *
 * Members are own accessors that share their getters by position, made with `__defineGetter__`: 205
 * ns for an object of five members where `Object.defineProperties` takes 1212 (Node 26). An
 * accessor reads a private field that is added to the plain object, so that no WeakMap is needed
 * and programs cannot see it. A `Proxy` would fail `structuredClone`.
 */
import { CapstanError } from '../../base/errors.ts';
import type { Request } from '../../base/request.ts';
import { copiedValue, offsetAt } from './copy.ts';
import { StoredObject } from './stored-object.ts';

/**
 * A base class whose constructor returns its argument, so that the private fields of the subclass
 * are added to that object.
 */
function given(object: object): object {
  return object;
}
const Given = given as unknown as new (object: object) => object;

/** The value of `first` for an object inside of a stored object, which has spans of its own. */
const NESTED = -1;
/**
 * Arrays of values are made by slices of this one: an empty array grows to 17 places, and a literal
 * may be allocated in the old generation (copy.ts).
 */
const NO_VALUES: readonly undefined[] = new Array(64).fill(undefined);

/**
 * The place from which an object is decoded, in one private field: each further field would make
 * the object larger.
 */
class Source {
  readonly stored: StoredObject;
  /**
   * Where the spans of this object begin among those of the stored object: 0 for the root; or
   * NESTED.
   */
  readonly first: number;
  /** How many members there are. */
  readonly count: number;
  /** The spans of a nested object: assembly/members.ts. */
  readonly spans: string | undefined;
  /**
   * The decoded values by member; a value of JSON is never undefined. Made at the first read,
   * because most objects are dropped before it.
   */
  #values: unknown[] | undefined;

  constructor(stored: StoredObject, first: number, count: number, spans: string | undefined) {
    this.stored = stored;
    this.first = first;
    this.count = count;
    this.spans = spans;
  }

  value(index: number): unknown {
    this.#values ??= NO_VALUES.slice(0, this.count);
    const known = this.#values[index];
    if (known !== undefined) return known;
    const value =
      this.spans === undefined ? decode(this, index) : nestedValue(this.stored, this.spans, index);
    this.#values[index] = value;
    return value;
  }
}

/**
 * Makes an object as `{}` does. V8 may allocate all objects of a literal in the old generation (see
 * copy.ts), and it gives objects of a constructor exactly the room that their members need.
 */
const Plain = function Plain() {} as unknown as new () => Record<string, unknown>;
Plain.prototype = Object.prototype;

/** Puts a private field onto a plain object. */
class Laziness extends Given {
  readonly #source: Source;

  constructor(object: object, source: Source) {
    super(object);
    this.#source = source;
  }

  static storedObjectOf(object: object): StoredObject | undefined {
    return #source in object && object.#source.first === 0 ? object.#source.stored : undefined;
  }

  /** Throws for an object that was not made here, because any value would be wrong. */
  static member(object: object, index: number): unknown {
    if (#source in object) return object.#source.value(index);
    // If the accessor was inherited, the object that owns it has the value.
    let owner: object | null = Object.getPrototypeOf(object);
    while (owner !== null && !(#source in owner)) owner = Object.getPrototypeOf(owner);
    if (owner !== null) return owner.#source.value(index);
    const advice = 'wrap or change a copy ({ ...object } or structuredClone)';
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `a member of a cached object was read through something else: ${advice}`,
    );
  }
}

function decode({ stored, first }: Source, index: number): unknown {
  const { shape, copy } = stored;
  if (first === 0) {
    if (index === shape.metadataIndex) return metadataOf(stored);
    const span = index - shape.implied;
    if (copy === undefined && shape.large[index] === true) {
      const members = stored.owner.members(stored, span);
      if (members !== undefined) {
        const { names, spans } = members;
        return makeObject(new Source(stored, NESTED, names.length, spans), names);
      }
    }
    return stored.member(span);
  }
  return stored.member(first + index);
}

/** In place of a model: the metadata have not been read yet, or have been read once. */
const UNREAD: Record<string, unknown> = {};
const READ: Record<string, unknown> = {};

/**
 * The metadata of an object. If it changes often, mostly only its resourceVersion changes: then the
 * metadata are a copy of those that were decoded once. Making them and reading name and version
 * takes 0.2 µs; with accessors 1.3.
 */
function metadataOf(stored: StoredObject): object {
  const { shape, model } = stored;
  if (model === undefined || model === UNREAD) {
    if (model === UNREAD) stored.model = READ;
    return lazyMetadata(stored);
  }
  if (model === READ) stored.model = { ...lazyMetadata(stored) };
  const resourceVersion =
    stored.known(shape.versionIndex) ?? stored.member(shape.spans + shape.versionIndex);
  return Object.freeze({ ...stored.model, resourceVersion });
}

function lazyMetadata(stored: StoredObject): object {
  const { spans, metadataNames } = stored.shape;
  return makeObject(new Source(stored, spans, metadataNames.length, undefined), metadataNames);
}

function nestedValue(stored: StoredObject, spans: string, index: number): unknown {
  const from = offsetAt(spans, 8 * index);
  const to = offsetAt(spans, 8 * index + 4);
  const { copy } = stored;
  return copy === undefined
    ? stored.owner.valueAt(stored, from, to)
    : copiedValue(copy, stored.shape, from, to);
}

const getters: (() => unknown)[] = [];

/**
 * The getter of the member at a position, shared by all objects, so that there are only as many
 * getters as the largest object has members.
 */
function getterAt(index: number): () => unknown {
  let getter = getters[index];
  if (getter === undefined) {
    getter = function member(this: object): unknown {
      return Laziness.member(this, index);
    };
    getters[index] = getter;
  }
  return getter;
}

type Define = (this: object, name: string, getter: () => unknown) => void;

/** Not every host has it (Annex B); `Object.defineProperty` is slower and gives the same object. */
const defineGetter: Define =
  (Object.prototype as { __defineGetter__?: Define }).__defineGetter__ ??
  function define(this: object, name, get) {
    Object.defineProperty(this, name, { get, enumerable: true, configurable: true });
  };

/**
 * For `console.log` and `util.inspect`, which do not call getters: a copy with values, made when it
 * is asked for.
 */
const inspect = Symbol.for('nodejs.util.inspect.custom');
const inspector = {
  value(this: object): object {
    return { ...this };
  },
};
const denoInspect = 'Deno' in globalThis ? Symbol.for('Deno.customInspect') : undefined;
const denoInspector = {
  value(
    this: object,
    inspectValue: (value: unknown, options: unknown) => string,
    options: unknown,
  ): string {
    return inspectValue({ ...this }, options);
  },
};

function makeObject(source: Source, names: readonly string[]): object {
  const object = new Plain();
  new Laziness(object, source);
  const { stored, first } = source;
  const { constants } = stored.shape;
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as string;
    const known = first === 0 ? constants[i] : first > 0 ? stored.known(i) : undefined;
    if (known !== undefined) object[name] = known;
    else defineGetter.call(object, name, getterAt(i));
  }
  Object.defineProperty(object, inspect, inspector);
  if (denoInspect !== undefined) Object.defineProperty(object, denoInspect, denoInspector);
  return Object.freeze(object);
}

/** The object of a stored object; another one at each call. */
export function lazyObject(stored: StoredObject): object {
  const { names } = stored.shape;
  return makeObject(new Source(stored, 0, names.length, undefined), names);
}

/**
 * The object itself, where a stored object stands for it on its way into a store.
 */
export function toObject<T extends object>(object: T): T {
  if (!(object instanceof StoredObject)) return object;
  const known = object.object;
  if (known !== undefined) return known as T;
  const made = lazyObject(object);
  // its bytes have left the core, so no store will make the object
  if (object.id < 0) object.kept = made;
  return made as T;
}

/**
 * The stored object of an object that `lazyObject` made. `undefined` for any other, also for the
 * metadata of such an object.
 */
export function storedObjectOf(object: object): StoredObject | undefined {
  return object instanceof StoredObject ? object : Laziness.storedObjectOf(object);
}

/**
 * The namespace and name of a stored object. All stored objects of one key share them, so that the
 * strings are decoded once, and V8 looks them up in its table of strings once when they become keys
 * of a Map (500 ns for two new ones). `undefined`: the namespace is not a string.
 */
export function nameOfStored(stored: StoredObject): Request | undefined {
  if (stored.name !== undefined) return stored.name;
  const namespace = namespaceOf(stored);
  const name = stored.metadataMember('name');
  if (typeof namespace !== 'string' || typeof name !== 'string') return undefined;
  const request = { namespace, name };
  new Place(request);
  stored.name = Object.freeze(request);
  return stored.name;
}

/**
 * The slot at which the object of a name was found last. It is a guess, and right if the stored
 * object at the slot has this name object.
 */
class Place extends Given {
  #slot = -1;

  static of(name: object): number {
    return #slot in name ? name.#slot : -1;
  }

  static note(name: object, slot: number): void {
    if (#slot in name) name.#slot = slot;
  }
}

/** The slot that `noteSlot` got for a name last, or -1. */
export function slotOfName(name: object): number {
  return Place.of(name);
}

/** Notes the slot of the object of a name that `nameOfStored` returned. */
export function noteSlot(name: object, slot: number): void {
  Place.note(name, slot);
}

/**
 * A stored object that replaces another one of the same key takes over its name, and its metadata
 * if that one was handed out a short while ago. If the metadata changed, it takes the name only if
 * the namespace is the same: the object `b` in the namespace `a` and an object `a/b` without a
 * namespace have the same key.
 *
 * @param sameMetadata nothing in the metadata changed but resourceVersion
 */
export function inherit(
  stored: StoredObject,
  { name, model, place }: StoredObject,
  sameMetadata: boolean,
): void {
  if (sameMetadata && place >= 0 && stored.shape.isModel) stored.model = model ?? UNREAD;
  if (name === undefined || stored.name !== undefined) return;
  if (sameMetadata || namespaceOf(stored) === name.namespace) stored.name = name;
}

function namespaceOf(stored: StoredObject): unknown {
  return stored.metadataMember('namespace') ?? '';
}

/**
 * The bits of what changed from one object to another, if one replaced the other in a store that
 * keeps bytes.
 */
export function changesBetween(old: object, now: object): number | undefined {
  const stored = Laziness.storedObjectOf(now);
  if (stored === undefined || stored.replaced === 0) return undefined;
  const before = Laziness.storedObjectOf(old);
  return before?.serial === stored.replaced && before.owner === stored.owner
    ? stored.changes
    : undefined;
}
