import { DeletedFinalStateUnknown } from 'capstan/cache';
import { newClient, objectKey } from 'capstan/client';
import { ApiServer } from 'capstan/testing';
import { expect, test } from 'vitest';
import { ConfigMaps, configMap, Namespaces } from '../helpers/resources.ts';

test('the key of an object is its namespace and name, and as text namespace/name', () => {
  const key = objectKey({ metadata: { namespace: 'default', name: 'web', uid: '1' } });
  expect({ ...key }).toEqual({ namespace: 'default', name: 'web' });
  expect(`${key}`).toBe('default/web');
  const node = objectKey({ metadata: { name: 'node-1' } });
  expect({ ...node }).toEqual({ namespace: '', name: 'node-1' });
  expect(`${node}`).toBe('node-1');
});

test('the key of a tombstone is that of its object, which may be unknown', () => {
  const key = objectKey(new DeletedFinalStateUnknown('default/web', undefined));
  expect({ ...key }).toEqual({ namespace: 'default', name: 'web' });
});

test('an object without a name has no key', () => {
  for (const wrong of [{}, { metadata: {} }, { metadata: { generateName: 'web-' } }])
    expect(() => objectKey(wrong)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining('metadata.name'),
      }),
    );
});

test('a client reads by the key of an object, namespaced or not', async () => {
  await using server = await ApiServer.start();
  const client = newClient({ transport: server.transport() });
  const map = await client.create(ConfigMaps, configMap('a'));
  const namespace = await client.create(Namespaces, { metadata: { name: 'team' } });
  expect(await client.get(ConfigMaps, objectKey(map))).toEqual(map);
  expect(await client.get(Namespaces, objectKey(namespace))).toEqual(namespace);
});
