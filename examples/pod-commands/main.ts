/**
 * Runs a command in Pods that ask for it by the annotation `demo.capstan.dev/run`, and writes its
 * first line, or the last lines of the log if it fails, into another annotation. It needs a cluster
 * with Pods: `node examples/pod-commands/main.ts --namespace default` after a build.
 */
import { KubeConfig } from '@kubernetes/client-node';
import { connectCluster, mainFlags } from 'capstan/client-node';
import { newControllerManagedBy } from 'capstan/controller';
import { Pod } from 'capstan/kinds';
import { newManager, setupSignalHandler } from 'capstan/manager';
import { lastLines, run } from './commands.ts';

const RUN = 'demo.capstan.dev/run';
const SAID = 'demo.capstan.dev/said';

const { cluster, help } = mainFlags({ summary: 'Runs the commands that Pods ask for.' });
if (help !== undefined) {
  process.stdout.write(help);
  process.exit(0);
}
const { config, transport, namespace } = connectCluster(KubeConfig, cluster);
const manager = newManager({ transport, cache: { namespaces: [namespace] }, logger: console });

newControllerManagedBy(manager)
  .for(Pod)
  .withOptions({ reconciliationTimeout: 60_000 })
  .complete(async (request, { get, signal }) => {
    const pod = get(request);
    const command = pod?.metadata.annotations?.[RUN];
    const [container] = pod?.spec?.containers ?? [];
    if (command === undefined || container === undefined || pod?.status?.phase !== 'Running')
      return;
    const target = { ...request, pod: request.name, container: container.name };
    const { stdout, exitCode } = await run(config, target, ['sh', '-c', command], signal);
    const said = exitCode === 0 ? stdout : await lastLines(transport, target, 5, signal);
    const annotations = { [RUN]: null, [SAID]: said.split('\n')[0] ?? '' };
    await manager.client.patch(Pod, request, {
      type: 'merge',
      body: { metadata: { annotations } },
    });
  });
await manager.start({ signal: setupSignalHandler() });
