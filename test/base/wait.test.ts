/** bindings/base/wait.ts: listeners of signals, and sleeps that a signal ends. */
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../bindings/base/clock.ts';
import { onAbort, sleep } from '../../bindings/base/wait.ts';
import { countListeners } from '../helpers/abort-listeners.ts';

describe('onAbort', () => {
  test('calls once when the signal fires, at once if it has fired', () => {
    const abort = new AbortController();
    const calls: string[] = [];
    onAbort(abort.signal, () => calls.push('before'));
    onAbort(abort.signal, () => calls.push('taken back'))();
    onAbort(undefined, () => calls.push('without'))();
    expect(calls).toEqual([]);
    abort.abort();
    abort.signal.dispatchEvent(new Event('abort'));
    expect(calls).toEqual(['before']);
    onAbort(abort.signal, () => calls.push('after'))();
    expect(calls).toEqual(['before', 'after']);
  });
});

describe('sleep', () => {
  test.each(['the time', 'the signal'] as const)(
    'ends by %s and leaves no timer and no listener',
    async (by) => {
      const clock = new FakeClock();
      const abort = new AbortController();
      const listeners = countListeners(abort.signal);
      const slept = sleep(clock, 100, abort.signal);
      expect([clock.timers(), listeners()]).toEqual([1, 1]);
      if (by === 'the time') clock.step(100);
      else abort.abort();
      await slept;
      expect([clock.timers(), listeners()]).toEqual([0, 0]);
    },
  );
});
