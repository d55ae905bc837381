/**
 * Reports changes of cached objects: keeps a copy of each object for two minutes and compares once
 * a second. It costs a copy of every object and is meant for tests and debugging. client-go:
 * tools/cache/mutation_detector.go, which ends the process; here the object is reported, once.
 */

import { Backlog } from '../../base/backlog.ts';
import type { Clock } from '../../base/clock.ts';
import { CapstanError, show } from '../../base/errors.ts';
import { handleError } from '../../base/handle-error.ts';
import { deletionHandlingMetaNamespaceKeyFunc } from '../rest/keys.ts';

const CHECK_MS = 1000;
const KEEP_MS = 120_000;

interface Watched {
  readonly object: object;
  readonly copy: unknown;
  readonly until: number;
}

export class MutationDetector {
  readonly #clock: Clock;
  readonly #describe: string;
  readonly #watched = new Backlog<Watched>();
  #running = false;
  #timer: unknown;

  /** @param describe what the cache holds, for messages */
  constructor(clock: Clock, describe: string) {
    this.#clock = clock;
    this.#describe = describe;
  }

  /** Begins to watch an object. */
  add(object: object): void {
    this.#watched.push({ object, copy: deepCopy(object), until: this.#clock.now() + KEEP_MS });
    this.#checkLater();
  }

  start(): void {
    this.#running = true;
    this.#checkLater();
  }

  /** Checks once more and drops all objects. */
  stop(): void {
    this.check();
    this.#running = false;
    this.#watched.clear();
    this.#clock.clearTimer(this.#timer);
    this.#timer = undefined;
  }

  /** Reports the objects that were changed since the last check. */
  check(): void {
    for (const [place, { object, copy }] of this.#watched.entries()) {
      const difference = firstDifference(copy, object);
      if (difference === undefined) continue;
      this.#watched.set(place, undefined);
      const which = `an object of the cache of ${this.#describe}, ${nameOf(copy)}`;
      const advice =
        'Objects of a cache are read-only, as all readers share them: ' +
        'make a copy (structuredClone) first.';
      handleError(
        new CapstanError(
          'MUTATED',
          `${which}, was changed by one of its readers: ${difference}. ${advice}`,
        ),
        'mutation detector',
      );
    }
  }

  /** Sets the timer, unless there is nothing to compare. */
  #checkLater(): void {
    if (!this.#running || this.#timer !== undefined || this.#watched.length === 0) return;
    this.#timer = this.#clock.setTimer(() => {
      this.#timer = undefined;
      this.check();
      this.#dropOld();
      this.#checkLater();
    }, CHECK_MS);
  }

  #dropOld(): void {
    const now = this.#clock.now();
    while ((this.#watched.inPlace(this.#watched.first())?.until ?? Number.POSITIVE_INFINITY) <= now)
      this.#watched.shift();
  }
}

function nameOf(copy: unknown): string {
  try {
    return deletionHandlingMetaNamespaceKeyFunc(copy as object);
  } catch {
    return 'without a name';
  }
}

type Members = Record<string, unknown>;

/**
 * Whether a value is compared by its members: plain objects and arrays. Anything else, which a
 * transform may have added, is compared by identity.
 */
function isContainer(value: unknown): value is Members {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Copies values of any depth, also with shared values and cycles. */
function deepCopy(value: object): unknown {
  const copies = new Map<object, Members>();
  const open: Members[] = [];
  const copyOf = (original: unknown): unknown => {
    if (!isContainer(original)) return original;
    let copy = copies.get(original);
    if (copy === undefined) {
      copy = (Array.isArray(original) ? [] : Object.create(null)) as Members;
      copies.set(original, copy);
      open.push(original);
    }
    return copy;
  };
  const root = copyOf(value);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const copy = copies.get(next) as Members;
    for (const name of Object.keys(next)) copy[name] = copyOf(next[name]);
  }
  return root;
}

interface Pair {
  was: unknown;
  is: unknown;
  path: Path | undefined;
}
interface Path {
  parent: Path | undefined;
  name: string;
  inArray: boolean;
}

/**
 * The first difference of two values, in the order of their members; `undefined` if there is none.
 */
function firstDifference(was: unknown, is: unknown): string | undefined {
  const seen = new Set<object>();
  const open: Pair[] = [{ was, is, path: undefined }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { path } = next;
    if (
      !isContainer(next.was) ||
      !isContainer(next.is) ||
      Array.isArray(next.was) !== Array.isArray(next.is)
    ) {
      if (!Object.is(next.was, next.is)) return changed(path, next.was, next.is);
      continue;
    }
    if (seen.has(next.is)) continue;
    seen.add(next.is);
    const names = Object.keys(next.was);
    const inArray = Array.isArray(next.was);
    for (const name of Object.keys(next.is)) {
      if (!Object.hasOwn(next.was, name))
        return `${text({ parent: path, name, inArray })} was added`;
    }
    // The stack reverses the order.
    for (const name of names.reverse()) {
      const member = { parent: path, name, inArray };
      if (!Object.hasOwn(next.is, name)) return `${text(member)} was removed`;
      open.push({ was: next.was[name], is: next.is[name], path: member });
    }
  }
  return undefined;
}

function changed(path: Path | undefined, was: unknown, is: unknown): string {
  return `${text(path)} was ${show(was)} and is ${show(is)}`;
}

/** `metadata.labels["a.b"]`, `spec.containers[0].image`. */
function text(path: Path | undefined): string {
  const names: string[] = [];
  for (let at = path; at !== undefined; at = at.parent) {
    const plain = !at.inArray && /^[A-Za-z_$][\w$]*$/.test(at.name);
    names.push(
      plain ? `.${at.name}` : at.inArray ? `[${at.name}]` : `[${JSON.stringify(at.name)}]`,
    );
  }
  return names.reverse().join('').replace(/^\./, '');
}
