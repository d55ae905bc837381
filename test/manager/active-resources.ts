/** The resources of a process besides memory: sockets, servers and timers. */

/** Counts by kind, after closing handles have closed. */
export async function resources(): Promise<Record<string, number>> {
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  const counts: Record<string, number> = {};
  for (const kind of process
    .getActiveResourcesInfo()
    .filter((each) => /TCP|Timeout|Pipe|TLS/.test(each)))
    counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

/**
 * The kinds with more than before: none, as soon as there are none. It waits, as the test runner's
 * own timers end when its main process has answered, and by turns of the event loop, as a timer of
 * its own would count.
 */
export async function grownSince(before: Record<string, number>): Promise<string[]> {
  const start = performance.now();
  for (;;) {
    const now = await resources();
    const grown = Object.keys(now).filter((kind) => (now[kind] ?? 0) > (before[kind] ?? 0));
    if (grown.length === 0 || performance.now() - start > PATIENCE) return grown;
  }
}

/** Milliseconds. */
const PATIENCE = 20_000;
