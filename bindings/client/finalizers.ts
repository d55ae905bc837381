/**
 * Finalizers: names on an object that keep it from going, although it is deleted, until whoever put
 * a name there has cleaned up and takes it off. What must hold: the name is on the object before
 * anything outside exists that has to be cleaned up, and goes only after the clean-up succeeded.
 * controller-runtime: pkg/controller/controllerutil and pkg/finalizer; kube-rs: runtime::finalizer.
 * Nothing here changes the objects it is given; see metadata.ts.
 */

import { textOfError } from '../base/error-text.ts';
import { CapstanError, invalid, requireFunction } from '../base/errors.ts';
import { namesOf, requireMembers, requireNames, requireSignalOptions } from '../base/names.ts';
import { explained, explaining } from '../base/shared-object.ts';
import type { Resource } from '../cache/rest/resource.ts';
import { isNotFound } from '../cache/rest/status-error.ts';
import { checkedMetadata, describeObject, listOf, withMetadata } from './metadata.ts';
import type { JsonPatchOperation, Writer } from './types.ts';

/** Whether the finalizer is on the object. */
export function containsFinalizer(object: object, finalizer: string): boolean {
  return finalizersOf(object).includes(finalizer);
}

/**
 * The object with the finalizer, which comes last; the same object if it was there.
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

/** The object without the finalizer, however often it is there; the same object if it was not. */
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

/** What a {@link Finalizer} did to the object. */
export interface FinalizerResult<T extends object> {
  /** The object as it is now; none: as it was given. */
  readonly object?: T;
  /** The object has to be written. Once the finalizer succeeded that is so anyway. */
  readonly updated?: boolean;
  /** The object's status has to be written. */
  readonly statusUpdated?: boolean;
  /**
   * It failed, and yet the object has to be written, with a condition that says so for example.
   * Throwing says less.
   */
  readonly error?: unknown;
}

const RESULT_NAMES = namesOf<FinalizerResult<never>>()({
  object: 1,
  updated: 1,
  statusUpdated: 1,
  error: 1,
});

/** Cleans up after an object that is being deleted. It may be called again for the same object. */
export type Finalizer<T extends object> = (
  object: T,
  options: { readonly signal?: AbortSignal | undefined },
) =>
  | Promise<FinalizerResult<T> | undefined>
  | Promise<void>
  | FinalizerResult<T>
  | undefined
  | void;

/** The object after all finalizers, and which parts of it have to be written. */
export interface FinalizeResult<T extends object> {
  readonly object: T;
  readonly updated: boolean;
  readonly statusUpdated: boolean;
}

/**
 * Some finalizers failed, the others did their work: `result` may have to be written all the same.
 * Code `FINALIZE`.
 */
export class FinalizeError<T extends object = object> extends CapstanError {
  /** By the finalizers' keys. */
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
 * Finalizers by name, for a controller with several: each is put on objects that live, and called
 * for objects that are being deleted, one after the other in the order of their registration. A
 * failed one stays on the object and does not keep the others from running.
 *
 * @example
 * const finalizers = new Finalizers<V1Pod>();
 * finalizers.register('example.com/volume', async (pod, { signal }) => work(String(pod.metadata?.uid), signal));
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
   * Puts every finalizer on an object that lives; runs and takes off those that are on an object
   * that is being deleted.
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

/** What to do with an object that lives, and with one that is being deleted. */
export interface FinalizerHandlers<T extends object, R> {
  /**
   * The object lives and has the finalizer: whatever is made now will be cleaned up. It is given
   * the object as it is then, which is a newer one than the frame was given where the finalizer had
   * to be written first.
   */
  apply(object: T): Promise<R> | R;
  /**
   * The object is being deleted. Once this succeeds, the finalizer goes. It may be called again.
   */
  cleanup(object: T): Promise<R> | R;
}

const HANDLER_NAMES = namesOf<FinalizerHandlers<never, never>>()({ apply: 1, cleanup: 1 });

/**
 * One finalizer as the frame of a reconcile: an object that lives gets it first, and is then
 * applied as the server answered; an object that is being deleted is cleaned up, and then loses it.
 * Both writes are JSON patches that hold only for this very object (its uid) and for the finalizers
 * that were seen: where either has changed since, the server refuses with 422 and the next try sees
 * it.
 *
 * kube-rs applies in the reconcile that follows from the event of its write. That event changes no
 * generation: a predicate may drop it, and then nothing would ever be applied.
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
  if (!isBeingDeleted(object)) {
    const current = has
      ? object
      : await patchFinalizers(client, resource, object, adding(object, name), options.signal);
    return explaining(() => handlers.apply(current));
  }
  if (!has) return undefined;
  const result = await explaining(() => handlers.cleanup(object));
  try {
    await patchFinalizers(client, resource, object, removing(object, name), options.signal);
  } catch (error) {
    // somebody else took the finalizer off, and the object went
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
): Promise<T> {
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

/**
 * A member that is not there equals null: to the server's library, and in its answer to this test.
 */
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
