/** The runtimes: where each is found, its default key table, and how the suite runs on it. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installTool } from '../../scripts/install-tool.ts';
import { root } from '../helpers/repository.ts';
import { inBrowser } from './browser.ts';
import type { Project } from './bundle.ts';
import { onPath, type RuntimeProgram, suiteIn } from './launch.ts';
import type { Claims, ClusterClaims, SuiteMessage, SuiteReport } from './report.ts';
import { describeError } from './shim/registry.ts';

export const tools = join(root, 'tools/runtimes');
const modules = join(tools, 'node_modules');

/**
 * Installs the runtimes, 1 GB on disk, once per lock file. A failure is printed: installed ones are
 * used, missing ones are named.
 */
export function installRuntimes(): void {
  try {
    installTool('runtimes');
  } catch (error) {
    console.error(describeError(error));
  }
}

/** For a suite that takes less than half a minute, on a busy machine. */
const LIMIT_MS = 180_000;

export interface Runtime {
  readonly name: string;
  /** Asserted by the suite, and, as far as fetch can tell, by the cases of the cache. */
  readonly claims: Omit<Claims, 'cluster'>;
  readonly fetch: FetchClaims;
  /** What to do if it is missing. */
  readonly missing: string;
  /** The path of its program. */
  find(): string | undefined;
  /** @param cluster address of cluster.ts */
  run(program: string, project: Project, cluster: string): Promise<SuiteReport>;
}

type FetchClaims = Omit<ClusterClaims, 'url'>;

/** Node's, and those of runtimes that follow it. */
const LIKE_NODE: FetchClaims = { through: 'address', refusedAndReset: 'apart', gzipMembers: 'all' };

const claimsOf = ({ claims, fetch }: Runtime, cluster: string): string =>
  JSON.stringify({ ...claims, cluster: { url: cluster, ...fetch } } satisfies Claims);

const platform = `${process.platform}-${process.arch}`;
const fromNpm =
  `tools/runtimes has none for ${platform}, or \`npm ci\` failed there; ` +
  'and this machine has none';
/**
 * A program that tools/runtimes has installed, or else one of the machine: the suite asserts which
 * runtime it is.
 */
const find = (path: string, name: string): string | undefined => {
  if (existsSync(join(modules, path))) return join(modules, path);
  const [, major] = /^node-(\d+)$/.exec(name) ?? [];
  if (major === undefined) return onPath(name);
  return process.versions.node.startsWith(`${major}.`) ? process.execPath : undefined;
};

interface InProcess {
  readonly name: string;
  readonly claims: Runtime['claims'];
  /** Within the node_modules of tools/runtimes. */
  readonly path: string;
  readonly flags: readonly string[];
  readonly env?: RuntimeProgram['env'];
  readonly fetch?: FetchClaims;
}

function inProcess({ name, claims, path, flags, env = {}, fetch = LIKE_NODE }: InProcess): Runtime {
  const runtime: Runtime = {
    name,
    claims,
    fetch,
    missing: fromNpm,
    find: () => find(path, claims.runtime),
    run(command, { folder }, cluster) {
      const args = [...flags, 'process.js', claimsOf(runtime, cluster)];
      return suiteIn({ command, args, cwd: folder, env }, LIMIT_MS);
    },
  };
  return runtime;
}

/** The import map of a page without a bundler, from the package's manifest. */
function importMap({ installed }: Project): string {
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
    exports: Record<string, string | { default: string }>;
    imports: Record<string, { default: string }>;
  };
  const path = (target: string | { default: string }): string =>
    `/node_modules/capstan/${(typeof target === 'string' ? target : target.default).slice(2)}`;
  const entries = [
    ...Object.entries(manifest.exports).map(([name, target]) => [
      `capstan${name.slice(1)}`,
      path(target),
    ]),
    ...Object.entries(manifest.imports).map(([name, target]) => [name, path(target)]),
  ];
  return JSON.stringify({ imports: Object.fromEntries(entries) });
}

/** Reports failures that the suite cannot report, because it did not run or has crashed. */
const REPORT_FAILURES = `
  const fail = (what) => (error) => {
    const message = what + ': ' + (error?.stack ?? error);
    return fetch('/report', {
      method: 'POST',
      body: JSON.stringify({ kind: 'failure', message }),
    });
  };
  addEventListener('unhandledrejection', ({ reason }) => fail('unhandled rejection')(reason));
  addEventListener('error', ({ error }) => fail('uncaught error')(error));
`;

const chromium: Runtime = {
  name: 'chromium',
  claims: { runtime: 'chromium', keys: 'js', strings: 'native' },
  missing: 'install chromium so that it is on PATH, or set CHROMIUM to its path',
  find: () => process.env.CHROMIUM || onPath('chromium', 'chromium-browser', 'google-chrome'),
  fetch: { through: 'proxy', refusedAndReset: 'alike', gzipMembers: 'first' },
  async run(command, project, cluster) {
    const html = `<!doctype html><script type="importmap">${importMap(project)}</script>
      <script type="module">${REPORT_FAILURES}
        import('/page.js').catch(fail('the suite did not load'));</script>`;
    const site = { folder: project.folder, html, query: { claims: claimsOf(chromium, cluster) } };
    const message = JSON.parse(await inBrowser(command, site, LIMIT_MS)) as SuiteMessage;
    if (message.kind === 'report') return message;
    throw new Error(message.kind === 'failure' ? message.message : 'expected a report');
  },
};

/**
 * The compatibility date of this workerd. It has WeakRef and FinalizationRegistry from 2025-05-05.
 */
const workerConfig = (claims: string): string => `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  v8Flags = ["--expose-gc"],
  services = [(name = "suite", worker = (
    compatibilityDate = "2025-05-05",
    modules = [
      (name = "worker.js", esModule = embed "worker.js"),
      (name = "core.wasm", wasm = embed "node_modules/capstan/dist/wasm/core.wasm"),
      (name = "cache.wasm", wasm = embed "node_modules/capstan/dist/wasm/cache.wasm"),
    ],
    bindings = [(name = "CLAIMS", json = ${JSON.stringify(claims)})],
  )),
  # The network of this machine, where the servers of the cases are.
  (name = "internet", network = (allow = ["private"]))],
);
`;

const workerd: Runtime = {
  name: 'workerd',
  // Modules are compiled ahead of time, without the string functions of the engine.
  claims: { runtime: 'workerd', keys: 'js', strings: 'foreign' },
  missing: fromNpm,
  find: () => find(`@cloudflare/workerd-${platform.replace('x64', '64')}/bin/workerd`, 'workerd'),
  fetch: { ...LIKE_NODE, refusedAndReset: 'alike' },
  run(command, { folder }, cluster) {
    writeFileSync(join(folder, 'suite.capnp'), workerConfig(claimsOf(workerd, cluster)));
    return suiteIn({ command, args: ['test', 'suite.capnp'], cwd: folder }, LIMIT_MS);
  },
};

const glibc = process.platform === 'linux' ? '-glibc' : '';
const nodePath = (name: string): string => `${name}-${platform}/bin/node`;

/** In the order in which they run. */
export const runtimes: readonly Runtime[] = [
  ...(['node-22', 'node-24', 'node-26'] as const).map((name) =>
    inProcess({
      name,
      claims: { runtime: name, keys: 'wasm', strings: 'native' },
      path: nodePath(name),
      flags: ['--expose-gc'],
    }),
  ),
  // Represents the engines without string functions: browsers of before 2025, for example.
  inProcess({
    name: 'no-strings',
    claims: { runtime: 'node-24', keys: 'js', strings: 'foreign' },
    path: nodePath('node-24'),
    flags: ['--expose-gc', '--no-experimental-wasm-imported-strings'],
  }),
  inProcess({
    name: 'deno',
    claims: { runtime: 'deno', keys: 'js', strings: 'native' },
    path: `@deno/${platform}${glibc}/deno`,
    flags: ['run', '--v8-flags=--expose-gc', '--no-prompt', '--allow-net=127.0.0.1'],
    env: { DENO_NO_UPDATE_CHECK: '1' },
    // for requests with their own Accept-Encoding, like ours
    fetch: { ...LIKE_NODE, gzipMembers: 'none' },
  }),
  inProcess({
    name: 'bun',
    claims: { runtime: 'bun', keys: 'js', strings: 'native' },
    path: `@oven/bun-${platform.replace('arm64', 'aarch64')}/bin/bun`,
    flags: [],
  }),
  chromium,
  workerd,
];
