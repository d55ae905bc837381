/**
 * Remembers what the server made of the states that `createOrUpdate` and `createOrPatch` sent, so
 * that the same state is not sent again. Servers fill in defaults, remove empty lists, and write
 * `1` for `1000m`: without this the draft would differ from the object at each reconcile.
 *
 * A difference between a draft and the object is ignored if the draft has the value that was sent
 * before, and the whole member around it (`spec`, `data`, `metadata.labels`, …) still is what the
 * server answered then, on the same object (its uid). A new value, a change by others and a new
 * object are always sent.
 *
 * Memory is bounded, per client: differences only, the most recently used objects, and for an hour,
 * because a webhook, a schema or the server's version may change meanwhile.
 */
import { type Clock, systemClock } from '../base/clock.ts';
import { sameExactJson } from '../base/exact-json.ts';
import { hashText, ownMember, sortMembers } from '../base/json-value.ts';
import type { Client } from './types.ts';
import { innermost } from './wrapped-client.ts';

/** Characters per client. An object whose `spec` was sent without defaults takes about 700. */
const MOST_TEXT = 32 * 1024 * 1024;
/** The most states of one object. Several places of a program may write it. */
const MOST_STATES = 8;
const LIFETIME_MS = 3_600_000;

/** Members that only the server sets: a draft without them changes nothing. */
const SERVER_SET = new Set([
  'apiVersion',
  'kind',
  'metadata.resourceVersion',
  'metadata.uid',
  'metadata.creationTimestamp',
  'metadata.generation',
  'metadata.selfLink',
  'metadata.managedFields',
]);
/** Members that are the same empty and absent, in all kinds. */
const EMPTY_IS_NONE = new Set([
  'metadata.labels',
  'metadata.annotations',
  'metadata.finalizers',
  'metadata.ownerReferences',
]);

/**
 * The difference between what was sent and the answer: the value that was sent (`v`), nothing was
 * sent (`x`), or the differences of members or elements (`m`).
 */
type Difference = { v: unknown } | { x: 1 } | { m: Record<string, Difference> };

/** By the member around them: a hash of that member in the answer, and its differences. */
type Differences = Record<string, [print: string, Difference]>;

interface State {
  /** {@link Differences} as JSON, which takes a fifth of the memory. */
  readonly text: string;
  readonly expires: number;
}

interface Entry {
  readonly uid: unknown;
  states: State[];
  size: number;
}

/** Whether the server alone sets this member, such as `metadata.uid`. */
export const isServerSet = (part: string): boolean => SERVER_SET.has(part);

export class AnsweredWrites {
  readonly #clock: Clock;
  readonly #mostText: number;
  /** In the order of their last use. */
  readonly #entries = new Map<string, Entry>();
  #size = 0;
  // Random, so that no one can construct a change with the same hash.
  readonly #seeds = [Math.random() * 2 ** 32, Math.random() * 2 ** 32] as const;

  constructor(clock: Clock = systemClock, mostText = MOST_TEXT) {
    this.#clock = clock;
    this.#mostText = mostText;
  }

  /** The characters in memory. */
  get size(): number {
    return this.#size;
  }

  /**
   * Whether `draft` is the same as `existing`, or is a state that was answered with it.
   *
   * @param key the object, in all of its resources and subresources
   */
  changesNothing(key: string, existing: object, draft: object): boolean {
    const [before, after] = [partsOf(existing), partsOf(draft)];
    const changed = changedParts(before, after);
    if (changed.length === 0) return true;
    if (changed.some((part) => SERVER_SET.has(part))) return false;
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.uid !== before.get('metadata.uid')) return false;
    const now = this.#clock.now();
    const found = entry.states.some(({ text, expires }) => {
      if (expires < now) return false;
      const differences = JSON.parse(text) as Differences;
      return changed.every((part) => {
        const [print, difference] = differences[part] ?? [];
        const value = before.get(part);
        return (
          difference !== undefined &&
          says(difference, value, after.get(part)) &&
          print === this.#print(value)
        );
      });
    });
    if (!found) return false;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return true;
  }

  /** Remembers that the server answered `sent` with `answer`. */
  note(key: string, sent: object, answer: object): void {
    const [before, after] = [partsOf(sent), partsOf(answer)];
    const differences: Differences = {};
    for (const part of changedParts(after, before)) {
      if (SERVER_SET.has(part)) continue;
      const value = after.get(part);
      const difference = differenceOf(before.get(part), value);
      if (difference !== undefined) differences[part] = [this.#print(value), difference];
    }
    const entry = this.#entries.get(key);
    const uid = after.get('metadata.uid');
    const now = this.#clock.now();
    const text = JSON.stringify(differences);
    const states =
      entry?.uid !== uid
        ? []
        : (entry as Entry).states.filter(
            (state) => state.text !== text && state.expires >= now && this.#holds(state, after),
          );
    if (text !== '{}') states.unshift({ text, expires: now + LIFETIME_MS });
    this.#set(key, uid, states.slice(0, MOST_STATES));
  }

  /** Whether the object still has the members of a remembered answer. */
  #holds({ text }: State, parts: ReadonlyMap<string, unknown>): boolean {
    return Object.entries(JSON.parse(text) as Differences).every(
      ([part, [print]]) => print === this.#print(parts.get(part)),
    );
  }

  #set(key: string, uid: unknown, states: State[]): void {
    this.#delete(key);
    if (states.length === 0) return;
    const size = states.reduce((sum, { text }) => sum + text.length, key.length + 100);
    this.#entries.set(key, { uid, states, size });
    this.#size += size;
    for (const oldest of this.#entries.keys()) {
      if (this.#size <= this.#mostText) return;
      this.#delete(oldest);
    }
  }

  #delete(key: string): void {
    this.#size -= this.#entries.get(key)?.size ?? 0;
    this.#entries.delete(key);
  }

  /** Two hashes of 53 bits: a collision is not to be expected. */
  #print(value: unknown): string {
    const text = JSON.stringify(sortMembers(value)) ?? '';
    return this.#seeds.map((seed) => hashText(text, seed).toString(36)).join('-');
  }
}

const ofClients = new WeakMap<Client, AnsweredWrites>();

/** The memory of a client, which all of its wrappers share. */
export function answeredWritesOf(client: Client): AnsweredWrites {
  const inner = innermost(client);
  let writes = ofClients.get(inner);
  if (writes === undefined) {
    writes = new AnsweredWrites();
    ofClients.set(inner, writes);
  }
  return writes;
}

function partsOf(object: object): Map<string, unknown> {
  const parts = new Map<string, unknown>(Object.entries(object));
  const { metadata } = object as { metadata?: object };
  parts.delete('metadata');
  for (const [name, value] of Object.entries(metadata ?? {})) parts.set(`metadata.${name}`, value);
  return parts;
}

/** The members in which a draft differs from an object. */
function changedParts(
  before: ReadonlyMap<string, unknown>,
  after: ReadonlyMap<string, unknown>,
): string[] {
  return [...new Set([...before.keys(), ...after.keys()])].filter((part) => {
    const [old, value] = [before.get(part), after.get(part)];
    if (SERVER_SET.has(part) && isEmpty(value)) return false;
    if ((part === 'apiVersion' || part === 'kind') && old === undefined) return false;
    if (EMPTY_IS_NONE.has(part) && isEmpty(old) && isEmpty(value)) return false;
    return !sameExactJson(old, value);
  });
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

type Members = { readonly [name: string]: unknown };

function differenceOf(sent: unknown, answer: unknown): Difference | undefined {
  if (sameExactJson(sent, answer)) return undefined;
  if (!arePaired(sent, answer)) return sent === undefined ? { x: 1 } : { v: sent };
  const m: Record<string, Difference> = {};
  for (const name of namesOf(sent, answer)) {
    const difference = differenceOf(ownMember(sent, name), ownMember(answer, name));
    if (difference !== undefined) m[name] = difference;
  }
  return { m };
}

/** Whether a draft has, at each place, the object's value or the value that was sent before. */
function says(difference: Difference | undefined, there: unknown, draft: unknown): boolean {
  if (sameExactJson(there, draft)) return true;
  if (difference === undefined) return false;
  if ('x' in difference) return draft === undefined;
  if ('v' in difference) return sameExactJson(draft, difference.v);
  if (!areAlike(there, draft)) return false;
  return namesOf(there, draft).every((name) =>
    says(
      ownMember(difference.m, name) as Difference | undefined,
      ownMember(there, name),
      ownMember(draft, name),
    ),
  );
}

/**
 * Whether the members of two values can be compared by name. Elements of lists are compared only if
 * all are objects with the same strings and numbers in the members that both have (or, without any,
 * in everything inside of them), because a server may have sorted the list.
 */
function arePaired(a: unknown, b: unknown): boolean {
  if (!areAlike(a, b)) return false;
  if (!Array.isArray(a)) return true;
  return a.every((element: unknown, i) => {
    const other = (b as unknown[])[i];
    if (!areAlike(element, other) || Array.isArray(element)) return false;
    const words = Object.keys(element).filter(
      (name) => typeof element[name] !== 'object' && ownMember(other, name) !== undefined,
    );
    if (words.length === 0) return agree(element, other);
    return words.every((name) => element[name] === ownMember(other, name));
  });
}

function agree(a: unknown, b: unknown): boolean {
  if (a === undefined || b === undefined) return true;
  if (!areAlike(a, b)) return a === b;
  return Object.keys(a).every((name) => agree(a[name], ownMember(b, name)));
}

function areAlike(a: unknown, b: unknown): a is Members {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b))
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length;
  return true;
}

const namesOf = (a: unknown, b: unknown): string[] => [
  ...new Set([...Object.keys(a as object), ...Object.keys(b as object)]),
];
