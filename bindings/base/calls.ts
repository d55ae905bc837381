/**
 * Whose function is being called at this moment, the outermost first: handlers of informers and
 * sources of controllers. Who ends such a thing from within one of its handlers would wait for
 * itself. What a handler does after its first `await` is not known to be its doing.
 */
export const calls: object[] = [];
