/**
 * Ends the process on a signal of the operating system: gracefully on the first, at once on the
 * second. controller-runtime: pkg/manager/signals/signal.go.
 */
import { CapstanError } from '../base/errors.ts';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

let installed = false;

/**
 * Returns an AbortSignal that fires on the first SIGTERM or SIGINT; on the second the process exits
 * with code 1. May be called once per process. The handlers do not keep the process alive.
 * controller-runtime: signals.SetupSignalHandler.
 *
 * @throws CapstanError ALREADY_STARTED the second time
 * @example
 * const manager = newManager({ transport });
 * await manager.start({ signal: setupSignalHandler() });
 */
export function setupSignalHandler(): AbortSignal {
  if (installed)
    throw new CapstanError(
      'ALREADY_STARTED',
      'setupSignalHandler may be called once: pass on its signal',
    );
  installed = true;
  const first = new AbortController();
  for (const name of SIGNALS) {
    process.on(name, () => {
      if (first.signal.aborted) process.exit(1);
      first.abort(new CapstanError('ABORTED', `the process was told to end by ${name}`));
    });
  }
  return first.signal;
}
