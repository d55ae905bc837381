/** An answer that reports a failure, as an error. */
import { expect, test } from 'vitest';
import { statusErrorFromAnswer } from '../../../bindings/cache/rest/status-error.ts';
import { collectGarbage } from '../../helpers/garbage-collection.ts';

// An informer's status keeps its last error, and in V8 a substring keeps the whole text in memory.
test('a StatusError keeps only the 200 characters of a page that it shows', () => {
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  const errors = Array.from({ length: 50 }, (_, i) =>
    statusErrorFromAnswer(502, `${i} `.padEnd(1_000_000, '<'), 'list'),
  );
  collectGarbage();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(5_000_000);
  expect(errors.at(-1)?.message).toBe(`list: 502: ${'49 '.padEnd(200, '<')}`);
});
