/** Runs a manager in virtual time, and ends it with the test. */
import type { newManager } from 'capstan/manager';
import type { FakeClock } from 'capstan/testing';
import { onTestFinished } from 'vitest';

/** Starts the manager, and resolves when it has settled. It ends when the test does. */
export async function runManager(
  manager: ReturnType<typeof newManager>,
  clock: FakeClock,
): Promise<void> {
  const end = new AbortController();
  const running = manager.start({ signal: end.signal });
  onTestFinished(async () => {
    end.abort();
    await clock.settle();
    await running;
  });
  await clock.settle();
}
