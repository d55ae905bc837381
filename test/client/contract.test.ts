/** Runs the contract of clients on the embedded API server, for the fake client too. */
import type { Transport } from 'capstan/cache';
import { ApiServer, fakeClient } from 'capstan/testing';
import { afterAll, beforeAll, describe } from 'vitest';
import { CLIENTS, keepsTheContract } from './contract.ts';

describe('on the embedded server', () => {
  let server: ApiServer;
  let transport: Transport;
  beforeAll(async () => {
    server = await ApiServer.start();
    transport = server.transport();
  });
  afterAll(async () => {
    await transport.close?.();
    await server.stop();
  });
  for (const [i, [name, start]] of Object.entries(CLIENTS).entries())
    keepsTheContract(name, () => start(transport), {
      namespace: `contract-${i}`,
      isLive: name === 'a live client',
    });
});

describe('without a socket', () => {
  keepsTheContract('a fake client', async () => ({ client: fakeClient(), end: () => undefined }), {
    namespace: 'contract',
  });
});
