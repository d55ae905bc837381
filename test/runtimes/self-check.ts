/**
 * Checks that this runtime can see a failure: tests that fail on purpose must be reported as
 * failed, each with its reason. A runtime that did not notice a rejection, a hook or a late failure
 * would pass every case.
 */
import { expect } from './shim/expect.ts';
import { Registry } from './shim/registry.ts';

const EXPECTED = [
  'passes: passed',
  'throws: failed, boom',
  'rejects: failed, late boom',
  'expects another value: failed, expected 1 to be 2',
  'expects another value later: failed, expected 1 to equal 3',
  'never ends: failed, not done after 20 ms',
  'is skipped: skipped',
  'has a hook that fails: failed, no hook',
];

/** @throws Error that names the unseen failures */
export async function selfCheck(): Promise<void> {
  const registry = new Registry();
  const { describe, test, beforeEach } = registry;
  test('passes', () => expect(1).toBe(1));
  test('throws', () => {
    throw new Error('boom');
  });
  test('rejects', async () => {
    await undefined;
    throw new Error('late boom');
  });
  test('expects another value', () => expect(1).toBe(2));
  test('expects another value later', () => expect(Promise.resolve(1)).resolves.toEqual(3));
  test('never ends', () => new Promise(() => {}), 20);
  test.skip('is skipped', () => expect(1).toBe(2));
  describe('a group', () => {
    beforeEach(() => {
      throw new Error('no hook');
    });
    test('has a hook that fails', () => {});
  });
  const seen = (await registry.run()).map(({ path, state, message }) => {
    const reason = EXPECTED.find((line) => line.startsWith(`${path.at(-1)}: ${state}, `))?.split(
      ', ',
    )[1];
    const result = `${path.at(-1)}: ${state}`;
    if (message === undefined) return result;
    return `${result}, ${reason !== undefined && message.includes(reason) ? reason : message}`;
  });
  if (JSON.stringify(seen) !== JSON.stringify(EXPECTED)) {
    throw new Error(
      `the self-check saw ${JSON.stringify(seen, undefined, 1)}, ` +
        `expected ${JSON.stringify(EXPECTED, undefined, 1)}`,
    );
  }
}
