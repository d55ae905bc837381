/**
 * The owners of the user functions that are running now, the outermost first: informers for their
 * handlers, controllers for their sources. A handler that ends its own owner would otherwise wait
 * for itself. A handler that has passed its first `await` is not in the list.
 */
export const calls: object[] = [];
