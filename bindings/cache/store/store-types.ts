/**
 * The interfaces `Store` (objects by key) and `TransactionStore` (several changes at once).
 * client-go: tools/cache/store.go.
 */
import { textOfError } from '../../base/error-text.ts';
import { CapstanError } from '../../base/errors.ts';
import type { DeletedFinalStateUnknown } from '../rest/keys.ts';

/** Objects by key. `Indexer` is a store with indices. client-go: Store. */
export interface Store<T> {
  /** Stores an object under its key; replaces an object that is there. */
  add(object: T): void;
  /** The same as `add`. */
  update(object: T): void;
  /** Removes the object of this key, if there is one. */
  delete(object: T | DeletedFinalStateUnknown<T>): void;
  /** Replaces all objects. Of objects with one key the last wins. */
  replace(list: readonly T[], resourceVersion: string): void;
  /** The stored object with this object's key. */
  get(object: T): T | undefined;
  getByKey(key: string): T | undefined;
  /** In no particular order. */
  list(): T[];
  /** In no particular order. */
  listKeys(): string[];
  /** Sets the resourceVersion; no object changed. */
  bookmark(resourceVersion: string): void;
  /** The resourceVersion of the last change or bookmark. */
  lastStoreSyncResourceVersion(): string;
  /** Queues all objects again, if the store is a FIFO; a plain store does nothing. */
  resync(): void;
}

/** One change of a transaction. client-go: Transaction. */
export type Transaction<T> =
  | { readonly type: 'Add' | 'Update'; readonly object: T }
  | { readonly type: 'Delete'; readonly object: T | DeletedFinalStateUnknown<T> };

/** A store that makes several changes at once. client-go: TransactionStore. */
export interface TransactionStore<T> {
  /**
   * Makes the changes in order and leaves out those that fail; no reader sees the store in between.
   *
   * @throws TransactionError when some failed
   */
  transaction(...changes: readonly Transaction<T>[]): void;
}

/**
 * Some changes of a transaction failed; the others were made. Code `TRANSACTION`; `cause` is the
 * first error. client-go: TransactionError.
 */
export class TransactionError extends CapstanError {
  /** The indices of the changes that were made. */
  readonly successfulIndices: readonly number[];
  readonly totalTransactions: number;
  /** One error for each failed change, in order. */
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
 * Makes each change, also after one that fails.
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

/** Makes the changes by `add`, `update` and `delete`. */
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
