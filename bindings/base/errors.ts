/**
 * The errors of the package: one base class with a stable `code`, a `cause`, and a message that
 * says what was expected, what came and what to do. Messages are built only when an error is
 * thrown.
 */

/** The codes are stable: programs may switch on them. New ones may be added. */
export type ErrorCode =
  /** A value of the wrong type or out of range. */
  | 'INVALID_ARGUMENT'
  /** Used after `dispose()`. */
  | 'DISPOSED'
  /** The WebAssembly core trapped earlier; this instance must not be used further. */
  | 'POISONED'
  /** The core's memory cannot grow; nothing was changed. */
  | 'OUT_OF_MEMORY'
  /** A slot of a queue whose key has been unpinned or is done. */
  | 'STALE_SLOT'
  /** Slots can name up to four million keys: a queue that has held more at once gives out none. */
  | 'TOO_MANY_SLOTS'
  /** An object does not fit into a cache with `maxBytes`; the cache lists again until it does. */
  | 'CACHE_FULL'
  /** A queue with `maxDepth` has no room; nothing was changed. */
  | 'QUEUE_FULL'
  /** This Node is too old for what is used. */
  | 'NODE_TOO_OLD'
  /** The host forbids or lacks WebAssembly. */
  | 'WASM_UNAVAILABLE'
  /** `run()` or `start()` a second time. */
  | 'ALREADY_STARTED'
  /** Used after it has been stopped. */
  | 'STOPPED'
  /** An index name that was never registered. */
  | 'UNKNOWN_INDEX'
  /** An index name that is registered already. */
  | 'INDEX_EXISTS'
  /** Not a namespace/name key. */
  | 'INVALID_KEY'
  /** A pop from a queue of deltas that is closed and empty. */
  | 'FIFO_CLOSED'
  /** Some changes of a transaction failed: see TransactionError. */
  | 'TRANSACTION'
  /** No HTTP answer: see TransportError.kind. */
  | 'TRANSPORT'
  /** An HTTP answer that reports a failure: see StatusError. */
  | 'STATUS'
  /** Bytes that are not what the protocol promises. */
  | 'DECODE'
  /** An answer is longer than the limit. */
  | 'TOO_LARGE'
  /** A user's transform failed; the object was kept as it was by then. */
  | 'TRANSFORM'
  /**
   * A program changed a shared object of a cache (see the option `mutationDetector`), or tried to;
   * then the engine's TypeError is the cause.
   */
  | 'MUTATED'
  /** Caches did not sync in time. */
  | 'CACHE_SYNC_TIMEOUT'
  /** A source of a controller could not start or sync: see the cause. */
  | 'SOURCE_FAILED'
  /** A read from a cache that has no informer for the resource and may not start one. */
  | 'NOT_CACHED'
  /** A bounded call took too long. */
  | 'TIMEOUT'
  /** This process believes that it leads, but has not renewed its lease in time. */
  | 'LEASE_EXPIRED'
  /** A server cannot listen on its address. */
  | 'LISTEN'
  /** This process no longer leads. */
  | 'LEASE_LOST'
  /** This replica does not own the slot of an object: nothing was sent. */
  | 'SHARD_NOT_OWNED'
  /** With shards, an event requests an object of another slot, whose owner does not get it. */
  | 'SHARD_CROSSED'
  /** A shardSelector that the server refuses, or that a tweak sets beside a cache's own ranges. */
  | 'SHARD_SELECTOR'
  /** A later release has written a map of shards that this release cannot read. */
  | 'SHARD_OUTDATED'
  /** The cache no longer has a namespace: its objects are not known, but were not deleted. */
  | 'NAMESPACE_REMOVED'
  /** The caller's signal fired. */
  | 'ABORTED'
  /** An object has a controller already: see AlreadyOwnedError. */
  | 'ALREADY_OWNED'
  /** The namespaces of an owner and its object do not allow the reference. */
  | 'INVALID_OWNER'
  /** An owner reference to remove does not exist. */
  | 'NOT_OWNED'
  /** A finalizer is registered under this key already. */
  | 'FINALIZER_EXISTS'
  /** Some finalizers failed: see FinalizeError. */
  | 'FINALIZE'
  /** Reconciles repeat writes that change nothing. Reported, never thrown. */
  | 'HOT_LOOP'
  /** An Event could not be recorded. Nothing else is affected. */
  | 'EVENT'
  /** A schema has something that a CustomResourceDefinition cannot express: see SchemaError. */
  | 'SCHEMA'
  /** An object does not match its schema: see InvalidObjectError. */
  | 'INVALID_OBJECT'
  /** The server does not serve a CustomResourceDefinition: see CRDError. */
  | 'CRD'
  /** An object differs after a conversion and back: see RoundTripError. */
  | 'ROUND_TRIP'
  /** A webhook denies a request: see AdmissionDenied. */
  | 'ADMISSION_DENIED'
  /** `startEnvtest` finds no etcd or kube-apiserver. */
  | 'ENVTEST_BINARIES'
  /** A real API server for tests does not start: the message has the end of its log. */
  | 'ENVTEST'
  /** A reconcile error that must not be retried. */
  | 'TERMINAL';

/** The base class of all errors of the package. */
export class CapstanError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown | undefined }) {
    super(message, options);
    this.code = code;
  }

  override get name(): string {
    return 'CapstanError';
  }
}

/**
 * True for errors of another realm too: in a `vm` context, as in Jest and vitest, errors and
 * DOMExceptions of Node's core have another `Error` class. Throws if the value throws when it is
 * read, such as a revoked Proxy.
 */
export function isError(value: unknown): value is Error {
  return (
    value instanceof Error || /(Error|Exception)]$/.test(Object.prototype.toString.call(value))
  );
}

/**
 * Whether an error has this code. True for errors of another copy of the package, whose classes
 * differ; an operator may have two copies by its dependencies. Never throws.
 */
export function hasCode(error: unknown, code: ErrorCode): boolean {
  try {
    return isError(error) && (error as { code?: unknown }).code === code;
  } catch {
    return false;
  }
}

/** Whether a thrown value, which may be anything, is an error of this package. Never throws. */
export function isCapstanError(thrown: unknown): thrown is CapstanError {
  try {
    return thrown instanceof CapstanError;
  } catch {
    return false; // a Proxy that cannot be read
  }
}

interface ErrorLike {
  readonly message?: unknown;
  readonly name?: unknown;
  readonly code?: unknown;
  readonly kind?: unknown;
  readonly errors?: unknown;
  readonly cause?: unknown;
}

/**
 * Whether `holds` is true for an error or one of its causes. False for a value that cannot be read.
 */
export function someCause(error: unknown, holds: (error: ErrorLike) => boolean): boolean {
  const seen = new Set<unknown>(); // causes may be circular
  try {
    for (
      let current = error;
      current && !seen.has(current);
      current = (current as ErrorLike).cause
    ) {
      if (holds(current)) return true;
      seen.add(current);
    }
  } catch {
    // a getter that throws, or a Proxy
  }
  return false;
}

/** The names that libraries give to errors of aborted calls. */
const ABORTED_NAME = /^(Abort|Cancell?ed|Cancel)Error$/;
const ABORTED_CODES: readonly unknown[] = ['ABORTED', 'STOPPED'];

/**
 * Whether an error only says that a call was aborted, also by its cause, or as an AggregateError of
 * such errors. Go: errors.Is(err, context.Canceled).
 *
 * @param reason of the signal that fired, which a call may have rejected with
 */
export function isAbort(error: unknown, reason?: unknown): boolean {
  return someCause(error, (each) => {
    const { name, code, kind, errors } = each;
    if (Array.isArray(errors) && errors.length > 0)
      return errors.every((one) => isAbort(one, reason));
    return (
      each === reason ||
      ABORTED_NAME.test(String(name)) ||
      ABORTED_CODES.includes(code) ||
      kind === 'aborted'
    );
  });
}

/**
 * Describes a value in a few words for a message, with its type if the text alone does not show it.
 * Never throws.
 */
export function show(value: unknown): string {
  try {
    if (typeof value === 'string') {
      return value.length > 60 ? `${JSON.stringify(value.slice(0, 60))}…` : JSON.stringify(value);
    }
    if (typeof value === 'function') return 'a function';
    if (value === null || value === undefined || typeof value !== 'object') return String(value);
    if (Array.isArray(value)) return `an array of ${value.length}`;
    if (typeof (value as { then?: unknown }).then === 'function') return 'a promise';
    const name: unknown = value.constructor?.name;
    return typeof name === 'string' && name !== '' && name !== 'Object'
      ? `an object of class ${name}`
      : 'an object';
  } catch {
    return 'an object that cannot be read';
  }
}

/** Also true for a promise of another realm. Never throws. */
function isPromise(value: unknown): value is Promise<unknown> {
  try {
    return Object.prototype.toString.call(value) === '[object Promise]';
  } catch {
    return false;
  }
}

/**
 * `"qps" expected a number > 0, got NaN`. A promise that is refused (an async function in place of
 * a plain one) is caught, so that its rejection does not end the process.
 */
export function invalid(name: string, expected: string, got: unknown): CapstanError {
  if (isPromise(got)) got.then(undefined, () => undefined);
  return new CapstanError('INVALID_ARGUMENT', `"${name}" expected ${expected}, got ${show(got)}`);
}

/**
 * `PATCH /api/… was aborted: the reconcile of … has not ended within 1000 ms`. The reason is in the
 * message if it is a CapstanError.
 */
export function aborted(what: string, reason: unknown): CapstanError {
  const why = isCapstanError(reason) ? `: ${reason.message}` : '';
  return new CapstanError('ABORTED', `${what} was aborted${why}`, { cause: reason });
}

/** Whether a value is an integer of 32 bits, as priorities are. */
export function isInt32(value: unknown): value is number {
  return typeof value === 'number' && (value | 0) === value;
}

export function requireObject(name: string, value: unknown): void {
  if (typeof value === 'object' && value !== null) return;
  throw invalidText(name, 'an object', value);
}

/** As {@link invalid}, for a value that may be the text of a Secret: only a short word is shown. */
export function invalidText(name: string, expected: string, got: unknown): CapstanError {
  if (typeof got !== 'string' || /^[\w.-]{0,20}$/.test(got)) return invalid(name, expected, got);
  const message = `"${name}" expected ${expected}, got a text of ${got.length} characters`;
  return new CapstanError('INVALID_ARGUMENT', message);
}

export function requireString(name: string, value: unknown): asserts value is string {
  if (typeof value !== 'string') throw invalid(name, 'a string', value);
}

/** `undefined` is legal. */
export function requireBoolean(name: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'boolean')
    throw invalid(name, 'true or false', value);
}

/** Any iterable object. A string is refused: its characters are not what the caller lists. */
export function requireIterable(name: string, value: unknown): void {
  const iterator = (value as Partial<Iterable<unknown>> | null | undefined)?.[Symbol.iterator];
  if (typeof value !== 'object' || typeof iterator !== 'function')
    throw invalid(name, 'an array, or another iterable', value);
}

export function requireFunction(name: string, value: unknown): void {
  if (typeof value !== 'function') throw invalid(name, 'a function', value);
}

/** NaN is not legal, infinities are. */
export function requireNumber(name: string, value: unknown): void {
  if (typeof value !== 'number' || Number.isNaN(value)) throw invalid(name, 'a number', value);
}

export function requireMs(name: string, value: unknown): void {
  if (typeof value !== 'number' || !(value >= 0)) throw invalid(name, 'milliseconds >= 0', value);
}

export function requireInteger(name: string, value: unknown, min: number): void {
  if (!Number.isSafeInteger(value) || (value as number) < min)
    throw invalid(name, `an integer >= ${min}`, value);
}
