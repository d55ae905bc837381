/** Failures of a manager's informers go to the manager's logger. */
import { defineResource, type FactoryOptions } from 'capstan/cache';
import { newManager } from 'capstan/manager';
import { ApiServer } from 'capstan/testing';
import { FakeClock } from 'capstan/workqueue';
import { expect, onTestFinished, test } from 'vitest';
import { RecordingLogger } from '../helpers/controller/fake-manager.ts';
import { collectErrors } from '../helpers/reported-errors.ts';

const reported = collectErrors();

const Widgets = defineResource<{ metadata: { name: string } }>()({
  group: 'demo.example',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  namespaced: true,
});

async function setUp({ cache = {}, logs = true }: { cache?: FactoryOptions; logs?: boolean } = {}) {
  const server = await ApiServer.start();
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const manager = newManager({
    transport: server.transport(),
    clock,
    cache,
    ...(logs && { logger }),
  });
  const stopper = new AbortController();
  const run = () => {
    const done = manager.start({ signal: stopper.signal });
    onTestFinished(async () => {
      stopper.abort();
      await done;
    });
  };
  onTestFinished(() => server.stop());
  return {
    server,
    clock,
    manager,
    run,
    met: () => logger.lines.filter(({ message }) => message === 'list or watch failed'),
  };
}

// A role that lacks a resource was a dump on the console for each attempt, next to the log that is
// read.
test('a forbidden list is logged as an error with its informer', async () => {
  const { server, clock, manager, run, met } = await setUp();
  server.inject({ do: 'status', status: 403, reason: 'Forbidden', verb: 'list' });
  manager.cache.informerFor(Widgets, { namespace: 'a', metadataOnly: true });
  run();
  while (met().length === 0) await clock.run(1);
  expect(met()[0]).toMatchObject({
    level: 'error',
    fields: {
      resource: 'widgets.demo.example/v1 in a by their metadata',
      class: 'auth',
      next: 'relist',
      afterMs: expect.any(Number),
      error: { status: 403 },
    },
  });
  expect(reported).toEqual([]);
});

test('a kind that the server no longer serves is logged once', async () => {
  const { server, clock, manager, run, met } = await setUp();
  const informer = manager.cache.informerFor(Widgets);
  run();
  await informer.hasSyncedChecker().done;
  server.removeResource(Widgets);
  while (informer.status().state !== 'parked') {
    await clock.run(1000);
    server.dropConnections();
  }
  const { server: parks } = informer.status().failures;
  while (informer.status().failures.server < parks + 3) await clock.run(10_000);
  expect(met().filter(({ fields }) => fields?.next === 'park')).toMatchObject([
    { level: 'warn', fields: { resource: 'widgets.demo.example/v1', class: 'server' } },
  ]);
});

test('without a logger it goes to the error handler, with the watched kind', async () => {
  const { server, clock, manager, run } = await setUp({ logs: false });
  server.inject({ do: 'status', status: 403, reason: 'Forbidden', verb: 'list' });
  manager.cache.informerFor(Widgets, { metadataOnly: true });
  run();
  while (reported.length === 0) await clock.run(1);
  expect(reported[0]).toMatchObject({
    what: 'reflector of demo.example/v1 Widget',
    error: { status: 403 },
  });
});

test('a watchErrorHandler is called instead', async () => {
  const received: string[] = [];
  const { server, clock, manager, run, met } = await setUp({
    cache: { watchErrorHandler: (_, failure) => void received.push(failure.class) },
  });
  server.inject({ do: 'status', status: 403, reason: 'Forbidden', verb: 'list' });
  manager.cache.informerFor(Widgets);
  run();
  while (received.length === 0) await clock.run(1);
  expect(received[0]).toBe('auth');
  expect(met()).toEqual([]);
});
