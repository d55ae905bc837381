/**
 * Chapter 2: the API server knows the type, fills in its defaults and refuses wrong objects. Run it
 * with `node examples/tutorial/02-type/main.ts` after a build.
 */
import { installCRDs, isInvalid, newClient } from 'capstan/client';
import { ApiServer } from 'capstan/testing';
import { ScheduledJob } from './scheduled-job.ts';

await using server = await ApiServer.start({ strict: true });
const client = newClient({ transport: server.transport() });
await installCRDs(client, [ScheduledJob.crd]);

const metadata = { namespace: 'default', name: 'report' };
const report = await ScheduledJob.parse({
  metadata,
  spec: { schedule: '*/5 * * * *', image: 'busybox' },
});
const stored = await client.create(ScheduledJob.resource, report);
console.log('stored:', stored.spec);

const body = { spec: { concurrencyPolicy: 'Sometimes', failedJobsHistoryLimit: -1 } };
try {
  await client.patch(ScheduledJob.resource, metadata, { type: 'merge', body });
} catch (error) {
  if (!isInvalid(error)) throw error;
  for (const { field, message } of error.body?.details?.causes ?? [])
    console.log(`the server refuses ${field}: ${message}`);
}

const { issues = [] } = await ScheduledJob.validate({ metadata, spec: { schedule: '' } });
for (const { path, message } of issues) console.log(`the program refuses ${path}: ${message}`);
