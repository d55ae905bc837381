/**
 * Runs the provisioner on the embedded API server: claims are created and get directories; some are
 * deleted, and their directories with them.
 */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, eventResource, newClient } from 'capstan/client';
import { newManager } from 'capstan/manager';
import { ApiServer } from 'capstan/testing';
import { addBinder } from './binder.ts';
import { Provisioner } from './provisioner.ts';
import { PersistentVolume, PersistentVolumeClaim, PROVISIONER, StorageClass } from './resources.ts';

const CLAIMS = 12;
const DELETED = 5;
const namespace = 'default';
const nameOf = (i: number): string => `data-${String(i).padStart(2, '0')}`;

export async function demonstrate(print: (line: string) => void = console.log): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), 'capstan-volumes-'));
  const server = await ApiServer.start();
  const transport = server.transport();
  const client = newClient({ transport });
  const manager = newManager({
    transport,
    leaderElection: { id: 'provisioner', namespace, releaseOnCancel: true },
  });
  addBinder(manager);
  manager.add(new Provisioner(manager, { root }));
  const stop = new AbortController();
  const running = manager.start({ signal: stop.signal });
  try {
    await client.create(StorageClass, {
      metadata: { name: 'directories' },
      provisioner: PROVISIONER,
      reclaimPolicy: 'Delete',
    });
    for (let i = 0; i < CLAIMS; i++) await client.create(PersistentVolumeClaim, claim(nameOf(i)));
    await settled(client, root, CLAIMS);
    await show(client, root, `${CLAIMS} claims`, print);
    for (let i = 0; i < DELETED; i++)
      await client.delete(PersistentVolumeClaim, { namespace, name: nameOf(i) });
    await settled(client, root, CLAIMS - DELETED);
    await show(client, root, `${DELETED} of them deleted`, print);
  } finally {
    stop.abort();
    await running;
    const { items } = await client.list(eventResource, { namespace });
    print(
      `${items.filter(({ reason }) => reason === 'ProvisioningSucceeded').length} ` +
        'events ProvisioningSucceeded',
    );
    await transport.close?.();
    await server.stop();
    await rm(root, { recursive: true, force: true });
  }
}

const claim = (name: string) => ({
  metadata: { namespace, name },
  spec: {
    storageClassName: 'directories',
    accessModes: ['ReadWriteMany'],
    resources: { requests: { storage: '1Gi' } },
  },
});

async function directoriesIn(root: string): Promise<string[]> {
  return (await readdir(root)).filter((name) => !name.startsWith('.')).sort();
}

/** Waits until every claim is bound and no other volume or directory is left. */
async function settled(client: Client, root: string, count: number): Promise<void> {
  for (;;) {
    const { items: claims } = await client.list(PersistentVolumeClaim, { namespace });
    const { items: volumes } = await client.list(PersistentVolume);
    const bound = claims.filter(({ status }) => status?.phase === 'Bound').length;
    if (bound === count && volumes.length === count && (await directoriesIn(root)).length === count)
      return;
    await sleep(20);
  }
}

async function show(
  client: Client,
  root: string,
  what: string,
  print: (line: string) => void,
): Promise<void> {
  const { items } = await client.list(PersistentVolume);
  print(`${what}: ${items.length} volumes, ${(await directoriesIn(root)).length} directories`);
  for (const { metadata, spec, status } of items)
    print(`  ${spec.claimRef?.namespace}/${spec.claimRef?.name} ${status?.phase} ${metadata.name}`);
}
