/**
 * The errors of the package: one base class with a stable `code`, the cause kept, and a message that says what was
 * expected, what came, and what to do. Nothing here is thrown inside a loop: messages are built on the throw path only.
 */

/** The codes are stable: programs may switch on them. New ones may be added. */
export type ErrorCode =
  | 'INVALID_ARGUMENT' // a value of the wrong type or out of range
  | 'DISPOSED' // used after dispose()
  | 'POISONED' // the WebAssembly core trapped earlier; this instance must not be used further
  | 'OUT_OF_MEMORY' // the core's memory cannot grow; nothing was changed
  | 'STALE_SLOT' // a slot of a queue whose key has been unpinned or is done
  | 'TOO_MANY_SLOTS' // slots tell the keys of a queue apart up to four million of them
  | 'CACHE_FULL' // an object has no room in a cache with `maxBytes`; everything is asked for again until it has
  | 'QUEUE_FULL' // a queue with `maxDepth` has no room; nothing was changed
  | 'WASM_UNAVAILABLE' // the host forbids or lacks WebAssembly
  | 'ALREADY_STARTED' // run() or start() a second time
  | 'STOPPED' // used after it has been stopped
  | 'UNKNOWN_INDEX' // an index name that was never registered
  | 'INDEX_EXISTS' // an index name that is registered already
  | 'INVALID_KEY' // not a namespace/name key
  | 'FIFO_CLOSED' // a pop from a queue of deltas that is closed and empty
  | 'TRANSACTION' // some changes of a transaction failed: see TransactionError
  | 'TRANSPORT' // no HTTP answer: see TransportError.kind
  | 'STATUS' // an HTTP answer that reports a failure: see StatusError
  | 'DECODE' // bytes that are not what the protocol promises
  | 'TRANSFORM' // a user's transform failed; the object was kept as it came
  | 'MUTATED' // a reader of a cache changed one of its objects: see the option `mutationDetector`
  | 'CACHE_SYNC_TIMEOUT' // caches did not sync in time
  | 'SOURCE_FAILED' // a source of a controller could not start or sync: see the cause
  | 'NOT_CACHED' // a read from a cache that has no informer for the resource, and may not make one
  | 'TIMEOUT' // a bounded call took too long
  | 'LEASE_EXPIRED' // this process believes to lead, but has not renewed its lease for too long
  | 'LISTEN' // a server cannot listen on its address
  | 'LEASE_LOST' // this process led, and does so no more
  | 'ABORTED' // the caller's signal fired
  | 'ALREADY_OWNED' // an object has a controller already: see AlreadyOwnedError
  | 'INVALID_OWNER' // an owner that an object may not have, by their namespaces
  | 'NOT_OWNED' // an owner reference that is to be removed is not there
  | 'FINALIZER_EXISTS' // a finalizer is registered under this key already
  | 'FINALIZE' // some finalizers failed: see FinalizeError
  | 'EVENT' // an Event could not be recorded; nothing else is harmed
  | 'SCHEMA' // a schema says what a CustomResourceDefinition cannot: see SchemaError
  | 'INVALID_OBJECT' // an object does not match its schema: see InvalidObjectError
  | 'CRD' // the server does not serve a CustomResourceDefinition: see CRDError
  | 'TERMINAL'; // a reconcile error that must not be retried

/**
 * Every error of the package, itself or by a class of its own. The message says what was expected, what came and what to do; `cause` is what led to it.
 */
export class CapstanError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }

  override get name(): string {
    return 'CapstanError';
  }
}

/** How a value is shown in a message: short, with its type where the text alone would not tell. Never throws, whatever the value does. */
export function show(value: unknown): string {
  try {
    if (typeof value === 'string') {
      return value.length > 60 ? `${JSON.stringify(value.slice(0, 60))}…` : JSON.stringify(value);
    }
    if (typeof value === 'function') return 'a function';
    if (value === null || value === undefined || typeof value !== 'object') return String(value);
    if (Array.isArray(value)) return `an array of ${value.length}`;
    const name: unknown = value.constructor?.name;
    return typeof name === 'string' && name !== '' && name !== 'Object' ? `an object of class ${name}` : 'an object';
  } catch {
    return 'an object that cannot be read';
  }
}

/** `"qps" expected a number > 0, got NaN`. */
export function invalid(name: string, expected: string, got: unknown): CapstanError {
  return new CapstanError('INVALID_ARGUMENT', `"${name}" expected ${expected}, got ${show(got)}`);
}

export function requireObject(name: string, value: unknown): void {
  if (typeof value !== 'object' || value === null) throw invalid(name, 'an object', value);
}

export function requireFunction(name: string, value: unknown): void {
  if (typeof value !== 'function') throw invalid(name, 'a function', value);
}

/** Any number but NaN; infinities are legal. */
export function requireNumber(name: string, value: unknown): void {
  if (typeof value !== 'number' || Number.isNaN(value)) throw invalid(name, 'a number', value);
}

export function requireInteger(name: string, value: unknown, min: number): void {
  if (!Number.isSafeInteger(value) || (value as number) < min) throw invalid(name, `an integer >= ${min}`, value);
}
