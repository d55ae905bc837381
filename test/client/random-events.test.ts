/**
 * Compares the recorder with a count: whatever fails, lost answers included, each recorded event is
 * written once, as an Event or in the count of a series.
 */
import { StatusError, TransportError } from 'capstan/cache';
import { EventRecorder, type KubeEvent } from 'capstan/client';
import { FakeClock } from 'capstan/testing';
import { setErrorHandler } from 'capstan/workqueue';
import { expect, it, onTestFinished } from 'vitest';
import { Random, testSeed } from '../helpers/random.ts';
import { ScriptedSink, type Sent } from './event-sink.ts';

const MINUTE = 60_000;
const REASONS = ['A', 'B', 'C', 'D', 'E'];
const seed = testSeed();
/** The request has no answer, and ends at its time limit. */
const HANGS = new Promise<never>(() => undefined);

/** A server that fails at random before it stores a request, or loses the answer after it. */
class Kept {
  readonly events = new Map<string, { reason: string; count: number }>();
  readonly #random: Random;
  /**
   * The failures in a row of one Event. At twelve it is given up, which must not happen here by
   * chance; a create that finds its Event ends a row, because the patch after it is part of the
   * same try.
   */
  readonly #inRow = new Map<string, number>();
  failing = true;

  constructor(random: Random) {
    this.#random = random;
  }

  answer(sent: Sent): unknown {
    const inRow = this.#inRow.get(sent.name) ?? 0;
    const fate = this.failing && inRow < 5 ? this.#random.int(8) : 7;
    this.#inRow.set(sent.name, fate <= 3 ? inRow + 1 : 0);
    if (fate === 0) return new TransportError('refused', 'refused');
    if (fate === 1) return new StatusError(503, {}, 'POST');
    if (fate === 3) return HANGS;
    const known = this.events.get(sent.name);
    if (sent.verb === 'create' && known !== undefined)
      return new StatusError(409, { reason: 'AlreadyExists', message: 'there' }, 'POST');
    if (sent.verb === 'patch' && known === undefined)
      return new StatusError(404, { reason: 'NotFound' }, 'PATCH');
    const reason = known?.reason ?? (sent.event as KubeEvent).reason;
    const count = sent.series?.count ?? 1;
    expect(count, 'no older count overtakes a newer').toBeGreaterThanOrEqual(known?.count ?? 1);
    this.events.set(sent.name, { reason, count });
    return fate === 2 ? new TransportError('reset', 'the answer was lost') : undefined;
  }
}

it(`each event is written once (CAPSTAN_SEED=${seed})`, async () => {
  console.log(`events: CAPSTAN_SEED=${seed}`);
  const before = setErrorHandler(() => undefined);
  onTestFinished(() => {
    setErrorHandler(before);
  });
  const random = new Random(seed);
  for (let round = 0; round < 25; round++) {
    const clock = new FakeClock();
    const kept = new Kept(random.fork());
    const sink = new ScriptedSink();
    const slow = random.fork();
    let crowded = false;
    const underWay = new Set<string>();
    sink.answer = async (sent) => {
      crowded ||= underWay.has(sent.name);
      underWay.add(sent.name);
      const ms = slow.pick([0, 0, 100, 3000]);
      if (ms > 0) await new Promise<void>((resolve) => clock.setTimer(resolve, ms));
      const answer = kept.answer(sent);
      if (ms > 0 && answer !== HANGS)
        await new Promise<void>((resolve) => clock.setTimer(resolve, ms));
      underWay.delete(sent.name);
      return answer;
    };
    const recorder = new EventRecorder({
      client: sink.client,
      reportingController: 'c1',
      burst: 1_000_000,
      clock,
      wallNow: () => clock.now(),
      random: () => random.next(),
    });
    const told = new Map(REASONS.map((reason) => [reason, 0]));
    for (let step = 0; step < 60; step++) {
      for (let burst = random.int(4); burst >= 0; burst--) {
        const reason = random.pick(REASONS);
        told.set(reason, (told.get(reason) ?? 0) + 1);
        recorder.event(
          {
            apiVersion: 'v1',
            kind: 'Pod',
            metadata: { name: 'web', namespace: reason < 'C' ? 'a' : 'b', uid: 'u' },
          },
          { reason, action: 'Do', note: `${random.int(30)}` },
        );
      }
      await clock.run(
        random.pick([0, 1, 150, 2000, 5000, 20_000, MINUTE, 3 * MINUTE, 6 * MINUTE, 7 * MINUTE]),
      );
    }
    kept.failing = false;
    const done = recorder.close();
    await clock.run(2 * MINUTE);
    await done;
    const { lost, filtered } = recorder.counts();
    expect([lost, filtered]).toEqual([0, 0]);
    expect(crowded, 'two requests for one Event at once').toBe(false);
    const kinds = new Map(REASONS.map((reason) => [reason, 0]));
    for (const { reason, count } of kept.events.values())
      kinds.set(reason, (kinds.get(reason) ?? 0) + count);
    expect([...kinds], `round ${round}`).toEqual([...told]);
    expect(clock.timers()).toBe(0);
  }
});
