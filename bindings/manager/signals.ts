/**
 * The end of a process by a signal of the system: the first one asks for an end in order, the
 * second one does not wait for it. controller-runtime: pkg/manager/signals/signal.go.
 */
import { CapstanError } from '../base/errors.ts';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

let installed = false;

/**
 * A signal that fires at the first SIGTERM or SIGINT; at the second the process exits with 1. To be
 * called once in a process. What has it never keeps the process alive.
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
      'setupSignalHandler is called once: pass its signal on',
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
