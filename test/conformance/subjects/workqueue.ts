/** workqueue: the plain queue, and the operations that all queues share. */
import { FakeClock, WorkQueue } from 'capstan/workqueue';
import type { Observed, Trace, TraceStep, TraceSubject } from '../runner.ts';
import { textField, unknownOp } from './fields.ts';
import { type Items, withItems } from './items.ts';

/**
 * Awaits a `get` that the recording says does not block; one that blocks is reported, not awaited.
 */
async function get<T>(queue: WorkQueue<T>, items: Items<T>): Promise<unknown> {
  let answer: unknown = 'blocked';
  void queue.get().then((got) => {
    answer = got.shutdown
      ? { key: '', shutdown: true }
      : { key: items.read(got.item), shutdown: false };
  });
  for (let turn = 0; turn < 8 && answer === 'blocked'; turn++) await undefined;
  if (answer === 'blocked') await new FakeClock().settle();
  return answer;
}

/** The operations of every queue; `undefined` for another op. */
export async function queueStep<T>(
  queue: WorkQueue<T>,
  items: Items<T>,
  step: TraceStep,
): Promise<Observed | undefined> {
  switch (step.op) {
    case 'new':
      return {};
    case 'add':
      queue.add(items.make(textField(step, 'key')));
      return { len: queue.len() };
    case 'done':
      queue.done(items.make(textField(step, 'key')));
      return { len: queue.len() };
    case 'get': {
      const want = await get(queue, items);
      return { want, len: queue.len() };
    }
    case 'len':
      return { want: queue.len(), len: queue.len() };
    case 'shuttingDown':
      return { want: queue.shuttingDown(), len: queue.len() };
    case 'shutDown':
      queue.shutDown();
      return { len: queue.len() };
    default:
      return undefined;
  }
}

/**
 * Follows the recorded answers of a `misuse` trace to the first `done` for a key that is queued and
 * was not handed out. client-go then queues the key twice; here that done has no effect, so all
 * later lengths differ.
 */
class MisuseFinder {
  readonly #queued = new Set<string>();
  readonly #dirty = new Set<string>();
  readonly #processing = new Set<string>();
  #down = false;

  finds(step: TraceStep): boolean {
    const key = typeof step.key === 'string' ? step.key : '';
    if (step.op === 'shutDown') this.#down = true;
    if (step.op === 'add' && !this.#down) {
      this.#dirty.add(key);
      if (!this.#processing.has(key)) this.#queued.add(key);
    }
    if (step.op === 'get') {
      const { key: taken, shutdown } = step.want as { key: string; shutdown: boolean };
      if (!shutdown) {
        this.#queued.delete(taken);
        this.#dirty.delete(taken);
        this.#processing.add(taken);
      }
    }
    if (step.op === 'done') {
      if (!this.#processing.has(key)) return this.#queued.has(key);
      this.#processing.delete(key);
      if (this.#dirty.has(key)) this.#queued.add(key);
    }
    return false;
  }
}

function begin<T>(first: TraceStep, items: Items<T>): Trace {
  const queue = new WorkQueue<T>({ key: items.key });
  const misuse = first.misuse === true ? new MisuseFinder() : undefined;
  return {
    skip: (step) => (misuse?.finds(step) ? 'after a misuse of done' : undefined),
    async step(step) {
      const observed = await queueStep(queue, items, step);
      if (observed === undefined) throw unknownOp(step);
      return observed;
    },
    end: () => queue.dispose(),
  };
}

export const workqueue: TraceSubject = {
  observes: ['want', 'len'],
  begin: (step, { form }) => withItems(form, (items) => begin(step, items)),
};
