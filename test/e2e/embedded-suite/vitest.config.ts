/**
 * Runs the test suite of the embedded API server, unchanged, on a real one: `npm run test:envtest`.
 * The programs are those of KUBEBUILDER_ASSETS.
 */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { alias, expect } from '../../../vitest.config.ts';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: at('../../..'),
  resolve: {
    alias: [{ find: /^capstan\/testing$/, replacement: at('./testing.ts') }, ...alias],
  },
  test: {
    include: ['test/testing/*.test.ts'],
    globalSetup: [at('../require-assets.ts')],
    setupFiles: [at('./setup.ts')],
    // One server for all files.
    fileParallelism: false,
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect,
  },
});
