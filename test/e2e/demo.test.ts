/**
 * The demo on a real API server: the Website controller, its churn and its verification, started as
 * a user starts them, over TLS with a kubeconfig, while the API server is killed and started again.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Transport } from 'capstan/cache';
import { kubeConfigTransport } from 'capstan/client-node';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventually } from '../helpers/control-plane/conditions.ts';
import { ControlPlane } from '../helpers/control-plane/control-plane.ts';
import { Api } from './same-answers/api.ts';
import type { ResourceType } from './same-answers/resources.ts';
import { readKubeConfig } from './same-answers/servers.ts';

const root = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const OBJECTS = 150;
const CHURN_SECONDS = 20;
/** Creation, churn, convergence and clean-up on a busy machine. */
const DEMO_MS = 200_000;

const websites: ResourceType = {
  prefix: '/apis/demo.capstan.dev/v1',
  apiVersion: 'demo.capstan.dev/v1',
  kind: 'Website',
  plural: 'websites',
};

let plane: ControlPlane;
let transport: Transport;

beforeAll(async () => {
  // Plain Node runs the demo, so `capstan` resolves to the built package.
  if (!existsSync(root('dist/index.js')))
    throw new Error('dist/ is missing: run "npm run build" first');
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

interface Website {
  status?: { observedGeneration?: number };
}

async function listWebsites(): Promise<Website[]> {
  const { body } = await new Api(transport, '').everywhere(websites).list();
  return (body.items ?? []) as unknown as Website[];
}

test(
  'the demo proves its desired state although the API server is killed and started again, twice',
  async () => {
    const args = [
      '--kubeconfig',
      plane.kubeconfig,
      '--objects',
      OBJECTS,
      '--duration',
      CHURN_SECONDS,
      '--json',
    ];
    const demo = plane.run('demo', process.execPath, [
      root('examples/demo/main.ts'),
      ...args.map(String),
    ]);
    const running = (): void => {
      const ended = demo.ended();
      if (ended !== undefined) expect.fail(`${ended} before its time\n${demo.tail()}`);
    };

    await eventually('the demo has created most Websites', async () => {
      running();
      return (await listWebsites()).length >= OBJECTS * 0.8;
    });
    await plane.kill();
    await plane.restart();
    await eventually('most Websites were reconciled more than once', async () => {
      running();
      const again = (await listWebsites()).filter(
        ({ status }) => (status?.observedGeneration ?? 0) > 1,
      );
      return again.length >= OBJECTS * 0.2 || `${again.length} Websites`;
    });
    await plane.kill();
    await plane.restart();

    const exit = await demo.exited(DEMO_MS);
    const summary = demo
      .output()
      .trimEnd()
      .split('\n')
      .findLast((line) => line.startsWith('{'));
    console.log(`demo on a real server: ${summary}`);
    expect(exit, demo.tail(60)).toBe(0);
    expect(JSON.parse(summary ?? 'null'), demo.tail(60)).toMatchObject({
      ok: true,
      lost: 0,
      overlapped: 0,
    });
    expect(JSON.parse(summary ?? 'null').reconciles).toBeGreaterThan(OBJECTS);

    const { status } = await new Api(transport, '').everywhere(websites).list();
    expect(status, 'what the demo created is gone, its CustomResourceDefinition too').toBe(404);
  },
  DEMO_MS + 120_000,
);
