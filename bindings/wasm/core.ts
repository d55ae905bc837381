/**
 * The core of the work queues: `core.wasm`, compiled from assembly/index.ts. All queues and
 * limiters share one instance.
 */
import { compileCore } from '#core-module';
import { CapstanError } from '../base/errors.ts';
import { type CoreExports, coreExports } from './core-exports.ts';
import { CoreModule, Instance, throwing } from './instance.ts';
import type { WasmModule } from './web-assembly.ts';

export type { CoreExports } from './core-exports.ts';
export { NO_MEMORY, NOTHING, type Resident, SLOT_FLAG } from './instance.ts';

/**
 * Beside a slot from priorityAdd: the key waits; the key was ready and has a higher priority now.
 */
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
/**
 * How delayAdd treats a wait that is there (assembly/waiting.ts), and the bit beside it that says: a
 * back-off.
 */
export const WAIT_MODES = { earliest: 0, latest: 1, replace: 2 } as const;
export const WAIT_IS_BACKOFF = 4;
/**
 * Slots of a queue from here on have no number for the host (assembly/slots.ts); in a slot, the
 * number is the low bits.
 */
export const SLOT_LIMIT = 2 ** 22 - 8;
export const SLOT_NUMBER = 2 ** 22 - 1;

/** Stands for the exports of something that was disposed of. */
export function disposedExports(what: string): CoreExports {
  return throwing(
    () =>
      new CapstanError(
        'DISPOSED',
        `${what} was used after dispose(): expected a live one; make a new one`,
      ),
  );
}

const coreModule = new CoreModule<CoreExports>(
  'capstan/core.wasm',
  'queueNew',
  compileCore,
  coreExports,
);
let shared: Core | undefined;

/**
 * Gives the core of the queues a compiled module, for hosts that forbid compiling (else not
 * needed). Before first use. A page whose Content-Security-Policy lacks 'wasm-unsafe-eval' may take
 * one from a worker that was served with a policy of its own.
 *
 * @example
 * import module from 'capstan/core.wasm'; // in a bundler or host that compiles .wasm imports
 * initCore({ module });
 */
export function initCore(options: { module?: WasmModule | undefined } = {}): void {
  if (options?.module === undefined) coreModule.load();
  else coreModule.use(options.module, 'initCore');
}

export class Core extends Instance<CoreExports> {
  constructor() {
    super(coreModule);
  }

  override trapped(cause: unknown): unknown {
    const { exports } = this;
    const error = super.trapped(cause);
    if (this.exports !== exports && shared === this) shared = undefined;
    return error;
  }
}

/**
 * An instance with so many pages of 64 KiB takes no more queues: its 4 GiB are one queue's, most
 * likely, which must not fill up those of all others.
 */
const MOST_PAGES = 4096;

/**
 * The instance that queues and limiters live in. What is made in it has a seed, where the host
 * gives one by now.
 */
export function sharedCore(): Core {
  if (shared === undefined || shared.exports.memoryPages() > MOST_PAGES) shared = new Core();
  shared.seed();
  return shared;
}

/** Whether the engine hashes strings without leaving Wasm. */
export function hasNativeStrings(): boolean {
  return coreModule.nativeStrings();
}
