/** The live page of a real manager with a real controller on the embedded API server. */
import { defineResource } from 'capstan/cache';
import { newControllerManagedBy, type Predicate, TerminalError } from 'capstan/controller';
import { type ControllerManager, type LivePageState, newManager } from 'capstan/manager';
import { ApiServer } from 'capstan/testing';
import { FakeClock, setErrorHandler } from 'capstan/workqueue';
import { afterAll, beforeAll, expect, it } from 'vitest';

interface Site {
  metadata: { name: string; namespace: string; labels?: Record<string, string> };
  spec: { size: number };
}
const Site = defineResource<Site>()({
  group: 'demo.example',
  version: 'v1',
  kind: 'Site',
  plural: 'sites',
  namespaced: true,
});

const visible: Predicate<Site> = {
  name: 'visible',
  create: ({ object }) => object.metadata.labels?.hidden !== 'yes',
};

let previous: ReturnType<typeof setErrorHandler>;
const clock = new FakeClock();
const stop = new AbortController();
let server: ApiServer;
let manager: ControllerManager;
let running: Promise<void>;
/** Reconciles of the object `slow` end when this resolves. */
const slow = Promise.withResolvers<void>();
const done = new Set<string>();
const settled = Promise.withResolvers<void>();

beforeAll(async () => {
  previous = setErrorHandler(() => {}); // failures are expected
  server = await ApiServer.start();
  for (const name of ['well', 'slow', 'bad', 'hopeless', 'hidden']) {
    const body = {
      apiVersion: 'demo.example/v1',
      kind: 'Site',
      metadata: { name, ...(name === 'hidden' && { labels: { hidden: 'yes' } }) },
      spec: { size: 1 },
    };
    const path = `${server.url}/apis/demo.example/v1/namespaces/demo/sites`;
    const headers = { 'content-type': 'application/json' };
    expect(
      (await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })).status,
    ).toBe(201);
  }
  const transport = server.transport();
  manager = newManager({
    transport,
    clock,
    debugPage: { bindAddress: '127.0.0.1:0' },
  });
  newControllerManagedBy(manager)
    .for(Site, { predicates: [visible] })
    .withOptions({ maxConcurrentReconciles: 5 })
    .complete(async ({ name }) => {
      done.add(name);
      if (done.size === 4) settled.resolve();
      if (name === 'slow') await slow.promise;
      if (name === 'bad') throw new Error('login failed: password=hunter2');
      if (name === 'hopeless') throw new TerminalError('spec.host is empty');
    });
  running = manager.start({ signal: stop.signal });
  await manager.serving();
  await settled.promise;
});

afterAll(async () => {
  slow.resolve();
  stop.abort();
  await running;
  await server.stop();
  setErrorHandler(previous);
});

async function stateFor(filter: string, of = manager): Promise<LivePageState> {
  const response = await fetch(`${of.url('debugPage')}/debug/capstan/state?filter=${filter}`);
  expect(response.status).toBe(200);
  return (await response.json()) as LivePageState;
}

it.each([
  [
    'well',
    'done',
    new RegExp(
      '^It was reconciled successfully 0 ms ago, in 0 ms because of: create ' +
        'of the Site itself \\(visible\\)\\. Nothing has asked',
    ),
  ],
  ['slow', 'active', /^It is being reconciled for 0 ms\.$/],
  ['bad', 'failing', /^It waits 5 ms more, after 1 failure\.$/],
  [
    'hopeless',
    'failing',
    new RegExp(
      '^It failed 0 ms ago with a terminal error, and is not tried again ' +
        'until an event asks for it\\.$',
    ),
  ],
  [
    'hidden',
    'idle',
    new RegExp(
      '^It is in the cache of “for Site”, but no event has asked for it\\. ' +
        'Predicates have filtered 1 event ',
    ),
  ],
  [
    'gone',
    'idle',
    /^It is not in the cache of “for Site”: it does not exist, or is outside of what is watched\.$/,
  ],
])('of the object %s it says: %s', async (name, state, text) => {
  const { verdicts } = await stateFor(`demo/${name}`);
  expect(verdicts).toMatchObject([
    { controller: 'site', name, state, text: expect.stringMatching(text) },
  ]);
});

it('shows the error of a run without its secret', async () => {
  const { verdicts } = await stateFor('demo/bad');
  expect(verdicts[0]?.error?.message).toBe('login failed: password=‹redacted›');
});

it("shows the controller's informer, and objects by a part of their name", async () => {
  const state = await stateFor('demo/h');
  expect(state.matches.map((each) => each.name).sort()).toEqual(['hidden', 'hopeless']);
  expect(state.informers).toMatchObject([
    { key: state.controllers[0]?.sources[0]?.informer, objects: 5, hasSynced: true },
  ]);
});

it('says that another process leads, and for how long', async () => {
  const lease = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'site' },
    spec: {
      holderIdentity: 'pod-a',
      leaseDurationSeconds: 15,
      renewTime: new Date().toISOString().replace('Z', '000Z'),
    },
  };
  const body = JSON.stringify(lease);
  const path = `${server.url}/apis/coordination.k8s.io/v1/namespaces/demo/leases`;
  const headers = { 'content-type': 'application/json' };
  expect((await fetch(path, { method: 'POST', headers, body })).status).toBe(201);
  const standby = newManager({
    transport: server.transport(),
    clock,
    leaderElection: { id: 'site', namespace: 'demo', identity: 'pod-b' },
    debugPage: { bindAddress: '127.0.0.1:0' },
  });
  newControllerManagedBy(standby)
    .for(Site)
    .named('standby')
    .complete(() => {});
  const end = new AbortController();
  const ended = standby.start({ signal: end.signal });
  await standby.serving();
  let state = await stateFor('demo/well', standby);
  while (state.leader?.holder === undefined) state = await stateFor('demo/well', standby);
  expect(state.verdicts).toMatchObject([
    {
      state: 'blocked',
      text: expect.stringContaining(
        'This process does not lead: pod-a does, for 15 s more unless it renews.',
      ),
    },
  ]);
  end.abort();
  await ended;
});
