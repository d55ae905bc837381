/**
 * docs/evidence/embedded-server.md has the recorded counts of the clients; `-- --record` writes it.
 */
import { expect, test } from 'vitest';
import { described, documented } from './documented.ts';

test.skipIf(process.env.CAPSTAN_CLIENTS_RECORD !== undefined)('the page has these counts', () => {
  expect(documented()).toBe(described());
});
