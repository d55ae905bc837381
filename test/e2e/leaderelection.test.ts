/**
 * Elections among real processes on a real API server: fifty hand-overs, forced by leaders that end in order, are killed, are stopped in the
 * middle of their work for longer than a lease, are cut off from the server, and by servers that are killed. What the processes
 * wrote down, on the clock that they share, is judged at the end.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { judge } from '../leaderelection/judge.ts';
import { Random, testSeed } from '../random.ts';
import { eventually } from './conditions.ts';
import { ControlPlane } from './control-plane.ts';
import { Contender } from './leaderelection/contender.ts';
import { isLong } from './leaderelection/settings.ts';

type HandOver = 'end' | 'kill' | 'freeze' | 'cut' | 'server';
const PLAN: Readonly<Record<HandOver, number>> = { end: 20, kill: 10, freeze: 10, cut: 8, server: 2 };
/** A lease, the longest time to the next try, and a busy machine. */
const HAND_OVER_MS = 30_000;
/** Pieces of work in a term before it is ended. */
const SOME_WORK = 3;
const ALL_MS = 400_000;

let plane: ControlPlane;

beforeAll(async () => {
  // Plain Node runs the candidates, and there the name `capstan` means the built package.
  const built = fileURLToPath(new URL('../../dist/index.js', import.meta.url));
  if (!existsSync(built)) throw new Error('dist/ is missing: run "npm run build" first');
  plane = await ControlPlane.start();
});

afterAll(() => plane?.stop());

afterEach(({ task }) => {
  if (task.result?.state === 'fail') plane?.keepLogs();
});

/** Two candidates at any time, one of which leads. */
class Contest {
  readonly all: Contender[] = [];
  readonly #source: string;
  #live: Contender[] = [];

  constructor(source: string) {
    this.#source = source;
  }

  async enter(): Promise<void> {
    const contender = await Contender.start(plane, `c${this.all.length + 1}`, this.#source);
    this.all.push(contender);
    this.#live.push(contender);
  }

  /** The leader of a term that has begun after `since`, once it works. */
  async leader(since: number, not?: Contender): Promise<Contender> {
    let found: Contender | undefined;
    await eventually(
      `somebody leads${not === undefined ? '' : ` in the place of ${not.identity}`}`,
      () => {
        for (const contender of this.#live) expect(contender.ended()).toBeUndefined();
        found = this.#live.find((one) => one !== not && (one.leadsSince() ?? 0) > since && one.run() !== undefined);
        return found !== undefined;
      },
      HAND_OVER_MS,
    );
    return found as Contender;
  }

  async force(how: HandOver, leader: Contender): Promise<Contender> {
    await eventually('the leader has done some work', () => leader.worked() >= SOME_WORK, HAND_OVER_MS);
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
        await eventually('the leader is in the middle of long work', () => isLong(leader.run() ?? 1), HAND_OVER_MS);
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
      case 'server': {
        await plane.kill('SIGKILL');
        await eventually('the leader has noticed', () => leader.leadsSince() === undefined, HAND_OVER_MS);
        await plane.restart('SIGKILL');
        return this.leader(since);
      }
    }
  }

  async end(): Promise<void> {
    await Promise.all(this.#live.map((one) => one.end()));
  }
}

function shuffled<T>(list: readonly T[], random: Random): T[] {
  const rest = [...list];
  return list.map(() => rest.splice(random.int(rest.length), 1)[0] as T);
}

test(
  'no work begins without an own lease that is valid, and what overlaps is told to stop, over fifty hand-overs',
  async () => {
    const seed = testSeed();
    console.log(`hand-overs: CAPSTAN_SEED=${seed}`);
    const kinds = Object.entries(PLAN).flatMap(([how, times]) => new Array<HandOver>(times).fill(how as HandOver));
    expect(kinds).toHaveLength(50);
    const contest = new Contest('./candidate.ts');
    await contest.enter();
    await contest.enter();
    let leader = await contest.leader(0);
    const took: Record<HandOver, number[]> = { end: [], kill: [], freeze: [], cut: [], server: [] };
    for (const how of shuffled(kinds, new Random(seed))) {
      const start = performance.now();
      leader = await contest.force(how, leader);
      took[how].push(Math.round(performance.now() - start));
    }
    await contest.end();
    const { violations, ...counts } = judge(contest.all.map((one) => one.history()));
    console.log(`hand-overs, milliseconds: ${JSON.stringify(took)}; ${JSON.stringify(counts)}`);
    expect(violations).toEqual([]);
    expect(counts.terms).toBeGreaterThanOrEqual(50);
    expect(counts.runs).toBeGreaterThanOrEqual(50 * SOME_WORK);
    // Who was stopped in the middle of its work overlaps with the next leader: without such cases nothing was shown of them.
    expect(counts.aborted).toBeGreaterThanOrEqual(PLAN.freeze / 2);
  },
  ALL_MS,
);
