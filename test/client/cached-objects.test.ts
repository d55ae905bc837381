/** Helpers on cached objects, which are read-only, decoded lazily, and shared by all readers. */
import { defineResource, ListWatch, SharedIndexInformer, waitForCacheSync } from 'capstan/cache';
import {
  addFinalizer,
  type Condition,
  newClient,
  type ObjectMeta,
  objectReference,
  removeFinalizer,
  setControllerReference,
  setStatusCondition,
} from 'capstan/client';
import { ApiServer } from 'capstan/testing';
import { expect, it, onTestFinished } from 'vitest';

interface Thing {
  metadata: ObjectMeta;
  spec: { host: string; conditions: Condition[] };
}

const Things = defineResource<Thing>()({
  group: 'example.com',
  version: 'v1',
  kind: 'Thing',
  plural: 'things',
  namespaced: true,
});

it('helpers do not change a cached object, and return a writable one', async () => {
  const server = await ApiServer.start();
  const transport = server.transport();
  const stop = new AbortController();
  const informer = new SharedIndexInformer(new ListWatch(transport, Things));
  const client = newClient({ transport });
  const conditions = [
    {
      type: 'Ready',
      status: 'False',
      reason: 'Wait',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    },
  ];
  for (const name of ['owner', 'thing']) {
    const object = {
      metadata: { name, namespace: 'default', finalizers: ['a.example/a'] },
      spec: { host: name, conditions },
    };
    await client.create(Things, object as Thing);
  }
  const running = informer.run({ signal: stop.signal });
  onTestFinished(async () => {
    stop.abort();
    await running;
    await transport.close?.();
    await server.stop();
  });
  await waitForCacheSync({ signal: stop.signal }, informer);
  const cached = (name: string) => informer.getIndexer().getByKey(`default/${name}`) as Thing;

  const object = cached('thing');
  const before = JSON.stringify(object);
  let next = setControllerReference(cached('owner'), object, Things);
  next = removeFinalizer(addFinalizer(next, 'b.example/b'), 'a.example/a');
  const changed = setStatusCondition(next.spec.conditions, {
    type: 'Ready',
    status: 'True',
    reason: 'Done',
    message: '',
  });
  next = { ...next, spec: { ...next.spec, conditions: changed } };
  expect(objectReference(Things, object)).toMatchObject({
    kind: 'Thing',
    name: 'thing',
    uid: object.metadata.uid,
  });

  expect(cached('thing')).toBe(object);
  expect(JSON.stringify(object)).toBe(before);
  expect(Object.isFrozen(object.spec.conditions[0])).toBe(true);
  const written = await client.update(Things, next);
  expect(written).toMatchObject({
    metadata: {
      finalizers: ['b.example/b'],
      ownerReferences: [
        { kind: 'Thing', name: 'owner', uid: cached('owner').metadata.uid, controller: true },
      ],
    },
    spec: { host: 'thing', conditions: [{ type: 'Ready', status: 'True', reason: 'Done' }] },
  });
});
