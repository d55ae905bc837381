/** The contract of clients, on a real API server. */
import type { Transport } from 'capstan/cache';
import { newClient } from 'capstan/client';
import { kubeConfigTransport } from 'capstan/client-node';
import { afterAll, afterEach, beforeAll, describe } from 'vitest';
import { CLIENTS, keepsTheContract } from '../client/contract.ts';
import { ControlPlane } from '../helpers/control-plane/control-plane.ts';
import { Namespaces } from '../helpers/resources.ts';
import { readKubeConfig } from './same-answers/servers.ts';

describe('on a real server', () => {
  let plane: ControlPlane;
  let transport: Transport;
  const clients = Object.entries(CLIENTS);
  beforeAll(async () => {
    plane = await ControlPlane.start();
    transport = kubeConfigTransport(await readKubeConfig(plane));
    for (const i of clients.keys())
      await newClient({ transport }).create(Namespaces, { metadata: { name: `contract-${i}` } });
  });
  afterAll(async () => {
    await transport?.close?.();
    await plane?.stop();
  });
  afterEach(({ task }) => {
    if (task.result?.state === 'fail') plane?.keepLogs();
  });
  for (const [i, [name, start]] of clients.entries())
    keepsTheContract(name, () => start(transport), {
      namespace: `contract-${i}`,
      isLive: name === 'a live client',
    });
});
