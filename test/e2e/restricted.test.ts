/**
 * What a real API server does where a cache may not, or cannot, see everything: roles that are
 * missing and then come, and watches from a version that the server has not reached.
 */

import { KubeConfig } from '@kubernetes/client-node';
import { ListWatch, newSharedInformerFactory } from 'capstan/cache';
import { newClient } from 'capstan/client';
import { kubeConfigTransport } from 'capstan/client-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../bindings/base/clock.ts';
import { eventually } from '../helpers/control-plane/conditions.ts';
import { ControlPlane } from '../helpers/control-plane/control-plane.ts';
import { at, ConfigMaps, configMap } from '../helpers/resources.ts';
import { ServiceAccount, tokenOf, transportWith } from './accounts.ts';

let plane: ControlPlane;
beforeAll(async () => {
  plane = await ControlPlane.start({ rbac: true });
}, 120_000);
afterAll(() => plane?.stop());

function admin() {
  const config = new KubeConfig();
  config.loadFromFile(plane.kubeconfig);
  const transport = kubeConfigTransport(config);
  return { transport, client: newClient({ transport }) };
}

test('a cached read is refused at once with the missing rule, and recovers when the role ' +
  'comes', async () => {
  const { client } = admin();
  await client.create(ServiceAccount, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { namespace: 'default', name: 'restricted' },
  });
  await client.create(ConfigMaps, configMap('a', { page: '1' }));
  const transport = transportWith(plane, await tokenOf(client, at('restricted')));
  const cache = newSharedInformerFactory(transport, { watchErrorHandler: () => undefined });
  const reader = newClient({ transport, cache });
  await expect(reader.get(ConfigMaps, at('a'))).rejects.toMatchObject({
    status: 403,
    message: expect.stringMatching(
      /cannot list resource "configmaps".*verbs: \["list", "watch"\] } in a ClusterRole/,
    ),
  });
  const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1', namespaced: false };
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list', 'watch'] }];
  const named = { metadata: { name: 'restricted' } };
  const role = { ...rbac, kind: 'ClusterRole', plural: 'clusterroles', indexers: {} };
  const binding = { ...rbac, kind: 'ClusterRoleBinding', plural: 'clusterrolebindings' };
  await client.create(role, { ...named, rules });
  await client.create(
    { ...binding, indexers: {} },
    {
      ...named,
      roleRef: { apiGroup: rbac.group, kind: 'ClusterRole', name: 'restricted' },
      subjects: [{ kind: 'ServiceAccount', namespace: 'default', name: 'restricted' }],
    },
  );
  const read = async () => (await reader.get(ConfigMaps, at('a'))).data?.page === '1';
  await eventually('the cached read', read);
  await cache.shutdown();
}, 120_000);

// The embedded server does the same: test/testing/watches.test.ts.
test('a watch from a future resourceVersion receives only later events', async () => {
  const { transport, client } = admin();
  const { metadata } = await client.list(ConfigMaps, { namespace: 'default' });
  const ahead = String(Number(metadata.resourceVersion) + 1000);
  const listWatch = new ListWatch(transport, ConfigMaps, { namespace: 'default' });
  const caller = { clock: systemClock, signal: AbortSignal.timeout(60_000) };
  const query = { resourceVersion: ahead, timeoutSeconds: 3 };
  const exchange = await listWatch.watch(query, caller);
  await client.create(ConfigMaps, configMap('b'));
  expect([exchange.status, await exchange.text()]).toEqual([200, '']);
  expect(await listWatch.behind(ahead, caller)).toMatchObject({ status: 504 });
}, 60_000);
