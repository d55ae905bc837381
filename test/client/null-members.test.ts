/**
 * Lists with null elements, and members that should be lists and are not: no helper fails with a
 * plain TypeError.
 */
import { describe, expect, it, test, vi } from 'vitest';
import { hasCode } from '../../bindings/base/errors.ts';
import { labelMatcher } from '../../bindings/cache/index.ts';
import {
  addFinalizer,
  containsFinalizer,
  finalizer,
  findStatusCondition,
  getControllerOf,
  hasOwnerReference,
  isBeingDeleted,
  isStatusConditionPresentAndEqual,
  isStatusConditionTrue,
  objectReference,
  removeControllerReference,
  removeFinalizer,
  removeOwnerReference,
  removeStatusCondition,
  setControllerReference,
  setOwnerReference,
  setStatusCondition,
} from '../../bindings/client/index.ts';
import { enqueueRequestForOwner } from '../../bindings/controller/index.ts';
import { ConfigMaps as ConfigMap } from '../helpers/resources.ts';

const owner = { metadata: { namespace: 'default', name: 'site', uid: 'u-1' } };
const reference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'site', uid: 'u-1' };

/** An object as a server may return it, in spite of its type. */
const objectWith = (metadata: object): { metadata: { name: string; ownerReferences?: never } } => ({
  metadata: { namespace: 'default', name: 'a', ...metadata } as never,
});

// A custom resource whose definition allows null conditions ended reconciles with "Cannot
// destructure property 'type' of 'object null'".
describe('null among conditions', () => {
  const ready = { type: 'Ready', status: 'True', reason: 'Deployed', message: '' } as const;
  const list = [null, { ...ready, type: 'Old', lastTransitionTime: 't' }] as never[];

  it('is no condition, and stays', () => {
    const next: unknown[] = setStatusCondition(list, ready, { wallNow: () => 0 });
    expect(next).toEqual([...list, { ...ready, lastTransitionTime: '1970-01-01T00:00:00Z' }]);
    expect(removeStatusCondition(next as never[], 'Old')).toEqual([null, next[2]]);
    expect(findStatusCondition(next as never[], 'Ready')).toBe(next[2]);
    expect(findStatusCondition(next as never[], 'None')).toBe(undefined);
    expect(isStatusConditionTrue(next as never[], 'Ready')).toBe(true);
    expect(isStatusConditionPresentAndEqual(list, 'Ready', 'True')).toBe(false);
  });

  it('treats a null list as empty, and rejects what is not a list', () => {
    expect(setStatusCondition(null, ready)).toHaveLength(1);
    expect(removeStatusCondition(null, 'Ready')).toEqual([]);
    const wrong = { Ready: 'True' } as never;
    for (const call of [
      () => setStatusCondition(wrong, ready),
      () => removeStatusCondition(wrong, 'Ready'),
      () => isStatusConditionTrue(wrong, 'Ready'),
    ])
      expect(call).toThrow('"conditions" expected a list');
  });
});

describe('null among owner references', () => {
  const owned = objectWith({ ownerReferences: [null, { ...reference, controller: true }] });

  it('refers to nothing, and stays', () => {
    expect(getControllerOf(owned)).toEqual({ ...reference, controller: true });
    expect(getControllerOf(objectWith({ ownerReferences: [null] }))).toBe(undefined);
    expect(hasOwnerReference(owner, owned, ConfigMap)).toBe(true);
    const none: unknown[] = [null];
    expect(removeOwnerReference(owner, owned, ConfigMap).metadata.ownerReferences).toEqual(none);
    expect(removeControllerReference(owner, owned, ConfigMap).metadata.ownerReferences).toEqual(
      none,
    );
    const set = setControllerReference(owner, objectWith({ ownerReferences: none }), ConfigMap);
    expect(set.metadata.ownerReferences).toEqual([
      null,
      { ...reference, controller: true, blockOwnerDeletion: true },
    ]);
    const withoutVersion = objectWith({ ownerReferences: [{ kind: 'ConfigMap', name: 'b' }, {}] });
    expect(setOwnerReference(owner, withoutVersion, ConfigMap).metadata.ownerReferences).toEqual([
      { kind: 'ConfigMap', name: 'b' },
      {},
      reference,
    ]);
  });

  it('references that are not a list are an error', () => {
    const wrong = objectWith({ ownerReferences: reference });
    for (const call of [
      () => getControllerOf(wrong),
      () => setOwnerReference(owner, wrong, ConfigMap),
      () => removeOwnerReference(owner, wrong, ConfigMap),
    ])
      expect(call).toThrow('"object.metadata.ownerReferences" expected a list');
  });

  it('enqueues the other owners', () => {
    const added: unknown[] = [];
    const queue = { add: (request: unknown) => added.push(request) } as never;
    const reported = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const handler = enqueueRequestForOwner(ConfigMap);
    const tell = (ownerReferences: unknown) =>
      handler.create?.({ object: objectWith({ ownerReferences }) } as never, queue);
    tell([null, reference, { ...reference, apiVersion: null }, undefined]);
    tell(null);
    tell({ 0: reference });
    tell([{ ...reference, name: null }]);
    expect(added).toEqual([{ namespace: 'default', name: 'site' }]);
    reported.mockRestore();
  });
});

test('null labels count as none', () => {
  expect(labelMatcher('app=web')(null)).toBe(false);
  expect(labelMatcher('!app')(undefined)).toBe(true);
  const pod = { metadata: { name: 'a', namespace: null, uid: null } };
  const { apiVersion, kind } = { apiVersion: 'v1', kind: 'ConfigMap' };
  expect(objectReference(ConfigMap, pod)).toEqual({ apiVersion, kind, name: 'a' });
});

describe('null among finalizers', () => {
  it('is no finalizer', () => {
    const some = objectWith({ finalizers: [null, 'example.com/a'] });
    expect(containsFinalizer(some, 'example.com/a')).toBe(true);
    expect(removeFinalizer(some, 'example.com/a')).toEqual(objectWith({ finalizers: [null] }));
    const none = objectWith({ finalizers: null, deletionTimestamp: null });
    expect(addFinalizer(none, 'example.com/a').metadata).toMatchObject({
      finalizers: ['example.com/a'],
    });
    expect(isBeingDeleted(none)).toBe(false);
    expect(isBeingDeleted({ metadata: null } as never)).toBe(false);
  });

  it('lets finalizer() add its own', async () => {
    const sent: unknown[] = [];
    const client = {
      patch: async (...[, , patch]: unknown[]) => {
        sent.push((patch as { operations: unknown }).operations);
        return {};
      },
    } as never;
    const handlers = { apply: () => 'applied', cleanup: () => 'cleaned' };
    const none = objectWith({ finalizers: null });
    expect(await finalizer(client, ConfigMap, 'example.com/a', none as never, handlers)).toBe(
      'applied',
    );
    expect(sent).toEqual([
      [
        { op: 'test', path: '/metadata/finalizers', value: null },
        { op: 'add', path: '/metadata/finalizers', value: ['example.com/a'] },
      ],
    ]);
  });

  it('finalizers that are not a list are an error', () => {
    for (const call of [
      () => containsFinalizer(objectWith({ finalizers: 'example.com/a' }), 'a'),
      () => addFinalizer(objectWith({ finalizers: {} }), 'a'),
      () => removeFinalizer(objectWith({ finalizers: 1 }), 'a'),
    ]) {
      let error: unknown;
      try {
        call();
      } catch (thrown) {
        error = thrown;
      }
      expect(hasCode(error, 'INVALID_ARGUMENT')).toBe(true);
    }
  });
});
