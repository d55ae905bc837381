/**
 * The portable cases of the cache on this Node; `npm run test:runtimes` runs them on all other
 * runtimes.
 */
import { afterAll } from 'vitest';
import { informerCases } from './cache-cases.ts';
import { startCluster } from './cluster.ts';

const cluster = await startCluster();
afterAll(() => cluster.stop());
informerCases({
  url: cluster.url,
  through: 'address',
  refusedAndReset: 'apart',
  gzipMembers: 'all',
});
