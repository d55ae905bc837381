/**
 * `capstan types` and `capstan crd diff` on a real API server: it takes each of the small
 * definitions in the style of well-known operators, and what it then answers for them gives the
 * same types as the files, and no difference from them.
 */
import type { Transport } from 'capstan/cache';
import { type CustomResourceDefinition, crdResource, newClient } from 'capstan/client';
import { kubeConfigTransport } from 'capstan/client-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { definitionsOf } from '../../bin/definition-files.ts';
import { capstan } from '../helpers/command-line.ts';
import { ControlPlane } from '../helpers/control-plane/control-plane.ts';
import { FILES } from '../helpers/definition-sources.ts';
import { readKubeConfig } from './same-answers/servers.ts';

let plane: ControlPlane;
let transport: Transport;
let definitions: CustomResourceDefinition[];
beforeAll(async () => {
  plane = await ControlPlane.start();
  transport = kubeConfigTransport(await readKubeConfig(plane));
  const client = newClient({ transport });
  definitions = await definitionsOf(FILES);
  for (const { metadata, ...crd } of definitions) {
    // Groups of Kubernetes itself need an approval.
    const annotations = { 'api-approved.kubernetes.io': 'unapproved, for a test' };
    await client.create(crdResource, { ...crd, metadata: { ...metadata, annotations } });
  }
});
afterAll(async () => {
  await transport?.close?.();
  await plane?.stop();
});

test('capstan types writes the same from the cluster as from the files', async () => {
  const fromFiles = await capstan('types', ...FILES);
  expect(fromFiles).toMatchObject({ code: 0, stderr: '' });
  const fromCluster = await capstan('types', '--kubeconfig', plane.kubeconfig);
  expect(fromCluster.stdout).toBe(fromFiles.stdout);
  expect(fromCluster).toEqual(fromFiles);
});

test('capstan crd diff finds no difference between the cluster and the files', async () => {
  expect(await capstan('crd', 'diff', '--kubeconfig', plane.kubeconfig, ...FILES)).toEqual({
    code: 0,
    stdout: 'no breaking change\n',
    stderr: '',
  });
});
