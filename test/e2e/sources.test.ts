/**
 * A kind that is defined and removed on a real API server: its CustomResourceDefinition is created
 * after a source requested the kind, and deleted again. Only a real server shows how it answers for
 * a kind that it does not have.
 */
import { newSharedInformerFactory, type Transport } from 'capstan/cache';
import { kubeConfigTransport } from 'capstan/client-node';
import { kindSource } from 'capstan/controller';
import { FakeClock } from 'capstan/workqueue';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventually } from '../helpers/control-plane/conditions.ts';
import { ControlPlane } from '../helpers/control-plane/control-plane.ts';
import { type EventObject, started, telling } from '../helpers/controller/recording-queues.ts';
import { readKubeConfig } from './same-answers/servers.ts';

const Gadgets = {
  group: 'sources.capstan.dev',
  version: 'v1',
  kind: 'Gadget',
  plural: 'gadgets',
  namespaced: true,
  indexers: {},
};
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'gadgets.sources.capstan.dev' },
  spec: {
    group: 'sources.capstan.dev',
    scope: 'Namespaced',
    names: { plural: 'gadgets', singular: 'gadget', kind: 'Gadget' },
    versions: [
      { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
    ],
  },
};

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

async function send(method: string, path: string, body?: object): Promise<number> {
  const headers = { 'content-type': 'application/json' };
  const answer = await transport.request({
    method,
    path,
    headers,
    ...(body && { body: JSON.stringify(body) }),
  });
  for await (const _ of answer.body); // read to the end, or the connection is not reused
  return answer.status;
}

test('a kind source starts with its definition, and reports deletions at its removal', async () => {
  const clock = new FakeClock(); // of the source alone, so that its 10 s pass at once
  const cache = newSharedInformerFactory(transport, {
    watchErrorHandler: () => undefined, // refusals are expected
    // A watch that starts while the definition is being deleted may be served from storage that the
    // server has already dropped (seen once on a busy machine: a minute of silence). Then only the
    // end of the watch reports the removal, so it ends soon here.
    tweakListOptions: (query) => {
      if (query.watch === 'true') query.timeoutSeconds = '5';
    },
  });
  const told: string[] = [];
  const source = kindSource<EventObject>({
    cache,
    resource: Gadgets,
    handler: telling(told),
    clock,
  });
  const problem = (): string => source.status?.().problem ?? '';
  const states = (): unknown[] =>
    [...cache.informers().values()].map((informer) => informer.status());
  const { signal } = await started(source);
  try {
    await eventually(
      'the server says that it has no such kind',
      () => problem().includes('does not serve') || problem(),
    );

    expect(await send('POST', DEFINITIONS, definition)).toBe(201);
    const gadgets = '/apis/sources.capstan.dev/v1/namespaces/default/gadgets';
    const gadget = {
      apiVersion: 'sources.capstan.dev/v1',
      kind: 'Gadget',
      metadata: { name: 'a' },
    };
    await eventually(
      'the kind is served',
      async () => (await send('POST', gadgets, gadget)) === 201,
    );
    expect(told).toEqual([]);
    await clock.run(10_000);
    await source.waitForSync?.({ signal });
    expect(told).toEqual(['initial default/a']);
    expect(problem()).toBe('');

    expect(await send('DELETE', `${DEFINITIONS}/${definition.metadata.name}`)).toBe(200);
    await eventually('the object is told as deleted', () => told.length > 1 || problem());
    expect(told[1]).toMatch(/^(delete|lost) default\/a$/);
    await eventually(
      'the server says that the kind is gone',
      () => problem().includes('no longer serves') || `${problem()} ${JSON.stringify(states())}`,
    );
  } finally {
    await cache.shutdown();
  }
}, 120_000);
