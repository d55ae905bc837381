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
 * The kinds with more than before. Poll it (`expect.poll`): the test runner's own timers end when
 * its main process has answered, which may take a while on a busy machine.
 */
export async function grownSince(before: Record<string, number>): Promise<string[]> {
  const now = await resources();
  return Object.keys(now).filter((kind) => (now[kind] ?? 0) > (before[kind] ?? 0));
}
