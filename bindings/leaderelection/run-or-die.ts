/** The shortest way to take part in an election. client-go: leaderelection.RunOrDie. */
import { LeaderElector } from './elector.ts';
import type { LeaderElectorOptions } from './options.ts';

/**
 * Makes an elector and runs it: resolves when leading has ended or the signal has fired. What
 * becomes of the process then is the caller's to say; controllers usually end it, and start anew as
 * candidates.
 *
 * Rejects with CapstanError INVALID_ARGUMENT for options that cannot work, where client-go panics.
 *
 * @example
 * await runOrDie(
 *   {
 *     lock: new LeaseLock(transport, { namespace: 'default', name: 'web', identity: crypto.randomUUID() }),
 *     callbacks: { onStartedLeading: (lost) => work('all of it', lost), onStoppedLeading: () => process.exit(1) },
 *   },
 *   { signal },
 * );
 */
export async function runOrDie(
  options: LeaderElectorOptions,
  run: { signal?: AbortSignal | undefined } = {},
): Promise<void> {
  await new LeaderElector(options).run(run);
}
