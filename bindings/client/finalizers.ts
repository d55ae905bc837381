/**
 * Finalizers: names in an object's metadata. A deleted object stays until all of them are removed.
 * controller-runtime: pkg/controller/controllerutil and pkg/finalizer; kube-rs: runtime::finalizer.
 *
 * Invariants: the name is on the object before anything is created that needs clean-up, and is
 * removed only after the clean-up succeeded. The objects that are passed in are never changed.
 */

import { textOfError } from '../base/error-text.ts';
import { CapstanError, invalid, requireFunction } from '../base/errors.ts';
import { namesOf, requireMembers, requireNames, requireSignalOptions } from '../base/names.ts';
import type { FromServer } from '../base/object.ts';
import type { Resource } from '../base/resource.ts';
import { explained, explaining } from '../base/shared-object.ts';
import { isNotFound } from '../cache/rest/status-error.ts';
import { checkedMetadata, describeObject, listOf, withMetadata } from './metadata.ts';
import type { JsonPatchOperation, Writer } from './types.ts';

/** Whether the finalizer is on the object. */
export function containsFinalizer(object: object, finalizer: string): boolean {
  return finalizersOf(object).includes(finalizer);
}

/**
 * Adds the finalizer at the end. Returns the same object if it has the finalizer.
 *
 * @example
 * const next = addFinalizer(pod, 'example.com/cleanup');
 * if (next !== pod) use(next); // to be written
 */
export function addFinalizer<T extends object>(object: T, finalizer: string): T {
  requireFinalizer('finalizer', finalizer);
  const finalizers = finalizersOf(object);
  if (finalizers.includes(finalizer)) return object;
  return withMetadata(object, { finalizers: [...finalizers, finalizer] });
}

/**
 * Removes the finalizer, also if it is there several times. Returns the same object if it was not
 * there.
 */
export function removeFinalizer<T extends object>(object: T, finalizer: string): T {
  const finalizers = finalizersOf(object);
  const rest = finalizers.filter((each) => each !== finalizer);
  return rest.length === finalizers.length ? object : withMetadata(object, { finalizers: rest });
}

/** Whether the object is being deleted. */
export function isBeingDeleted(object: object): boolean {
  const { deletionTimestamp } = checkedMetadata(object);
  return deletionTimestamp !== undefined && deletionTimestamp !== null && deletionTimestamp !== '';
}

function finalizersOf(object: object): readonly string[] {
  return listOf('object.metadata.finalizers', checkedMetadata(object).finalizers) as string[];
}

function requireFinalizer(name: string, finalizer: unknown): void {
  if (typeof finalizer !== 'string' || finalizer === '')
    throw invalid(name, 'a name such as "example.com/cleanup"', finalizer);
}

/** The result of a {@link Finalizer}. */
export interface FinalizerResult<T extends object> {
  /** The changed object. Default: the object that was passed in. */
  readonly object?: T;
  /** Whether the object must be written. After a success it must be, whatever this says. */
  readonly updated?: boolean;
  /** Whether the object's status must be written. */
  readonly statusUpdated?: boolean;
  /**
   * The clean-up failed, but the object must be written, for example with a condition. A thrown
   * error cannot say that.
   */
  readonly error?: unknown;
}

const RESULT_NAMES = namesOf<FinalizerResult<never>>()({
  object: 1,
  updated: 1,
  statusUpdated: 1,
  error: 1,
});

/** Cleans up for an object that is being deleted. It may be called again for the same object. */
export type Finalizer<T extends object> = (
  object: T,
  options: { readonly signal?: AbortSignal | undefined },
) =>
  | Promise<FinalizerResult<T> | undefined>
  | Promise<void>
  | FinalizerResult<T>
  | undefined
  | void;

/** The object after all finalizers, and which parts of it must be written. */
export interface FinalizeResult<T extends object> {
  readonly object: T;
  readonly updated: boolean;
  readonly statusUpdated: boolean;
}

/**
 * Some finalizers failed. `result` has what the others did, which may have to be written. Code
 * `FINALIZE`.
 */
export class FinalizeError<T extends object = object> extends CapstanError {
  /** The errors by the finalizers' keys. */
  readonly errors: ReadonlyMap<string, unknown>;
  readonly result: FinalizeResult<T>;

  constructor(errors: ReadonlyMap<string, unknown>, result: FinalizeResult<T>) {
    const each = [...errors].map(([key, error]) => `${key}: ${textOfError(error)}`);
    super(
      'FINALIZE',
      `${describeObject(result.object)} could not be finalized by ${each.join('; ')}`,
      {
        cause: errors.size === 1 ? [...errors.values()][0] : new AggregateError(errors.values()),
      },
    );
    this.errors = errors;
    this.result = result;
  }

  override get name(): string {
    return 'FinalizeError';
  }
}

/**
 * Several finalizers for one controller. All are added to objects that are not deleted; for an
 * object that is being deleted they are called one after the other, in the order of registration. A
 * finalizer that fails stays on the object; the others still run. controller-runtime:
 * finalizer.Finalizers.
 *
 * @example
 * const finalizers = new Finalizers<V1Pod>();
 * finalizers.register('example.com/volume', async (pod, { signal }) => {
 *   await work(String(pod.metadata?.uid), signal);
 * });
 * const { object, updated } = await finalizers.finalize(pod, { signal });
 * if (updated) use(object); // to be written
 */
export class Finalizers<T extends object> {
  readonly #finalizers = new Map<string, Finalizer<T>>();

  /** @throws CapstanError FINALIZER_EXISTS for a key that is registered, INVALID_ARGUMENT */
  register(key: string, finalizer: Finalizer<T>): void {
    requireFinalizer('key', key);
    requireFunction('finalizer', finalizer);
    if (this.#finalizers.has(key))
      throw new CapstanError(
        'FINALIZER_EXISTS',
        `a finalizer ${JSON.stringify(key)} is registered already`,
      );
    this.#finalizers.set(key, finalizer);
  }

  /**
   * Adds all finalizers to an object that is not deleted; for one that is being deleted, runs and
   * removes those that it has.
   *
   * @throws FinalizeError if some failed; its `result` has what the others did
   */
  async finalize(
    object: T,
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<FinalizeResult<T>> {
    requireSignalOptions(options, 'finalize()');
    const deleted = isBeingDeleted(object);
    const errors = new Map<string, unknown>();
    let current = object;
    let updated = false;
    let statusUpdated = false;
    for (const [key, finalizer] of this.#finalizers) {
      if (!deleted) {
        const next = addFinalizer(current, key);
        updated ||= next !== current;
        current = next;
        continue;
      }
      if (!containsFinalizer(current, key)) continue;
      const result = await runFinalizer(finalizer, current, options);
      current = result.object ?? current;
      statusUpdated ||= result.statusUpdated === true;
      if (result.error === undefined) current = removeFinalizer(current, key);
      else errors.set(key, result.error);
      updated ||= result.error === undefined || result.updated === true;
    }
    const result = { object: current, updated, statusUpdated };
    if (errors.size > 0) throw new FinalizeError(errors, result);
    return result;
  }
}

async function runFinalizer<T extends object>(
  finalizer: Finalizer<T>,
  object: T,
  options: { readonly signal?: AbortSignal | undefined },
): Promise<FinalizerResult<T>> {
  try {
    const result = (await finalizer(object, options)) ?? {};
    requireNames('result', result, 'member of the result of a finalizer', RESULT_NAMES);
    return result;
  } catch (error) {
    return {
      error: explained(error) ?? new CapstanError('FINALIZE', 'the finalizer threw nothing'),
    };
  }
}

/** The handlers of {@link finalizer}. */
export interface FinalizerHandlers<T extends object, R> {
  /**
   * Called for an object that is not deleted and has the finalizer. If the finalizer was just
   * added, it is the object that the server answered.
   */
  apply(object: FromServer<T>): Promise<R> | R;
  /**
   * Called for an object that is being deleted. After it succeeds the finalizer is removed. It may
   * be called again.
   */
  cleanup(object: FromServer<T>): Promise<R> | R;
}

const HANDLER_NAMES = namesOf<FinalizerHandlers<never, never>>()({ apply: 1, cleanup: 1 });

/**
 * Runs a reconcile with one finalizer. An object that is not deleted first gets the finalizer, then
 * `apply` is called with the server's answer. For an object that is being deleted `cleanup` is
 * called, then the finalizer is removed.
 *
 * Both writes are JSON patches that test the object's uid and the finalizers that were read. If
 * either has changed, the server answers 422 and the next try reads it. kube-rs calls `apply` in
 * the reconcile after the event of the patch; that event does not change the generation, so a
 * predicate may drop it and nothing would be applied. kube-rs: runtime::finalizer.
 *
 * @returns what `apply` or `cleanup` gave; undefined for an object that is being deleted and does
 *   not have the finalizer
 * @throws what `apply` or `cleanup` threw, the finalizer then stays; StatusError, TransportError of
 *   the writes
 * @example
 * const reconcileWith = (client: Client, pod: V1Pod) =>
 *   finalizer(client, Pod, 'example.com/cleanup', pod, {
 *     apply: () => ({ requeueAfter: 60_000 }),
 *     cleanup: () => undefined,
 *   });
 */
export async function finalizer<T extends object, R>(
  client: Pick<Writer, 'patch'>,
  resource: Resource<T, string>,
  name: string,
  object: T,
  handlers: FinalizerHandlers<T, R>,
  options: { readonly signal?: AbortSignal | undefined } = {},
): Promise<R | undefined> {
  requireFinalizer('name', name);
  requireMembers('handlers', handlers, 'member of the handlers of finalizer()', HANDLER_NAMES);
  requireSignalOptions(options, 'finalizer()');
  requireFunction('handlers.apply', handlers.apply);
  requireFunction('handlers.cleanup', handlers.cleanup);
  const has = containsFinalizer(object, name);
  const existing = object as FromServer<T>;
  if (!isBeingDeleted(object)) {
    const current = has
      ? existing
      : await patchFinalizers(client, resource, object, adding(object, name), options.signal);
    return explaining(() => handlers.apply(current));
  }
  if (!has) return undefined;
  const result = await explaining(() => handlers.cleanup(existing));
  try {
    await patchFinalizers(client, resource, object, removing(object, name), options.signal);
  } catch (error) {
    // another client removed the finalizer and the object is gone
    if (!isNotFound(error)) throw error;
  }
  return result;
}

async function patchFinalizers<T extends object>(
  client: Pick<Writer, 'patch'>,
  resource: Resource<T, string>,
  object: T,
  changes: JsonPatchOperation[],
  signal: AbortSignal | undefined,
): Promise<FromServer<T>> {
  const { namespace, name, uid } = checkedMetadata(object);
  if (typeof name !== 'string')
    throw invalid('object.metadata.name', 'the name of an object that exists', name);
  const same: JsonPatchOperation[] =
    uid === undefined ? [] : [{ op: 'test', path: '/metadata/uid', value: uid }];
  const key = namespace === undefined ? { name } : { namespace, name };
  return client.patch(
    resource,
    key,
    { type: 'json', operations: [...same, ...changes] },
    { signal },
  );
}

/** In the server's JSON patch library a missing member equals null in a test. */
function adding(object: object, name: string): JsonPatchOperation[] {
  const finalizers = finalizersOf(object);
  if (finalizers.length === 0)
    return [
      { op: 'test', path: '/metadata/finalizers', value: null },
      { op: 'add', path: '/metadata/finalizers', value: [name] },
    ];
  return [
    { op: 'test', path: '/metadata/finalizers', value: finalizers },
    { op: 'add', path: '/metadata/finalizers/-', value: name },
  ];
}

function removing(object: object, name: string): JsonPatchOperation[] {
  const at = finalizersOf(object).indexOf(name);
  return [
    { op: 'test', path: `/metadata/finalizers/${at}`, value: name },
    { op: 'remove', path: `/metadata/finalizers/${at}` },
  ];
}
