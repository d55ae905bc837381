/**
 * The core of the work queues: `core.wasm`, compiled from assembly/index.ts. All queues and
 * limiters share one instance.
 */
import { compileCore } from '#core-module';
import { CapstanError } from '../base/errors.ts';
import { requireNames } from '../base/names.ts';
import {
  STATE_DIRTY,
  STATE_PROCESSING,
  STATE_WAITING,
  WAIT_EARLIEST,
  WAIT_LATEST,
  WAIT_REPLACE,
} from '../generated/abi.ts';
import { type CoreExports, coreExports } from '../generated/core-exports.ts';
import { guardWith } from './guard.ts';
import { CoreModule, Instance, MODULE_NAMES, throwing } from './instance.ts';
import type { WasmModule } from './web-assembly.ts';

export {
  ADD_ENDS_WAIT,
  ADD_KEEPS_BACKOFF,
  CROWDED,
  DONE_KEPT,
  DONE_RELEASED,
  DONE_REQUEUED,
  DONE_UNKNOWN,
  NO_MEMORY,
  NOTHING,
  ORDER_BY_HOST,
  ORDER_LISTED,
  RAISED_FLAG,
  SAME_HASH,
  SLOT_FLAG,
  SLOT_LIMIT,
  SLOT_NUMBER,
  STALE,
  STATE_DIRTY,
  STATE_PINNED,
  STATE_PROCESSING,
  STATE_WAITING,
  STATS_ADDS,
  STATS_BUCKETS,
  STATS_WAITS,
  STATS_WORKS,
  WAIT_IS_BACKOFF,
  WAITS_FLAG,
} from '../generated/abi.ts';
export type { CoreExports } from '../generated/core-exports.ts';
export type { Resident } from './instance.ts';

export const STATE_BUSY: number = STATE_DIRTY | STATE_PROCESSING | STATE_WAITING;
/** How addAfter() treats a wait that is there. */
export const WAIT_MODES = {
  earliest: WAIT_EARLIEST,
  latest: WAIT_LATEST,
  replace: WAIT_REPLACE,
} as const;

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
  (exports, trapped) => coreExports(exports as unknown as CoreExports, guardWith(trapped)),
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
  requireNames('options', options, 'option of initCore()', MODULE_NAMES);
  if (options.module === undefined) coreModule.load();
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
