/**
 * Elections among processes on a real API server. Leaders are ended gracefully, killed, stopped
 * during work for longer than a lease, or cut off from the server, and servers are killed. What the
 * processes recorded, on a shared clock, is judged at the end.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { kubeConfigTransport } from 'capstan/client-node';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventually } from '../helpers/control-plane/conditions.ts';
import { ControlPlane } from '../helpers/control-plane/control-plane.ts';
import { judgeElection } from '../helpers/leaderelection/judge-election.ts';
import { Random, testSeed } from '../helpers/random.ts';
import { Contender } from './leaderelection/contender.ts';
import { isLong, LEASE, LOST_EXIT, OBJECT } from './leaderelection/settings.ts';
import { Api } from './same-answers/api.ts';
import { readKubeConfig } from './same-answers/servers.ts';

type HandOver = 'end' | 'kill' | 'freeze' | 'cut' | 'server';
type Plan = Readonly<Record<HandOver, number>>;
/** A lease, the longest retry, the start of a process, and a busy machine. */
const HAND_OVER_MS = 30_000;
/** Pieces of work in a term before it is ended. */
const SOME_WORK = 3;
const ALL_MS = 400_000;

let plane: ControlPlane;

beforeAll(async () => {
  // Plain Node runs the candidates, so `capstan` resolves to the built package.
  const built = fileURLToPath(new URL('../../dist/index.js', import.meta.url));
  if (!existsSync(built)) throw new Error('dist/ is missing: run "npm run build" first');
  plane = await ControlPlane.start();
  const transport = kubeConfigTransport(await readKubeConfig(plane));
  const api = new Api(transport, LEASE.namespace);
  await eventually('there is an object to reconcile', async () => {
    const body = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: OBJECT, namespace: LEASE.namespace },
    };
    const { status } = await api.call('POST', `/api/v1/namespaces/${LEASE.namespace}/configmaps`, {
      body,
    });
    // the server creates the namespace soon after its start
    return status === 201 || `status ${status}`;
  });
  await transport.close?.();
});

afterAll(() => plane?.stop());

afterEach(({ task }) => {
  if (task.result?.state === 'fail') plane?.keepLogs();
});

/** Two candidates at any time, one of which leads. */
class Contest {
  readonly all: Contender[] = [];
  readonly #program: string;
  /** The exit codes of a candidate that are allowed besides 0. */
  readonly #ends: readonly number[];
  #live: Contender[] = [];

  constructor(program: string, ...ends: readonly number[]) {
    this.#program = program;
    this.#ends = ends;
  }

  async enter(): Promise<void> {
    const identity = `${this.#program}-${this.all.length + 1}`;
    const contender = await Contender.start(plane, identity, `./${this.#program}.ts`);
    this.all.push(contender);
    this.#live.push(contender);
  }

  /** Waits for a leader whose term began after `since` and that works. */
  async leader(since: number, not?: Contender): Promise<Contender> {
    let found: Contender | undefined;
    await eventually(
      `somebody leads${not === undefined ? '' : ` in the place of ${not.identity}`}`,
      async () => {
        await this.#replaceEnded();
        found = this.#live.find(
          (one) => one !== not && (one.leadsSince() ?? 0) > since && one.run() !== undefined,
        );
        return found !== undefined;
      },
      HAND_OVER_MS,
    );
    return found as Contender;
  }

  async force(how: HandOver, leader: Contender): Promise<Contender> {
    await eventually(
      'the leader has done some work',
      () => leader.worked() >= SOME_WORK,
      HAND_OVER_MS,
    );
    const since = leader.leadsSince() ?? 0;
    const next = (): Promise<Contender> => this.leader(since, leader);
    switch (how) {
      case 'end':
      case 'kill':
        this.#live = this.#live.filter((one) => one !== leader);
        await Promise.all([how === 'end' ? leader.end() : leader.kill(), this.enter()]);
        return next();
      case 'freeze': {
        let successor: Contender | undefined;
        await eventually(
          'the leader is in the middle of long work',
          () => isLong(leader.run() ?? 1),
          HAND_OVER_MS,
        );
        await leader.freeze(async () => {
          successor = await next();
        });
        return successor ?? next();
      }
      case 'cut':
        leader.proxy.shut();
        try {
          return await next();
        } finally {
          leader.proxy.open();
        }
      case 'server':
        await plane.kill('SIGKILL');
        await eventually(
          'the leader has noticed',
          () => leader.leadsSince() === undefined,
          HAND_OVER_MS,
        );
        await plane.restart('SIGKILL');
        return this.leader(since);
    }
  }

  async end(): Promise<void> {
    await Promise.all(this.#live.map((one) => one.end(...this.#ends)));
  }

  /** Starts a candidate for each one that has exited, so that there are two. */
  async #replaceEnded(): Promise<void> {
    this.#live = this.#live.filter((one) => one.runs(...this.#ends));
    while (this.#live.length < 2) await this.enter();
  }
}

function shuffled<T>(list: readonly T[], random: Random): T[] {
  const rest = [...list];
  return list.map(() => rest.splice(random.int(rest.length), 1)[0] as T);
}

interface Case {
  readonly candidates: string;
  readonly contest: () => Contest;
  readonly plan: Plan;
}

const cases: readonly Case[] = [
  {
    candidates: 'fifty hand-overs between managers with a controller',
    contest: () => new Contest('manager-candidate', LOST_EXIT),
    plan: { end: 21, kill: 9, freeze: 10, cut: 8, server: 2 },
  },
  {
    candidates: 'hand-overs between electors that stay in the contest',
    contest: () => new Contest('elector-candidate'),
    plan: { end: 1, kill: 1, freeze: 3, cut: 2, server: 0 },
  },
];

test.each(cases)(
  'work begins only with a valid lease, and overlapping work is aborted: $candidates',
  async ({ contest: begin, plan }) => {
    const seed = testSeed();
    console.log(`hand-overs: CAPSTAN_SEED=${seed}`);
    const kinds = Object.entries(plan).flatMap(([how, times]) =>
      new Array<HandOver>(times).fill(how as HandOver),
    );
    const contest = begin();
    let leader = await contest.leader(0);
    const took: Record<HandOver, number[]> = { end: [], kill: [], freeze: [], cut: [], server: [] };
    for (const how of shuffled(kinds, new Random(seed))) {
      const start = performance.now();
      leader = await contest.force(how, leader);
      took[how].push(Math.round(performance.now() - start));
    }
    await contest.end();
    const { violations, ...counts } = judgeElection(contest.all.map((one) => one.history()));
    console.log(`hand-overs, milliseconds: ${JSON.stringify(took)}; ${JSON.stringify(counts)}`);
    expect(violations).toEqual([]);
    expect(counts.terms).toBeGreaterThan(kinds.length);
    expect(counts.runs).toBeGreaterThanOrEqual(kinds.length * SOME_WORK);
    // A process stopped during its work overlaps with the next leader. Without such cases the test
    // would prove nothing about them.
    expect(counts.aborted).toBeGreaterThanOrEqual(plan.freeze / 2);
  },
  ALL_MS,
);
