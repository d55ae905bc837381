/** The options of a shared informer, and their checks. */
import { requireClock } from '../../base/clock.ts';
import { environmentSwitch, environmentVariable } from '../../base/environment.ts';
import {
  invalid,
  requireBoolean,
  requireFunction,
  requireMs,
  requireNumber,
} from '../../base/errors.ts';
import { namesOf, requireNames } from '../../base/names.ts';
import {
  type CacheLimits,
  LIMIT_NAMES,
  needsBytes,
  requireBytesFree,
  requireCacheLimits,
} from '../decode/limits.ts';
import { REFLECTOR_NAMES, type ReflectorOptions } from '../reflector/reflector-options.ts';
import type { ReflectorStatus } from '../reflector/status.ts';
import { type InformerMetricsProvider, requireMetrics } from './informer-metrics.ts';

/** What an informer leaves to its reflector. */
const FROM_REFLECTOR = [
  'clock',
  'random',
  'watchErrorHandler',
  'watchList',
  'watchListPageSize',
  'minWatchTimeout',
  'maxInternalErrorRetryDuration',
  'backoff',
  'parkWhenGone',
] as const;
type FromReflector = Pick<ReflectorOptions, (typeof FROM_REFLECTOR)[number]>;

/**
 * `T` is inferred where the options are given; options kept in a variable and without a transform
 * need none.
 */
export interface SharedIndexInformerOptions<T extends object = never>
  extends FromReflector,
    CacheLimits {
  /**
   * How often handlers are sent the whole cache again as updates, in milliseconds; 0, the default,
   * is never, also for handlers that ask for it. A handler may have a period of its own. The
   * shortest is 1 s.
   */
  resyncPeriod?: number | undefined;
  /**
   * `'real'`, the default: every delta in order, by a {@link RealFIFO}. `'delta'`: deltas gathered
   * by object, by a {@link DeltaFIFO}, as client-go's informers did before.
   */
  fifo?: 'real' | 'delta' | undefined;
  /**
   * Changes objects before they are stored, each once; such a cache holds decoded objects. It may
   * change the object it is given, and must return it or another with `metadata.name`; it must be
   * idempotent, as an object that did not change may come again. One that throws is reported (code
   * TRANSFORM), and the object is kept as it was by then, with the name, namespace and version that
   * it came with.
   */
  transform?(object: T): T;
  /**
   * Whether plain and transformed objects are frozen all through on their way in, so that a reader
   * that writes to one gets a TypeError on the spot. Default: yes, unless NODE_ENV is `production`
   * or the mutation detector is on.
   */
  freeze?: boolean | undefined;
  /**
   * Whether to watch for two minutes, once a second, that no reader changes an object of the cache,
   * and to report one that was changed through handleError, with what changed (code MUTATED). Costs
   * a copy of every object. Default: whether the environment variable KUBE_CACHE_MUTATION_DETECTOR
   * is true and no other option needs bytes.
   */
  mutationDetector?: boolean | undefined;
  /**
   * How long `run` and `stop` wait for calls of handlers that are under way, their promises
   * included, in milliseconds. Default 10 000: less than the grace of a process that is told to
   * end, so that it can still say which handler has not. Then that is reported (code TIMEOUT), and
   * the calls go on. 0: not at all; Infinity: as long as they take, as in client-go.
   */
  shutdownTimeout?: number | undefined;
  /**
   * The informer's name in its metrics; without one it has none. Of one resource each informer
   * needs its own.
   */
  name?: string | undefined;
  /** Gets the metrics of the informer. */
  metricsProvider?: InformerMetricsProvider | undefined;
}

const { shouldResync: _, decoder: __, ...FROM_REFLECTOR_NAMES } = REFLECTOR_NAMES;

export const INFORMER_NAMES = namesOf<SharedIndexInformerOptions>()({
  ...LIMIT_NAMES,
  ...FROM_REFLECTOR_NAMES,
  fifo: 1,
  transform: 1,
  freeze: 1,
  mutationDetector: 1,
  name: 1,
  metricsProvider: 1,
  shutdownTimeout: 1,
});

/** What an informer says of itself. */
export interface InformerStatus extends ReflectorStatus {
  hasSynced: boolean;
  isStopped: boolean;
  /** How many objects are cached. */
  objects: number;
  /** Bytes of the objects that are kept as bytes, and of the memory they lie in. */
  bytes: { live: number; total: number };
  /**
   * How many of the cached objects have nothing but their metadata, as there was no room: see the
   * option `whenFull`.
   */
  metadataOnly: number;
  /**
   * How many of the cached objects are missing in an index, as its function threw for them. It is
   * asked again with the object's next change, at the next resync or relist, and after a while with
   * any event or bookmark.
   */
  notIndexed: number;
  /** How many changes wait to be taken over into the cache. */
  queued: number;
  /** In the order in which they were added. */
  handlers: {
    name: string;
    hasSynced: boolean;
    /** How many notifications wait. */
    pending: number;
    /** How many were merged so far, and so are not delivered. */
    coalesced: number;
    /** How many calls threw or rejected: those notifications are lost to this handler. */
    failed: number;
  }[];
}

/** Throws CapstanError INVALID_ARGUMENT. */
export function requireInformerOptions<T extends object>(
  options: SharedIndexInformerOptions<T>,
): void {
  requireNames('options', options, 'option of a SharedIndexInformer', INFORMER_NAMES);
  const { resyncPeriod, random, transform, name, metricsProvider, clock } = options;
  requireClock('options.clock', clock);
  if (resyncPeriod !== undefined) requireNumber('options.resyncPeriod', resyncPeriod);
  requireMs('options.shutdownTimeout', options.shutdownTimeout ?? 0);
  if (random !== undefined) requireFunction('options.random', random);
  if (transform !== undefined) requireFunction('options.transform', transform);
  for (const flag of ['freeze', 'mutationDetector', 'watchList', 'parkWhenGone'] as const)
    requireBoolean(`options.${flag}`, options[flag]);
  fifoOf(options);
  requireCacheLimits(options);
  if (transform !== undefined) requireBytesFree(options, 'a transform');
  if (options.mutationDetector) requireBytesFree(options, 'the mutation detector');
  if (options.keep === 'objects') requireBytesFree(options, "keep: 'objects'");
  requireMetrics(name, metricsProvider);
}

/** Default of the option `shutdownTimeout`. */
export const SHUTDOWN_MS = 10_000;

/** What guards the objects of a cache, by the options and by the environment. */
export function guardsOf<T extends object>(
  options: SharedIndexInformerOptions<T>,
): { freeze: boolean; detect: boolean } {
  // The variable is a wish for a whole process: it does not take the limits of a cache away, which
  // need bytes.
  const detect =
    options.mutationDetector ??
    (!needsBytes(options) && environmentSwitch('KUBE_CACHE_MUTATION_DETECTOR'));
  // Frozen objects cannot be mutated: who asks for the detector wants to see it happen without the
  // program failing.
  return {
    detect,
    freeze: options.freeze ?? (!detect && environmentVariable('NODE_ENV') !== 'production'),
  };
}

/** Those of the options that the reflector takes. */
export function reflectorOptions<T extends object>(
  options: SharedIndexInformerOptions<T>,
): FromReflector {
  return Object.fromEntries(FROM_REFLECTOR.map((name) => [name, options[name]]));
}

/** The option `fifo`, checked. */
export function fifoOf({
  fifo = 'real',
}: {
  fifo?: 'real' | 'delta' | undefined;
}): 'real' | 'delta' {
  if (fifo !== 'real' && fifo !== 'delta') throw invalid('options.fifo', "'real' or 'delta'", fifo);
  return fifo;
}
