/**
 * Objects whose members are decoded when they are first read. To all that looks at them they are what JSON.parse would have given, and frozen:
 * own enumerable members in the order of the document, Object.prototype, a write throws; `console.log` shows the object.
 *
 * Members are own accessors that share their getters by position, made with `__defineGetter__`: 205 ns for an object of five members
 * where `Object.defineProperties` takes 1212 (Node 26). What an accessor reads lies in private fields that are stamped onto the plain object, so that no
 * WeakMap is needed and no look at the object finds them. A `Proxy` would fail `structuredClone`.
 */
import { CapstanError } from '../../errors.ts';
import { freezeParsed } from '../freeze.ts';
import { jsonAt } from './text.ts';
import type { Version } from './version.ts';

/** As a base class it lets the fields of the class go onto the object that its constructor is given. */
function given(object: object): object {
  return object;
}
const Given = given as unknown as new (object: object) => object;

/** What an object is decoded from. One private field leads to it: each more would make the object larger. */
class Source {
  readonly version: Version;
  /** Where the spans of this object's members begin among those of the version: 0 for the root. */
  readonly first: number;
  /** By member; values of JSON are never undefined. Most objects are dropped before a member is read. */
  #values: unknown[] | undefined;

  constructor(version: Version, first: number) {
    this.version = version;
    this.first = first;
  }

  value(index: number): unknown {
    this.#values ??= [];
    const known = this.#values[index];
    if (known !== undefined) return known;
    const value = decode(this.version, this.first, index);
    this.#values[index] = value;
    return value;
  }
}

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

function decode(version: Version, first: number, index: number): unknown {
  const { shape } = version;
  if (first === 0 && index === shape.metadataIndex) return makeObject(version, shape.metadataNames, shape.names.length);
  const { copy } = version;
  if (copy === undefined) return version.owner.decode(version, first + index);
  const from = copy.spans[2 * (first + index)] as number;
  const to = copy.spans[2 * (first + index) + 1] as number;
  if (copy.text === undefined) return jsonAt(copy.bytes as Uint8Array, from, to);
  // Not the slice itself, which would keep the whole text alive.
  return freezeParsed(JSON.parse(copy.text.slice(from, to)));
}

const getters: (() => unknown)[] = [];

/** The getter of the member at a position; of any object, so that there are no more of them than members in the longest. */
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

/** For `console.log` and `util.inspect`, which do not call getters: a copy with values, made when it is asked for. */
const inspect = Symbol.for('nodejs.util.inspect.custom');
const inspector = {
  value(this: object): object {
    return { ...this };
  },
};
const denoInspect = 'Deno' in globalThis ? Symbol.for('Deno.customInspect') : undefined;
const denoInspector = {
  value(this: object, inspectValue: (value: unknown, options: unknown) => string, options: unknown): string {
    return inspectValue({ ...this }, options);
  },
};

function makeObject(version: Version, names: readonly string[], first: number): object {
  const object: Record<string, unknown> = {};
  new Laziness(object, new Source(version, first));
  const { constants } = version.shape;
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as string;
    const constant = first === 0 ? constants[i] : undefined;
    if (constant !== undefined) object[name] = constant;
    else defineGetter.call(object, name, getterAt(i));
  }
  Object.defineProperty(object, inspect, inspector);
  if (denoInspect !== undefined) Object.defineProperty(object, denoInspect, denoInspector);
  return Object.freeze(object);
}

/** The object of a version; another one at each call. */
export function lazyObject(version: Version): object {
  return makeObject(version, version.shape.names, 0);
}

/** The version behind an object that `lazyObject` made; `undefined` for any other, also for such an object's metadata. */
export function versionOf(object: object): Version | undefined {
  return Laziness.versionOf(object);
}

/** What changed from one object to another, as bits, where a store has seen the one replace the other as bytes. */
export function changesBetween(old: object, now: object): number | undefined {
  const version = Laziness.versionOf(now);
  if (version === undefined || version.replaced === 0) return undefined;
  const before = Laziness.versionOf(old);
  return before?.serial === version.replaced && before.owner === version.owner ? version.changes : undefined;
}
