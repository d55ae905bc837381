import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

// Tests name the package as users do; here those names mean the sources, so that no stale build is
// ever tested.
export const alias = [
  { find: /^capstan$/, replacement: at('./bindings/index.ts') },
  {
    find: /^capstan\/(workqueue|cache|controller|client|leaderelection|manager|client-node|testing)$/,
    replacement: at('./bindings/$1/index.ts'),
  },
  { find: '#core-module', replacement: at('./bindings/wasm/core-module.ts') },
  { find: '#cache-module', replacement: at('./bindings/wasm/cache-module.ts') },
];

export default defineConfig({
  resolve: { alias },
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/e2e/**', 'test/clients/**'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
