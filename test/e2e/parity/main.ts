/**
 * The differential test of the embedded API server: the same generated requests go to it and to a
 * real kube-apiserver, and what they answer is compared. Prints counts by group, and each failing
 * case, made smaller, as a line that can be run again. A case that differs is run twice. Exits 1
 * where a case differs that known.ts does not name, where one that it names agrees, and where the
 * real server serves what no case asks about. Needs KUBEBUILDER_ASSETS.
 *
 *     npm run test:parity -- [--seed N,…] [--count N] [--group NAME,…] [--api v1,apps/v1,…]
 *       [--no-shrink] [--summary]
 *     npm run test:parity -- --case '{"group":"create","steps":[…]}'
 */
import { rmSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { ApiServer } from 'capstan/testing';
import { ControlPlane, TOKEN } from '../../helpers/control-plane/control-plane.ts';
import { lineOf, type ParityCase } from './case.ts';
import { compare, type Finding } from './compare.ts';
import { type ResourceList, unasked } from './coverage.ts';
import { intendedDifferences } from './differences.ts';
import { Target } from './exchange.ts';
import { generate, groupNames, wholeCount } from './generate.ts';
import { knownDifferences } from './known.ts';
import {
  type CaseOutcome,
  idOf,
  isGood,
  judgeCases,
  parityReport,
  type Verdict,
} from './outcome.ts';
import { type SeedCounts, writePage } from './page.ts';
import { shrink } from './shrink.ts';

const { values: options } = parseArgs({
  options: {
    seed: { type: 'string', default: process.env.CAPSTAN_SEED ?? '' },
    count: { type: 'string', default: String(wholeCount) },
    group: { type: 'string', default: '' },
    /** Only cases whose first request is for one of these API versions. */
    api: { type: 'string', default: '' },
    case: { type: 'string' },
    'no-shrink': { type: 'boolean', default: false },
    /** Groups the first differences of all cases, one line per group. */
    summary: { type: 'boolean', default: false },
    /** A file for the results, in the format of scripts/test-counts.ts. */
    report: { type: 'string' },
    /** Writes the counts and the list of differences to docs/evidence/embedded-server.md. */
    'write-page': { type: 'boolean', default: false },
    /** How many failing cases are shrunk and printed. */
    shown: { type: 'string', default: '20' },
  },
});

/** The number of concurrent cases. */
const AT_ONCE = 6;

const seeds =
  options.seed === '' ? [Math.floor(Math.random() * 2 ** 32)] : options.seed.split(',').map(Number);
const groups = options.group === '' ? [] : options.group.split(',');
const unknown = groups.filter((name) => !groupNames.includes(name));
if (!seeds.every(Number.isInteger) || unknown.length > 0) {
  console.error(`unknown: ${unknown.join(', ') || options.seed}; groups: ${groupNames.join(', ')}`);
  process.exit(2);
}
/** The run has all groups and API versions. */
const isWhole =
  options.case === undefined &&
  groups.length === 0 &&
  options.api === '' &&
  Number(options.count) >= wholeCount;

function casesOf(seed: number): ParityCase[] {
  return options.case === undefined
    ? generate(seed, Number(options.count), groups).filter(isAsked)
    : [JSON.parse(options.case) as ParityCase];
}

function isAsked({ steps }: ParityCase): boolean {
  const path = steps[0]?.path ?? '';
  return options.api
    .split(',')
    .some((api) => api === '' || path.startsWith(`/${api === 'v1' ? 'api' : 'apis'}/${api}/`));
}

/** A real and an embedded server with the same configuration. */
interface Pair {
  real: Target;
  embedded: Target;
  stop(): Promise<void>;
}

async function startPair(rbac: boolean): Promise<Pair> {
  const plane = await ControlPlane.start({ rbac, unfair: true });
  const users = { [TOKEN]: { name: 'token-user', uid: 'token-user', groups: ['system:masters'] } };
  const server = await ApiServer.start({
    users,
    strict: true,
    ...(rbac ? { authorization: 'RBAC' } : {}),
  });
  const real = new Target(plane.url, { ca: plane.authority, token: TOKEN });
  const embedded = new Target(server.url, { token: TOKEN });
  const stop = async (): Promise<void> => {
    real.close();
    embedded.close();
    await server.stop();
    await plane.stop();
  };
  return { real, embedded, stop };
}

/** The result of one seed. */
interface Run {
  seed: number;
  outcomes: CaseOutcome[];
  verdict: Verdict;
  problems: string[];
}

async function run(seed: number): Promise<Run> {
  const cases = casesOf(seed);
  const start = Date.now();
  console.log(`${cases.length} cases, seed ${seed}`);
  /** A pair that allows everything, and one with RBAC; each is started when a case needs it. */
  const pairs = new Map<boolean, Pair>();
  try {
    for (const rbac of [false, true])
      if (cases.some(({ group }) => (group === 'rbac') === rbac))
        pairs.set(rbac, await startPair(rbac));
    let namespaces = 0;
    /** Runs the case on both servers, in a new namespace. */
    const findingsOf = async (parityCase: ParityCase): Promise<Finding[]> => {
      const { real, embedded } = pairs.get(parityCase.group === 'rbac') as Pair;
      const namespace = `n${seed % 1_000_000}-${namespaces++}`;
      const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } };
      const made = { method: 'POST', path: '/api/v1/namespaces', body };
      await Promise.all([real.send(made), embedded.send(made)]);
      const [expected, got] = await Promise.all([
        real.run(parityCase, namespace),
        embedded.run(parityCase, namespace).catch((error: Error) => error),
      ]);
      if (got instanceof Error)
        return [{ request: 0, path: 'run', real: 'answers', embedded: got.message }];
      return compare(expected, got);
    };
    const problems = isWhole
      ? unasked(await servedBy((pairs.get(false) as Pair).real), cases).map(
          (what) => `no case asks about ${what}`,
        )
      : [];
    const outcomes: CaseOutcome[] = [];
    const waiting = [...cases];
    const judged = (parityCase: ParityCase): Promise<Finding[]> =>
      findingsOf(parityCase).catch((error: Error) => [
        { request: 0, path: 'run', real: error.message, embedded: '' },
      ]);
    const worker = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
        outcomes.push({ parityCase: next, findings: await judged(next) });
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    await again(outcomes, judged);
    const verdict = judgeCases(outcomes, knownDifferences, groupNames);
    await tell(verdict, problems, findingsOf);
    const passed = outcomes.length - verdict.failed.length - verdict.known.length;
    const failures = verdict.failed.length + verdict.mended.length + problems.length;
    const seconds = ((Date.now() - start) / 1000).toFixed(0);
    console.log(
      `seed ${seed}, ${seconds} s: ${passed} passed, ${failures} failed, ` +
        `${verdict.known.length} known to differ`,
    );
    return { seed, outcomes, verdict, problems };
  } finally {
    for (const { stop } of pairs.values()) await stop();
  }
}

/**
 * Runs the cases that differ once more, one at a time. The caches of the real server lag behind its
 * writes, so that some responses depend on timing: a write may be tried against an older object
 * first, and return its warning. The embedded server has no cache, and always responds alike.
 */
async function again(
  outcomes: CaseOutcome[],
  judged: (parityCase: ParityCase) => Promise<Finding[]>,
): Promise<void> {
  for (const [at, { parityCase, findings }] of outcomes.entries()) {
    if (findings.length === 0) continue;
    const second = await judged(parityCase);
    if (second.length === 0)
      console.log(
        `${parityCase.group} ${idOf(parityCase)} agrees when it is run again: ${findings[0]?.path}`,
      );
    outcomes[at] = { parityCase, findings: second };
  }
}

/** The resources in discovery that are not custom. */
async function servedBy(real: Target): Promise<ResourceList[]> {
  const bodyOf = async <Body>(path: string): Promise<Body> =>
    (await real.send({ method: 'GET', path })).body as Body;
  const { groups: found } = await bodyOf<{ groups: { versions: { groupVersion: string }[] }[] }>(
    '/apis',
  );
  const paths = found.flatMap(({ versions }) =>
    versions.map(({ groupVersion }) => `/apis/${groupVersion}`),
  );
  return Promise.all(['/api/v1', ...paths].map((path) => bodyOf<ResourceList>(path)));
}

async function tell(
  { failed, groups: counts, mended }: Verdict,
  problems: readonly string[],
  findingsOf: (parityCase: ParityCase) => Promise<Finding[]>,
): Promise<void> {
  if (options.summary) summary(failed);
  for (const { parityCase, findings } of failed.slice(0, Number(options.shown))) {
    const [first] = findings as [Finding, ...Finding[]];
    const small = options['no-shrink']
      ? parityCase
      : await shrink(parityCase, async (smaller) =>
          (await findingsOf(smaller)).some(({ path }) => path === first.path),
        );
    console.log(`\n${parityCase.group} ${idOf(parityCase)}: request ${first.request + 1}`);
    for (const { path, real, embedded } of findings.slice(0, 6))
      console.log(`  ${path}: real ${real}; embedded ${embedded}`);
    console.log(`  npm run test:parity -- --case '${lineOf(small).replaceAll("'", "'\\''")}'`);
  }
  for (const problem of problems) console.log(`\n${problem}`);
  for (const id of mended) console.log(`\n${id} agrees: take it out of known.ts`);
  console.log(`\n${'group'.padEnd(14)}${'cases'.padStart(7)}${'requests'.padStart(10)}   same`);
  for (const { group, cases, requests, same } of counts)
    console.log(
      `${group.padEnd(14)}${String(cases).padStart(7)}${String(requests).padStart(10)}${String(same).padStart(7)}`,
    );
  console.log(`\ndiffers on purpose: ${intendedDifferences.map(({ what }) => what).join('; ')}`);
}

/** Prints the kinds of differences, with the number of cases and the first case of each. */
function summary(failed: readonly CaseOutcome[]): void {
  const rows = new Map<string, { count: number; line: string }>();
  for (const { parityCase, findings } of failed) {
    for (const { path, real, embedded, request } of findings.slice(0, 3)) {
      const kind = /\/([a-z]+)(?:[/?]|$)/.exec(
        parityCase.steps[request]?.path.replace(/.*namespaces\/NS/, '') ?? '',
      )?.[1];
      const what =
        `${parityCase.group} ${kind} ${path.replaceAll(/\[\d+\]/g, '[]')}: real ${real}; ` +
        `embedded ${embedded}`;
      const row = rows.get(what) ?? { count: 0, line: lineOf(parityCase) };
      row.count++;
      rows.set(what, row);
    }
  }
  for (const [what, { count, line }] of [...rows].sort(([, a], [, b]) => b.count - a.count))
    console.log(`${String(count).padStart(4)}  ${what}\n        ${line.slice(0, 600)}`);
}

if (options.report !== undefined) rmSync(options.report, { force: true });
const runs: Run[] = [];
for (const seed of seeds) runs.push(await run(seed));
const whole = judgeCases(
  runs.flatMap(({ outcomes }) => outcomes),
  knownDifferences,
  groupNames,
);
const problems = [...new Set(runs.flatMap((each) => each.problems))];
if (options.report !== undefined) {
  const outcomes = runs.flatMap((each) => each.outcomes);
  writeFileSync(options.report, `${JSON.stringify(parityReport(outcomes, whole, problems))}\n`);
}
if (options['write-page'])
  writePage(runs.map(({ seed, verdict }): SeedCounts => ({ seed, groups: verdict.groups })));
process.exit(isGood(whole, problems) ? 0 : 1);
