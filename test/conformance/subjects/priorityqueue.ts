/**
 * priorityqueue: controller-runtime's queue, on a clock that stops whenever an item becomes ready.
 */
import {
  FakeClock,
  type GotWithPriority,
  ItemExponentialFailureRateLimiter,
  PriorityQueue,
} from 'capstan/workqueue';
import type { Observed, Trace, TraceStep, TraceSubject } from '../runner.ts';
import { numberField, textField, textsField, unknownOp } from './fields.ts';
import { type Items, withItems } from './items.ts';

interface Answer {
  key: string;
  priority: number;
  shutdown: boolean;
}

class PriorityTrace<T> implements Trace {
  readonly #items: Items<T>;
  readonly #clock = new FakeClock();
  readonly #queue: PriorityQueue<T>;
  #blocked = false;
  #answer: Answer | undefined; // of the pending get

  constructor(items: Items<T>) {
    this.#items = items;
    const limiter = new ItemExponentialFailureRateLimiter<T>(5, 1_000_000, { key: items.key });
    this.#queue = new PriorityQueue<T>(limiter, { clock: this.#clock, key: items.key });
  }

  async step(step: TraceStep): Promise<Observed> {
    const wasBlocked = this.#blocked;
    const observed: Observed = await this.#run(step);
    if (wasBlocked && (await this.#answered())) observed.delivered = this.#take();
    return { ...observed, len: this.#queue.len(), now: this.#clock.now() };
  }

  end(): void {
    this.#queue.dispose();
  }

  async #run(step: TraceStep): Promise<Observed> {
    const queue = this.#queue;
    const item = () => this.#items.make(textField(step, 'key'));
    switch (step.op) {
      case 'new':
        return {};
      case 'addWithOpts': {
        const optional = (name: string) =>
          step[name] === undefined ? undefined : numberField(step, name);
        const options = {
          after: optional('after'),
          priority: optional('priority'),
          rateLimited: step.rateLimited === true,
        };
        queue.addWithOpts(options, ...textsField(step, 'keys').map((key) => this.#items.make(key)));
        return {};
      }
      case 'addAfter':
        queue.addAfter(item(), numberField(step, 'ms'));
        return {};
      case 'addRateLimited':
        queue.addRateLimited(item());
        return {};
      case 'forget':
        queue.forget(item());
        return {};
      case 'done':
        queue.done(item());
        return {};
      case 'numRequeues':
        return { want: queue.numRequeues(item()) };
      case 'get':
        this.#blocked = true;
        void queue.getWithPriority().then((got) => {
          this.#answer = this.#shown(got);
        });
        return { want: (await this.#answered()) ? this.#take() : { blocked: true } };
      case 'step':
        await this.#clock.run(numberField(step, 'ms'));
        return {};
      case 'shutDown':
        queue.shutDown();
        return {};
      default:
        throw unknownOp(step);
    }
  }

  #shown(got: GotWithPriority<T>): Answer {
    const key = got.shutdown ? '' : this.#items.read(got.item);
    return { key, priority: got.priority, shutdown: got.shutdown };
  }

  /**
   * Only promise reactions: a get that has no answer after some turns will have none before the
   * next step.
   */
  async #answered(): Promise<boolean> {
    for (let turn = 0; turn < 8 && this.#answer === undefined; turn++) await undefined;
    return this.#answer !== undefined;
  }

  #take(): Answer | undefined {
    const answer = this.#answer;
    this.#answer = undefined;
    this.#blocked = false;
    return answer;
  }
}

export const priorityqueue: TraceSubject = {
  observes: ['want', 'len', 'now', 'delivered'],
  begin: (_step, { form }) => withItems(form, (items): Trace => new PriorityTrace(items)),
};
