/** What schema definitions say beside types, on a real API server. */
import type { Transport } from 'capstan/cache';
import { kubeConfigTransport } from 'capstan/client-node';
import { afterAll, afterEach, beforeAll, describe } from 'vitest';
import { hasDefinitionFeatures } from '../helpers/client/definition-features.ts';
import { ControlPlane } from '../helpers/control-plane/control-plane.ts';
import { readKubeConfig } from './same-answers/servers.ts';

describe('on a real server', () => {
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
  afterEach(({ task }) => {
    if (task.result?.state === 'fail') plane?.keepLogs();
  });
  hasDefinitionFeatures(() => transport);
});
