// Removes compiled files from dist/ whose source is gone: the compiler does not remove them, and
// npm would pack them.
import { existsSync, globSync, rmSync } from 'node:fs';

const root = new URL('../', import.meta.url);
const dist = new URL('dist/', root);
const files = globSync('**/*.{js,js.map,d.ts,d.ts.map,wasm}', {
  cwd: dist,
  exclude: ['bin/template/**'],
});
for (const file of files.map((path) => path.replaceAll('\\', '/'))) {
  const wasm = /^wasm\/(\w+)\.wasm(?:\.d\.ts)?$/.exec(file)?.[1];
  const name = file.replace(/(?:\.d)?\.(?:js|ts)(?:\.map)?$/, '');
  const source =
    wasm !== undefined
      ? `build/${wasm}.wasm`
      : file.startsWith('bin/')
        ? `${name}.ts`
        : `bindings/${name}.ts`;
  if (!existsSync(new URL(source, root))) rmSync(new URL(file, dist));
}
