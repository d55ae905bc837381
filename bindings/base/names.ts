/**
 * Rejects unknown names of options, handlers and results with a "did you mean". Each options type
 * has a table of its names beside it, which the compiler keeps equal to the type.
 */
import { CapstanError, invalid, requireObject } from './errors.ts';

/** The names of an options type. A nested type has its own table. */
export interface Names {
  readonly [name: string]: 1 | Names;
}

type MemberOf<O> = O extends unknown ? keyof O & string : never;

/**
 * Makes the table of `O`. It does not compile unless it has exactly the members of `O`.
 *
 * @example
 * const NAMES = namesOf<{ signal?: AbortSignal | undefined }>()({ signal: 1 });
 */
export function namesOf<O extends object>(): <M extends { readonly [K in MemberOf<O>]: 1 | Names }>(
  members: M & { readonly [K in Exclude<keyof M, MemberOf<O>>]: 'this type has no such member' },
) => M {
  return (members) => Object.assign(Object.create(null), members); // "toString" is no member
}

/** The options of functions that take only a signal. */
export const SIGNAL = namesOf<{ signal: AbortSignal }>()({ signal: 1 });

/**
 * Throws CapstanError INVALID_ARGUMENT unless `value` is an object whose own members are in
 * `names`. Members that are undefined, symbols and members of a prototype are ignored. A `signal`
 * in `names` is checked too.
 *
 * @param name of the argument, such as `options`
 * @param what a member is called in messages, such as `option of newManager`
 */
export function requireNames(name: string, value: unknown, what: string, names: Names): void {
  requireObject(name, value);
  check(name, '', value as Record<string, unknown>, what, names);
}

function check(
  name: string,
  path: string,
  given: Record<string, unknown>,
  what: string,
  names: Names,
): void {
  let known = false;
  for (const member in given) {
    const nested = names[member];
    if (nested === undefined) {
      if (Object.hasOwn(given, member) && given[member] !== undefined)
        throw unknown(name, given, member, what, names, path);
    } else {
      known = true;
      if (nested !== 1) checkNested(`${path}${member}`, given[member], what, nested);
    }
  }
  if (!known && !isPlain(given) && !Object.keys(names).some((one) => one in given))
    throw instead(name, given, names);
  if (names.signal === 1 && given.signal !== undefined && !isSignal(given.signal))
    throw invalid(`${path}signal`, 'an AbortSignal', given.signal);
}

/** Checks each element of an array. Other values are checked where they are used. */
function checkNested(path: string, value: unknown, what: string, names: Names): void {
  if (Array.isArray(value))
    for (const [i, one] of value.entries()) checkNested(`${path}[${i}]`, one, what, names);
  else if (typeof value === 'object' && value !== null)
    check(path, `${path}.`, value as Record<string, unknown>, what, names);
}

/**
 * The same for an object with methods, such as a handler. An instance of a class may have members
 * of its own, but needs one of `names`, and none may differ by case alone from one that it lacks.
 *
 * @param isOpen a plain object, too, may have members of its own, but none that look like one of
 *   `names` that it lacks
 */
export function requireMembers(
  name: string,
  value: unknown,
  what: string,
  names: Names,
  isOpen = false,
): void {
  requireObject(name, value);
  const given = value as Record<string, unknown>;
  const plain = isPlain(given);
  if (plain && !isOpen) {
    check(name, '', given, what, names);
    return;
  }
  const all = Object.keys(names);
  const none = !all.some((one) => one in given);
  for (const member of membersOf(given)) {
    if (member in names) continue;
    const meant =
      none || plain ? nearest(member, names) : all.find((one) => lower(one) === lower(member));
    if (meant !== undefined && !(meant in given))
      throw unknown(name, given, member, what, names, '');
  }
  if (none && !plain) throw instead(name, given, names);
}

/** Checks the options of functions that take only a signal. */
export function requireSignalOptions(options: unknown, call: string): void {
  requireNames('options', options, `option of ${call}`, SIGNAL);
}

/** Duck-typed, because a signal may come from another realm. */
export function isSignal(signal: unknown): boolean {
  const given = signal as Partial<AbortSignal> | null;
  return (
    typeof given === 'object' &&
    typeof given?.aborted === 'boolean' &&
    typeof given.addEventListener === 'function' &&
    typeof given.removeEventListener === 'function'
  );
}

/** The names of `value` that are in `names`. */
export function pick<O extends object>(value: object, names: Names): O {
  return Object.fromEntries(
    Object.keys(names).flatMap((name) =>
      name in value ? [[name, (value as Record<string, unknown>)[name]]] : [],
    ),
  ) as O;
}

function unknown(
  name: string,
  value: object,
  member: string,
  what: string,
  names: Names,
  path: string,
): CapstanError {
  if (wrapper(value, names) !== undefined) return instead(name, value, names);
  const meant = nearest(member, names);
  const hint =
    meant === undefined
      ? `there are ${Object.keys(names).sort().join(', ')}`
      : `did you mean "${path}${meant}"?`;
  return new CapstanError('INVALID_ARGUMENT', `"${path}${member}" is no ${what}: ${hint}`);
}

/**
 * The error for a value that was passed in place of the options, such as a clock in place of `{
 * clock }`.
 */
function instead(name: string, value: object, names: Names): CapstanError {
  const [first = ''] = Object.keys(names);
  return invalid(name, `an object such as { ${wrapper(value, names) ?? first} }`, value);
}

/** By option: the member by which a value that was passed in place of the options is recognised. */
const RECOGNISED_BY = {
  signal: 'aborted',
  clock: 'setTimer',
  transport: 'request',
  logger: 'warn',
  rateLimiter: 'numRequeues',
} as const;

/** The name of the option that takes such a value. */
function wrapper(value: object, names: Names): string | undefined {
  return Object.entries(RECOGNISED_BY).find(([name, by]) => name in names && by in value)?.[0];
}

/** True for plain objects of another realm too, whose Object.prototype is another one. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Own and inherited members, except those of every object. */
function* membersOf(value: object): Generator<string, void, undefined> {
  yield* Object.getOwnPropertyNames(value);
  for (
    let owner: object | null = Object.getPrototypeOf(value);
    owner !== null && Object.getPrototypeOf(owner) !== null;
    owner = Object.getPrototypeOf(owner)
  )
    yield* Object.getOwnPropertyNames(owner);
}

/**
 * Synonyms by our name: the names of client-go, controller-runtime and other clients, in lower
 * case.
 */
const SYNONYMS: Readonly<Record<string, string>> = {
  signal: 'abort context ctx stop stopch',
  onAdd: 'add create',
  create: 'add',
  requeueAfter: 'after delay retry',
  rateLimiter: 'backoff',
  onUpdate: 'change modify update',
  update: 'change modify',
  maxConcurrentReconciles: 'concurrency threads workers',
  onDelete: 'delete remove',
  namespaces: 'defaultnamespaces',
  fieldSelector: 'fields',
  predicates: 'filter',
  reconcile: 'handler newcontroller',
  labelSelector: 'labels selector',
  pageSize: 'limit',
  watchListPageSize: 'limit',
  logger: 'log',
  namespace: 'ns',
  watchErrorHandler: 'onerror',
  order: 'ordering queue',
  fifo: 'deltas queue',
  period: 'every interval',
  duration: 'initial',
  fieldOwner: 'owner fieldmanager',
  resyncPeriod: 'period sync syncperiod',
  delete: 'remove',
  for: 'resource',
  plural: 'resource',
  namespaced: 'scope',
  clock: 'timer',
  watches: 'watch',
};

/** Endings and prefixes of Go's methods, of units, and of other clients. */
const ENDINGS = /(s|ed|d|func|fn|handler|ms|millis|milliseconds|seconds|secs|period|interval)$/;

function lower(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}

/** The first known name with the synonym `word`. */
function synonym(word: string, names: Names): string | undefined {
  return Object.keys(SYNONYMS).find(
    (name) => name in names && SYNONYMS[name]?.split(' ').includes(word),
  );
}

/** The known name that differs from `wrong` by case or an ending, or is its synonym. */
function same(wrong: string, names: Names): string | undefined {
  const given = lower(wrong);
  const bare = given.replace(ENDINGS, '');
  const candidates = [...paths(names)];
  return (
    candidates.find((name) => lower(name) === given) ??
    candidates.find((name) => name.includes('.') && lower(name.replace(/.*\./, '')) === given) ??
    synonym(given, names) ??
    synonym(bare, names) ??
    candidates.find((name) => lower(name).replace(ENDINGS, '') === bare)
  );
}

/** The known name that was probably meant. */
function nearest(wrong: string, names: Names): string | undefined {
  const known = same(wrong, names);
  if (known !== undefined) return known;
  const given = lower(wrong);
  let best: string | undefined;
  let least = Math.max(1, Math.floor(given.length / 3)) + 1;
  for (const name of Object.keys(names)) {
    const other = lower(name);
    const away =
      given.length > 2 && (other.includes(given) || given.includes(other))
        ? least - 0.5
        : distance(given, other);
    if (away < least) {
      best = name;
      least = away;
    }
  }
  return best;
}

function* paths(names: Names): Generator<string, void, undefined> {
  yield* Object.keys(names);
  for (const [name, nested] of Object.entries(names)) {
    if (nested !== 1) for (const path of paths(nested)) yield `${name}.${path}`;
  }
}

/** The edit distance: insertions, deletions, replacements, and swaps of neighbours. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const differs = a[i - 1] === b[j - 1] ? 0 : 1;
      row[j] = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + differs);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        row[j] = Math.min(row[j]!, before[j - 2]! + 1);
    }
    before = last;
    last = row;
  }
  return last[b.length]!;
}
