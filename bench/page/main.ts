/**
 * `npm run bench:page [-- --port N] [-- --build-only]`: builds the page into build/page/ and serves
 * it on loopback until it is interrupted. The folder has static files only: to host the page
 * elsewhere, copy it.
 */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { buildPage } from './build.ts';
import { serveFolder } from './serve.ts';

const USAGE = `usage: npm run bench:page -- [--port N] [--build-only]
  --port N      serve on this port of 127.0.0.1 (default: any that is free)
  --build-only  only write build/page/`;

function readOptions(): { port: number; buildOnly: boolean } {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '0' },
      'build-only': { type: 'boolean', default: false },
    },
  });
  const port = Number(values.port);
  if (!/^\d+$/.test(values.port) || port > 65_535) {
    throw new Error(`--port expected a number from 0 to 65535, got ${JSON.stringify(values.port)}`);
  }
  return { port, buildOnly: values['build-only'] };
}

let options: ReturnType<typeof readOptions>;
try {
  options = readOptions();
} catch (error) {
  console.error(`${error instanceof Error ? error.message : error}\n${USAGE}`);
  process.exit(2);
}

const folder = fileURLToPath(new URL('../../build/page/', import.meta.url));
await buildPage(folder);
console.log(
  'built build/page/: static files that any server can host, at any path ' +
    '(not file://: browsers run no workers from there)',
);
if (!options.buildOnly) {
  try {
    const { url } = await serveFolder(folder, { port: options.port });
    console.log(`open ${url}`);
  } catch (error) {
    console.error(`it cannot be served: ${error instanceof Error ? error.message : error}`);
    process.exit(1);
  }
}
