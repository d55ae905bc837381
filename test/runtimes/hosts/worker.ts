/**
 * The suite in Cloudflare's workerd, as its `test` handler. The top of this module tests what a
 * worker may do outside of handlers, where random numbers and timers are not allowed.
 */
import { DelayingQueue, type Request as Item, requestKey, WorkQueue } from 'capstan/workqueue';
import { drain } from '../../helpers/workqueue/queue-items.ts';
import { type Claims, MARK } from '../report.ts';
import { describe, expect, test } from '../shim/index.ts';
import { runSuite } from '../suite.ts';

function codeOf(call: () => unknown): string {
  try {
    call();
    return 'no error';
  } catch (error) {
    return String(error);
  }
}

const randomRefused = codeOf(() => crypto.getRandomValues(new Uint8Array(1)));
const early = new WorkQueue();
early.add('a');
const earlyRequests = new WorkQueue<Item>({ key: requestKey });
earlyRequests.add({ namespace: 'n', name: 'a' });
const earlyDelays = new DelayingQueue();
const timerRefused = codeOf(() => earlyDelays.addAfter('late', 1));

function registerEarly(): void {
  describe('a queue made at the top of a worker', () => {
    test('is possible without random numbers', () =>
      expect(randomRefused).toContain('global scope'));

    test('keeps the items that were added there', () => {
      early.add('b');
      expect(drain(early)).toEqual(['a', 'b']);
      expect(drain(earlyRequests)).toEqual([{ namespace: 'n', name: 'a' }]);
    });

    test('explains why a delay cannot begin there, and delays inside a handler', async () => {
      expect(timerRefused).toContain('global scope');
      earlyDelays.addAfter('soon', 1);
      const got = [(await earlyDelays.get()).item, (await earlyDelays.get()).item];
      expect(got.sort()).toEqual(['late', 'soon']);
    });
  });
}

interface Environment {
  readonly CLAIMS: Claims;
}

export default {
  async test(_controller: unknown, env: Environment): Promise<void> {
    registerEarly();
    await runSuite(env.CLAIMS, (message) => console.log(MARK + JSON.stringify(message)));
  },
};
