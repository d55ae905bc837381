/**
 * The resident memory of this process, as Linux counts it, so with everything outside of the
 * JavaScript heap.
 */
import { readFileSync, writeFileSync } from 'node:fs';

function statusKiB(field: 'VmRSS' | 'VmHWM'): number {
  const found = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(
    readFileSync('/proc/self/status', 'utf8'),
  );
  if (found === null) throw new Error(`/proc/self/status has no ${field}: expected Linux`);
  return Number(found[1]);
}

/** The most bytes that were resident at once since resetPeak. */
export function peakBytes(): number {
  return statusKiB('VmHWM') * 1024;
}

/** Resets the peak to the memory that is resident now. */
export function resetPeak(): void {
  writeFileSync('/proc/self/clear_refs', '5');
}

/**
 * The least resident bytes within so many seconds, with a collection every 5 s. V8 keeps freed
 * pages in a pool for 8 s (--memory-pool-timeout), for 16 if a collection comes in between: after a
 * relist of 100 000 parsed Pods it returned 1 GB only then. So wait for at least 20 s.
 */
export async function restingBytes(seconds: number): Promise<number> {
  const collect = globalThis.gc;
  if (collect === undefined) throw new Error('expected node --expose-gc');
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < seconds; i++) {
    if (i % 5 === 0) collect();
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    least = Math.min(least, statusKiB('VmRSS') * 1024);
  }
  return least;
}
