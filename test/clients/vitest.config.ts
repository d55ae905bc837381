/**
 * The suite of other clients (kubectl, client-go, @kubernetes/client-node and
 * kubernetes-fluent-client) against the embedded API server. It is not part of `npm test`, because
 * it builds and installs them. One file runs at a time, because each runs both servers and a
 * client.
 */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { alias, expect } from '../../vitest.config.ts';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: at('../..'),
  resolve: { alias },
  test: {
    include: ['test/clients/**/*.test.ts'],
    globalSetup: [at('./build.ts')],
    fileParallelism: false,
    testTimeout: 30_000,
    expect,
    hookTimeout: 400_000,
  },
});
