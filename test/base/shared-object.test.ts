/**
 * A program that changes a cached object got the engine's TypeError, which names a member and
 * suggests nothing. Reported, logged and rejected errors now say how to change a copy.
 */
import { ListWatch, newInformer, SharedIndexInformer } from 'capstan/cache';
import { createOrPatch, createOrUpdate, Finalizers, finalizer } from 'capstan/client';
import {
  ControllerMetrics,
  type ControllerOptions,
  createController,
  enqueueRequestsFromMapFunc,
  newPredicateFuncs,
  type ReconcileContext,
  watching,
} from 'capstan/controller';
import { fakeClient } from 'capstan/testing';
import { CapstanError, FakeClock, type Request } from 'capstan/workqueue';
import { describe, expect, test } from 'vitest';
import { explained } from '../../bindings/base/shared-object.ts';
import { FakeCluster, type TestObject } from '../helpers/controller/fake-cluster.ts';
import { RecordingLogger } from '../helpers/controller/fake-manager.ts';
import { TestWidget, testWidget } from '../helpers/controller/resources.ts';
import { collectErrorValues } from '../helpers/reported-errors.ts';

const reported = collectErrorValues();
const hinted = expect.objectContaining({
  code: 'MUTATED',
  message: expect.stringMatching(/structuredClone.*createOrUpdate/),
  cause: expect.any(TypeError),
});

const listOf = (spec: TestObject['spec']): number[] => (spec as { list: number[] }).list;

/** Mutations in strict mode, as in modules. */
const changes: Record<string, (object: TestObject) => void> = {
  'sets a member of the metadata': ({ metadata }) => {
    metadata.name = 'other';
  },
  'adds a member': (object) => {
    Object.assign(object.metadata, { labels: { seen: 'true' } });
  },
  'sets a member of the spec': ({ spec }) => {
    if (spec !== undefined) spec.replicas = 3;
  },
  'deletes a member': (object) => {
    delete object.spec;
  },
  'pushes to a list': ({ spec }) => void listOf(spec).push(1),
  'sorts a list': ({ spec }) => void listOf(spec).sort(),
  'empties a list': ({ spec }) => {
    listOf(spec).length = 0;
  },
};

const start = (): FakeCluster => {
  const cluster = new FakeCluster();
  const spec = { replicas: 1, list: [3, 1, 2], pad: 'x'.repeat(300) };
  cluster.put('widgets', testWidget('a', 'default', spec));
  return cluster;
};

for (const keep of ['bytes', 'objects'] as const) {
  test.each(Object.entries(changes))(
    `of an object (${keep}) that a program %s`,
    async (_, change) => {
      const clock = new FakeClock();
      const informer = new SharedIndexInformer(new ListWatch(start(), TestWidget), { clock, keep });
      void informer.run();
      await clock.settle();
      const object = informer.getIndexer().getByKey('default/a') as TestObject;
      let thrown: unknown;
      try {
        change(object);
      } catch (error) {
        thrown = error;
      }
      expect(explained(thrown)).toEqual(hinted);
      expect(change(structuredClone(object))).toBeUndefined();
      await informer.stop();
    },
  );
}

const label = (object: object): never => {
  (object as TestObject).metadata.name = 'other';
  throw new Error('the object was not read-only');
};

describe('the explained error reaches', () => {
  async function played(options: Partial<ControllerOptions<TestObject>>) {
    const clock = new FakeClock();
    const logger = new RecordingLogger();
    const metrics = new ControllerMetrics();
    const controller = createController<TestObject>({
      transport: start(),
      for: TestWidget,
      clock,
      logger,
      metrics,
      reconcile: () => undefined,
      ...options,
    });
    const run = controller.run().catch((error: unknown) => error);
    await clock.settle();
    await controller.stop();
    const errors = logger.lines.flatMap(({ fields }) => (fields?.error as Error) ?? []);
    return { errors, ended: await run, controller, metrics };
  }

  test('a reconcile function, the log and the report, and is still a panic', async () => {
    for (const reconcile of [
      (request: Request, { get }: ReconcileContext<TestObject>) => label(get(request) as object),
      async (request: Request, { get }: ReconcileContext<TestObject>) =>
        label(get(request) as object),
    ]) {
      const { errors, controller, metrics } = await played({ reconcile });
      expect(errors[0]).toEqual(hinted);
      expect(controller.report().recent[0]?.error?.message).toMatch(/structuredClone/);
      expect(metrics.text()).toContain('reconcile_panics_total{controller="widget"} 1');
      const { ended } = await played({ reconcile, recoverPanic: false });
      expect(ended).toEqual(hinted);
    }
  });

  test('a reconcile function that wraps it in another error', async () => {
    const { errors } = await played({
      reconcile: (request, { get }) => {
        try {
          label(get(request) as object);
        } catch (cause) {
          throw new Error('labels', { cause });
        }
      },
    });
    expect(errors[0]).toMatchObject({ code: 'MUTATED', cause: { message: 'labels' } });
  });

  test('a map function, a predicate and a handler', async () => {
    const map = watching<TestObject>(TestWidget, enqueueRequestsFromMapFunc(label));
    for (const options of [
      { watches: [map] },
      {
        watches: [
          { ...map, handler: { create: ({ object }: { object: object }) => label(object) } },
        ],
      },
      { predicates: [newPredicateFuncs<TestObject>(label)] },
    ]) {
      const { errors } = await played(options as never);
      expect(errors[0]).toEqual(hinted);
    }
    expect(reported).toEqual([]);
  });

  test('handlers and index functions of an informer, also of newInformer', async () => {
    const clock = new FakeClock();
    const listWatch = new ListWatch(start(), TestWidget);
    const informer = new SharedIndexInformer(listWatch, { clock });
    informer.addEventHandler({ onAdd: label });
    informer.addEventHandler({ onAdd: async (object) => label(object) });
    informer.addIndexers({ own: label });
    void informer.run();
    await clock.settle();
    await informer.stop();
    const signal = new AbortController();
    const { controller } = newInformer({
      listerWatcher: listWatch,
      clock,
      handler: { onAdd: label },
    });
    const run = controller.run({ signal: signal.signal });
    await clock.settle();
    signal.abort();
    await run;
    expect(reported).toHaveLength(4);
    for (const error of reported) expect([error, (error as Error).cause]).toContainEqual(hinted);
  });

  test('the caller of createOrUpdate, createOrPatch and finalizers', async () => {
    const shared = Object.freeze({ metadata: Object.freeze({ name: 'a', namespace: 'default' }) });
    const client = fakeClient();
    const change = (): never => label(shared);
    for (const call of [createOrUpdate, createOrPatch])
      await expect(call(client, TestWidget, shared.metadata, change)).rejects.toEqual(hinted);
    const being = {
      metadata: { ...shared.metadata, finalizers: ['example.com/a'], deletionTimestamp: 'now' },
    };
    const alive = { metadata: { ...shared.metadata, finalizers: ['example.com/a'] } };
    for (const object of [being, alive]) {
      await expect(
        finalizer(client, TestWidget, 'example.com/a', object, { apply: change, cleanup: change }),
      ).rejects.toEqual(hinted);
    }
    const finalizers = new Finalizers<object>();
    finalizers.register('example.com/a', change);
    await expect(finalizers.finalize(being)).rejects.toMatchObject({
      code: 'FINALIZE',
      cause: hinted,
    });
  });
});

const said = {
  V8: [
    "Cannot assign to read only property 'x' of object '#<Object>'",
    'Cannot add property x, object is not extensible',
    "Cannot delete property 'x' of #<Object>",
    'Cannot define property x, object is not extensible',
    'Cannot redefine property: x',
    'Cannot set property x of #<Object> which has only a getter',
    '#<Object> is not extensible',
  ],
  JavaScriptCore: [
    'Attempted to assign to readonly property.',
    'Attempting to define property on object that is not extensible.',
    'Unable to delete property.',
    'Attempting to change configurable attribute of unconfigurable property.',
  ],
  SpiderMonkey: [
    '"x" is read-only',
    'can\'t define property "x": Object is not extensible',
    'property "x" is non-configurable and can\'t be deleted',
    'setting getter-only property "x"',
    'can\'t redefine non-configurable property "x"',
  ],
};
test.each(Object.entries(said))('the message of %s is recognised', (_, messages) => {
  for (const message of messages) expect(explained(new TypeError(message))).toEqual(hinted);
});

test('other errors stay as they are, and an error is explained once', () => {
  const twice = explained(new TypeError('"x" is read-only'));
  const circle = new Error('a');
  circle.cause = circle;
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  for (const error of [
    new TypeError("Cannot read properties of undefined (reading 'spec')"),
    new TypeError('fetch failed', { cause: new Error('refused') }),
    new Error('the disk is read-only'),
    new CapstanError('MUTATED', 'x', { cause: new TypeError('"x" is read-only') }),
    new Error('why', { cause: twice }),
    circle,
    proxy,
    undefined,
    null,
    'text',
  ])
    expect(explained(error)).toBe(error);
});
