/**
 * How a program gets the package: through a bundler, `require()`, under a Content-Security-Policy,
 * from JSR. Each check uses the package as packed and installed, and reports results like a suite
 * of cases.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build as esbuild } from 'esbuild';
import { inBrowser, type Site } from './browser.ts';
import type { Project } from './bundle.ts';
import { finishesWithin, launch, type RuntimeProgram } from './launch.ts';
import { describeError, type Result } from './shim/registry.ts';

const LIMIT_MS = 60_000;

export interface Tools {
  readonly project: Project;
  /** The folder of the installed bundlers. */
  readonly modules: string;
  /** Paths of the available runtimes, by name. */
  readonly runtimes: ReadonlyMap<string, string>;
}

type Steps = (
  run: (title: string, work: () => Promise<void>) => Promise<void>,
  skip: (title: string, why: string) => void,
) => Promise<void>;

/** Runs steps in order; a failed one does not stop the others. */
export async function resultsOf(steps: Steps): Promise<Result[]> {
  const results: Result[] = [];
  await steps(
    async (title, work) => {
      const start = performance.now();
      let message: string | undefined;
      try {
        await work();
      } catch (error) {
        message = describeError(error);
      }
      const ms = performance.now() - start;
      results.push({
        path: [title],
        ms,
        ...(message === undefined ? { state: 'passed' } : { state: 'failed', message }),
      });
    },
    (title, why) => results.push({ path: [`${title}: ${why}`], state: 'skipped', ms: 0 }),
  );
  return results;
}

/** The output of a program that must exit with 0. */
export async function outputOf(program: RuntimeProgram): Promise<string> {
  let output = '';
  const running = launch(program, (line) => {
    output += `${line}\n`;
  });
  try {
    const code = await finishesWithin(
      LIMIT_MS,
      running.ended,
      () => `written last:${running.tail}`,
    );
    if (code !== 0)
      throw new Error(
        `${program.command} ${program.args.join(' ')} ended with ${code}: ${running.tail}`,
      );
    return output.trim();
  } finally {
    running.end();
  }
}

function expectSame(got: string, want: string): void {
  if (got !== want) throw new Error(`expected ${JSON.stringify(want)}, got ${JSON.stringify(got)}`);
}

const EXPECTED = 'web,db|default/web|INVALID_ARGUMENT';

/**
 * A user's program with the queue, the cache and the errors; a page posts its output instead of
 * printing it.
 */
const USER = `
import { Indexer, metaNamespaceKeyFunc } from 'capstan/cache';
import { ItemExponentialFailureRateLimiter, RateLimitingQueue } from 'capstan/workqueue';
import { requestKey, WorkQueue } from 'capstan/workqueue';

const queue = new RateLimitingQueue(new ItemExponentialFailureRateLimiter(1, 10));
queue.add('web');
queue.addRateLimited('db');
const got = [];
for (let i = 0; i < 2; i++) {
  const { item } = await queue.get();
  got.push(item);
  queue.done(item);
}
const indexer = new Indexer(metaNamespaceKeyFunc);
indexer.add({ metadata: { namespace: 'default', name: 'web' } });
let code;
try {
  new WorkQueue({ key: requestKey }).add('text');
} catch (error) {
  code = error.code;
}
const text = got + '|' + indexer.listKeys() + '|' + code;
if (typeof document === 'undefined') console.log(text);
else await fetch('/report', { method: 'POST', body: text });
`;

type Bundler = (project: Project, modules: string, out: string) => Promise<void>;

const load = (modules: string, path: string): Promise<unknown> =>
  import(pathToFileURL(join(modules, path)).href);

const bundlers: Readonly<Record<string, Bundler>> = {
  async esbuild({ folder }, _modules, out) {
    await esbuild({
      entryPoints: [join(folder, 'user.js')],
      outfile: join(folder, out),
      bundle: true,
      minify: true,
      format: 'esm',
      platform: 'browser',
      logLevel: 'error',
    });
  },
  async vite({ folder }, modules, out) {
    const { build } = (await load(modules, 'vite/dist/node/index.js')) as {
      build(config: object): Promise<unknown>;
    };
    await build({
      root: folder,
      configFile: false,
      logLevel: 'error',
      publicDir: false,
      build: {
        outDir: '.',
        emptyOutDir: false,
        target: 'es2022',
        modulePreload: false,
        rolldownOptions: { input: join(folder, 'user.js'), output: { entryFileNames: out } },
      },
    });
  },
  async webpack({ folder }, modules, out) {
    interface Stats {
      hasErrors(): boolean;
      hasWarnings(): boolean;
      toString(options: object): string;
    }
    type Webpack = (
      config: object,
      done: (error: Error | null, stats?: Stats) => void,
    ) => { close(then: () => void): void } | null;
    const { default: webpack } = (await load(modules, 'webpack/lib/index.js')) as {
      default: Webpack;
    };
    const stats = await new Promise<Stats | undefined>((resolve, reject) => {
      const compiler = webpack(
        {
          context: folder,
          entry: './user.js',
          mode: 'production',
          target: ['web', 'es2022'],
          experiments: { outputModule: true },
          output: { path: folder, filename: out, module: true },
          performance: false,
        },
        (error, done) => compiler?.close(() => (error === null ? resolve(done) : reject(error))),
      );
    });
    if (stats?.hasErrors() || stats?.hasWarnings())
      throw new Error(stats.toString({ all: false, errors: true, warnings: true }));
  },
};

const bundlePage = (folder: string, script: string, headers: Site['headers'] = {}): Site => ({
  folder,
  html: `<!doctype html><script type="module" src="/${script}"></script>`,
  headers,
});

/** Bundles of Vite, webpack and esbuild do the same in Node and in a page, without warnings. */
export function checkBundles({ project, modules, runtimes }: Tools): Promise<Result[]> {
  const { folder } = project;
  writeFileSync(join(folder, 'user.js'), USER);
  return resultsOf(async (run, skip) => {
    for (const [name, bundle] of Object.entries(bundlers)) {
      const out = `bundle-${name}.js`;
      await run(`${name} bundles the package`, () => bundle(project, modules, out));
      await run(`a bundle of ${name} runs in Node`, async () =>
        expectSame(
          await outputOf({ command: process.execPath, args: [out], cwd: folder }),
          EXPECTED,
        ),
      );
      const chromium = runtimes.get('chromium');
      const title = `a bundle of ${name} runs in a page`;
      if (chromium === undefined) skip(title, 'no chromium');
      else
        await run(title, async () =>
          expectSame(await inBrowser(chromium, bundlePage(folder, out), LIMIT_MS), EXPECTED),
        );
    }
  });
}

const COMMON_JS = `
const { WorkQueue } = require('capstan/workqueue');
const { WorkQueue: again } = require('capstan');
const folders = ['apimachinery', 'cache', 'client', 'kinds', 'leaderelection', 'controller'];
const onNode = ['manager', 'client-node', 'testing'];
for (const folder of [...folders, ...onNode]) require('capstan/' + folder);
const queue = new WorkQueue();
queue.add('web');
import('capstan').then((esm) =>
  console.log(queue.tryGet(), again === WorkQueue, esm.WorkQueue === WorkQueue));
`;

/** `require()` returns the same classes as `import`, on every supported Node. */
export function checkRequire({ project: { folder }, runtimes }: Tools): Promise<Result[]> {
  writeFileSync(join(folder, 'user.cjs'), COMMON_JS);
  return resultsOf(async (run, skip) => {
    for (const name of ['node-22', 'node-24', 'node-26']) {
      const command = runtimes.get(name);
      const title = `require() of every entry on ${name}`;
      if (command === undefined) skip(title, 'not installed');
      else
        await run(title, async () =>
          expectSame(await outputOf({ command, args: ['user.cjs'], cwd: folder }), 'web true true'),
        );
    }
  });
}

const POLICY = "default-src 'none'; connect-src 'self'; worker-src 'self'; script-src 'self'";
const WORKER = `fetch('/node_modules/capstan/dist/wasm/core.wasm')
  .then((answer) => answer.arrayBuffer())
  .then((bytes) => WebAssembly.compile(bytes, { builtins: ['js-string'] }))
  .then((module) => postMessage(module));
`;

/**
 * A strict policy: with 'wasm-unsafe-eval' all works; without it the error says so, and a module
 * compiled elsewhere helps.
 */
export function checkPolicy({ project: { folder }, runtimes }: Tools): Promise<Result[]> {
  const chromium = runtimes.get('chromium');
  return resultsOf(async (run, skip) => {
    if (chromium === undefined) return skip('a Content-Security-Policy', 'no chromium');
    writeFileSync(join(folder, 'csp-worker.js'), WORKER);
    const under = async (policy: string): Promise<Record<string, string>> => {
      const site = bundlePage(folder, 'csp.js', { 'content-security-policy': policy });
      const open = {
        path: '/csp-worker.js',
        headers: { 'content-security-policy': `${POLICY} 'wasm-unsafe-eval'` },
      };
      return JSON.parse(await inBrowser(chromium, { ...site, special: open }, LIMIT_MS)) as Record<
        string,
        string
      >;
    };
    await run("a page that allows 'wasm-unsafe-eval' and no other eval", async () => {
      const seen = await under(`${POLICY} 'wasm-unsafe-eval'`);
      expectSame(`${seen.alone} ${seen.streaming}`, 'ok ok');
    });
    await run('a page that forbids compiling', async () => {
      const seen = await under(POLICY);
      const { alone = '', streaming = '', given = '' } = seen;
      if (!/^WASM_UNAVAILABLE: .*script-src.*'wasm-unsafe-eval'.*initCore/s.test(alone)) {
        throw new Error(`expected WASM_UNAVAILABLE and what to allow, got ${alone}`);
      }
      if (!streaming.includes('Content Security Policy'))
        throw new Error(`compileStreaming is allowed: ${streaming}`);
      expectSame(given, 'ok');
    });
  });
}
