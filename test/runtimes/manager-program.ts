/**
 * A program with all services of a manager, and an election, for runtimes beside Node. It ends by
 * itself: a stopped manager leaves nothing behind. (On Bun, whose HTTP server is not node:net's,
 * one served for ever.)
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { outputOf, resultsOf, type Tools } from './checks.ts';
import type { RuntimeProgram } from './launch.ts';
import type { Result } from './shim/registry.ts';

/** Prints the answers. */
const MANAGER = `
import { defineResource } from 'capstan/cache';
import { newControllerManagedBy } from 'capstan/controller';
import { newManager } from 'capstan/manager';
import { ApiServer } from 'capstan/testing';

const ConfigMap = defineResource()({
  group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true,
});
const server = await ApiServer.start();
const nowhere = { bindAddress: '127.0.0.1:0' };
const manager = newManager({
  transport: server.transport(),
  leaderElection: { id: 'lease', namespace: 'default', releaseOnCancel: true },
  healthProbe: nowhere,
  metrics: nowhere,
  profiling: nowhere,
  debugPage: true,
});
const end = new AbortController();
const seen = Promise.withResolvers();
newControllerManagedBy(manager).for(ConfigMap).complete(({ name }) => seen.resolve(name));
const running = manager.start({ signal: end.signal });
await manager.serving();
const url = manager.url('metrics');
await manager.client.create(ConfigMap, { metadata: { namespace: 'default', name: 'web' } });
const said = [await seen.promise];
for (const path of ['/healthz', '/readyz', '/metrics', '/debug/capstan', '/debug/pprof/heap']) {
  const answer = await fetch(url + path);
  said.push(path + ' ' + answer.status);
  await answer.text();
}
end.abort();
await running;
const lease = await fetch(server.url + '/apis/coordination.k8s.io/v1/namespaces/default/leases/lease');
said.push('leader "' + (await lease.json()).spec.holderIdentity + '"');
await server.stop();
console.log(said.join(', '));
`;

const SAID =
  'web, /healthz 200, /readyz 200, /metrics 200, ' +
  '/debug/capstan 200, /debug/pprof/heap 200, leader ""';

/** Throws unless the program ends with the expected output; its path comes after the arguments. */
export async function managerEnds({ args, ...program }: RuntimeProgram): Promise<void> {
  writeFileSync(join(program.cwd, 'manager.js'), MANAGER);
  const output = await outputOf({ ...program, args: [...args, 'manager.js'] });
  if (output !== SAID) throw new Error(`expected ${SAID}, got ${output}`);
}

export function checkBunManager({ project, runtimes }: Tools): Promise<Result[]> {
  return resultsOf(async (run, skip) => {
    const title = 'a manager elects, serves and ends in order';
    const command = runtimes.get('bun');
    if (command === undefined) skip(title, 'no bun');
    else await run(title, () => managerEnds({ command, args: [], cwd: project.folder }));
  });
}
