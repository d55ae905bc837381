/** Calls the garbage collector, for tests of what is released; it runs on every runtime. */
import { settle } from './promise-state.ts';

/** The global `gc` of a flag, else Bun's collector, else V8's through Node's modules. */
function findCollector(): (() => void) | undefined {
  const host = globalThis as { gc?: () => void; Bun?: { gc(now: boolean): void } };
  if (host.gc !== undefined) return host.gc;
  if (host.Bun !== undefined) return () => host.Bun?.gc(true);
  if (typeof process === 'undefined' || process.versions?.node === undefined) return undefined;
  process.getBuiltinModule('node:v8').setFlagsFromString('--expose-gc');
  return process.getBuiltinModule('node:vm').runInNewContext('gc') as () => void;
}

const collector = findCollector();

/** Whether this runtime's collector can be called. */
export const canCollect = collector !== undefined;

/** Runs the garbage collector once, synchronously. */
export function collectGarbage(): void {
  if (collector === undefined)
    throw new Error('expected a runtime whose collector can be called: its flag is missing');
  collector();
}

/**
 * Collects garbage until the target of `ref` is gone, for at most 20 turns: a WeakRef holds its
 * target for the turn that read it.
 */
export async function isCollected(ref: WeakRef<object>): Promise<boolean> {
  for (let round = 0; round < 20; round++) {
    await settle();
    collectGarbage();
    if (ref.deref() === undefined) return true;
  }
  return false;
}
