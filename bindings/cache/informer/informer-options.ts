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
import type { HashRange } from '../rest/hash-ranges.ts';
import { type InformerMetricsProvider, requireMetrics } from './informer-metrics.ts';

/** Options that are passed to the reflector. */
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
 * Options of a {@link SharedIndexInformer}. `T`, the type of the objects, is needed only for a
 * transform. client-go: SharedIndexInformerOptions.
 */
export interface SharedIndexInformerOptions<T extends object = never>
  extends FromReflector,
    CacheLimits {
  /**
   * Time between resyncs, in milliseconds: handlers get the whole cache again as updates. 0, the
   * default: never, whatever the options of a handler. A handler may have its own period. Minimum
   * 1000.
   */
  resyncPeriod?: number | undefined;
  /**
   * `'real'`, the default: a {@link RealFIFO}, which keeps all deltas in order. `'delta'`: a {@link
   * DeltaFIFO}, which gathers deltas by object, as client-go's informers did before.
   */
  fifo?: 'real' | 'delta' | undefined;
  /**
   * Changes each object before it is stored; the cache then holds decoded objects. It may change
   * its argument in place, and must return an object with `metadata.name`. It must be idempotent,
   * because an unchanged object may come again. If it throws, that is reported (code TRANSFORM),
   * and the object is stored as the transform left it, with its original name, namespace and
   * version.
   */
  transform?(object: T): T;
  /**
   * Deep-freeze decoded and transformed objects, so that writing to one throws a TypeError.
   * Default: true, unless NODE_ENV is `production` or the mutation detector is on.
   */
  freeze?: boolean | undefined;
  /**
   * Check once a second, for two minutes, that no reader changes a cached object, and report a
   * changed object through handleError, with the first difference (code MUTATED). Costs a copy of
   * every object. Default: true if the environment variable KUBE_CACHE_MUTATION_DETECTOR is true
   * and no other option needs objects as bytes.
   */
  mutationDetector?: boolean | undefined;
  /**
   * How long `run` and `stop` wait for running calls of handlers, including their promises, in
   * milliseconds. Default 10 000, which is less than the usual grace period of a process. After
   * that the handlers that have not ended are reported (code TIMEOUT), and their calls go on. 0: do
   * not wait; Infinity: no limit, as in client-go.
   */
  shutdownTimeout?: number | undefined;
  /**
   * Which part of the objects the cache has, by the hash of their namespace, or of their name if
   * the kind is cluster-scoped. Anything else is dropped on its bytes and never stored, and the
   * server is asked to leave it out (`shardSelector`, KEP-5866), which few servers do. `setRanges`
   * changes it. Default: all objects.
   */
  ranges?: readonly HashRange[] | undefined;
  /**
   * The informer's name in metrics; without a name it has none. Informers of one resource need
   * different names.
   */
  name?: string | undefined;
  /** Creates the metrics of the informer. Has no effect without `name`. */
  metricsProvider?: InformerMetricsProvider | undefined;
}

const { shouldResync: _, decoder: __, ranges: ___, ...FROM_REFLECTOR_NAMES } = REFLECTOR_NAMES;

export const INFORMER_NAMES = namesOf<SharedIndexInformerOptions>()({
  ...LIMIT_NAMES,
  ...FROM_REFLECTOR_NAMES,
  fifo: 1,
  ranges: 1,
  transform: 1,
  freeze: 1,
  mutationDetector: 1,
  name: 1,
  metricsProvider: 1,
  shutdownTimeout: 1,
});

/** The status of an informer: plain data, computed on request. */
export interface InformerStatus extends ReflectorStatus {
  hasSynced: boolean;
  isStopped: boolean;
  /** The number of cached objects. */
  objects: number;
  /**
   * Bytes of the objects that are kept as bytes (`live`), and of the memory that holds them
   * (`total`).
   */
  bytes: { live: number; total: number };
  /**
   * The number of cached objects with metadata only, because they did not fit: see the option
   * `whenFull`.
   */
  metadataOnly: number;
  /**
   * The number of cached objects that are missing in an index because its function threw. It is
   * called again with the object's next change, at the next resync or relist, and after a while
   * with any event or bookmark.
   */
  notIndexed: number;
  /** The number of queued deltas (of a DeltaFIFO: objects). */
  queued: number;
  /** In the order in which they were added. */
  handlers: {
    name: string;
    hasSynced: boolean;
    /** The backlog: how many notifications wait. */
    pending: number;
    /** How many notifications were merged, and so are not delivered. */
    coalesced: number;
    /** How many calls threw or rejected; they are not repeated. */
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
  const fifo = fifoOf(options);
  if (options.ranges !== undefined && fifo === 'delta')
    throw invalid('options.ranges', "none with fifo: 'delta'", options.ranges);
  requireCacheLimits(options);
  if (transform !== undefined) requireBytesFree(options, 'a transform');
  if (options.mutationDetector) requireBytesFree(options, 'the mutation detector');
  if (options.keep === 'objects') requireBytesFree(options, "keep: 'objects'");
  requireMetrics(name, metricsProvider);
}

/** Default of the option `shutdownTimeout`. */
export const SHUTDOWN_MS = 10_000;

/** Whether to freeze objects and to detect mutations, by the options and the environment. */
export function guardsOf<T extends object>(
  options: SharedIndexInformerOptions<T>,
): { freeze: boolean; detect: boolean } {
  // The variable applies to the whole process, so it does not override options that need bytes.
  const detect =
    options.mutationDetector ??
    (!needsBytes(options) && environmentSwitch('KUBE_CACHE_MUTATION_DETECTOR'));
  // Frozen objects cannot be changed; the detector reports a change without making the program
  // fail.
  return {
    detect,
    freeze: options.freeze ?? (!detect && environmentVariable('NODE_ENV') !== 'production'),
  };
}

/** The options for the reflector. */
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
