/**
 * `capstan crd migrate` on a real API server: objects that lie in etcd in three versions, and are
 * written by others meanwhile, lie there in the storage version alone afterwards; then the old
 * versions can be removed from the definition, which the server has refused before.
 */
import type { Transport } from 'capstan/cache';
import { defineResource } from 'capstan/cache';
import {
  type CustomResourceDefinition,
  crdResource,
  installCRDs,
  newClient,
  retryOnConflict,
} from 'capstan/client';
import { kubeConfigTransport } from 'capstan/client-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { main } from '../../bin/cli.ts';
import { ControlPlane } from '../helpers/control-plane/control-plane.ts';
import { readKubeConfig } from './same-answers/servers.ts';
import { versionsInEtcd } from './versions-in-etcd.ts';

const VERSIONS = ['v1alpha1', 'v1beta1', 'v1'];
const EACH = 20;
const NAME = 'dens.e2e.capstan.dev';
const PLACE = 'e2e.capstan.dev/dens';

let plane: ControlPlane;
let transport: Transport;
beforeAll(async () => {
  plane = await ControlPlane.start();
  transport = kubeConfigTransport(await readKubeConfig(plane));
});
afterAll(async () => {
  await transport?.close?.();
  await plane?.stop();
});

interface Den {
  metadata: { name: string; namespace: string };
  spec: { count: number };
}
const denIn = (version: string) =>
  defineResource<Den>()({
    group: 'e2e.capstan.dev',
    version,
    kind: 'Den',
    plural: 'dens',
    namespaced: true,
  });

function storing(storage: string, versions = VERSIONS): CustomResourceDefinition {
  const spec = { type: 'object', properties: { count: { type: 'integer' } } } as const;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: NAME },
    spec: {
      group: 'e2e.capstan.dev',
      scope: 'Namespaced',
      names: { kind: 'Den', plural: 'dens', singular: 'den', listKind: 'DenList' },
      versions: versions.map((name) => ({
        name,
        served: true,
        storage: name === storage,
        schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
      })),
    },
  };
}

test('all objects are stored in the storage version, and no write of others is lost', async () => {
  const client = newClient({ transport, fieldOwner: 'test' });
  for (const version of VERSIONS) {
    await installCRDs(client, [storing(version)], { timeout: 30_000 });
    // The handler of requests learns of the new storage version by a watch.
    for (let number = 0; number < EACH; number++)
      await client.create(denIn(version), {
        metadata: { name: `${version}-${number}`, namespace: 'default' },
        spec: { count: 0 },
      });
  }
  const before = await versionsInEtcd(plane, PLACE);
  expect(Object.keys(before).sort()).toEqual(
    VERSIONS.map((one) => `e2e.capstan.dev/${one}`).sort(),
  );
  await expect(installCRDs(client, [storing('v1', ['v1'])])).rejects.toMatchObject({
    status: 422,
    message: expect.stringContaining('status.storedVersions[0]: Invalid value: "v1alpha1"'),
  });

  // Others add to the count of each object while the command runs.
  let isDone = false;
  let added = 0;
  const writer = async (): Promise<void> => {
    while (!isDone)
      for (const version of VERSIONS)
        for (let number = 0; number < EACH && !isDone; number += 3) {
          const key = { namespace: 'default', name: `${version}-${number}` };
          await retryOnConflict({ steps: 99, duration: 1 }, async () => {
            const den = structuredClone(await client.get(denIn('v1beta1'), key, { live: true }));
            den.spec.count++;
            await client.update(denIn('v1beta1'), den);
          });
          added++;
        }
  };
  const writing = writer();
  let printed = '';
  const out = (text: string): void => {
    printed += text;
  };
  const args = ['crd', 'migrate', '--all', '--kubeconfig', plane.kubeconfig, '--page', '7'];
  const code = await main(args, { out, err: out });
  isDone = true;
  await writing;
  expect({ code, printed }).toEqual({
    code: 0,
    printed: `${NAME}: wrote 60 objects, storedVersions v1alpha1, v1beta1, v1 → v1\n`,
  });

  expect(await versionsInEtcd(plane, PLACE)).toEqual({ 'e2e.capstan.dev/v1': 3 * EACH });
  const { status } = await client.get(crdResource, { name: NAME }, { live: true });
  expect(status?.storedVersions).toEqual(['v1']);
  const { items } = await client.list(denIn('v1'), { namespace: 'default', live: true });
  expect(items.reduce((sum, { spec }) => sum + spec.count, 0)).toBe(added);
  expect(added).toBeGreaterThan(0);
  const managers = items.flatMap(({ metadata }) =>
    ((metadata as { managedFields?: { manager: string }[] }).managedFields ?? []).map(
      ({ manager }) => manager,
    ),
  );
  expect([...new Set(managers)]).toEqual(['test']); // the command owns no field
  await installCRDs(client, [storing('v1', ['v1'])], { timeout: 30_000 });
});
