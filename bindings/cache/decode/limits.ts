/** What a cache keeps of its objects, and how much: options of informers, and their checks. */
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
/** The longest text that an engine takes is a little shorter. */
const MOST_OBJECT_BYTES = 2 ** 29;
/** apimachinery: util/json, the deepest nesting that is decoded. */
export const MAX_DEPTH = 10_000;

/** How bytes become objects. */
export interface DecoderOptions {
  /**
   * Whether objects keep `metadata.managedFields`, which are a good part of most objects and of use
   * to few programs. Default false: they are absent.
   */
  keepManagedFields?: boolean | undefined;
  /**
   * Members that are left out of every object before it is stored, by path: `spec.template`, or
   * `metadata.annotations.kubectl\\.kubernetes\\.io/last-applied-configuration`, where `\.` is a
   * dot inside of a name. Through arrays a path applies to each element: `spec.containers.env`.
   * What is dropped is absent, as if the server had not sent it; it costs no decoding. `metadata`
   * itself and its name, namespace and resourceVersion cannot be dropped.
   *
   * @example
   * new SharedIndexInformer(new ListWatch(transport, Pod), { drop: ['status.conditions', 'spec.containers.env'] });
   */
  drop?: readonly string[] | undefined;
  /**
   * The longest watch event, and the longest object of a list, in bytes: 16 MiB by default, at most
   * 512 MiB. A longer one is a failure of class `decode`. A list of objects that are not kept as
   * bytes is decoded at once: there only watch events have this limit.
   */
  maxObjectBytes?: number | undefined;
  /**
   * How deep JSON may nest, with the event or the list around an object: 10 000 by default and at
   * most. What nests deeper is a failure of class `decode`, with the same exception.
   */
  maxNesting?: number | undefined;
}

/** How much a cache of bytes may keep. */
export interface Budget {
  /**
   * How many bytes the objects of the cache may have together, as in
   * `informer.status().bytes.live`, those that wait to be taken over included. Default: no limit
   * but the 4 GiB of a core. With `whenFull: 'metadata'` it bounds whole objects alone: see there.
   * Lists are judged by what they bring: while one replaces what was there, both are in memory. The
   * few objects that cannot stay bytes (odd JSON, such as escapes in the names of their members) do
   * not count.
   */
  maxBytes?: number | undefined;
  /**
   * Is told before the limit is reached, each time that the cache grows past a part of it, and
   * where metadata go on beyond it. Of no use without `maxBytes`.
   */
  onBytes?: BytesMark | undefined;
  /**
   * What becomes of an object that has no room:
   * - `'error'`, the default: list or watch fails with code CACHE_FULL, which the watch error
   *   handler is told with class `full`. The cache stays what it was; everything is asked for again
   *   with back-off, until it has room again. Nothing is skipped.
   * - `'metadata'`: of the object, apiVersion, kind and metadata are kept, all else is absent. It
   *   is whole again when it comes again and has room. `informer.status().metadataOnly` says how
   *   many there are. What is kept so counts too, and goes on beyond `maxBytes`: some hundred bytes
   *   each, with annotations up to 256 KiB. `drop` cuts out annotations that nobody reads. Nothing
   *   in the object tells: never write one that a handler, a lister or `context.get` gave back
   *   whole, as all else would go on the server. A client with this cache gives whole objects only:
   *   it asks the server for such an object, for a list with one in it, and for each list by an
   *   index as long as there is any, which is then chosen from a list of the namespace.
   *
   * A deletion is never refused.
   */
  whenFull?: 'error' | 'metadata' | undefined;
}

/** A mark below the limit of a cache. */
export interface BytesMark {
  /** The part of `maxBytes`, above 0 and at most 1. Default 0.8. */
  at?: number | undefined;
  /**
   * Called when the cache has grown to the mark, with its bytes then, and again only after it has
   * been below; with `whenFull: 'metadata'` also when it has grown to `maxBytes`, and each time
   * that it has doubled from there. What it throws goes to handleError. It should return soon, as
   * the object that did it is being decoded.
   */
  call(bytes: number, maxBytes: number): void;
}

export interface CacheLimits extends DecoderOptions, Budget {
  /**
   * `'bytes'`, the default: objects stay the bytes that came, outside of the JavaScript heap, and
   * their members are decoded when they are read. `'objects'`: they are decoded whole when they
   * come, which reads faster where every member is read again and again. A transform and the
   * mutation detector imply it.
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
});

const OF_DECODER = ['keepManagedFields', 'drop', 'maxObjectBytes', 'maxNesting'] as const;
const OF_BUDGET = ['maxBytes', 'onBytes', 'whenFull'] as const;

/** Throws CapstanError INVALID_ARGUMENT. */
export function requireCacheLimits(options: CacheLimits): void {
  const { keepManagedFields, drop = [], keep, maxObjectBytes, maxNesting } = options;
  requireBoolean('options.keepManagedFields', keepManagedFields);
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

/** Whether the options ask for what only bytes have. */
export function needsBytes({ keep, maxBytes }: CacheLimits): boolean {
  return keep === 'bytes' || maxBytes !== undefined;
}

/** Throws INVALID_ARGUMENT where options that need bytes meet one that needs decoded objects. */
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

/** Those of the options that a decoder of bytes takes. */
export function byteOptions(options: CacheLimits): DecoderOptions & Budget {
  return Object.fromEntries([...OF_DECODER, ...OF_BUDGET].map((name) => [name, options[name]]));
}
