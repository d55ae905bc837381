/**
 * Owner references as in controller-runtime: the references in the list, what is rejected, and that
 * arguments are not changed.
 */

import { defineResource } from 'capstan/cache';
import {
  AlreadyOwnedError,
  getControllerOf,
  hasControllerReference,
  hasOwnerReference,
  type ObjectMeta,
  removeControllerReference,
  removeOwnerReference,
  setControllerReference,
  setOwnerReference,
} from 'capstan/client';
import { describe, expect, it } from 'vitest';

interface Thing {
  kind?: string;
  metadata: ObjectMeta;
  data?: Record<string, string>;
}

const Deployment = defineResource<Thing>()({
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
});
const DeploymentBeta = { ...Deployment, version: 'v1beta1' };
const OtherDeployment = { ...Deployment, group: 'extensions' };
const Node = defineResource<Thing>()({
  group: '',
  version: 'v1',
  kind: 'Node',
  plural: 'nodes',
  namespaced: false,
});

const owner: Thing = { metadata: { namespace: 'default', name: 'foo', uid: 'foo-uid' } };
const other: Thing = { metadata: { namespace: 'default', name: 'bar', uid: 'bar-uid' } };
const reference = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'foo', uid: 'foo-uid' };
const controller = { ...reference, controller: true, blockOwnerDeletion: true };

const dependent = (
  ownerReferences?: ObjectMeta['ownerReferences'],
  namespace = 'default',
): Thing => ({
  kind: 'ConfigMap',
  metadata: {
    namespace,
    name: 'config',
    ...(ownerReferences === undefined ? {} : { ownerReferences }),
  },
  data: { a: 'b' },
});
const owners = (thing: Thing) => thing.metadata.ownerReferences;

describe('an owner reference', () => {
  it('is added to an empty list, with group and version, kind, name and uid', () => {
    expect(owners(setOwnerReference(owner, dependent(), Deployment))).toEqual([reference]);
  });

  it('to a resource of the core group has only a version', () => {
    const node: Thing = { metadata: { name: 'n1', uid: 'n1-uid' } };
    expect(owners(setOwnerReference(node, dependent(), Node))).toEqual([
      { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'n1-uid' },
    ]);
  });

  it('blocks the deletion of its owner on request', () => {
    const owned = setOwnerReference(owner, dependent(), Deployment, { blockOwnerDeletion: true });
    expect(owners(owned)).toEqual([{ ...reference, blockOwnerDeletion: true }]);
  });

  it('is unique: setting it again returns the same object', () => {
    const owned = setOwnerReference(owner, dependent(), Deployment);
    expect(setOwnerReference(owner, owned, Deployment)).toBe(owned);
  });

  it('is updated in place if version or uid have changed', () => {
    const there = [
      { ...reference, apiVersion: 'apps/v1beta1', uid: 'old-uid' },
      { ...reference, name: 'bar' },
    ];
    expect(owners(setOwnerReference(owner, dependent(there), Deployment))).toEqual([
      reference,
      there[1],
    ]);
  });

  it('to the same name in another group or of another kind is another one', () => {
    const both = setOwnerReference(
      owner,
      setOwnerReference(owner, dependent(), OtherDeployment),
      Deployment,
    );
    expect(owners(both)).toHaveLength(2);
    const set = { ...Deployment, kind: 'StatefulSet' };
    expect(owners(setOwnerReference(owner, both, set))).toHaveLength(3);
  });

  it('is removed, also if a controller reference set it', () => {
    expect(
      owners(
        removeOwnerReference(owner, setOwnerReference(owner, dependent(), Deployment), Deployment),
      ),
    ).toEqual([]);
    const controlled = setControllerReference(
      owner,
      setOwnerReference(other, dependent(), Deployment),
      Deployment,
    );
    expect(owners(removeOwnerReference(owner, controlled, Deployment))).toEqual([
      { ...reference, name: 'bar', uid: 'bar-uid' },
    ]);
  });

  it('that is missing cannot be removed', () => {
    const missing = expect.objectContaining({
      code: 'NOT_OWNED',
      message: 'ConfigMap default/config has no owner reference to Deployment foo',
    });
    expect(() => removeOwnerReference(owner, dependent(), Deployment)).toThrow(missing);
    const byOther = setOwnerReference(other, dependent(), Deployment);
    expect(() => removeOwnerReference(owner, byOther, Deployment)).toThrow(missing);
    const otherGroup = setOwnerReference(owner, dependent(), OtherDeployment);
    expect(() => removeOwnerReference(owner, otherGroup, Deployment)).toThrow(missing);
  });

  it('of an invalid object cannot be removed', () => {
    const owned = setControllerReference(owner, dependent(), Deployment);
    const refused = expect.objectContaining({ code: 'INVALID_ARGUMENT' });
    for (const none of [undefined, null, {}, { metadata: {} }])
      for (const remove of [removeOwnerReference, removeControllerReference])
        expect(() => remove(none as never, owned, Deployment)).toThrow(refused);
    expect(owners(owned)).toHaveLength(1);
  });

  it('is found by group, kind and name, whatever its version', () => {
    const owned = dependent([reference]);
    expect(hasOwnerReference(owner, owned, DeploymentBeta)).toBe(true);
    expect(hasOwnerReference(owner, owned, OtherDeployment)).toBe(false);
    expect(hasOwnerReference(other, owned, Deployment)).toBe(false);
    expect(hasOwnerReference(owner, dependent(), Deployment)).toBe(false);
  });
});

describe('a controller reference', () => {
  it('is marked as such, and blocks the deletion of its owner', () => {
    expect(owners(setControllerReference(owner, dependent(), Deployment))).toEqual([controller]);
  });

  it('does not block the deletion of its owner if disabled', () => {
    const owned = setControllerReference(owner, dependent(), Deployment, {
      blockOwnerDeletion: false,
    });
    expect(owners(owned)).toEqual([{ ...controller, blockOwnerDeletion: false }]);
  });

  it('is rejected for an object with another controller, which the error names', () => {
    const owned = setControllerReference(other, dependent(), Deployment);
    const attempt = () => setControllerReference(owner, owned, Deployment);
    expect(attempt).toThrow(AlreadyOwnedError);
    expect(attempt).toThrow(
      expect.objectContaining({
        code: 'ALREADY_OWNED',
        owner: { ...controller, name: 'bar', uid: 'bar-uid' },
        message: expect.stringContaining(
          'ConfigMap default/config is already owned by another controller, Deployment bar',
        ),
      }),
    );
  });

  it('is unique: setting it again returns the same object', () => {
    const owned = setControllerReference(owner, dependent(), Deployment);
    expect(setControllerReference(owner, owned, Deployment)).toBe(owned);
  });

  it('replaces an owner reference to the same owner', () => {
    const plain = setOwnerReference(owner, dependent(), Deployment);
    expect(owners(setControllerReference(owner, plain, Deployment))).toEqual([controller]);
    const beta = setControllerReference(owner, dependent(), DeploymentBeta);
    expect(owners(setControllerReference(owner, beta, Deployment))).toEqual([controller]);
  });

  it('is distinguished from other references', () => {
    const controlled = setControllerReference(
      owner,
      setOwnerReference(other, dependent(), Deployment),
      Deployment,
    );
    expect(hasControllerReference(controlled)).toBe(true);
    expect(getControllerOf(controlled)).toEqual(controller);
    const owned = setOwnerReference(owner, dependent(), Deployment);
    expect(hasControllerReference(owned)).toBe(false);
    expect(getControllerOf(owned)).toBeUndefined();
  });

  it('is removed', () => {
    const controlled = setControllerReference(owner, dependent(), Deployment);
    expect(owners(removeControllerReference(owner, controlled, Deployment))).toEqual([]);
  });

  it('is not removed if the owner is no controller, or another owner is', () => {
    const notController = (thing: Thing, message: string) =>
      expect(() => removeControllerReference(owner, thing, Deployment)).toThrow(
        expect.objectContaining({
          code: 'NOT_OWNED',
          message: `ConfigMap default/config ${message}`,
        }),
      );
    notController(setOwnerReference(owner, dependent(), Deployment), 'has no controller');
    notController(
      setControllerReference(other, dependent(), Deployment),
      'has no owner reference to Deployment foo',
    );
    notController(
      setControllerReference(other, setOwnerReference(owner, dependent(), Deployment), Deployment),
      'has Deployment foo as an owner, but not as its controller',
    );
  });
});

describe('an owner', () => {
  it.each([
    [
      'in another namespace',
      dependent(undefined, 'elsewhere'),
      'an owner has to be in the namespace',
    ],
    [
      'in a namespace, of an object that is in none',
      dependent(undefined, ''),
      'a cluster-scoped object cannot have',
    ],
  ])('%s is rejected', (_, object, message) => {
    for (const set of [setControllerReference, setOwnerReference]) {
      expect(() => set(owner, object, Deployment)).toThrow(
        expect.objectContaining({
          code: 'INVALID_OWNER',
          message: expect.stringContaining(message),
        }),
      );
    }
  });

  it('that is cluster-scoped may own objects in any namespace and in none', () => {
    const node: Thing = { metadata: { name: 'n1', uid: 'n1-uid' } };
    expect(owners(setControllerReference(node, dependent(), Node))).toHaveLength(1);
    expect(owners(setControllerReference(node, dependent(undefined, ''), Node))).toHaveLength(1);
  });

  it('without a uid, before it is created, is rejected', () => {
    const draft = { metadata: { namespace: 'default', name: 'foo' } };
    expect(() => setControllerReference(draft, dependent(), Deployment)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining('owner.metadata.uid'),
      }),
    );
    expect(() => setControllerReference({}, dependent(), Deployment)).toThrow(
      'owner.metadata.name',
    );
  });
});

describe('the option blockOwnerDeletion', () => {
  it('is refused unless it is true or false', () => {
    // A text was written, and the server refused the object for it later.
    for (const set of [setControllerReference, setOwnerReference])
      expect(() =>
        set(owner, dependent(), Deployment, { blockOwnerDeletion: 'no' as never }),
      ).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });
});

describe('objects of a cache, which are frozen,', () => {
  const freeze = (thing: Thing): Thing => {
    Object.freeze(thing.metadata.ownerReferences);
    Object.freeze(thing.metadata);
    return Object.freeze(thing);
  };

  it('are returned changed as new ones, which share unchanged parts', () => {
    const frozen = freeze(dependent([{ ...reference, name: 'bar' }]));
    const before = JSON.stringify(frozen);
    const owned = setControllerReference(freeze({ ...owner }), frozen, Deployment);
    expect(JSON.stringify(frozen)).toBe(before);
    expect(owned).not.toBe(frozen);
    expect(owned.data).toBe(frozen.data);
    expect(owners(removeOwnerReference(owner, freeze(owned), Deployment))).toEqual(owners(frozen));
  });
});
