/**
 * One test of a fault: what the server does, and how often the informer may ask for everything
 * because of it.
 */
import type { Expected, Rig, RigOptions } from './harness.ts';

export interface FaultCase extends Expected {
  /** What holds under the fault, as a sentence: the name of the test. */
  name: string;
  options?: Pick<RigOptions, 'server' | 'listWatch'>;
  /** The fault meets the first list already. */
  early?: boolean;
  /** Only where the initial objects come in this way; both, when left out. */
  only?: 'list' | 'stream';
  /** Injects the fault, writes meanwhile, and ends it. */
  play(rig: Rig): Promise<void>;
}
