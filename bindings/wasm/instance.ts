/**
 * One instance of a WebAssembly module of the package: loading, views of its memory, and traps.
 * Modules are compiled and instantiated synchronously at first use.
 *
 * - Views of the memory are made in one place: a growing memory detaches the old buffer, and a view
 *   of that is empty (asking it is faster than asking the memory for its buffer).
 * - A trap is a bug of ours and may leave half-written state, so it poisons the instance: from then
 *   on every call throws. Whatever an export throws goes through `trapped`: of the few on the hot
 *   path by their callers, of all others at the seam (guard.ts). Other instances (each informer
 *   cache has its own) go on, and the next queue gets a new shared one.
 */
import { CapstanError, show } from '../base/errors.ts';
import { handleError } from '../base/handle-error.ts';
import { namesOf } from '../base/names.ts';
import type { WasmExports, WasmMemory, WasmModule } from './web-assembly.ts';

/** The names of the options of `initCore` and `initCacheCore`. */
export const MODULE_NAMES = namesOf<{ module?: WasmModule | undefined }>()({ module: 1 });

/** The exports that each module of the package has. */
export interface BaseExports {
  readonly memory: WasmMemory;
  memoryLimit(pages: number): void;
  /** For tests: grants so many blocks more; -1: all. Answers how many were left of the last. */
  memoryGrant(blocks: number): number;
  memoryPages(): number;
  keysSeed(a: number, b: number, c: number, d: number): void;
}

/**
 * For engines without the string builtins. Correct, not fast: there the tables that hash in JS are
 * the default (key-mode.ts).
 */
const stringFunctions = {
  length: (text: string) => text.length,
  charCodeAt: (text: string, index: number) => text.charCodeAt(index),
};

/** The exports of an instance after a trap or a dispose: each of them throws. */
export function throwing<X extends object>(error: () => CapstanError): X {
  const thrower = (): never => {
    throw error();
  };
  return new Proxy({} as X, { get: () => thrower });
}

/** A module, compiled at first use or passed by the program. */
export class CoreModule<X extends BaseExports> {
  readonly #name: string;
  readonly #marker: string;
  readonly #compile: () => WasmModule;
  readonly exportsOf: (exports: WasmExports, trapped: (cause: unknown) => unknown) => X;
  #compiled: WasmModule | undefined;

  /**
   * @param name as in the package's exports, for messages
   * @param marker an export that no other module has
   */
  constructor(
    name: string,
    marker: string,
    compile: () => WasmModule,
    exportsOf: (exports: WasmExports, trapped: (cause: unknown) => unknown) => X,
  ) {
    this.#name = name;
    this.#marker = marker;
    this.#compile = compile;
    this.exportsOf = exportsOf;
  }

  load(): WasmModule {
    this.#compiled ??= this.#compile();
    return this.#compiled;
  }

  /** Takes a module that the host has compiled; before first use. */
  use(module: unknown, call: string): void {
    if (
      !(module instanceof WebAssembly.Module) ||
      !WebAssembly.Module.exports(module).some((each) => each.name === this.#marker)
    ) {
      throw new CapstanError(
        'INVALID_ARGUMENT',
        `"module" expected the compiled ${this.#name}, got ${show(module)}`,
      );
    }
    if (this.#compiled !== undefined) {
      throw new CapstanError(
        'ALREADY_STARTED',
        `${call}({ module }) expected to come before the first queue or cache, ` +
          `but ${this.#name} is loaded`,
      );
    }
    this.#compiled = module;
  }

  /**
   * Whether the engine's own string functions are built in: then `wasm:js-string` is not among the
   * imports, also of a module that the host compiled.
   */
  nativeStrings(): boolean {
    return !WebAssembly.Module.imports(this.load()).some(
      (entry) => entry.module === 'wasm:js-string',
    );
  }
}

/** A queue or cache in an instance, which ends its callers' waits when the instance is poisoned. */
export interface Resident {
  poisoned(error: CapstanError): void;
}

export class Instance<X extends BaseExports> {
  /**
   * Notified when the instance is poisoned. Weak references, so that a resident can be collected.
   * Residents remove their own entry.
   */
  readonly residents: Set<WeakRef<Resident>> = new Set();
  /**
   * The same for those that have a timer set, which keeps them from being collected anyway: a weak
   * reference takes V8 2 to 3 µs. They add and remove themselves.
   */
  readonly timed: Set<Resident> = new Set();
  /** The exports; replaced when the instance is poisoned. Read it at each call, keep no copy. */
  exports: X;
  /** Whether the engine hashes strings without leaving Wasm. */
  readonly nativeStrings: boolean;
  readonly #memory: WasmMemory;
  #words: Uint32Array;
  #ints: Int32Array;
  #doubles: Float64Array;
  #bytes: Uint8Array;
  #seeded = false;

  constructor(module: CoreModule<X>) {
    const compiled = module.load(); // first: without WebAssembly it is what says so
    let instance: WebAssembly.Instance;
    try {
      instance = new WebAssembly.Instance(compiled, { 'wasm:js-string': stringFunctions });
    } catch (cause) {
      throw new CapstanError('WASM_UNAVAILABLE', 'the WebAssembly core could not be instantiated', {
        cause,
      });
    }
    this.nativeStrings = module.nativeStrings();
    this.exports = module.exportsOf(instance.exports, (cause) => this.trapped(cause));
    this.#memory = this.exports.memory;
    this.#words = new Uint32Array(this.#memory.buffer);
    this.#ints = new Int32Array(this.#memory.buffer);
    this.#doubles = new Float64Array(this.#memory.buffer);
    this.#bytes = new Uint8Array(this.#memory.buffer);
    this.seed();
  }

  /**
   * Whether the tables made from now on may hash keys in Wasm: only under a secret seed, and a host
   * may refuse random numbers for a while (Cloudflare's workerd does outside of handlers). Tables
   * made meanwhile intern in JS, where the engine's own secret guards the hash, and keep to it.
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
    this.exports.keysSeed(a, b, c, d);
    this.#seeded = true;
    return true;
  }

  /** Whether a table made now has a secret seed. */
  get seeded(): boolean {
    return this.#seeded;
  }

  /** All memory as u32. Valid until the next call into the core. */
  words(): Uint32Array {
    if (this.#words.length === 0) this.#words = new Uint32Array(this.#memory.buffer);
    return this.#words;
  }

  /** All memory as i32. Valid until the next call into the core. */
  ints(): Int32Array {
    if (this.#ints.length === 0) this.#ints = new Int32Array(this.#memory.buffer);
    return this.#ints;
  }

  /** All memory as f64. Valid until the next call into the core. */
  doubles(): Float64Array {
    if (this.#doubles.length === 0) this.#doubles = new Float64Array(this.#memory.buffer);
    return this.#doubles;
  }

  /** All memory as bytes. Valid until the next call into the core. */
  bytes(): Uint8Array {
    if (this.#bytes.length === 0) this.#bytes = new Uint8Array(this.#memory.buffer);
    return this.#bytes;
  }

  /**
   * To be thrown in place of what an export threw. A trap and a stack that overflowed inside poison
   * the instance.
   */
  trapped(cause: unknown): unknown {
    if (cause instanceof CapstanError) return cause;
    if (!(cause instanceof WebAssembly.RuntimeError || cause instanceof RangeError)) {
      // Thrown on the way in, before the core ran: an argument that cannot be made a number, for
      // example.
      return new CapstanError(
        'INVALID_ARGUMENT',
        'the call was given something that cannot be read or converted',
        {
          cause,
        },
      );
    }
    const error = (): CapstanError =>
      new CapstanError(
        'POISONED',
        'the WebAssembly core trapped: its state cannot be trusted, so this instance refuses ' +
          'every further call. This is a bug in capstan; make a new queue or cache, which gets ' +
          'an instance of its own',
        { cause },
      );
    this.exports = throwing(error);
    const residents = new Set(this.timed);
    this.timed.clear();
    for (const reference of this.residents) {
      const resident = reference.deref();
      if (resident !== undefined) residents.add(resident);
    }
    this.residents.clear();
    for (const resident of residents) {
      try {
        resident.poisoned(error());
      } catch (thrown) {
        // from the program's clock or signal; the other residents are notified all the same
        handleError(thrown, 'end of a poisoned queue');
      }
    }
    return error();
  }

  outOfMemory(): CapstanError {
    return new CapstanError(
      'OUT_OF_MEMORY',
      `the WebAssembly memory cannot grow beyond ${this.#memory.buffer.byteLength} bytes: ` +
        'nothing was changed; dispose of queues and caches that are not needed, or add fewer keys',
    );
  }
}
