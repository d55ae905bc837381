/**
 * Errors are told by their code. A program may have two copies of the package, by its dependencies: a helper library brings its own, and throws what our
 * `instanceof` did not know. A TerminalError of it was retried for ever, and `isNotFound` was false of its 404.
 */
import { isConflict, isNotFound, retryOnConflict, suggestsClientDelay } from 'capstan/client';
import { TerminalError } from 'capstan/controller';
import { setErrorHandler } from 'capstan/workqueue';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { hasCode } from '../bindings/errors.ts';
import { answers, rig } from './controller/rig.ts';

/** Another copy, with classes of its own. */
async function otherCopy() {
  vi.resetModules();
  return { ...(await import('capstan/cache')), ...(await import('capstan/controller')) };
}

describe('what another copy of the package throws', () => {
  let other: Awaited<ReturnType<typeof otherCopy>>;
  beforeEach(async () => {
    other = await otherCopy();
    expect(other.TerminalError).not.toBe(TerminalError);
  });

  test('ends the retries where it is a TerminalError, also as a cause', async () => {
    const reported: unknown[] = [];
    const previous = setErrorHandler((error) => reported.push(error));
    onTestFinished(() => void setErrorHandler(previous));
    const terminal = new other.TerminalError('no such image');
    const { source, start, clock, calls } = rig(
      answers({
        a: [() => Promise.reject(terminal)],
        b: [() => Promise.reject(new Error('while applying', { cause: terminal }))],
      }),
    );
    await start();
    source.add('a');
    source.add('b');
    await clock.run(10_000);
    expect(calls).toHaveLength(2);
    expect(reported[0]).toBe(terminal);
  });

  test('is the failure of the server that it says', async () => {
    const failure = (code: number, reason: string) =>
      new other.StatusError(code, { code, reason, details: { retryAfterSeconds: 2 } }, 'GET /x');
    expect(isNotFound(failure(404, 'NotFound'))).toBe(true);
    expect(isNotFound(failure(500, 'InternalError'))).toBe(false);
    expect(isConflict(failure(409, 'Conflict'))).toBe(true);
    expect(suggestsClientDelay(failure(429, 'TooManyRequests'))).toBe(2000);
    let calls = 0;
    const update = async () => {
      if (++calls < 3) throw failure(409, 'Conflict');
      return 'updated';
    };
    expect(await retryOnConflict({ steps: 3, duration: 0 }, update)).toBe('updated');
  });
});

test('what cannot be asked for its code has none', () => {
  const hostile = Object.defineProperty(new Error('x'), 'code', {
    get() {
      throw new Error('no');
    },
  });
  const { proxy, revoke } = Proxy.revocable(new Error('x'), {});
  revoke();
  for (const value of [hostile, proxy, undefined, null, 'TERMINAL', { code: 'STATUS' }, new Error('STATUS')]) {
    expect(hasCode(value, 'STATUS')).toBe(false);
    expect(isNotFound(value)).toBe(false);
  }
  expect(isNotFound(Object.assign(new Error('x'), { code: 'STATUS' }))).toBe(false);
});
