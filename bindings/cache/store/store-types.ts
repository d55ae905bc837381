/**
 * The smallest thing that holds objects by key, and several changes of it at once. client-go:
 * tools/cache/store.go Store, TransactionStore.
 */
import { textOfError } from '../../base/error-text.ts';
import { CapstanError } from '../../base/errors.ts';
import type { DeletedFinalStateUnknown } from '../rest/keys.ts';

/** What reflectors and queues fill and everybody reads. `Indexer` is one, with indices. */
export interface Store<T> {
  /** Stores an object under its key, whether or not the key is there. */
  add(object: T): void;
  /** The same as `add`. */
  update(object: T): void;
  /** Removes the object's key; one that is not there: no effect on the content. */
  delete(object: T | DeletedFinalStateUnknown<T>): void;
  /** Makes the list the whole content. Of objects with one key the last wins. */
  replace(list: readonly T[], resourceVersion: string): void;
  /** The stored object with this object's key. */
  get(object: T): T | undefined;
  getByKey(key: string): T | undefined;
  /** In no order that means anything. */
  list(): T[];
  /** In no order that means anything. */
  listKeys(): string[];
  /** The server's version is this one; no object changed. */
  bookmark(resourceVersion: string): void;
  /** The resource version that the last change or bookmark brought. */
  lastStoreSyncResourceVersion(): string;
  /** Sends the content again to the queue behind the store; a plain store has none. */
  resync(): void;
}

/** One change of a transaction. */
export type Transaction<T> =
  | { readonly type: 'Add' | 'Update'; readonly object: T }
  | { readonly type: 'Delete'; readonly object: T | DeletedFinalStateUnknown<T> };

/** A store that takes several changes at once. */
export interface TransactionStore<T> {
  /**
   * Makes the changes in their order, those that fail left out; nobody sees the store in between.
   *
   * @throws TransactionError when some failed
   */
  transaction(...changes: readonly Transaction<T>[]): void;
}

/**
 * Some changes of a transaction failed; the others were made. `code` is TRANSACTION, `cause` the
 * first error.
 */
export class TransactionError extends CapstanError {
  /** Which changes were made, as positions among all. */
  readonly successfulIndices: readonly number[];
  readonly totalTransactions: number;
  /** One for each change that failed, in their order. */
  readonly errors: readonly unknown[];

  constructor(
    successfulIndices: readonly number[],
    totalTransactions: number,
    errors: readonly unknown[],
  ) {
    const failed = totalTransactions - successfulIndices.length;
    const text = errors.map(textOfError).join('; ');
    super('TRANSACTION', `${failed} of ${totalTransactions} changes failed: ${text}`, {
      cause: errors[0],
    });
    this.successfulIndices = successfulIndices;
    this.totalTransactions = totalTransactions;
    this.errors = errors;
  }

  override get name(): string {
    return 'TransactionError';
  }
}

/**
 * Makes each change, going on after one that fails.
 *
 * @throws TransactionError
 */
export function applyEach<C>(changes: readonly C[], apply: (change: C) => void): void {
  const successful: number[] = [];
  const errors: unknown[] = [];
  changes.forEach((change, i) => {
    try {
      apply(change);
      successful.push(i);
    } catch (error) {
      errors.push(error);
    }
  });
  if (errors.length > 0) throw new TransactionError(successful, changes.length, errors);
}

/** The changes through the three methods that a store has anyway. */
export function applyTransaction<T>(
  store: Pick<Store<T>, 'add' | 'update' | 'delete'>,
  changes: readonly Transaction<T>[],
): void {
  applyEach(changes, (change) => {
    if (change.type === 'Delete') store.delete(change.object);
    else if (change.type === 'Add') store.add(change.object);
    else if (change.type === 'Update') store.update(change.object);
    else throw new CapstanError('INVALID_ARGUMENT', `"type" expected 'Add', 'Update' or 'Delete'`);
  });
}
