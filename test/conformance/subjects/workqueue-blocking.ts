/** workqueue-blocking: which calls wait, and at which step they return. */
import { FakeClock, WorkQueue } from 'capstan/workqueue';
import type { Trace, TraceStep, TraceSubject } from '../runner.ts';
import { textField, unknownOp } from './fields.ts';
import { type Items, withItems } from './items.ts';

interface Call {
  readonly call: string;
  answer: object | undefined;
}

function begin<T>(items: Items<T>): Trace {
  const clock = new FakeClock();
  const queue = new WorkQueue<T>({ clock, key: items.key });
  let calls: Call[] = []; // pending, in the order in which they started

  const start = (call: string, run: () => Promise<object>) => {
    const entry: Call = { call, answer: undefined };
    calls.push(entry);
    void run().then((answer) => {
      entry.answer = answer;
    });
  };

  const act = (step: TraceStep): void => {
    switch (step.op) {
      case 'new':
        break;
      case 'add':
        queue.add(items.make(textField(step, 'key')));
        break;
      case 'done':
        queue.done(items.make(textField(step, 'key')));
        break;
      case 'shutDown':
        queue.shutDown();
        break;
      case 'getAsync':
        start(textField(step, 'call'), async () => {
          const got = await queue.get();
          return got.shutdown
            ? { key: '', shutdown: true }
            : { key: items.read(got.item), shutdown: false };
        });
        break;
      case 'drainAsync':
        start(textField(step, 'call'), async () => {
          await queue.shutDownWithDrain();
          return {};
        });
        break;
      default:
        throw unknownOp(step);
    }
  };

  return {
    async step(step) {
      act(step);
      await clock.settle();
      const returned = calls.filter(({ answer }) => answer !== undefined);
      calls = calls.filter(({ answer }) => answer === undefined);
      const want = {
        returned: returned.map(({ call, answer }) => ({ call, ...answer })),
        blocked: calls.map(({ call }) => call),
      };
      return { want, len: queue.len() };
    },
    end: () => queue.dispose(),
  };
}

export const workqueueBlocking: TraceSubject = {
  observes: ['want', 'len'],
  begin: (_step, { form }) => withItems(form, begin),
};
