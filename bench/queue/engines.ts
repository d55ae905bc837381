/**
 * `npm run bench:engines -- [--engine NAME] [--rounds N] [--keys N] [--json yes]`: the works of the
 * queues beside the naive port on each engine that tools/runtimes or this machine has, in one run.
 * For each work and number of keys it prints the ratio of the medians (ours divided by the naive
 * port's: below 1 we are faster) and both medians in ns per operation. Each work runs in a process
 * of its own.
 *
 * The keys are `names(n)` of peers/naive-ts/workloads.mjs, the same in each run. Without --engine:
 * all; the report names those that are missing. Progress goes to stderr.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { Chromium, findChromium } from '../../test/helpers/chromium.ts';
import { finishesWithin, launch, onPath } from '../../test/runtimes/launch.ts';
import { installRuntimes, type Runtime, runtimes } from '../../test/runtimes/runtimes.ts';
import { type Figure, geometricMean, layout, showCount } from '../measure/figures.ts';
import { flagsOrExit } from '../measure/flags.ts';
import { workloads } from '../peers/naive-ts/workloads.mjs';

const ENGINES = ['node-22', 'node-24', 'node-26', 'deno', 'bun', 'chromium', 'firefox'] as const;
type Engine = (typeof ENGINES)[number];
const KEYS = [100, 1_000, 10_000, 100_000];
/** The goals: of the geometric mean of the ratios, by number of keys, and of each ratio. */
const MEAN_GOAL: Record<number, number> = { 100: 0.7, 1000: 0.7, 100000: 0.5 };
const WORK_GOAL = 1;
const FLAGS: Record<Exclude<Engine, 'chromium' | 'firefox'>, readonly string[]> = {
  'node-22': ['--expose-gc'],
  'node-24': ['--expose-gc'],
  'node-26': ['--expose-gc'],
  deno: ['run', '--no-config', '--no-check', '--v8-flags=--expose-gc'],
  bun: [],
};
const LIMIT_MS = 300_000;

const flags = flagsOrExit('npm run bench:engines --', {
  engine: ['all', ...ENGINES],
  rounds: 5,
  keys: ['all', ...KEYS.map(String)],
  json: ['no', 'yes'],
});
const bundle = fileURLToPath(new URL('../../build/bench-engines.mjs', import.meta.url));
const run = promisify(execFile);

type Measure = (work: string, counts: readonly number[]) => Promise<string[]>;

const inProcess =
  (program: string, args: readonly string[]): Measure =>
  async (work, counts) => {
    const all = [...args, bundle, work, counts.join(), String(flags.rounds)];
    const limits = { timeout: LIMIT_MS, killSignal: 'SIGKILL' as const };
    return (await run(program, all, limits)).stdout.trim().split('\n');
  };

/** A page with a worker that measures one work and posts the lines to `/lines`. */
async function withPage(
  work: string,
  counts: readonly number[],
  open: (address: string) => Promise<() => Promise<void> | void>,
): Promise<string[]> {
  const args = JSON.stringify([work, counts, flags.rounds]);
  const files: Record<string, [type: string, text: string]> = {
    '/': ['text/html', '<!doctype html><title>bench</title><script src="/page.js"></script>'],
    '/page.js': [
      'text/javascript',
      `const worker = new Worker('/worker.mjs', { type: 'module' });
      const post = (body) => fetch('/lines', { method: 'POST', body });
      worker.onerror = ({ message }) => post('error: ' + message);
      worker.onmessage = ({ data }) => post(data);`,
    ],
    '/worker.mjs': [
      'text/javascript',
      `import '/bundle.mjs';
      const lines = [];
      measureWork(...${args}, (line) => lines.push(line));
      postMessage(lines.join('\\n'));`,
    ],
    '/bundle.mjs': ['text/javascript', readFileSync(bundle, 'utf8')],
  };
  const posted = Promise.withResolvers<string>();
  const server = createServer(async (request, response) => {
    const [type, text] = files[request.url ?? ''] ?? ['text/plain', ''];
    response.writeHead(200, { 'content-type': type }).end(text);
    if (request.method === 'POST') posted.resolve((await request.toArray()).join(''));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = await open(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  try {
    const lines = await finishesWithin(LIMIT_MS, posted.promise, () => `${work} in a page`);
    if (lines.startsWith('error: ')) throw new Error(lines);
    return lines.split('\n');
  } finally {
    await close();
    server.close();
    server.closeAllConnections();
  }
}

/** Starts a browser for each work. */
const inChromium =
  (program: string): Measure =>
  (work, counts) =>
    withPage(work, counts, async (address) => {
      const browser = await Chromium.start(program);
      await browser.open(address);
      return () => browser.stop();
    });

/** Without the first flag, the clock of a page has steps of a millisecond. */
const PREFERENCES = `user_pref('privacy.reduceTimerPrecision', false);
user_pref('browser.shell.checkDefaultBrowser', false);
user_pref('datareporting.policy.dataSubmissionEnabled', false);
`;

const inFirefox =
  (command: string): Measure =>
  (work, counts) =>
    withPage(work, counts, async (address) => {
      const profile = mkdtempSync(join(tmpdir(), 'capstan-firefox-'));
      writeFileSync(join(profile, 'user.js'), PREFERENCES);
      const args = ['--headless', '--no-remote', '--profile', profile, address];
      const firefox = launch({ command, args, cwd: profile });
      return async () => {
        firefox.end();
        await firefox.ended;
        rmSync(profile, { recursive: true, force: true });
      };
    });

function measureOf(engine: Engine): Measure | undefined {
  if (engine === 'chromium') {
    const program = findChromium();
    return program === undefined ? undefined : inChromium(program);
  }
  if (engine === 'firefox') {
    const program = onPath('firefox', 'firefox-esr');
    return program === undefined ? undefined : inFirefox(program);
  }
  const runtime = runtimes.find(({ name }) => name === engine) as Runtime;
  const program = runtime.find();
  return program === undefined ? undefined : inProcess(program, FLAGS[engine]);
}

/** The table of one engine, and the figures that miss their goal. */
function show(engine: string, counts: readonly number[], figures: readonly Figure[]): void {
  const works = Object.keys(workloads);
  const of = (work: string, n: number): { ratio: number; text: string } => {
    const [ours, theirs] = ['capstan', 'naive'].map((peer) =>
      figures.find((figure) => figure.peer === peer && figure.work === work && figure.n === n),
    ) as [Figure, Figure];
    const ratio = ours.ns / theirs.ns;
    return {
      ratio,
      text: `${ratio.toFixed(2)} (${ours.ns.toFixed(0)} / ${theirs.ns.toFixed(0)})`,
    };
  };
  const means = counts.map((n) => geometricMean(works.map((work) => of(work, n).ratio)));
  console.log(`\n${engine}`);
  console.log(
    layout([
      ['', ...counts.map(showCount)],
      ...works.map((work) => [work, ...counts.map((n) => of(work, n).text)]),
      ['geometric mean', ...means.map((mean) => mean.toFixed(2))],
    ]),
  );
  for (const work of works) {
    for (const n of counts) {
      const { ratio } = of(work, n);
      if (ratio > WORK_GOAL)
        console.log(`${work}, ${showCount(n)} keys: ${ratio.toFixed(2)}: LOST to the naive port`);
    }
  }
  counts.forEach((n, i) => {
    const [goal, mean] = [MEAN_GOAL[n], means[i] as number];
    if (goal !== undefined && mean > goal)
      console.log(`mean, ${showCount(n)} keys: ${mean.toFixed(2)}: goal ${goal} MISSED`);
  });
}

const wanted = ENGINES.filter((engine) => flags.engine === 'all' || flags.engine === engine);
if (wanted.some((engine) => measureOf(engine) === undefined)) installRuntimes();
await build({
  entryPoints: [fileURLToPath(new URL('engines-load.ts', import.meta.url))],
  outfile: bundle,
  bundle: true,
  format: 'esm',
  tsconfigRaw: '{}',
  logLevel: 'error',
});
const counts = flags.keys === 'all' ? KEYS : [Number(flags.keys)];
for (const engine of wanted) {
  const measure = measureOf(engine);
  if (measure === undefined) {
    console.log(`\n${engine}: not on this machine`);
    continue;
  }
  const figures: Figure[] = [];
  for (const work of Object.keys(workloads)) {
    process.stderr.write(`${engine}: ${work}\n`);
    const lines = await measure(work, counts);
    figures.push(...lines.map((line) => JSON.parse(line) as Figure));
    if (flags.json === 'yes')
      for (const line of lines) console.log(JSON.stringify({ engine, ...JSON.parse(line) }));
  }
  if (flags.json === 'no') show(engine, counts, figures);
}
