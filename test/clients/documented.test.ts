/** The page tells of the clients what was recorded: `-- --record` writes it. */
import { expect, test } from 'vitest';
import { described, documented } from './documented.ts';

test.skipIf(process.env.CAPSTAN_CLIENTS_RECORD !== undefined)('the page has these counts', () => {
  expect(documented()).toBe(described());
});
