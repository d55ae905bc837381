/**
 * A wrong plural of a built-in kind became a custom resource of the embedded server by its first
 * use, so that a test passed what a real server answers with 404. Kubernetes' own groups have what
 * they have; all other groups are learned by use as before.
 */
import { defineResource } from 'capstan/cache';
import { newClient } from 'capstan/client';
import { fakeTransport } from 'capstan/testing';
import { expect, test } from 'vitest';

const define = (group: string, version: string, kind: string, plural: string, namespaced = true) =>
  defineResource<{ metadata: { name: string; namespace?: string } }>()({
    group,
    version,
    kind,
    plural,
    namespaced,
  });
const named = { namespace: 'default', name: 'a' };

test.each([
  ['a plural without its s', define('apps', 'v1', 'Deployment', 'deployment'), /could not find/],
  ['no group', define('', 'v1', 'Deployment', 'deployments'), /could not find/],
  ['another group', define('batch', 'v1', 'Deployment', 'deployments'), /could not find/],
  ['a version that is gone', define('batch', 'v1beta1', 'CronJob', 'cronjobs'), /page not found/],
  ['a group of its own', define('networking.k8s.io', 'v1', 'Route', 'routes'), /could not find/],
  ['a group that is gone', define('extensions', 'v1', 'Ingress', 'ingresses'), /page not found/],
  ['a namespace', define('', 'v1', 'Node', 'nodes'), /could not find/],
])('%s is 404 for every verb', async (_, resource, said) => {
  const client = newClient({ transport: fakeTransport() });
  const refused = { status: 404, message: expect.stringMatching(said) };
  const object = { metadata: named };
  await expect(client.list(resource, { namespace: 'default' })).rejects.toMatchObject(refused);
  await expect(client.get(resource, named)).rejects.toMatchObject(refused);
  await expect(client.create(resource, object)).rejects.toMatchObject(refused);
  await expect(client.update(resource, object)).rejects.toMatchObject(refused);
  await expect(client.delete(resource, named)).rejects.toMatchObject(refused);
  const merge = { type: 'merge', body: {} } as const;
  await expect(client.patch(resource, named, merge)).rejects.toMatchObject(refused);
});

test('a declared resource is no other plural of a built-in kind', () => {
  const wrong = define('apps', 'v1', 'Deployment', 'deployment');
  const said = '"deployment" is no resource of apps/v1: its kind Deployment is "deployments"';
  expect(() => fakeTransport({ resources: [wrong] })).toThrow(said);
  const transport = fakeTransport({
    resources: [define('apps', 'v1', 'Deployment', 'deployments')],
  });
  expect(() => transport.define(wrong)).toThrow(said);
  transport.define(define('example.com', 'v1', 'Deployment', 'deployment'));
});

test.each([
  ['of a domain', define('example.com', 'v1', 'Widget', 'widgets')],
  ['beside those of Kubernetes', define('gateway.networking.k8s.io', 'v1', 'Route', 'routes')],
])('a custom resource %s is learned by its first use', async (_, resource) => {
  const client = newClient({ transport: fakeTransport() });
  await client.create(resource, { metadata: named });
  expect((await client.list(resource)).items).toHaveLength(1);
});
