/**
 * `npm run test:runtimes -- [NAME...] [--all-required] [--report FILE] [--list]`: the behaviour
 * cases and recorded traces on every runtime, and the package through bundlers, `require()`, a
 * Content-Security-Policy and JSR. Without names: all. Runtimes missing on this machine are skipped
 * by name; with --all-required they fail. Exits with 1 on a failure, or when nothing ran.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { testSeed } from '../helpers/random.ts';
import { bundleHost, type Host, installPackage, type Project } from './bundle.ts';
import { checkBundles, checkPolicy, checkRequire, type Tools } from './checks.ts';
import { startCluster } from './cluster.ts';
import { checkDenoExample } from './deno-example.ts';
import { checkJsr } from './jsr.ts';
import { checkBunManager } from './manager-program.ts';
import {
  comparedWithEachOther,
  describeOutcomes,
  hasFailed,
  type RuntimeOutcome,
  runtimesJsonReport,
} from './outcome.ts';
import { installRuntimes, type Runtime, runtimes, tools } from './runtimes.ts';
import { describeError, type Result } from './shim/registry.ts';

interface Check {
  readonly name: string;
  /** Nothing can run without one of these. */
  readonly needs: readonly string[];
  run(tools: Tools): Promise<Result[]>;
}

const checks: readonly Check[] = [
  { name: 'bundles', needs: ['chromium'], run: checkBundles },
  { name: 'require', needs: ['node-22', 'node-24', 'node-26'], run: checkRequire },
  { name: 'csp', needs: ['chromium'], run: checkPolicy },
  { name: 'deno-example', needs: ['deno'], run: checkDenoExample },
  { name: 'bun-manager', needs: ['bun'], run: checkBunManager },
  { name: 'jsr', needs: ['deno'], run: checkJsr },
];
const names = [...runtimes, ...checks].map(({ name }) => name);

async function measured(
  name: string,
  work: () => Promise<Omit<RuntimeOutcome, 'name' | 'seconds'>>,
): Promise<RuntimeOutcome> {
  const start = performance.now();
  const seconds = (): number => (performance.now() - start) / 1000;
  try {
    const outcome = await work();
    return { name, seconds: seconds(), ...outcome };
  } catch (error) {
    return { name, about: '', seconds: seconds(), results: [], failure: describeError(error) };
  }
}

function onRuntime(
  runtime: Runtime,
  program: string | undefined,
  project: Project,
  cluster: string,
  required: boolean,
): Promise<RuntimeOutcome> {
  return measured(runtime.name, async () => {
    if (program === undefined) {
      const reason = `not found: ${runtime.missing}`;
      return { about: '', results: [], ...(required ? { failure: reason } : { skipped: reason }) };
    }
    const { version, results } = await runtime.run(program, project, cluster);
    const { keys, strings } = runtime.claims; // which the suite has asserted
    return {
      about: `${version.padEnd(12)} keys in ${keys.padEnd(4)} strings ${strings}`,
      results,
      blind: blindSpots(runtime),
    };
  });
}

/** What the cases of the cache assert that a runtime's fetch cannot distinguish. */
function blindSpots({ fetch }: Runtime): string[] {
  return [
    ...(fetch.refusedAndReset === 'alike'
      ? ['a refused connection from one that is reset before the answer']
      : []),
    ...(fetch.gzipMembers === 'first'
      ? ['gzip members behind the first: their events come when the watch is opened again']
      : []),
    ...(fetch.gzipMembers === 'none'
      ? ['gzip in spite of "identity": the watch is a DECODE error, and lists take its place']
      : []),
  ];
}

function carryOut(check: Check, given: Tools, required: boolean): Promise<RuntimeOutcome> {
  return measured(check.name, async () => {
    const missing = check.needs.filter((name) => !given.runtimes.has(name));
    if (required && missing.length > 0) throw new Error(`not found: ${missing.join(', ')}`);
    const results = await check.run(given);
    if (results.some(({ state }) => state !== 'skipped')) return { about: '', results };
    return { about: '', results: [], skipped: `not found: ${missing.join(', ')}` };
  });
}

/** The runtimes one after the other, so that none slows another down; then the checks. */
async function runAll(
  project: Project,
  found: ReadonlyMap<Runtime, string | undefined>,
  wanted: (name: string) => boolean,
  required: boolean,
  seed: string,
): Promise<RuntimeOutcome[]> {
  const hosts: readonly Host[] = ['process', 'page', 'worker', 'csp'];
  for (const host of hosts) await bundleHost(project, host, seed);
  const outcomes: RuntimeOutcome[] = [];
  const cluster = await startCluster();
  try {
    for (const [runtime, program] of found) {
      if (wanted(runtime.name))
        outcomes.push(await onRuntime(runtime, program, project, cluster.url, required));
    }
  } finally {
    await cluster.stop();
  }
  const all = comparedWithEachOther(outcomes);
  const programs = [...found].flatMap(([{ name }, path]) =>
    path === undefined ? [] : [[name, path] as const],
  );
  const given: Tools = {
    project,
    modules: join(tools, 'node_modules'),
    runtimes: new Map(programs),
  };
  for (const check of checks)
    if (wanted(check.name)) all.push(await carryOut(check, given, required));
  return all;
}

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      'all-required': { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      report: { type: 'string' },
    },
  });
  const unknown = positionals.filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    console.error(`unknown: ${unknown.join(', ')}. Known are: ${names.join(', ')}`);
    return 1;
  }
  installRuntimes();
  const found = new Map(runtimes.map((runtime) => [runtime, runtime.find()]));
  if (values.list) {
    for (const [{ name, missing }, path] of found)
      console.log(`${name.padEnd(10)} ${path ?? `not found: ${missing}`}`);
    for (const { name, needs } of checks)
      console.log(`${name.padEnd(10)} needs ${needs.join(', ')}`);
    return 0;
  }
  if (values.report !== undefined) rmSync(values.report, { force: true });
  const wanted = (name: string): boolean => positionals.length === 0 || positionals.includes(name);
  const required = values['all-required'];
  const seed = String(testSeed());
  console.log(`CAPSTAN_SEED=${seed}`);

  const project = installPackage();
  process.once('exit', () =>
    rmSync(project.folder, { recursive: true, force: true, maxRetries: 5 }),
  );
  const all = await runAll(project, found, wanted, required, seed);
  console.log(describeOutcomes(all));
  if (values.report !== undefined)
    writeFileSync(values.report, JSON.stringify(runtimesJsonReport(all)));
  const failed = all.filter(hasFailed).map(({ name }) => name);
  if (failed.length > 0) console.log(`\nFAILED: ${failed.join(', ')}`);
  return failed.length > 0 || all.every(({ skipped }) => skipped !== undefined) ? 1 : 0;
}

// A signal that stops this program stops its children: they end with the exit of the process, and a
// signal alone does not run that.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
process.exitCode = await main(process.argv.slice(2));
