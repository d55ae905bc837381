/** Counts the listeners of an AbortSignal, for tests that none is left. */

/**
 * Counts the `abort` listeners that are added from now on; the returned function gives how many are
 * still there. A listener with `once` is removed by its call.
 */
export function countListeners(signal: AbortSignal): () => number {
  const listening = new Map<unknown, { readonly once: boolean }>();
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  add('abort', () => {
    for (const [listener, { once }] of listening) if (once) listening.delete(listener);
  });
  Object.assign(signal, {
    addEventListener(
      type: string,
      listener: EventListener,
      options?: AddEventListenerOptions,
    ): void {
      listening.set(listener, { once: options?.once === true });
      add(type, listener, options);
    },
    removeEventListener(type: string, listener: EventListener): void {
      listening.delete(listener);
      remove(type, listener);
    },
  });
  return () => listening.size;
}
