/**
 * The suite that needs real programs: etcd and kube-apiserver from the folder KUBEBUILDER_ASSETS,
 * the convention of controller-runtime's envtest. It is apart from `npm test`, which needs nothing
 * but Node. One file at a time: every file starts a control plane of its own, and two of them on a
 * small machine only make each other slow.
 */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { alias } from '../../vitest.config.ts';

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
  },
});
