/** Faults of the network: connections that are refused, cut, silent or cut into pieces. */
import type { FaultCase } from './fault-case.ts';
import { type Rig, UNSEEN } from './harness.ts';

const MINUTE = 60_000;

/** Cuts the watch, and waits for the one that follows. */
async function nextWatch(rig: Rig): Promise<void> {
  const before = rig.watches();
  await rig.cut();
  await rig.until('another watch', () => rig.watches() > before);
  await rig.pass(1500);
}

export const connections: FaultCase[] = [
  {
    name: 'a server that is restarted is watched again from the last version, without a list',
    told: 'network',
    asked: 1,
    async play(rig) {
      const back = rig.server.inject({ do: 'refuse' });
      await rig.pass(5_000);
      back();
      await rig.until('a watch after the restart', () => rig.watches() > 2);
      await rig.churn(5);
    },
  },
  {
    name: 'refused watches are tried again while writes go on, without a list',
    told: 'network',
    asked: 1,
    async play(rig) {
      rig.inject({ verb: 'watch', do: 'refuse', times: 4 });
      await rig.cut();
      await rig.until('four refusals', () => rig.watches() >= 6, { writing: true });
    },
  },
  {
    name: 'a watch that is reset before its answer is sent again, without a list',
    told: 'network',
    asked: 1,
    async play(rig) {
      rig.inject({ verb: 'watch', do: 'reset', times: 3 });
      await rig.cut();
      await rig.churn(5);
      await rig.caughtUp();
    },
  },
  {
    name: 'a watch that is cut between frames resumes where it ended',
    told: 'network',
    asked: 1,
    async play(rig) {
      for (let round = 0; round < 5; round++) {
        await rig.churn(4);
        await nextWatch(rig);
        await rig.caughtUp();
      }
    },
  },
  {
    name: 'a watch that is cut anywhere in a frame loses and repeats nothing',
    told: 'network',
    asked: 1,
    async play(rig) {
      for (const afterBytes of [1, 17, 100, 220, 431, 700]) {
        rig.inject({ verb: 'watch', do: 'drop', afterBytes, times: 1 });
        await nextWatch(rig);
        await rig.churn(3);
        await rig.caughtUp();
      }
    },
  },
  {
    name: 'an incomplete frame at an orderly end of a watch is not applied, and is sent again',
    asked: 1,
    async play(rig) {
      for (const frameBytes of [1, 30, 250]) {
        rig.inject({ verb: 'watch', do: 'end', afterEvents: 1, frameBytes, times: 1 });
        await nextWatch(rig);
        await rig.churn(6);
        await rig.caughtUp();
      }
    },
  },
  ...(['reset', 'drop', 'refuse'] as const).map(
    (how): FaultCase => ({
      name: `a first list that meets "${how}" is asked for again until it comes`,
      early: true,
      async play(rig) {
        const times = 3;
        if (how === 'drop') rig.inject({ do: 'drop', afterBytes: 40, times });
        else rig.inject({ do: how, times });
        await rig.run();
      },
    }),
  ),
  {
    name: 'a watch over a dead connection is opened again after 150 s of silence',
    told: 'network',
    asked: 1,
    async play(rig) {
      rig.inject({ verb: 'watch', do: 'hang', afterEvents: 1, times: 1 });
      await nextWatch(rig);
      await rig.churn(5);
      const before = rig.watches();
      const since = rig.clock.now();
      await rig.until('a watch after the silence', () => rig.watches() > before);
      if (rig.clock.now() - since > 160_000)
        throw new Error(`found after ${rig.clock.now() - since} ms`);
      await rig.caughtUp();
    },
  },
  {
    name: 'a connection that falls silent in the middle of a frame loses no event',
    told: 'network',
    asked: 1,
    async play(rig) {
      rig.inject({ verb: 'watch', do: 'hang', afterEvents: 2, frameBytes: 60, times: 1 });
      await nextWatch(rig);
      await rig.churn(8);
      await rig.caughtUp();
    },
  },
  {
    name: 'a watch that gets headers and then nothing is opened again',
    told: 'network',
    asked: 1,
    async play(rig) {
      rig.inject({ verb: 'watch', do: 'stall', times: 1 });
      await nextWatch(rig);
      await rig.churn(5);
      await rig.caughtUp();
    },
  },
  {
    name: 'a first list that is never answered is aborted and requested again',
    early: true,
    async play(rig) {
      rig.inject({ do: 'stall', times: 1 });
      await rig.run();
    },
  },
  {
    name: 'after an hour of sleep of the machine the watch goes on, and no event is missed',
    async play(rig) {
      await rig.churn(3);
      rig.clock.step(3_600_000);
      await rig.churn(3);
      await rig.caughtUp();
    },
  },
  {
    name: 'a quiet watch with bookmarks each minute is never closed',
    asked: 1,
    async play(rig) {
      const before = rig.watches();
      await rig.pass(6 * MINUTE);
      if (rig.watches() !== before) throw new Error('the quiet watch was opened again');
    },
  },
  {
    name: 'a quiet watch without bookmarks costs a request now and then, and no list',
    asked: 1,
    async play(rig) {
      rig.inject({ verb: 'watch', do: 'omit', what: 'bookmarks' });
      await nextWatch(rig);
      await rig.pass(12 * MINUTE);
    },
  },
  {
    name: 'a watch that ends after timeoutSeconds is opened again without a list',
    told: 'none',
    asked: 1,
    async play(rig) {
      await rig.churn(3);
      await rig.caughtUp();
      const before = rig.watches();
      await rig.until('the next watch', () => rig.watches() > before + 1);
    },
  },
  {
    name: 'watches that end at once without an event are repeated with back-off',
    told: 'network',
    missed: true,
    async play(rig) {
      const before = rig.requests.length;
      rig.inject({ verb: 'watch', do: 'end', times: 4, query: 'resourceVersion=' });
      await rig.cut();
      await rig.delete(UNSEEN);
      await rig.until('four of them', () => rig.server.unmetFaults().length === 0, {
        writing: true,
      });
      if (rig.requests.length - before > 12)
        throw new Error(`asked ${rig.requests.length - before} times`);
    },
  },
  {
    name: 'a stream that comes byte by byte gives the same events',
    asked: 1,
    async play(rig) {
      rig.inject({ verb: 'watch', do: 'split', chunkBytes: 1, times: 1 });
      await nextWatch(rig);
      await rig.churn(5);
      await rig.caughtUp();
    },
  },
  {
    name: 'a first list that comes in small chunks is complete',
    early: true,
    asked: 1,
    async play(rig) {
      rig.inject({ do: 'split', chunkBytes: 11, times: 1 });
      await rig.run();
    },
  },
  {
    name: 'frames without a line feed between them are separated',
    asked: 1,
    async play(rig) {
      rig.inject({ verb: 'watch', do: 'omit', what: 'newline', times: 1 });
      await nextWatch(rig);
      await rig.churn(10);
      await rig.caughtUp();
    },
  },
];
