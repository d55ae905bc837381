/**
 * The last chapter of the tutorial on a real API server: its manifests, its program and its roles.
 * No controller ends Jobs there, so the test writes their status.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KubeConfig, loadYaml } from '@kubernetes/client-node';
import type { Transport } from 'capstan/cache';
import { type Client, Discovery, eventResource, ignoreNotFound, newClient } from 'capstan/client';
import { kubeConfigTransport } from 'capstan/client-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Program } from '../../bindings/testing/envtest/program.ts';
import { Job, stateOf } from '../../examples/tutorial/09-deploy/job.ts';
import { ScheduledJob } from '../../examples/tutorial/09-deploy/scheduled-job.ts';
import { eventually } from '../helpers/control-plane/conditions.ts';
import { ControlPlane } from '../helpers/control-plane/control-plane.ts';
import { root } from '../helpers/repository.ts';
import { kubeconfigWith, tokenOf } from './accounts.ts';

const CHAPTER = `${root}/examples/tutorial/09-deploy`;
const key = { namespace: 'default', name: 'report' };

let plane: ControlPlane;
let transport: Transport;
let admin: Client;
let program: Program;

beforeAll(async () => {
  plane = await ControlPlane.start({ rbac: true });
  const config = new KubeConfig();
  config.loadFromFile(plane.kubeconfig);
  transport = kubeConfigTransport(config);
  admin = newClient({ transport, fieldOwner: 'admin' });
}, 120_000);

afterAll(async () => {
  program?.signal('SIGKILL');
  await transport?.close?.();
  await plane?.stop();
});

interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string };
}

/** As `kubectl apply --server-side --validate=strict`. */
async function apply(file: string, { dryRun = false } = {}): Promise<void> {
  const discovery = new Discovery(transport);
  for (const data of readFileSync(`${CHAPTER}/deploy/${file}`, 'utf8').split('\n---\n')) {
    const { apiVersion, kind, metadata } = loadYaml<Manifest>(data);
    const [version = '', group = ''] = apiVersion.split('/').reverse();
    const resource = await discovery.resourceFor<Manifest>({ group, version, kind });
    const patch = { type: 'raw', contentType: 'application/apply-patch+yaml', data } as const;
    await admin.patch(resource, metadata, patch, { dryRun, fieldValidation: 'Strict' });
  }
}

const jobs = async () => (await admin.list(Job, { namespace: 'default' })).items;
const scheduledJob = () => admin.get(ScheduledJob.resource, key).catch(ignoreNotFound);

/** Plays the Job controller: ends the Jobs that run. */
async function endJobs(): Promise<void> {
  for (const { metadata, ...job } of await jobs()) {
    if (stateOf({ metadata, ...job }) !== 'active') continue;
    const time = String(metadata?.creationTimestamp);
    const conditions = ['SuccessCriteriaMet', 'Complete'].map((type) => ({
      type,
      status: 'True',
      lastTransitionTime: time,
    }));
    const body = { status: { startTime: time, completionTime: time, conditions } };
    const name = String(metadata?.name);
    await admin
      .status()
      .patch(Job, { namespace: 'default', name }, { type: 'merge', body })
      .catch(ignoreNotFound);
  }
}

test('the manifests are accepted by strict validation', async () => {
  await apply('crd.yaml');
  await apply('rbac.yaml');
  await apply('controller.yaml', { dryRun: true });
  await eventually('the definition is served', async () => {
    await admin.list(ScheduledJob.resource);
    return true;
  });
  await apply('sample.yaml');
  expect((await scheduledJob())?.spec).toMatchObject({ suspend: false, failedJobsHistoryLimit: 1 });
}, 60_000);

test('the program starts, ends and keeps Jobs with the permissions of its account', async () => {
  const name = 'scheduled-job';
  const token = await tokenOf(admin, { namespace: name, name });
  const kubeconfig = join(plane.folder, 'scheduled-job.kubeconfig');
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigWith(plane, token)), { mode: 0o600 });
  const environment = join(plane.folder, 'scheduled-job.env');
  const addresses = ['HEALTH_ADDRESS', 'METRICS_ADDRESS', 'DEBUG_ADDRESS'];
  const settings = [`KUBECONFIG=${kubeconfig}`, `POD_NAMESPACE=${name}`];
  const ports = addresses.map((address) => `${address}=127.0.0.1:0`);
  writeFileSync(environment, [...settings, ...ports].join('\n'));
  program = plane.run(name, process.execPath, [`--env-file=${environment}`, `${CHAPTER}/main.ts`]);

  const body = { spec: { schedule: '* * * * * *', successfulJobsHistoryLimit: 2 } };
  await admin.patch(ScheduledJob.resource, key, { type: 'merge', body });
  await eventually('old Jobs are deleted', async () => {
    await endJobs();
    const ended = (await jobs()).filter((job) => stateOf(job) === 'complete');
    const { status } = (await scheduledJob()) ?? {};
    const [condition] = status?.conditions ?? [];
    const { items } = await admin.list(eventResource, { namespace: 'default' });
    const hasEvent = items.some(
      ({ reason, regarding }) => reason === 'Started' && regarding?.name === 'report',
    );
    const started = Date.parse(status?.lastScheduleTime ?? '');
    const created = Date.parse(String((await scheduledJob())?.metadata.creationTimestamp));
    return (
      (started - created > 5000 && ended.length <= 2 && hasEvent && condition?.status === 'True') ||
      program.tail(20)
    );
  });
}, 120_000);

test('a deleted ScheduledJob goes when its Jobs have gone', async () => {
  await admin.delete(ScheduledJob.resource, key);
  await eventually('all is gone', async () => {
    return (
      ((await scheduledJob()) === undefined && (await jobs()).length === 0) || program.tail(20)
    );
  });
  program.signal('SIGTERM');
  await program.exited(30_000);
}, 120_000);
