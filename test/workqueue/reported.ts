/**
 * What the error hook has heard in the test that runs; and each test ends with the default key
 * table.
 */
import { setErrorHandler } from 'capstan/workqueue';
import { afterEach, beforeEach } from 'vitest';
import { setKeyMode } from '../../bindings/wasm/key-mode.ts';

/** The list that is filled, emptied before each test of the file that calls this. */
export function hearReports(): unknown[] {
  const reported: unknown[] = [];
  let previous: ReturnType<typeof setErrorHandler>;
  beforeEach(() => {
    reported.length = 0;
    previous = setErrorHandler((error) => reported.push(error));
  });
  afterEach(() => {
    setErrorHandler(previous);
    setKeyMode(undefined);
  });
  return reported;
}
