/**
 * Ends a run without API server binaries before the first test, with one message and exit code 1.
 */
import { assets } from '../../bindings/testing/envtest/assets.ts';

export default function requireAssets(): void {
  try {
    assets();
  } catch (error) {
    // An error thrown here would be printed with the test runner's stack.
    console.error(`\n${(error as Error).message}\n`);
    process.exit(1);
  }
}
