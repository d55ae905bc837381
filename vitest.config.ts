import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

// Tests name the package as users do; here those names mean the sources, so that no stale build is
// ever tested.
export const alias = [
  { find: /^capstan$/, replacement: at('./bindings/index.ts') },
  {
    find: /^capstan\/(apimachinery|workqueue|cache|controller|client|kinds|leaderelection|manager|webhook|client-node|testing)$/,
    replacement: at('./bindings/$1/index.ts'),
  },
  { find: '#core-module', replacement: at('./bindings/wasm/core-module.ts') },
  { find: '#cache-module', replacement: at('./bindings/wasm/cache-module.ts') },
];

// A file that takes more than ten seconds by itself on an idle machine. `npm test` leaves these out.
const LONG = 'test/**/*.long.test.ts';

// Folders whose modules remember nothing for the whole process: many files share one, as starting a
// process and loading the sources takes longer than most of these files do. `client` and
// `controller` do remember (resources read as metadata alone, names of controllers); the others
// start processes, listen, or measure what is left.
const PURE =
  'test/{apimachinery,base,cache,conformance,leaderelection,shards,testing,wasm,workqueue}/**';

// A file in one of these folders that measures the heap, and wants it for itself.
const ISOLATED = 'test/**/*.isolated.test.ts';

// With configurations of their own.
const ELSEWHERE = 'test/{e2e,clients}/**';

// `expect.poll` gives up after a second by default, which is too short beside other programs.
export const expect = { poll: { timeout: 20_000 } };

const project = (name: string, isolate: boolean, include: string[], exclude: string[]) => ({
  extends: true as const,
  test: { name, isolate, include, exclude: [ELSEWHERE, ...exclude] },
});

export default defineConfig({
  resolve: { alias },
  test: {
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect,
    // By default Vitest leaves one core to itself, which on two cores is half of the machine.
    maxWorkers: '100%',
    projects: [
      project('shared', false, [`${PURE}/*.test.ts`], [LONG, ISOLATED]),
      project(
        'isolated',
        true,
        ['test/**/*.test.ts', 'examples/tutorial/**/*.test.ts'],
        [`${PURE}/!(*.isolated).test.ts`, LONG],
      ),
      project('long', true, [LONG], []),
    ],
  },
});
