/**
 * Waits for changes outside this process. No event says that a port answers or that a cache has
 * caught up with etcd, so a condition is polled; each wait has a limit and an error that names it.
 */

const POLL_MS = 50;

/**
 * Resolves once `condition` holds; its last answer or error is in the message if that takes longer
 * than `ms`.
 */
export async function eventually(
  what: string,
  condition: () => boolean | string | Promise<boolean | string>,
  ms = 60_000,
): Promise<void> {
  const end = performance.now() + ms;
  for (;;) {
    let last: unknown;
    try {
      last = await condition();
      if (last === true) return;
    } catch (error) {
      last = error;
    }
    if (performance.now() >= end)
      throw new Error(`${what}: not within ${ms} ms; last: ${String(last)}`, { cause: last });
    await pause(POLL_MS);
  }
}

/** `promise`, or an error that names what was awaited after `ms`. */
export async function within<T>(ms: number, what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: not within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Resolves at that time of `performance.now()`, at once if it is over: for writes at a given rate.
 */
export async function pauseUntil(time: number): Promise<void> {
  const left = time - performance.now();
  if (left > 0) await pause(left);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
