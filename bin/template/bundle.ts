/**
 * `npm run bundle`: makes dist/main.mjs, one file of the program and its packages, which a plain
 * Node runs. The Dockerfile copies it.
 */
import { build } from 'esbuild';

// Packages that are CommonJS call `require`, which an ES module does not have.
const require = `import { createRequire } from 'node:module';
const require = createRequire(import.meta.url);`;

await build({
  entryPoints: ['src/main.ts'],
  outfile: 'dist/main.mjs',
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node22.19',
  sourcemap: true,
  logLevel: 'info',
  banner: { js: require },
});
