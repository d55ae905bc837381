/**
 * Simulated replicas with faults: no slot is ever run by two processes, every slot finds an owner,
 * moves end, and their number is bounded. CAPSTAN_SHARD_CHANGES is the number of membership
 * changes; CAPSTAN_SEED repeats a run. Mutants of the protocol show that the simulation finds
 * mistakes.
 */
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type MachineSettings, ShardMachine } from '../../bindings/shards/machine.ts';
import { testSeed } from '../helpers/random.ts';
import { root } from '../helpers/repository.ts';
import { drawScenario, type MakeMachine, runScenario, shrinkScenario } from './simulation.ts';

const seed = testSeed();
const CHANGES = Number(process.env.CAPSTAN_SHARD_CHANGES ?? 500);
const CHANGES_OF_ONE = 20;

const ours: MakeMachine = (settings, weightOf) => new ShardMachine(settings, weightOf);

describe(`simulated replicas (CAPSTAN_SEED=${seed})`, () => {
  it('run each slot in one process at a time, and stop moving slots', () => {
    const sum = {
      changes: 0,
      events: 0,
      moves: 0,
      takeovers: 0,
      rewrites: 0,
      cuts: 0,
      outdated: 0,
      works: 0,
    };
    let settledMs = 0;
    for (let one = seed; sum.changes < CHANGES; one = (one + 1) % 2 ** 32) {
      const scenario = drawScenario(one, CHANGES_OF_ONE);
      const result = runScenario(scenario, ours);
      if (result.violation !== undefined) {
        const small = shrinkScenario(scenario, ours);
        const { violation, trace } = runScenario(small, ours);
        expect.fail(
          `${result.violation}\nas little as this is enough: ${violation}\n` +
            `${JSON.stringify(small)}\n${trace.join('\n')}`,
        );
      }
      for (const count of Object.keys(sum) as (keyof typeof sum)[]) sum[count] += result[count];
      settledMs = Math.max(settledMs, result.settledMs);
    }
    console.log(`shards, seed ${seed}: ${JSON.stringify({ ...sum, settledMs })}`);
    // It would prove nothing without these.
    expect(sum.moves).toBeGreaterThan(sum.changes);
    expect(sum.takeovers).toBeGreaterThan(sum.changes / 10);
    expect(sum.rewrites).toBeGreaterThan(sum.changes / 50);
    expect(sum.cuts).toBeGreaterThan(sum.changes / 200);
    expect(sum.outdated).toBeGreaterThan(0);
    expect(sum.works).toBeGreaterThan(sum.changes);
    expect(sum.moves).toBeLessThan(40 * sum.changes);
  }, 600_000);

  it('replay from the seed', () => {
    const scenario = drawScenario(seed, CHANGES_OF_ONE);
    expect(runScenario(scenario, ours)).toEqual(runScenario(scenario, ours));
  });
});

interface Mutant {
  readonly what: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

const MUTANTS: readonly Mutant[] = [
  {
    what: 'an open slot counts as let go',
    file: 'local-slots.ts',
    from: 'moveOf(map, slot)?.from === this.#me',
    to: 'false',
  },
  {
    what: 'a Lease is taken over too early',
    file: 'machine.ts',
    from: 'if (age >= lease.duration)',
    to: 'if (age >= lease.duration / 2)',
  },
  {
    what: 'an acknowledgement of an older map counts',
    file: 'plan.ts',
    from: 'state.epoch >= since && ',
    to: '',
  },
  {
    what: 'a Lease is relied on for its whole duration, whatever the clocks',
    file: 'machine.ts',
    from: 'leaseDuration / maxClockSkewRatio',
    to: 'leaseDuration * 1',
  },
  {
    what: 'a slot is let go before its work has ended',
    file: 'local-slots.ts',
    from: "this.#states[slot] = 'draining';\n    this.#hurried",
    to: "this.#states[slot] = 'warm';\n    this.#hurried",
  },
  {
    what: 'the slots of a dead replica stay with it',
    file: 'plan.ts',
    from: "if (owner === '' || !this.#isDead(owner)) return;",
    to: 'return;',
  },
  {
    what: 'a process that was stopped trusts its Lease',
    file: 'machine.ts',
    from: 'return now < this.#validUntil && this.#ended === undefined;',
    to: 'return this.#ended === undefined;',
  },
  {
    what: 'slots are given out before all replicas have acknowledged a new map',
    file: 'plan.ts',
    from: 'if (this.#map.floor === 0) return true;',
    to: 'return true;',
  },
  {
    what: 'slots stay open when the map has other edges',
    file: 'local-slots.ts',
    from: "isSameCut ? role : 'none'",
    to: 'role',
  },
  {
    what: 'the answer to an earlier warm counts',
    file: 'local-slots.ts',
    from: "'warming' && this.#tokens[slot] === token",
    to: "'warming'",
  },
  {
    what: 'a replica stays when a later release has written the map',
    file: 'machine.ts',
    from: "if (this.view.mapObject?.map === 'newer') {",
    to: "if ('newer' === ('' as string)) {",
  },
];

/** Of a mutant, by seeds from 1: enough for each with room to spare. */
const MOST_SCENARIOS = 100;

describe('the simulation', () => {
  it.each(MUTANTS)('finds that $what', async ({ file, from, to }) => {
    const make = await mutated(file, from, to);
    let violation: string | undefined;
    for (let one = 1; one <= MOST_SCENARIOS && violation === undefined; one++)
      violation = runScenario(drawScenario(one, CHANGES_OF_ONE), make).violation;
    expect(violation).toMatch(
      / is run by|after the faults|without its|under its work|moves|the map changes/,
    );
  });

  it('reduces a failure to the changes that it needs', async () => {
    const [{ file, from, to }] = MUTANTS as [Mutant];
    const make = await mutated(file, from, to);
    const scenario = drawScenario(1, CHANGES_OF_ONE);
    const small = shrinkScenario(scenario, make);
    expect(runScenario(small, make).violation).toBeDefined();
    expect(small.happenings.length).toBeLessThan(scenario.happenings.length / 2);
  });
});

/** The protocol with a mistake in it, from a copy of its sources. */
async function mutated(file: string, from: string, to: string): Promise<MakeMachine> {
  const index = MUTANTS.findIndex((one) => one.from === from);
  const folder = `${root}/build/mutants/${process.pid}-${index}`;
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(folder, { recursive: true });
  cpSync(`${root}/bindings/shards`, folder, { recursive: true });
  for (const path of globSync(`${folder}/*.ts`)) {
    let source = readFileSync(path, 'utf8').replaceAll("'../", `'${root}/bindings/`);
    if (path.endsWith(`/${file}`)) {
      expect(source).toContain(from);
      source = source.replace(from, to);
    }
    writeFileSync(path, source);
  }
  const module: { ShardMachine: typeof ShardMachine } = await import(`${folder}/machine.ts`);
  return (settings: MachineSettings, weightOf) => new module.ShardMachine(settings, weightOf);
}
