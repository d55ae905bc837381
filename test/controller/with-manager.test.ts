/**
 * Controllers under the manager of `capstan/manager`: one cache, one start, one end, one metrics
 * text.
 */
import { newControllerManagedBy } from 'capstan/controller';
import { type ManagerOptions, newManager } from 'capstan/manager';
import { FakeClock } from 'capstan/workqueue';
import { expect, test } from 'vitest';
import { FakeCluster } from '../helpers/controller/fake-cluster.ts';
import { RecordingLogger } from '../helpers/controller/fake-manager.ts';
import { ownedBy, Part, part, TestWidget, testWidget } from '../helpers/controller/resources.ts';
import { collectErrorValues } from '../helpers/reported-errors.ts';

const reported = collectErrorValues();

function setup(options: Partial<ManagerOptions> = {}) {
  const transport = new FakeCluster();
  const clock = new FakeClock();
  const manager = newManager({ transport, clock, ...options });
  const end = new AbortController();
  const errors: unknown[] = [];
  const start = async (): Promise<{ ended: Promise<void> }> => {
    const run = manager
      .start({ signal: end.signal })
      .catch((error: unknown) => void errors.push(error));
    await clock.settle();
    return { ended: run };
  };
  return { transport, clock, manager, start, errors, stop: () => end.abort() };
}

test('run with it, share its caches, and end with it', async () => {
  const { transport, clock, manager, start, errors, stop } = setup();
  const calls: string[] = [];
  for (const name of ['one', 'two'])
    newControllerManagedBy(manager)
      .for(TestWidget)
      .owns(Part)
      .named(`with-manager-${name}`)
      .complete(
        (request, { get }) =>
          void calls.push(`${name} ${request.name} ${get(request)?.metadata.name}`),
      );
  transport.put('widgets', testWidget('a'));
  const { ended } = await start();
  transport.put('parts', part('p', [ownedBy('b')]));
  await clock.settle();
  expect(calls.sort()).toEqual(['one a a', 'one b undefined', 'two a a', 'two b undefined']);
  expect(transport.watches()).toBe(2);
  stop();
  await ended;
  expect(errors).toEqual([]);
  expect([transport.watches(), clock.timers()]).toEqual([0, 0]);
});

test('one that is added while the manager runs starts at once', async () => {
  const { transport, clock, manager, start, stop } = setup();
  const { ended } = await start();
  transport.put('widgets', testWidget('a'));
  const calls: string[] = [];
  newControllerManagedBy(manager)
    .for(TestWidget)
    .named('with-manager-late')
    .complete(({ name }) => void calls.push(name));
  await clock.settle();
  expect(calls).toEqual(['a']);
  stop();
  await ended;
});

test('one whose cache does not sync ends the manager with an error that says so', async () => {
  const { transport, clock, manager, start, errors } = setup();
  transport.holdLists.set('widgets', new Promise(() => undefined));
  newControllerManagedBy(manager)
    .for(TestWidget)
    .named('with-manager-slow')
    .withOptions({ cacheSyncTimeout: 1000 })
    .complete(() => undefined);
  const { ended } = await start();
  await clock.run(1000);
  await ended;
  expect(String(errors[0])).toContain('for Widget (widgets.example.com)');
});

test('after its end nothing is accepted, and no name is kept', async () => {
  const { manager, start, stop } = setup();
  const { ended } = await start();
  stop();
  await ended;
  const build = () =>
    newControllerManagedBy(manager)
      .for(TestWidget)
      .named('with-manager-none')
      .build(() => undefined);
  for (let i = 0; i < 2; i++) expect(build).toThrow(expect.objectContaining({ code: 'STOPPED' }));
});

test('its sources log errors of predicates and map functions with its name', async () => {
  const logger = new RecordingLogger();
  const { transport, manager, start, stop } = setup({ logger });
  const error = new Error('no such label');
  newControllerManagedBy(manager)
    .for(TestWidget, {
      predicates: [
        {
          create() {
            throw error;
          },
        },
      ],
    })
    .named('with-manager-failing')
    .complete(() => undefined);
  transport.put('widgets', testWidget('a'));
  const { ended } = await start();
  expect(logger.lines.filter(({ level }) => level === 'error')).toMatchObject([
    {
      message:
        'source "for Widget": a predicate failed, create event of default/a: the event passes',
      fields: { controller: 'with-manager-failing', controllerKind: 'Widget', error },
    },
  ]);
  stop();
  await ended;
  expect(reported).toEqual([]);
});
