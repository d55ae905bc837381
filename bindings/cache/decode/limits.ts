/** The options of informers that limit what and how much a cache keeps, and their checks. */
import {
  invalid,
  requireBoolean,
  requireFunction,
  requireInteger,
  requireNumber,
  requireObject,
} from '../../base/errors.ts';
import { namesOf } from '../../base/names.ts';
import { trimOf } from './trim.ts';

/** client-go: apimachinery runtime/serializer/streaming, the largest frame. */
export const MAX_OBJECT_BYTES = 16 * 1024 * 1024;
/** The longest string of V8 is a little shorter. */
const MOST_OBJECT_BYTES = 2 ** 29;
/** apimachinery: util/json, the deepest nesting that is decoded. */
export const MAX_DEPTH = 10_000;

/** Options for decoding objects. */
export interface DecoderOptions {
  /**
   * Keep `metadata.managedFields`, which make up a large part of most objects and which few
   * programs read. Default false: they are absent.
   */
  keepManagedFields?: boolean | undefined;
  /**
   * Members that are removed from every object before it is stored, by path: `spec.template`, or
   * `metadata.annotations.kubectl\\.kubernetes\\.io/last-applied-configuration`, where `\.` is a
   * dot inside a name. For an array, the path applies to each element: `spec.containers.env`. A
   * dropped member is absent, as if the server had not sent it, and is not decoded. `metadata`
   * itself and its name, namespace and resourceVersion cannot be dropped.
   *
   * @example
   * const drop = ['status.conditions', 'spec.containers.env'];
   * new SharedIndexInformer(new ListWatch(transport, Pod), { drop });
   */
  drop?: readonly string[] | undefined;
  /**
   * The longest watch event, and the longest object of a list, in bytes. Default 16 MiB, at most
   * 512 MiB. A longer one is a failure of class `decode`. If objects are not kept as bytes, lists
   * are decoded as a whole, and only watch events have this limit.
   */
  maxObjectBytes?: number | undefined;
  /**
   * The deepest nesting of JSON, including the event or list around an object. Default and maximum
   * 10 000. Deeper nesting is a failure of class `decode`, with the same exception for lists.
   */
  maxNesting?: number | undefined;
}

/** The limit of a cache that keeps objects as bytes. */
export interface Budget {
  /**
   * The most bytes that all objects of the cache may take, as in `informer.status().bytes.live`,
   * including staged ones. Default: no limit but the 4 GiB of a core. With `whenFull: 'metadata'`
   * it limits whole objects only: see there. For a list, only its own objects count: while it
   * replaces the old content, both are in memory. The few objects that cannot be kept as bytes
   * (unusual JSON, such as escapes in member names) do not count.
   */
  maxBytes?: number | undefined;
  /**
   * Called each time that the cache grows past a part of the limit, and when metadata grow beyond
   * the limit. Has no effect without `maxBytes`.
   */
  onBytes?: BytesMark | undefined;
  /**
   * What to do with an object that does not fit:
   * - `'error'`, the default: the list or watch fails with code CACHE_FULL; the watch error handler
   *   gets it with class `full`. The cache keeps its content; the reflector relists with back-off
   *   until there is room again. Nothing is skipped.
   * - `'metadata'`: only apiVersion, kind and metadata of the object are kept. It is whole again
   *   once it comes again and fits. `informer.status().metadataOnly` has the number of such
   *   objects. Their metadata count too, and may grow beyond `maxBytes`: some hundred bytes each,
   *   with annotations up to 256 KiB; `drop` removes annotations that are not needed. The object
   *   has no mark: never write back an object from a handler, a lister or `context.get`, as that
   *   would delete all other members on the server. A client with this cache gives whole objects
   *   only: it reads such an object from the server, and each list that contains one; while there
   *   is any, a list by an index is selected from a list of the namespace.
   *
   * Deletions are always applied.
   */
  whenFull?: 'error' | 'metadata' | undefined;
}

/** A mark below the limit `maxBytes`. */
export interface BytesMark {
  /** The part of `maxBytes`, above 0 and at most 1. Default 0.8. */
  at?: number | undefined;
  /**
   * Called with the bytes of the cache when it has grown to the mark, and again only after it has
   * been below; with `whenFull: 'metadata'` also when it has grown to `maxBytes`, and each time
   * that it has doubled from there. Errors go to handleError. It is called while an object is
   * decoded, so it should return soon.
   */
  call(bytes: number, maxBytes: number): void;
}

/** How a cache keeps objects as bytes. */
export interface Packing {
  /**
   * Keep an object that is like another one, of the same owner or the same kind, as its difference
   * from that one: Pods of 3.8 KB take a tenth. The object is restored when it is read, compared or
   * replaced. Default true. Has no effect on the first 64 objects of a cache, on those
   * above 32 KB, and where objects are not kept as bytes.
   *
   * @example
   * new SharedIndexInformer(new ListWatch(transport, Pod), { pack: false });
   */
  pack?: boolean | undefined;
}

export interface CacheLimits extends DecoderOptions, Budget, Packing {
  /**
   * `'bytes'`, the default: objects are kept as the bytes that the server sent, outside the
   * JavaScript heap; members are decoded when they are read. `'objects'`: objects are decoded when
   * they come, which is faster if every member is read often. A transform and the mutation detector
   * imply `'objects'`.
   */
  keep?: 'bytes' | 'objects' | undefined;
}

export const LIMIT_NAMES = namesOf<CacheLimits>()({
  keepManagedFields: 1,
  drop: 1,
  maxObjectBytes: 1,
  maxNesting: 1,
  maxBytes: 1,
  onBytes: namesOf<BytesMark>()({ at: 1, call: 1 }),
  whenFull: 1,
  keep: 1,
  pack: 1,
});

const OF_DECODER = ['keepManagedFields', 'drop', 'maxObjectBytes', 'maxNesting'] as const;
const OF_BUDGET = ['maxBytes', 'onBytes', 'whenFull'] as const;

/** Throws CapstanError INVALID_ARGUMENT. */
export function requireCacheLimits(options: CacheLimits): void {
  const { keepManagedFields, drop = [], keep, pack, maxObjectBytes, maxNesting } = options;
  requireBoolean('options.keepManagedFields', keepManagedFields);
  requireBoolean('options.pack', pack);
  if (!Array.isArray(drop)) throw invalid('options.drop', 'an array of paths', drop);
  trimOf(drop, true);
  if (keep !== undefined && keep !== 'bytes' && keep !== 'objects')
    throw invalid('options.keep', "'bytes' or 'objects'", keep);
  if (maxObjectBytes !== undefined)
    requireAtMost('options.maxObjectBytes', maxObjectBytes, MOST_OBJECT_BYTES);
  if (maxNesting !== undefined) requireAtMost('options.maxNesting', maxNesting, MAX_DEPTH);
  requireBudget(options);
}

function requireBudget({ maxBytes, onBytes, whenFull }: Budget): void {
  if (maxBytes !== undefined) requireInteger('options.maxBytes', maxBytes, 1);
  if (whenFull !== undefined && whenFull !== 'error' && whenFull !== 'metadata')
    throw invalid('options.whenFull', "'error' or 'metadata'", whenFull);
  if (onBytes === undefined) return;
  requireObject('options.onBytes', onBytes);
  requireFunction('options.onBytes.call', onBytes.call);
  if (onBytes.at === undefined) return;
  requireNumber('options.onBytes.at', onBytes.at);
  if (onBytes.at <= 0 || onBytes.at > 1)
    throw invalid('options.onBytes.at', 'a number above 0 and at most 1', onBytes.at);
}

function requireAtMost(name: string, value: number, most: number): void {
  requireInteger(name, value, 1);
  if (value > most) throw invalid(name, `an integer <= ${most}`, value);
}

/** Whether an option needs objects that are kept as bytes. */
export function needsBytes({ keep, maxBytes }: CacheLimits): boolean {
  return keep === 'bytes' || maxBytes !== undefined;
}

/**
 * Throws CapstanError INVALID_ARGUMENT if an option needs objects as bytes, because `what` needs
 * decoded objects.
 */
export function requireBytesFree(options: CacheLimits, what: string): void {
  const name =
    options.keep === 'bytes' ? 'keep' : options.maxBytes !== undefined ? 'maxBytes' : undefined;
  if (name === undefined) return;
  throw invalid(
    `options.${name}`,
    `to be left out beside ${what}, which needs decoded objects`,
    options[name],
  );
}

/** The options that are passed to the decoder of bytes. */
export function byteOptions(options: CacheLimits): DecoderOptions & Budget & Packing {
  const names = [...OF_DECODER, ...OF_BUDGET, 'pack'] as const;
  return Object.fromEntries(names.map((name) => [name, options[name]]));
}
