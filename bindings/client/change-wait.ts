/** Waiting for the next change of a cache, for a time, or until a signal fires; nothing is left behind by any of the three. */
import { abortable } from '../cache/wait.ts';
import type { Clock } from '../clock.ts';

export async function waitForChange(
  informer: { changed(): Promise<void> },
  clock: Clock,
  ms: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  let timer: unknown;
  const changed = new Promise<void>((resolve) => {
    timer = clock.setTimer(resolve, ms);
    void informer.changed().then(resolve);
  });
  try {
    await (signal === undefined ? changed : abortable(changed, signal));
  } finally {
    clock.clearTimer(timer);
  }
}
