/**
 * The portable cases of controllers, clients and elections on this Node; `npm run test:runtimes`
 * runs them on all other runtimes.
 */
import { afterAll } from 'vitest';
import { startCluster } from './cluster.ts';
import { controllerCases } from './controller-cases.ts';

const cluster = await startCluster();
afterAll(() => cluster.stop());
controllerCases({
  url: cluster.url,
  through: 'address',
  refusedAndReset: 'apart',
  gzipMembers: 'all',
});
