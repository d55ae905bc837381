/**
 * Objects whose members are decoded when they are first read. To all that looks at them they are
 * what JSON.parse would have given, and frozen: own enumerable members in the order of the
 * document, Object.prototype, a write throws; `console.log` shows the object.
 *
 * Members are own accessors that share their getters by position, made with `__defineGetter__`: 205
 * ns for an object of five members where `Object.defineProperties` takes 1212 (Node 26). What an
 * accessor reads lies in private fields that are stamped onto the plain object, so that no WeakMap
 * is needed and no look at the object finds them. A `Proxy` would fail `structuredClone`.
 */
import { CapstanError } from '../../base/errors.ts';
import type { Request } from '../../base/request.ts';
import { copiedValue, offsetAt } from './copy.ts';
import { Version } from './version.ts';

/**
 * As a base class it lets the fields of the class go onto the object that its constructor is given.
 */
function given(object: object): object {
  return object;
}
const Given = given as unknown as new (object: object) => object;

/** `first` of an object inside of a version, which has spans of its own. */
const NESTED = -1;
/**
 * Arrays of values are slices of it: an array that is made empty grows to places for 17, and one of
 * a literal may be made old (copy.ts).
 */
const NO_VALUES: readonly undefined[] = new Array(64).fill(undefined);

/**
 * What an object is decoded from. One private field leads to it: each more would make the object
 * larger.
 */
class Source {
  readonly version: Version;
  /**
   * Where the spans of this object's members begin among those of the version: 0 for the root; or
   * NESTED.
   */
  readonly first: number;
  /** How many members there are. */
  readonly count: number;
  /** Of a nested object: assembly/members.ts. */
  readonly spans: string | undefined;
  /**
   * By member; values of JSON are never undefined. Most objects are dropped before a member is
   * read.
   */
  #values: unknown[] | undefined;

  constructor(version: Version, first: number, count: number, spans: string | undefined) {
    this.version = version;
    this.first = first;
    this.count = count;
    this.spans = spans;
  }

  value(index: number): unknown {
    this.#values ??= NO_VALUES.slice(0, this.count);
    const known = this.#values[index];
    if (known !== undefined) return known;
    const value =
      this.spans === undefined ? decode(this, index) : nestedValue(this.version, this.spans, index);
    this.#values[index] = value;
    return value;
  }
}

/**
 * Makes what `{}` makes. Of a literal, the engine notes where it stands, and may make all of its
 * objects old from the start (see copy.ts); and the objects of a constructor get room for just the
 * members they have.
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

  static versionOf(object: object): Version | undefined {
    return #source in object && object.#source.first === 0 ? object.#source.version : undefined;
  }

  /** Throws for an object that is none of ours: any value would be a wrong one. */
  static member(object: object, index: number): unknown {
    if (#source in object) return object.#source.value(index);
    // Where the accessor was inherited, it is the object that owns it which knows the value.
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

function decode({ version, first }: Source, index: number): unknown {
  const { shape, copy } = version;
  if (first === 0) {
    if (index === shape.metadataIndex) return metadataOf(version);
    const span = index - shape.implied;
    if (copy === undefined && shape.large[index] === true) {
      const members = version.owner.members(version, span);
      if (members !== undefined) {
        const { names, spans } = members;
        return makeObject(new Source(version, NESTED, names.length, spans), names);
      }
    }
    return version.member(span);
  }
  return version.member(first + index);
}

/**
 * In place of a model, of which nobody has had any use yet; and once somebody has read the metadata
 * of such a version.
 */
const UNREAD: Record<string, unknown> = {};
const READ: Record<string, unknown> = {};

/**
 * Of an object that changes often, mostly nothing but resourceVersion changes in its metadata: then
 * they are a copy of what was decoded once. With the reading of name and version 0.2 µs, where
 * accessors take 1.3.
 */
function metadataOf(version: Version): object {
  const { shape, model } = version;
  if (model === undefined || model === UNREAD) {
    if (model === UNREAD) version.model = READ;
    return lazyMetadata(version);
  }
  if (model === READ) version.model = { ...lazyMetadata(version) };
  const resourceVersion =
    version.known(shape.versionIndex) ?? version.member(shape.spans + shape.versionIndex);
  return Object.freeze({ ...version.model, resourceVersion });
}

function lazyMetadata(version: Version): object {
  const { spans, metadataNames } = version.shape;
  return makeObject(new Source(version, spans, metadataNames.length, undefined), metadataNames);
}

function nestedValue(version: Version, spans: string, index: number): unknown {
  const from = offsetAt(spans, 8 * index);
  const to = offsetAt(spans, 8 * index + 4);
  const { copy } = version;
  return copy === undefined
    ? version.owner.valueAt(version, from, to)
    : copiedValue(copy, version.shape, from, to);
}

const getters: (() => unknown)[] = [];

/**
 * The getter of the member at a position; of any object, so that there are no more of them than
 * members in the longest.
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

/** Not every host has it (Annex B); the slow way gives the same object. */
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
  const { version, first } = source;
  const { constants } = version.shape;
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as string;
    const known = first === 0 ? constants[i] : first > 0 ? version.known(i) : undefined;
    if (known !== undefined) object[name] = known;
    else defineGetter.call(object, name, getterAt(i));
  }
  Object.defineProperty(object, inspect, inspector);
  if (denoInspect !== undefined) Object.defineProperty(object, denoInspect, denoInspector);
  return Object.freeze(object);
}

/** The object of a version; another one at each call. */
export function lazyObject(version: Version): object {
  const { names } = version.shape;
  return makeObject(new Source(version, 0, names.length, undefined), names);
}

/** The object that a version stands for on its way into a store; anything else is what it is. */
export function shown<T extends object>(object: T): T {
  if (!(object instanceof Version)) return object;
  const known = object.object;
  if (known !== undefined) return known as T;
  const made = lazyObject(object);
  // it has left the core while it waited: nobody else can make it
  if (object.id < 0) object.kept = made;
  return made as T;
}

/**
 * The version behind an object that `lazyObject` made, or that stands for one; `undefined` for any
 * other, also for such an object's metadata.
 */
export function versionOf(object: object): Version | undefined {
  return object instanceof Version ? object : Laziness.versionOf(object);
}

/**
 * Namespace and name of the object behind a version; one and the same for all versions of it that
 * replaced each other, so that its strings are decoded, and made unique by the engine where they
 * are keys of a Map (500 ns for two that are new each time), only once. `undefined`: the namespace
 * is no text.
 */
export function nameOfVersion(version: Version): Request | undefined {
  if (version.name !== undefined) return version.name;
  const namespace = namespaceOf(version);
  const name = version.metadataMember('name');
  if (typeof namespace !== 'string' || typeof name !== 'string') return undefined;
  const request = { namespace, name };
  new Place(request);
  version.name = Object.freeze(request);
  return version.name;
}

/**
 * Where the object of a name was found last: a guess, which is right if the version that lies there
 * has this very name.
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

/** The slot under which `noteSlot` was told of a name last, or -1. */
export function slotOfName(name: object): number {
  return Place.of(name);
}

/** Where the object of a name is; of names that `nameOfVersion` gave. */
export function noteSlot(name: object, slot: number): void {
  Place.note(name, slot);
}

/**
 * A version takes the place of another one of the same key, and has its name, and its metadata if
 * that one was handed out a short while ago. Where the metadata are not the same, that is only sure
 * when the namespace is: the key `a/b` is that of `b` in `a`, and of an object without a namespace
 * that calls itself `a/b`.
 *
 * @param sameMetadata but for what changes with each version
 */
export function inherit(
  version: Version,
  { name, model, place }: Version,
  sameMetadata: boolean,
): void {
  if (sameMetadata && place >= 0 && version.shape.isModel) version.model = model ?? UNREAD;
  if (name === undefined || version.name !== undefined) return;
  if (sameMetadata || namespaceOf(version) === name.namespace) version.name = name;
}

function namespaceOf(version: Version): unknown {
  return version.metadataMember('namespace') ?? '';
}

/**
 * What changed from one object to another, as bits, where a store has seen the one replace the
 * other as bytes.
 */
export function changesBetween(old: object, now: object): number | undefined {
  const version = Laziness.versionOf(now);
  if (version === undefined || version.replaced === 0) return undefined;
  const before = Laziness.versionOf(old);
  return before?.serial === version.replaced && before.owner === version.owner
    ? version.changes
    : undefined;
}
