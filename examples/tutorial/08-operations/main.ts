/**
 * Chapter 8: the controller in real time, with its metrics and the live page. Run it with
 * `node examples/tutorial/08-operations/main.ts` after a build; Ctrl-C ends it.
 */
import { installCRDs } from 'capstan/client';
import { newManager, setupSignalHandler } from 'capstan/manager';
import { ApiServer } from 'capstan/testing';
import { setErrorHandler } from 'capstan/workqueue';
import { addScheduledJobController } from './controller.ts';
import { addJobRunner } from './job-runner.ts';
import { ScheduledJob } from './scheduled-job.ts';

const bindAddress = process.env.METRICS_ADDRESS ?? '127.0.0.1:8080';
const signal = setupSignalHandler();
setErrorHandler((error) => console.error(String(error)));
await using server = await ApiServer.start();
const manager = newManager({ transport: server.transport(), metrics: { bindAddress } });
const { client } = manager;
await installCRDs(client, [ScheduledJob.crd]);
addScheduledJobController(manager);
addJobRunner(manager, 3000);
const ended = manager.start({ signal });
await manager.elected();
console.log(`the live page: ${manager.url('metrics')}/debug/capstan`);
console.log(`the metrics:   ${manager.url('metrics')}/metrics`);

// The first field of six is seconds.
const specs = {
  backup: { schedule: '*/5 * * * * *', image: 'busybox' },
  cleanup: { schedule: '*/2 * * * * *', image: 'busybox', concurrencyPolicy: 'Forbid' },
  report: { schedule: '*/10 * * * * *', image: 'fails' },
  wrong: { schedule: 'at noon', image: 'busybox' },
} as const;
for (const [name, spec] of Object.entries(specs)) {
  const metadata = { namespace: 'default', name };
  await client.create(ScheduledJob.resource, await ScheduledJob.parse({ metadata, spec }));
}
await ended;
