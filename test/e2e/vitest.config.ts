/**
 * The tests that need etcd and kube-apiserver, from the folder KUBEBUILDER_ASSETS as in
 * controller-runtime's envtest. `npm test` runs without them. One file at a time: every file starts
 * a control plane, and two of them slow each other down on a small machine.
 */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { alias, expect } from '../../vitest.config.ts';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: at('../..'),
  resolve: { alias },
  test: {
    include: ['test/e2e/**/*.test.ts'],
    globalSetup: [at('./require-assets.ts')],
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect,
  },
});
