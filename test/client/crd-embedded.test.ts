/** Definitions from schemas on the embedded server, which validates objects like a real one. */
import type { StatusError, Transport } from 'capstan/cache';
import { type Client, installCRDs, newClient } from 'capstan/client';
import { ApiServer } from 'capstan/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { CASES, objectOf, Wide } from '../helpers/client/crd-cases.ts';
import { hasDefinitionFeatures } from '../helpers/client/definition-features.ts';

async function started(): Promise<Client> {
  const server = await ApiServer.start();
  const transport = server.transport();
  onTestFinished(async () => {
    await transport.close?.();
    await server.stop();
  });
  return newClient({ transport, fieldOwner: 'test' });
}

it('the embedded server accepts and rejects what the schema does', async () => {
  const client = await started();
  await installCRDs(client, [Wide.crd]);
  const disagreements: unknown[] = [];
  for (const [index, [spec, valid]] of CASES.entries()) {
    const object = objectOf(`case-${index}`, spec);
    const there = await client.create(Wide.resource, object as never, { dryRun: true }).then(
      () => 'accepted',
      (error: StatusError) => `${error.status}: ${error.message}`,
    );
    if ((there === 'accepted') !== valid || !/^accepted$|^422/.test(there))
      disagreements.push({ spec, valid, there });
  }
  expect(disagreements).toEqual([]);
});

it('the embedded server fills in the defaults of a schema', async () => {
  const client = await started();
  await installCRDs(client, [Wide.crd]);
  const given = objectOf('defaults', { nested: {}, ports: [{ name: 'http', port: 80 }] });
  const { spec } = await client.create(Wide.resource, given as never);
  expect(spec).toEqual((await Wide.parse(given as never)).spec);
});

it('the embedded server keeps a null in a member of any type', async () => {
  const client = await started();
  await installCRDs(client, [Wide.crd]);
  const given = objectOf('null', {
    nested: {},
    ports: [{ name: 'http', port: 80 }],
    anything: null,
  });
  expect(await client.create(Wide.resource, given as never)).toMatchObject({
    spec: { anything: null },
  });
});

describe('on the embedded server', () => {
  let server: ApiServer;
  let transport: Transport;
  beforeAll(async () => {
    server = await ApiServer.start();
    transport = server.transport();
  });
  afterAll(async () => {
    await transport?.close?.();
    await server?.stop();
  });
  hasDefinitionFeatures(() => transport);
});
