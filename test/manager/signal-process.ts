/**
 * A process for signals.test.ts. It prints when it is ready and when it gets the signal; then it
 * ends or hangs.
 */
import { createServer } from 'node:net';
import { setupSignalHandler } from '../../bindings/manager/signals.ts';

const signal = setupSignalHandler();
if (process.argv[2] === 'twice') {
  try {
    setupSignalHandler();
  } catch (error) {
    console.log((error as { code: string }).code);
  }
} else {
  const alive = createServer().listen(0, '127.0.0.1', () => console.log('ready'));
  signal.addEventListener('abort', () => {
    console.log(`told: ${signal.reason.message}`);
    if (process.argv[2] === 'ends') alive.close();
  });
}
