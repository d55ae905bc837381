/**
 * Checks sizes against their budgets: the Wasm modules, the bundles of the subpaths and the live
 * page, all compressed, and the package that npm downloads and unpacks. Runs after a build; exits
 * with 1 above a budget.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { livePage } from '../bindings/generated/live-page.ts';
import { packedPackage } from './packed-package.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const KIB = 1024;

/** Bundles everything that a subpath exports, so that tree shaking removes nothing. */
const bundle = (subpath: string): Promise<Uint8Array> =>
  bundled(`export * from 'capstan/${subpath}';`);

/** Bundles one name of a subpath, with what it needs. */
const bundleOf = (name: string, subpath: string): Promise<Uint8Array> =>
  bundled(`export { ${name} } from 'capstan/${subpath}';`);

async function bundled(contents: string): Promise<Uint8Array> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: root },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    tsconfigRaw: '{}', // not the sources: what users get
    target: 'es2023',
    write: false,
    logLevel: 'error',
  });
  const [output] = outputFiles;
  if (output === undefined) throw new Error(`${contents}: esbuild wrote nothing`);
  return output.contents;
}

interface Row {
  what: string;
  bytes: Uint8Array;
  /** Bytes after gzip; none means that the size is shown only. */
  budget?: number;
}

const measured: Row[] = [
  {
    what: 'WebAssembly, queues',
    bytes: readFileSync(`${root}/dist/wasm/core.wasm`),
    budget: 16 * KIB,
  },
  {
    what: 'WebAssembly, caches',
    bytes: readFileSync(`${root}/dist/wasm/cache.wasm`),
    budget: 19.75 * KIB, // a quarter for the ranges of hashes, 3.5 for packing objects
  },
  { what: 'capstan/workqueue, minified', bytes: await bundle('workqueue'), budget: 36 * KIB },
  {
    what: 'capstan/cache, minified',
    bytes: await bundle('cache'),
    budget: 91.5 * KIB, // 1.6 for copies of packed objects
  },
  {
    what: 'capstan/client, minified',
    bytes: await bundle('client'),
    budget: 68 * KIB, // the reflector of until and watchObject is 11
  },
  // The rest of the subpath must not be in these bundles.
  { what: 'newClient of it', bytes: await bundleOf('newClient', 'client'), budget: 28 * KIB },
  {
    what: 'capstan/leaderelection, minified',
    bytes: await bundle('leaderelection'),
    budget: 12 * KIB,
  },
  { what: 'capstan/controller, minified', bytes: await bundle('controller'), budget: 135.5 * KIB },
  {
    what: 'capstan/apimachinery, minified',
    bytes: await bundle('apimachinery'),
    budget: 26 * KIB, // the types of all built-in kinds are most of it
  },
  {
    what: 'parseQuantity of it',
    bytes: await bundleOf('parseQuantity', 'apimachinery'),
    budget: 2.5 * KIB,
  },
  { what: 'capstan/kinds, minified', bytes: await bundle('kinds'), budget: 4 * KIB },
  // An object literal: whatever it would import, such as the checks of defineResource, shows here.
  { what: 'Pod of capstan/kinds', bytes: await bundleOf('Pod', 'kinds'), budget: KIB / 4 },
  { what: 'live page', bytes: Buffer.from(livePage), budget: 11 * KIB },
];

const kib = (bytes: number): string => `${(bytes / KIB).toFixed(1)} KiB`.padStart(10);
console.log(
  `${'size'.padEnd(30)}${'plain'.padStart(10)}${'gzip'.padStart(11)}${'budget'.padStart(11)}`,
);
for (const { what, bytes, budget } of measured) {
  const packed = gzipSync(bytes, { level: 9 }).length;
  const over = budget !== undefined && packed > budget;
  const limit = budget === undefined ? '-'.padStart(10) : kib(budget);
  console.log(
    `${what.padEnd(30)}${kib(bytes.length)} ${kib(packed)} ${limit}${over ? '  OVER' : ''}`,
  );
  if (over) process.exitCode = 1;
}

/** Of npm's package, with sources, source maps and documentation. */
const PACKAGE_BUDGETS = { packed: 4.5 * KIB * KIB, unpacked: 14.5 * KIB * KIB, files: 3200 };

const { size, unpackedSize, files } = packedPackage();
const mib = (bytes: number): string => `${(bytes / KIB / KIB).toFixed(2)} MiB`;
const limits = [
  ['packed', size, mib],
  ['unpacked', unpackedSize, mib],
  ['files', files.length, String],
] as const;
const facts = limits.map(([what, value, text]) => {
  const over = value > PACKAGE_BUDGETS[what];
  if (over) process.exitCode = 1;
  return `${what} ${text(value)} (budget ${text(PACKAGE_BUDGETS[what])}${over ? ', OVER' : ''})`;
});
console.log(`npm package: ${facts.join(', ')}`);
