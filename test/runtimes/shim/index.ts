/** What the cases import from the test runner, for runtimes that it does not run on. */
import { Registry } from './registry.ts';

export { expect } from './expect.ts';

/** What the cases of this program are registered in. */
export const registry = new Registry();
export const { describe, test, beforeAll, afterAll, beforeEach, afterEach } = registry;
export const it = test;
