/**
 * Waiting calls under random schedules, in two ways: the same commands to the queue and to the
 * model, whose calls must return at the same step; and producers, workers and a shutdown as in
 * programs, checked by the queue's promises. fast-check prints the seed and shrinks failures;
 * CAPSTAN_SEED repeats a run.
 */
import { FakeClock } from 'capstan/workqueue';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { settle } from '../helpers/promise-state.ts';
import { testSeed } from '../helpers/random.ts';
import { implementations } from '../helpers/workqueue/implementations.ts';
import { ModelDelayingQueue } from '../helpers/workqueue/queue-model.ts';

const seed = testSeed();
console.log(`test/workqueue/random-waits.test.ts: CAPSTAN_SEED=${seed}`);
const parameters = { seed: seed | 0, numRuns: 150, endOnFailure: false };

type Command =
  | { readonly do: 'add' | 'done'; readonly key: string }
  | { readonly do: 'addAfter'; readonly key: string; readonly ms: number }
  | { readonly do: 'step'; readonly ms: number }
  | { readonly do: 'get' | 'drain' | 'shutDown' }
  | { readonly do: 'abort'; readonly call: number };

const key = fc.constantFrom('a', 'b', '', '__proto__');
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('add' as const), key }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('done' as const), key }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('addAfter' as const),
      key,
      ms: fc.integer({ min: -1, max: 5 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('step' as const), ms: fc.integer({ min: 0, max: 6 }) }),
  },
  { weight: 6, arbitrary: fc.constant({ do: 'get' as const }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('abort' as const), call: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.constant({ do: 'drain' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'shutDown' as const }) },
);

describe.each(implementations)('waiting calls, $name', (make) => {
  test('return at the same step as in the model, with the same answers', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 40 }), async (commands) => {
        const clock = new FakeClock();
        const queue = make.delaying({ clock });
        const model = new ModelDelayingQueue();
        const [real, expected]: [string[], string[]] = [[], []];
        const calls: { cancel: () => void; abort: () => void }[] = [];

        const get = () => {
          const id = calls.length;
          const controller = new AbortController();
          const answer = (taken: string | undefined) =>
            void expected.push(`get ${id}: ${JSON.stringify(taken)}`);
          calls.push({ cancel: () => model.cancelGet(answer), abort: () => controller.abort() });
          model.get(answer);
          queue.get({ signal: controller.signal }).then(
            (got) => real.push(`get ${id}: ${JSON.stringify(got.item)}`),
            () => {},
          );
        };
        const drain = () => {
          const id = calls.length;
          calls.push({ cancel: () => {}, abort: () => {} });
          model.shutDownWithDrain(() => void expected.push(`drain ${id}`));
          void queue.shutDownWithDrain().then(() => real.push(`drain ${id}`));
        };

        for (const next of commands) {
          if (next.do === 'add') {
            queue.add(next.key);
            model.add(next.key);
          } else if (next.do === 'done') {
            queue.done(next.key);
            model.done(next.key);
          } else if (next.do === 'addAfter') {
            queue.addAfter(next.key, next.ms);
            model.addAfter(next.key, next.ms);
          } else if (next.do === 'step') {
            clock.step(next.ms);
            model.advance(next.ms);
          } else if (next.do === 'abort') {
            calls[next.call]?.cancel();
            calls[next.call]?.abort();
          } else if (next.do === 'get') get();
          else if (next.do === 'drain') drain();
          else {
            queue.shutDown();
            model.shutDown();
          }
          await settle();
          expect([...real].sort()).toEqual([...expected].sort());
          expect(queue.len()).toBe(model.len());
        }
        queue.shutDown();
        await settle();
        queue.dispose();
      }),
      parameters,
    );
  });

  test('producers, workers and shutdown: nothing is lost or runs twice at once', async () => {
    const plan = fc.record({
      producers: fc.array(fc.array(fc.integer({ min: 0, max: 6 }), { maxLength: 25 }), {
        minLength: 1,
        maxLength: 4,
      }),
      workers: fc.integer({ min: 1, max: 5 }),
      requeue: fc.array(fc.boolean(), { maxLength: 20 }),
      withDrain: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        plan,
        fc.scheduler(),
        async ({ producers, workers, requeue, withDrain }, scheduler) => {
          const queue = make.queue();
          const versions = new Map<string, number>(); // of the latest add
          const seen = new Map<string, number>(); // version at the start of the latest processing
          const running = new Set<string>();
          const requeues = [...requeue];

          const bump = (item: string) => {
            versions.set(item, (versions.get(item) ?? 0) + 1);
            queue.add(item);
          };
          const produce = async (keys: readonly number[]) => {
            for (const number of keys) {
              await scheduler.schedule(Promise.resolve(), 'produce');
              bump(`key-${number}`);
            }
          };
          const work = async () => {
            for await (const item of queue) {
              expect(running.has(item)).toBe(false);
              running.add(item);
              seen.set(item, versions.get(item) ?? 0);
              await scheduler.schedule(Promise.resolve(), `work ${item}`);
              if (requeues.pop() === true) bump(item);
              running.delete(item);
              queue.done(item);
            }
          };

          const ended = Promise.all(Array.from({ length: workers }, work));
          const produced = Promise.all(producers.map(produce));
          while (scheduler.count() > 0 || queue.len() > 0 || running.size > 0) {
            if (scheduler.count() > 0) await scheduler.waitOne();
            await settle();
          }
          await produced;
          expect(seen).toEqual(versions);
          if (withDrain) await queue.shutDownWithDrain();
          else queue.shutDown();
          await ended;
          queue.add('late');
          expect([queue.len(), running.size]).toEqual([0, 0]);
          queue.dispose();
        },
      ),
      { ...parameters, numRuns: 60 },
    );
  });
});
