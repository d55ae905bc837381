/** The test runner for runtimes without vitest. */
import { Registry } from './registry.ts';

export { expect } from './expect.ts';

/** The registry of this program. */
export const registry = new Registry();
export const { describe, test, beforeAll, afterAll, beforeEach, afterEach } = registry;
export const it = test;
