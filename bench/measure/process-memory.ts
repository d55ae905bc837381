/**
 * What this process takes of the machine's memory, as Linux counts it: collections and all that
 * lies outside of the JS heap included.
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

/** From here on the peak counts anew. */
export function resetPeak(): void {
  writeFileSync('/proc/self/clear_refs', '5');
}

/**
 * Resident bytes after collections, the least within so many seconds. V8 keeps freed pages in a
 * pool for 8 s (--memory-pool-timeout), twice where a collection comes in between: after a relist
 * of 100 000 parsed Pods 1 GB was given back only then, so below 20 s this is not what stays.
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
