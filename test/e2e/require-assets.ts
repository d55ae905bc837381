/**
 * Stops a run without API server before the first test, with one plain sentence and a failing exit
 * code.
 */
import { assets } from '../helpers/control-plane/assets.ts';

export default function requireAssets(): void {
  try {
    assets();
  } catch (error) {
    // Thrown from here it would come with a stack of the test runner's internals; the sentence is
    // all there is to say.
    console.error(`\n${(error as Error).message}\n`);
    process.exit(1);
  }
}
