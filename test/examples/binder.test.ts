/**
 * The stand-in for kube-controller-manager sets `Released` only on volumes whose claim is deleted,
 * because the provisioner then deletes the data.
 */
import { ListWatch, SharedIndexInformer } from 'capstan/cache';
import { newClient } from 'capstan/client';
import { newManager } from 'capstan/manager';
import { ApiServer } from 'capstan/testing';
import { setErrorHandler } from 'capstan/workqueue';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { addBinder } from '../../examples/provisioner/binder.ts';
import {
  PersistentVolume,
  PersistentVolumeClaim,
  type VolumeObject,
  volumeNameOf,
} from '../../examples/provisioner/resources.ts';

let server: ApiServer;
const closing: (() => Promise<unknown> | undefined)[] = [];
let previous: ReturnType<typeof setErrorHandler>;

beforeEach(async () => {
  previous = setErrorHandler(() => undefined);
  server = await ApiServer.start();
  closing.push(() => server.stop());
});

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  setErrorHandler(previous);
});

/*
 * After a restart of a real API server the watch of volumes was back before that of claims. The
 * binder did not see the new claims of 45 of a thousand volumes, marked these volumes released, and
 * their directories were removed although the claims existed.
 */
test('a volume is not released while its claim is only missing from the cache', async () => {
  const transport = server.transport();
  const client = newClient({ transport });
  const manager = newManager({ transport });
  addBinder(manager);
  const stop = new AbortController();
  const running = manager.start({ signal: stop.signal });
  const informer = new SharedIndexInformer(new ListWatch(transport, PersistentVolume));
  const received: VolumeObject[] = [];
  const phasesOf = (name: string) =>
    received
      .filter(({ metadata, status }) => metadata.name === name && status?.phase !== 'Pending')
      .map(({ status }) => status?.phase);
  informer.addEventHandler({
    onAdd: (volume) => received.push(volume),
    onUpdate: (_old, now) => received.push(now),
  });
  const watching = informer.run();
  closing.push(
    () => transport.close?.(),
    async () => {
      stop.abort();
      await running;
      await informer.stop();
      await watching;
    },
  );
  const createVolume = (claim: { name: string; uid: string }) =>
    client.create(PersistentVolume, {
      metadata: { name: volumeNameOf(claim.uid) },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        hostPath: { path: '/data' },
        claimRef: {
          apiVersion: 'v1',
          kind: 'PersistentVolumeClaim',
          namespace: 'default',
          ...claim,
        },
      },
    });
  await createVolume({ name: 'before', uid: 'before' });
  await expect.poll(() => phasesOf('pvc-before')).toEqual(['Released']);

  const comeBack = server.inject({
    verb: 'watch',
    path: '/persistentvolumeclaims',
    do: 'status',
    status: 500,
  });
  server.dropConnections();
  // requests that meet the cut connection
  await client.list(PersistentVolumeClaim).catch(() => undefined);
  const { metadata } = await client.create(PersistentVolumeClaim, {
    metadata: { namespace: 'default', name: 'lives' },
    spec: {
      storageClassName: 'any',
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '1Gi' } },
    },
  });
  const name = volumeNameOf(metadata.uid ?? '');
  await createVolume({ name: 'lives', uid: metadata.uid ?? '' });
  await createVolume({ name: 'gone', uid: 'gone' });
  await expect.poll(() => phasesOf('pvc-gone'), { timeout: 10_000 }).toEqual(['Released']);
  comeBack();
  await expect.poll(() => phasesOf(name), { timeout: 20_000 }).toEqual(['Bound']);
}, 40_000);
