/**
 * The differential test of the embedded API server: the same generated requests go to it and to a
 * real kube-apiserver, and what they answer is compared. Prints counts by group, and each failing
 * case, made smaller, as a line that can be run again. Needs KUBEBUILDER_ASSETS.
 *
 *     npm run test:parity -- [--seed N] [--count N] [--group NAME,…] [--api v1,apps/v1,…] [--no-shrink] [--summary]
 *     npm run test:parity -- --case '{"group":"create","steps":[…]}'
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { ApiServer } from 'capstan/testing';
import { ControlPlane, TOKEN } from '../control-plane.ts';
import { lineOf, type ParityCase } from './case.ts';
import { compare, type Finding } from './compare.ts';
import { differences } from './differences.ts';
import { Target } from './exchange.ts';
import { generate, groupNames } from './generate.ts';
import { shrink } from './shrink.ts';

const { values: options } = parseArgs({
  options: {
    seed: { type: 'string', default: process.env.CAPSTAN_SEED ?? '' },
    count: { type: 'string', default: '1900' },
    group: { type: 'string', default: '' },
    /** Only cases whose first request is for one of these API versions. */
    api: { type: 'string', default: '' },
    case: { type: 'string' },
    'no-shrink': { type: 'boolean', default: false },
    /** The first difference of each case in a line, by what differs. */
    summary: { type: 'boolean', default: false },
    /** A file for the counts, as JSON. */
    report: { type: 'string' },
    /** How many failing cases are made smaller and printed. */
    shown: { type: 'string', default: '20' },
  },
});

/** Cases that are under way at once. */
const AT_ONCE = 6;

const seed = options.seed === '' ? Math.floor(Math.random() * 2 ** 32) : Number(options.seed);
const groups = options.group === '' ? [] : options.group.split(',');
const unknown = groups.filter((name) => !groupNames.includes(name));
if (!Number.isInteger(seed) || unknown.length > 0) {
  console.error(`unknown: ${unknown.join(', ') || options.seed}; groups: ${groupNames.join(', ')}`);
  process.exit(2);
}
const cases: ParityCase[] =
  options.case === undefined
    ? generate(seed, Number(options.count), groups).filter(isAsked)
    : [JSON.parse(options.case) as ParityCase];

function isAsked({ steps }: ParityCase): boolean {
  const path = steps[0]?.path ?? '';
  return options.api
    .split(',')
    .some((api) => api === '' || path.startsWith(`/${api === 'v1' ? 'api' : 'apis'}/${api}/`));
}

interface Outcome {
  parityCase: ParityCase;
  findings: Finding[];
}

/** A real and an embedded server that are configured alike. */
interface Pair {
  real: Target;
  embedded: Target;
  stop(): Promise<void>;
}

async function startPair(rbac: boolean): Promise<Pair> {
  const plane = await ControlPlane.start({ rbac, unfair: true });
  const users = { [TOKEN]: { name: 'token-user', uid: 'token-user', groups: ['system:masters'] } };
  const server = await ApiServer.start({ users, ...(rbac ? { authorization: 'RBAC' } : {}) });
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

/** One that allows everything, and one that judges by roles; each where a case needs it. */
const pairs = new Map<boolean, Pair>();
for (const rbac of [false, true])
  if (cases.some(({ group }) => (group === 'rbac') === rbac))
    pairs.set(rbac, await startPair(rbac));
let namespaces = 0;

/** Runs the case on both servers, in a namespace of its own. */
async function findingsOf(parityCase: ParityCase): Promise<Finding[]> {
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
}

const outcomes: Outcome[] = [];
const waiting = [...cases];
async function worker(): Promise<void> {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const findings = await findingsOf(next).catch((error: Error) => [
      { request: 0, path: 'run', real: error.message, embedded: '' },
    ]);
    outcomes.push({ parityCase: next, findings });
  }
}

const start = Date.now();
let status = 1;
try {
  console.log(`${cases.length} cases, seed ${seed}`);
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  status = await report();
} finally {
  for (const { stop } of pairs.values()) await stop();
}
process.exit(status);

async function report(): Promise<number> {
  const failed = outcomes.filter(({ findings }) => findings.length > 0);
  if (options.summary) summary(failed);
  for (const { parityCase, findings } of failed.slice(0, Number(options.shown))) {
    const [first] = findings as [Finding, ...Finding[]];
    const small = options['no-shrink']
      ? parityCase
      : await shrink(parityCase, async (smaller) =>
          (await findingsOf(smaller)).some(({ path }) => path === first.path),
        );
    console.log(`\n${parityCase.group}: request ${first.request + 1}`);
    for (const { path, real, embedded } of findings.slice(0, 6))
      console.log(`  ${path}: real ${real}; embedded ${embedded}`);
    console.log(`  npm run test:parity -- --case '${lineOf(small).replaceAll("'", "'\\''")}'`);
  }
  console.log(`\n${'group'.padEnd(14)}${'cases'.padStart(7)}${'requests'.padStart(10)}   same`);
  const rows = groupNames.flatMap((group) => {
    const of = outcomes.filter(({ parityCase }) => parityCase.group === group);
    if (of.length === 0) return [];
    const requests = of.reduce((sum, { parityCase }) => sum + parityCase.steps.length, 0);
    const same = of.filter(({ findings }) => findings.length === 0).length;
    console.log(
      `${group.padEnd(14)}${String(of.length).padStart(7)}${String(requests).padStart(10)}${String(same).padStart(7)}`,
    );
    return [{ group, cases: of.length, requests, same }];
  });
  console.log(`\ndiffers on purpose: ${differences.map(({ what }) => what).join('; ')}`);
  const seconds = ((Date.now() - start) / 1000).toFixed(0);
  if (options.report !== undefined)
    writeFileSync(options.report, `${JSON.stringify({ seed, rows }, undefined, 2)}\n`);
  console.log(
    `seed ${seed}, ${seconds} s: ${outcomes.length - failed.length} passed, ${failed.length} failed`,
  );
  return failed.length === 0 ? 0 : 1;
}

/** What differs, with how many cases it is in and the first of them. */
function summary(failed: readonly Outcome[]): void {
  const rows = new Map<string, { count: number; line: string }>();
  for (const { parityCase, findings } of failed) {
    for (const { path, real, embedded, request } of findings.slice(0, 3)) {
      const kind = /\/([a-z]+)(?:[/?]|$)/.exec(
        parityCase.steps[request]?.path.replace(/.*namespaces\/NS/, '') ?? '',
      )?.[1];
      const what = `${parityCase.group} ${kind} ${path.replaceAll(/\[\d+\]/g, '[]')}: real ${real}; embedded ${embedded}`;
      const row = rows.get(what) ?? { count: 0, line: lineOf(parityCase) };
      row.count++;
      rows.set(what, row);
    }
  }
  for (const [what, { count, line }] of [...rows].sort(([, a], [, b]) => b.count - a.count))
    console.log(`${String(count).padStart(4)}  ${what}\n        ${line}`);
}
