import { DeletedFinalStateUnknown } from 'capstan/cache';
import { type Request, setErrorHandler } from 'capstan/workqueue';
import { expect, test } from 'vitest';
import { enqueueRequestForObject, enqueueRequestForOwner } from '../../bindings/controller/handler.ts';

const owner = { group: 'apps', kind: 'Deployment', namespaced: true };
const names = (requests: Request[]) => requests.map(({ namespace, name }) => `${namespace}/${name}`);
const object = (...ownerReferences: object[]) => ({ metadata: { namespace: 'n', name: 'child', ownerReferences } });
const reference = (name: string, more: object = {}) => ({ apiVersion: 'apps/v1', kind: 'Deployment', name, ...more });
const change = {
  generation: false,
  labels: false,
  annotations: false,
  spec: false,
  status: false,
  metadata: false,
  deletion: false,
};

test('enqueueRequestForObject names the object of a tombstone by its last state, and by its key when there is none', () => {
  const requests: Request[] = [];
  const handler = enqueueRequestForObject((request) => requests.push(request));
  handler.onDelete?.({ metadata: { namespace: 'n', name: 'a' } });
  handler.onDelete?.(new DeletedFinalStateUnknown('n/b', { metadata: { namespace: 'n', name: 'b' } }));
  handler.onDelete?.(new DeletedFinalStateUnknown<object>('n/c', undefined));
  handler.onDelete?.(new DeletedFinalStateUnknown<object>('cluster', undefined));
  expect(names(requests)).toEqual(['n/a', 'n/b', 'n/c', '/cluster']);
});

test('enqueueRequestForOwner names every owner of the kind, each once', () => {
  const requests: Request[] = [];
  const handler = enqueueRequestForOwner(owner, (request) => requests.push(request));
  handler.onAdd?.(
    object(reference('a'), reference('b', { kind: 'ReplicaSet' }), reference('c'), reference('a')),
    false,
  );
  expect(names(requests)).toEqual(['n/a', 'n/c']);
  requests.length = 0;
  handler.onUpdate?.(object(reference('a')), object(reference('a'), reference('d')), change);
  expect(names(requests)).toEqual(['n/a', 'n/d']);
});

test('enqueueRequestForOwner names the owner of a tombstone that has its object, and nobody for one that has not', () => {
  const requests: Request[] = [];
  const handler = enqueueRequestForOwner(owner, (request) => requests.push(request));
  handler.onDelete?.(new DeletedFinalStateUnknown('n/child', object(reference('a'))));
  handler.onDelete?.(new DeletedFinalStateUnknown<object>('n/child', undefined));
  expect(names(requests)).toEqual(['n/a']);
});

test('enqueueRequestForOwner stops at the first reference that cannot be parsed, and keeps what came before', () => {
  const reported: string[] = [];
  const previous = setErrorHandler((error) => reported.push(String(error)));
  const requests: Request[] = [];
  const handler = enqueueRequestForOwner(owner, (request) => requests.push(request));
  handler.onAdd?.(object(reference('a'), reference('b', { apiVersion: 'x/y/z' }), reference('c')), true);
  setErrorHandler(previous);
  expect(names(requests)).toEqual(['n/a']);
  expect(reported).toEqual([expect.stringContaining('"x/y/z"')]);
});

test('enqueueRequestForOwner takes only the first reference with controller: true when told so', () => {
  const requests: Request[] = [];
  const handler = enqueueRequestForOwner(owner, (request) => requests.push(request), { onlyController: true });
  handler.onAdd?.(
    object(reference('a'), reference('b', { controller: true }), reference('c', { controller: true })),
    true,
  );
  handler.onAdd?.({ metadata: { namespace: 'n', name: 'orphan' } }, true);
  expect(names(requests)).toEqual(['n/b']);
});
