/**
 * One test of a fault: what the server does, and how many lists the informer may request because of
 * it.
 */
import type { Expected, Rig, RigOptions } from './harness.ts';

export interface FaultCase extends Expected {
  /** The title of the test: the behaviour under the fault. */
  name: string;
  options?: Pick<RigOptions, 'server' | 'listWatch'>;
  /** The fault already affects the first list. */
  early?: boolean;
  /** Only with a list, or only with a watch list. Default: both. */
  only?: 'list' | 'stream';
  /** Injects the fault, writes meanwhile, and ends it. */
  play(rig: Rig): Promise<void>;
}
