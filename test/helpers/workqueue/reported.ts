/**
 * What the error hook has heard in the test that runs; and each test ends with the default key
 * table.
 */
import { afterEach } from 'vitest';
import { setKeyMode } from '../../../bindings/wasm/key-mode.ts';
import { collectErrorValues } from '../reported-errors.ts';

/** The list that is filled, emptied before each test of the file that calls this. */
export function hearReports(): unknown[] {
  afterEach(() => setKeyMode(undefined));
  return collectErrorValues();
}
