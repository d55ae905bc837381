/** Runs e2e tests as a ServiceAccount: see main.ts. */
import { fileURLToPath } from 'node:url';
import { defineConfig, mergeConfig } from 'vitest/config';
import e2e from '../vitest.config.ts';

const testing = fileURLToPath(new URL('./testing.ts', import.meta.url));

// Of two aliases for one name that of the second configuration holds.
export default mergeConfig(
  e2e,
  defineConfig({ resolve: { alias: [{ find: /^capstan\/testing$/, replacement: testing }] } }),
);
