/** startEnvtest() and startTestServer() of capstan/testing on the real programs. */
import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import type { Transport } from 'capstan/cache';
import { defineCustomResource, newClient } from 'capstan/client';
import { kubeConfigTransport } from 'capstan/client-node';
import { ConfigMap, ValidatingWebhookConfiguration } from 'capstan/kinds';
import { type Envtest, startEnvtest, startTestServer } from 'capstan/testing';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import * as z from 'zod';
import { serverKeys } from '../../bindings/testing/envtest/certificates.ts';
import { eventually } from '../helpers/control-plane/conditions.ts';

const Website = defineCustomResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Website',
  scope: 'Namespaced',
  spec: z.object({ host: z.string().min(1) }),
});
const GADGETS = {
  group: 'example.com',
  version: 'v1',
  kind: 'Gadget',
  scope: 'Namespaced',
} as const;
const Gadget = defineCustomResource({ ...GADGETS, spec: z.object({ size: z.int() }) });

const at = (name: string) => ({ namespace: 'default', name });

async function statusOf(transport: Transport, path: string): Promise<number> {
  const { status, body } = await transport.request({ method: 'GET', path });
  for await (const _ of body);
  return status;
}

function fromKubeconfig(text: string): Transport {
  const config = new KubeConfig();
  config.loadFromString(text);
  const transport = kubeConfigTransport(config);
  onTestFinished(() => transport.close?.());
  return transport;
}

describe('a server', () => {
  let envtest: Envtest;
  beforeAll(async () => {
    envtest = await startEnvtest({
      crds: [Website, Gadget.crd],
      users: { 'ann-token': { name: 'ann', groups: ['readers', 'writers'] } },
    });
  });
  afterAll(() => envtest.stop());

  test('serves the definitions, and validates by their schemas', async () => {
    const transport = envtest.transport();
    onTestFinished(() => transport.close?.());
    const client = newClient({ transport });
    const good = await Website.parse({ metadata: at('a'), spec: { host: 'a.example.com' } });
    await client.create(Website.resource, good);
    await client.create(
      Gadget.resource,
      await Gadget.parse({ metadata: at('g'), spec: { size: 1 } }),
    );
    const bad = { ...good, metadata: at('b'), spec: { host: '' } };
    await expect(client.create(Website.resource, bad)).rejects.toMatchObject({ reason: 'Invalid' });
  });

  test('knows a token, a certificate, a ServiceAccount and an impersonated user', async () => {
    const whoAmI = async (transport: Transport) => {
      onTestFinished(() => transport.close?.());
      const { body, status } = await transport.request({
        method: 'POST',
        path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
        headers: { 'content-type': 'application/json' },
        body: '{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}',
      });
      let text = '';
      for await (const chunk of body) text += Buffer.from(chunk).toString();
      if (status !== 201) return { status };
      const { username, groups } = JSON.parse(text).status.userInfo;
      return { username, groups: groups.filter((name: string) => !name.startsWith('system:')) };
    };
    const ann = envtest.transport({ headers: { authorization: 'Bearer ann-token' } });
    expect(await whoAmI(ann)).toEqual({ username: 'ann', groups: ['readers', 'writers'] });
    const wrong = envtest.transport({ headers: { Authorization: 'Bearer wrong' } });
    expect(await whoAmI(wrong)).toEqual({ status: 401 });

    const bob = await envtest.addUser({ name: 'bob', groups: ['cooks'] });
    expect(await whoAmI(bob.transport())).toEqual({ username: 'bob', groups: ['cooks'] });
    expect(await whoAmI(fromKubeconfig(bob.kubeconfig()))).toEqual({
      username: 'bob',
      groups: ['cooks'],
    });

    const account = await envtest.addServiceAccount({ namespace: 'shop', name: 'web' });
    const username = 'system:serviceaccount:shop:web';
    expect(account).toMatchObject({ name: username, token: expect.any(String) });
    expect(await whoAmI(account.transport())).toMatchObject({ username });
    expect(await whoAmI(fromKubeconfig(account.kubeconfig()))).toMatchObject({ username });
    expect(await whoAmI(envtest.transport({ as: username }))).toMatchObject({ username });
    // Both groups went in one header, which is one group for a real server.
    const cat = { name: 'cat', groups: ['cooks', 'guests'] };
    expect(await whoAmI(envtest.transport({ as: cat }))).toEqual({
      username: 'cat',
      groups: cat.groups,
    });

    expect(await statusOf(account.transport(), '/api/v1/namespaces')).toBe(403);
    expect(await statusOf(fromKubeconfig(envtest.kubeconfig()), '/api/v1/namespaces')).toBe(200);
    await expect(envtest.addUser({ name: 'x', uid: '1' })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });

  test('keeps its data and address over a restart', async () => {
    await using transport = envtest.transport();
    const client = newClient({ transport });
    await client.create(ConfigMap, { metadata: at('kept'), data: { k: 'v' } });
    const { url } = envtest;
    await envtest.restart();
    expect(envtest.url).toBe(url);
    expect((await client.get(ConfigMap, at('kept'))).data).toEqual({ k: 'v' });
  });

  test('runs beside another one, which ends by its signal', async () => {
    const end = new AbortController();
    const other = await startEnvtest({ signal: end.signal });
    expect(other.url).not.toBe(envtest.url);
    await using transport = other.transport();
    expect(await statusOf(transport, '/api/v1/namespaces/default/configmaps/kept')).toBe(404);
    end.abort();
    await other.stop();
    expect(existsSync(other.folder)).toBe(false);
    await expect(other.restart()).rejects.toMatchObject({ code: 'STOPPED' });
    await using mine = envtest.transport();
    expect(await statusOf(mine, '/readyz')).toBe(200);
  });
});

test('a webhook by its address denies', async () => {
  const { ca, server: tls } = await serverKeys();
  const asked: string[] = [];
  const webhook: Server = createServer(tls, async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const { uid, name } = JSON.parse(text).request;
    asked.push(name);
    const answer = { uid, allowed: false, status: { message: 'not on a Friday' } };
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({
        apiVersion: 'admission.k8s.io/v1',
        kind: 'AdmissionReview',
        response: answer,
      }),
    );
  });
  await new Promise<void>((resolve) => webhook.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void webhook.close());
  const url = `https://127.0.0.1:${(webhook.address() as AddressInfo).port}/validate`;
  const configuration = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'friday' },
    webhooks: [
      {
        name: 'friday.example.com',
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        clientConfig: { url, caBundle: Buffer.from(ca.cert).toString('base64') },
        rules: [
          {
            apiGroups: [''],
            apiVersions: ['v1'],
            operations: ['CREATE'],
            resources: ['configmaps'],
          },
        ],
      },
    ],
  };
  await using envtest = await startEnvtest({ webhooks: [configuration] });
  await using transport = envtest.transport();
  const client = newClient({ transport });
  expect(await client.get(ValidatingWebhookConfiguration, { name: 'friday' })).toBeDefined();
  let number = 0;
  await eventually('the API server asks the webhook', async () => {
    const create = client.create(ConfigMap, { metadata: at(`n${number++}`) });
    return create.then(
      () => 'it was created',
      (error: Error) => error.message.includes('not on a Friday') || error.message,
    );
  });
  expect(asked.length).toBeGreaterThan(0);
});

test('an API server that does not start is an error with the end of its log', async () => {
  const before = performance.now();
  await expect(startEnvtest({ flags: ['--no-such-flag=1'] })).rejects.toMatchObject({
    code: 'ENVTEST',
    message: expect.stringMatching(
      /kube-apiserver ended \(1\) instead of becoming ready[\s\S]*unknown flag: --no-such-flag/,
    ),
  });
  expect(performance.now() - before).toBeLessThan(30_000);
});

test('a definition that the API server refuses ends both programs', async () => {
  const crd = structuredClone(Website.crd) as { metadata: { name?: string } };
  crd.metadata.name = 'other.example.com';
  await expect(startEnvtest({ crds: [crd] })).rejects.toMatchObject({ reason: 'Invalid' });
});

test('a signal ends the start', async () => {
  const end = new AbortController();
  const starting = startEnvtest({ signal: end.signal });
  setTimeout(() => end.abort(), 300);
  await expect(starting).rejects.toMatchObject({ code: 'ABORTED' });
  await expect(startEnvtest({ signal: end.signal })).rejects.toMatchObject({ code: 'ABORTED' });
});

test('startTestServer() is a real server by the environment variable', async () => {
  vi.stubEnv('CAPSTAN_TEST_SERVER', 'envtest');
  onTestFinished(() => void vi.unstubAllEnvs());
  await using server = await startTestServer({ crds: [Website] });
  await using transport = server.transport();
  expect(await statusOf(transport, '/apis/example.com/v1/websites')).toBe(200);
  const account = await server.addServiceAccount({ namespace: 'shop', name: 'web' });
  expect(await statusOf(account.transport(), '/apis/example.com/v1/websites')).toBe(403);
});
