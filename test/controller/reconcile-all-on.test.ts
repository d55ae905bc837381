/** The option reconcileAllOn. kube-rs: Controller::reconcile_all_on. */
import { createController, newControllerManagedBy, timerSource } from 'capstan/controller';
import { FakeClock, type Request } from 'capstan/workqueue';
import { expect, test } from 'vitest';
import { ReconcileAllQueue } from '../../bindings/controller/reconcile-all-on.ts';
import { causeOf, TestSource } from '../helpers/controller/controller-rig.ts';
import { FakeCluster, type TestObject } from '../helpers/controller/fake-cluster.ts';
import { FakeManager } from '../helpers/controller/fake-manager.ts';
import { TestWidget, testWidget } from '../helpers/controller/resources.ts';
import { collectErrors } from '../helpers/reported-errors.ts';

const reported = collectErrors();

test('any request of the source reconciles every object in the cache', async () => {
  const cluster = new FakeCluster();
  const clock = new FakeClock();
  const trigger = new TestSource('configuration');
  const calls: string[] = [];
  const controller = createController<TestObject>({
    transport: cluster,
    for: TestWidget,
    clock,
    reconcileAllOn: [trigger],
    reconcile: ({ namespace, name }, { causes }) =>
      void calls.push(
        `${namespace}/${name} ${causes.map(({ kind, source }) => `${kind} by ${source}`)}`,
      ),
  });
  for (const name of ['a', 'b']) cluster.put('widgets', testWidget(name));
  cluster.put('widgets', testWidget('a', 'other'));
  const run = controller.run();
  await clock.settle();
  calls.length = 0;
  trigger.add('not-an-object', {}, causeOf('generic', 0, 'configuration'));
  await clock.settle();
  expect(calls.sort()).toEqual(
    ['default/a', 'default/b', 'other/a'].map((key) => `${key} generic by configuration`),
  );
  calls.length = 0;
  cluster.remove('widgets', 'b');
  await clock.settle();
  calls.length = 0;
  trigger.add('x');
  await clock.settle();
  expect(calls).toHaveLength(2);
  await controller.stop();
  await run;
});

test('the builder has it too, and a timer can be the source', async () => {
  const manager = new FakeManager();
  manager.transport.put('widgets', testWidget('a'));
  const calls: string[] = [];
  newControllerManagedBy(manager)
    .for(TestWidget)
    .reconcileAllOn(
      timerSource({
        period: 1000,
        clock: manager.clock,
        requests: [{ namespace: '', name: 'all' }],
      }),
    )
    .named('every-object')
    .complete(({ name }) => void calls.push(`${name}@${manager.clock.now()}`));
  await manager.start();
  await manager.clock.run(2500);
  expect(calls).toEqual(['a@0', 'a@1000', 'a@2000']);
});

test('a long round yields to the event loop, and requests meanwhile lead to one more', async () => {
  const clock = new FakeClock();
  let ticks = 0;
  // each read of the clock takes a millisecond, so that every few objects exceed the time slice
  clock.now = () => ticks++;
  const added: string[] = [];
  const keys = Array.from({ length: 100 }, (_, i) => `default/w${i}`);
  const queue = { addWithCause: (_: object, { name }: Request) => void added.push(name) };
  const every = new ReconcileAllQueue(queue, () => keys, clock, new AbortController().signal);
  const say = () => every.addWithCause({}, { namespace: '', name: 'x' }, causeOf('generic'));
  say();
  const first = added.length;
  expect(first).toBeLessThan(10);
  for (let i = 0; i < 10; i++) say();
  expect(added).toHaveLength(first);
  await clock.settle();
  await clock.settle();
  expect(added).toHaveLength(200);
  expect(new Set(added).size).toBe(100);
});

test('a round ends with the controller', async () => {
  const clock = new FakeClock();
  let ticks = 0;
  clock.now = () => ticks++;
  const end = new AbortController();
  const added: string[] = [];
  const queue = { addWithCause: (_: object, { name }: Request) => void added.push(name) };
  const every = new ReconcileAllQueue(queue, () => Array(100).fill('a/b'), clock, end.signal);
  every.addWithCause({}, { namespace: '', name: 'x' }, causeOf('generic'));
  const before = added.length;
  end.abort();
  await clock.settle();
  expect(added).toHaveLength(before);
});

test('it needs the resource of the objects', () => {
  const options = {
    transport: new FakeCluster(),
    name: 'x',
    reconcileAllOn: [new TestSource()],
    reconcile: () => undefined,
  };
  expect(() => createController(options)).toThrow(/"reconcileAllOn" need "for"/);
});

// The first request that the queue refused ended the round: all later objects were left out.
test('an object that the queue refuses is added again after a second', async () => {
  const clock = new FakeClock();
  const added: string[] = [];
  let full = true;
  const queue = {
    addWithCause(_: object, { name }: Request) {
      if (full && name === 'b') throw new Error('full');
      added.push(name);
    },
  };
  const end = new AbortController();
  const keys = ['x/a', 'x/b', 'x/c'];
  const every = new ReconcileAllQueue(queue, () => keys, clock, end.signal);
  every.addWithCause({}, { namespace: '', name: 'x' }, causeOf('generic', 0, 'mine'));
  await clock.settle();
  expect(added.splice(0)).toEqual(['a', 'c']);
  expect(reported).toMatchObject([
    { error: { message: 'full' }, what: 'the source "mine": tried again in 1000 ms' },
  ]);
  full = false;
  await clock.run(1_000);
  expect(added.splice(0)).toEqual(['a', 'b', 'c']);
  full = true;
  every.addWithCause({}, { namespace: '', name: 'x' }, causeOf('generic', 0, 'mine'));
  await clock.settle();
  end.abort();
  await clock.settle();
  expect(clock.timers()).toBe(0);
});
