/**
 * The Wasm core: loading, views of its memory, and what happens when it
 * traps. It is compiled and instantiated synchronously at first use.
 *
 * - Views of the memory are made in one place: a growing memory detaches the old buffer.
 * - A trap is a bug of ours and may leave half-written state, so it poisons the instance: from then on every call throws.
 *   Whatever an export throws goes through `trapped`: of the few on the hot path by their callers, of all others here.
 *   Other instances (each informer cache has its own) go on, and whoever asks for the shared one gets a new one.
 */
import { compileCore } from '#core-module';
import { type CoreExports, coreExports } from './core-exports.ts';
import { CapstanError, show } from './errors.ts';
import { handleError } from './handle-error.ts';

export type { CoreExports } from './core-exports.ts';

/** What calls answer instead of a slot (assembly/record.ts). */
export const NOTHING = -1;
export const NO_MEMORY = -2;
/** Beside a slot from queueAdd: not ready, as the key is being processed. From delayPop: the slot was given back. */
export const SLOT_FLAG = 0x40000000;
/** Beside a slot from priorityAdd: the key waits; the key was ready and has a higher priority now. */
export const WAITS_FLAG = 0x20000000;
export const RAISED_FLAG = 0x10000000;
/** What queueDoneSlot answers (assembly/queue.ts). */
export const DONE_UNKNOWN = 0;
export const DONE_KEPT = 1;
export const DONE_REQUEUED = 2;
export const DONE_RELEASED = 3;
/** The host's slot is another key's by now. */
export const STALE = -3;
/** State bits of queueState (assembly/record.ts). */
export const STATE_DIRTY = 1;
export const STATE_PROCESSING = 2;
export const STATE_WAITING = 4;
export const STATE_PINNED = 16;
export const STATE_BUSY = STATE_DIRTY | STATE_PROCESSING | STATE_WAITING;
/** For queueRules. */
export const ADD_ENDS_WAIT = 1;
export const ADD_KEEPS_BACKOFF = 2;
/** How delayAdd treats a wait that is there (assembly/delay.ts), and the bit beside it that says: a back-off. */
export const WAIT_MODES = { earliest: 0, latest: 1, replace: 2 } as const;
export const WAIT_IS_BACKOFF = 4;
/** Slots of a queue from here on have no number for the host (assembly/slots.ts); in a slot, the number is the low bits. */
export const SLOT_LIMIT = 2 ** 22 - 8;
export const SLOT_NUMBER = 2 ** 22 - 1;

/** For engines without the string builtins. Correct, not fast: there the tables that hash in JS are the default (keys.ts). */
const stringFunctions = {
  length: (text: string) => text.length,
  charCodeAt: (text: string, index: number) => text.charCodeAt(index),
};

/** Exports that throw: what is left of an instance after a trap or a dispose. */
function throwing(error: () => CapstanError): CoreExports {
  const thrower = (): never => {
    throw error();
  };
  return new Proxy({} as CoreExports, { get: () => thrower });
}

/** Stands for the exports of something that was disposed of. */
export function disposedExports(what: string): CoreExports {
  return throwing(
    () => new CapstanError('DISPOSED', `${what} was used after dispose(): expected a live one; make a new one`),
  );
}

let compiled: WebAssembly.Module | undefined;
let nativeStrings = false;
let shared: Core | undefined;

function theModule(): WebAssembly.Module {
  if (compiled === undefined) useModule(compileCore());
  return compiled as WebAssembly.Module;
}

function useModule(module: WebAssembly.Module): void {
  // Whoever compiled it: without `wasm:js-string` among the imports the engine's own string functions are built in.
  nativeStrings = !WebAssembly.Module.imports(module).some((entry) => entry.module === 'wasm:js-string');
  compiled = module;
}

/**
 * Gives the core a compiled module, for hosts that forbid compiling (else not needed). Before first use. A page whose
 * Content-Security-Policy lacks 'wasm-unsafe-eval' may take one from a worker that was served with a policy of its own.
 *
 * @example
 * import module from 'capstan/core.wasm'; // in a bundler or host that compiles .wasm imports
 * initCore({ module });
 */
export function initCore(options: { module?: WebAssembly.Module } = {}): void {
  const module = options?.module;
  if (module === undefined) {
    theModule();
    return;
  }
  if (
    !(module instanceof WebAssembly.Module) ||
    !WebAssembly.Module.exports(module).some((e) => e.name === 'queueNew')
  ) {
    throw new CapstanError('INVALID_ARGUMENT', `"module" expected the compiled capstan/core.wasm, got ${show(module)}`);
  }
  if (compiled !== undefined) {
    throw new CapstanError(
      'ALREADY_STARTED',
      'initCore({ module }) expected to come before the first queue or cache, but the core is loaded',
    );
  }
  useModule(module);
}

/** Something that lives in an instance and has callers waiting who must learn of its end. */
export interface Resident {
  poisoned(error: CapstanError): void;
}

export class Core {
  /** Told when the instance is poisoned. Weak: living here keeps nobody alive. Residents remove their own entry. */
  readonly residents: Set<WeakRef<Resident>> = new Set();
  /** The exports; replaced when the instance is poisoned. Read it at each call, keep no copy. */
  x: CoreExports;
  readonly #memory: WebAssembly.Memory;
  #words: Uint32Array;
  #ints: Int32Array;
  #doubles: Float64Array;
  #bytes: Uint8Array;
  #seeded = false;

  constructor() {
    let instance: WebAssembly.Instance;
    try {
      instance = new WebAssembly.Instance(theModule(), { 'wasm:js-string': stringFunctions });
    } catch (cause) {
      if (cause instanceof CapstanError) throw cause;
      throw new CapstanError('WASM_UNAVAILABLE', 'the WebAssembly core could not be instantiated', { cause });
    }
    this.x = coreExports(instance.exports, (cause) => this.trapped(cause));
    this.#memory = this.x.memory;
    this.#words = new Uint32Array(this.#memory.buffer);
    this.#ints = new Int32Array(this.#memory.buffer);
    this.#doubles = new Float64Array(this.#memory.buffer);
    this.#bytes = new Uint8Array(this.#memory.buffer);
    this.seed();
  }

  /**
   * Whether the tables made from now on may hash keys in Wasm: only under a secret seed, and a host may refuse random numbers for
   * a while (Cloudflare's workerd does outside of handlers). Tables made meanwhile intern in JS, where the engine's own
   * secret guards the hash, and keep to it.
   */
  seed(): boolean {
    if (this.#seeded) return true;
    let secret: Int32Array;
    try {
      secret = crypto.getRandomValues(new Int32Array(4));
    } catch {
      return false;
    }
    const [a, b, c, d] = secret as unknown as [number, number, number, number];
    this.x.keysSeed(a, b, c, d);
    this.#seeded = true;
    return true;
  }

  /** Whether a table made now has a secret seed. */
  get seeded(): boolean {
    return this.#seeded;
  }

  /** All memory as u32. Valid until the next call into the core. */
  words(): Uint32Array {
    if (this.#words.buffer !== this.#memory.buffer) this.#words = new Uint32Array(this.#memory.buffer);
    return this.#words;
  }

  /** All memory as i32. Valid until the next call into the core. */
  ints(): Int32Array {
    if (this.#ints.buffer !== this.#memory.buffer) this.#ints = new Int32Array(this.#memory.buffer);
    return this.#ints;
  }

  /** All memory as f64. Valid until the next call into the core. */
  doubles(): Float64Array {
    if (this.#doubles.buffer !== this.#memory.buffer) this.#doubles = new Float64Array(this.#memory.buffer);
    return this.#doubles;
  }

  /** All memory as bytes. Valid until the next call into the core. */
  bytes(): Uint8Array {
    if (this.#bytes.buffer !== this.#memory.buffer) this.#bytes = new Uint8Array(this.#memory.buffer);
    return this.#bytes;
  }

  /** To be thrown in place of what an export threw. A trap and a stack that overflowed inside poison the instance. */
  trapped(cause: unknown): unknown {
    if (cause instanceof CapstanError) return cause;
    if (!(cause instanceof WebAssembly.RuntimeError || cause instanceof RangeError)) {
      // Thrown on the way in, before the core ran: an argument that cannot be made a number, for example.
      return new CapstanError('INVALID_ARGUMENT', 'the call was given something that cannot be read or converted', {
        cause,
      });
    }
    const error = (): CapstanError =>
      new CapstanError(
        'POISONED',
        'the WebAssembly core trapped: its state cannot be trusted, so this instance refuses every further call. This is a bug in capstan; ' +
          'make a new queue or cache, which gets an instance of its own',
        { cause },
      );
    this.x = throwing(error);
    if (shared === this) shared = undefined;
    for (const resident of this.residents) {
      try {
        resident.deref()?.poisoned(error());
      } catch (thrown) {
        handleError(thrown, 'end of a poisoned queue'); // its user's clock or signal: the others must be told all the same
      }
    }
    this.residents.clear();
    return error();
  }

  outOfMemory(): CapstanError {
    return new CapstanError(
      'OUT_OF_MEMORY',
      `the WebAssembly memory cannot grow beyond ${this.#memory.buffer.byteLength} bytes: nothing was changed; dispose of queues and caches that are not needed, or add fewer keys`,
    );
  }
}

/** The instance that queues and limiters live in. What is made in it has a seed, where the host gives one by now. */
export function sharedCore(): Core {
  shared ??= new Core();
  shared.seed();
  return shared;
}

/** Whether the engine hashes strings without leaving Wasm. */
export function hasNativeStrings(): boolean {
  theModule();
  return nativeStrings;
}
