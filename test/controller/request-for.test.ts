import { DeletedFinalStateUnknown } from 'capstan/cache';
import { requestFor } from 'capstan/controller';
import { type Request, requestKey, WorkQueue } from 'capstan/workqueue';
import { expect, test } from 'vitest';

test('the request for an object has its namespace and name alone', () => {
  const web = { metadata: { namespace: 'default', name: 'web', uid: '1' } };
  expect(requestFor(web)).toStrictEqual({ namespace: 'default', name: 'web' });
  expect(requestFor({ metadata: { name: 'node-1' } })).toStrictEqual({
    namespace: '',
    name: 'node-1',
  });
});

test('the request for a tombstone is that for its object, which may be unknown', () => {
  expect(requestFor(new DeletedFinalStateUnknown('default/web', undefined))).toStrictEqual({
    namespace: 'default',
    name: 'web',
  });
});

test('there is no request for an object without a name', () => {
  expect(() => requestFor({ metadata: { generateName: 'web-' } })).toThrow(
    expect.objectContaining({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('metadata.name'),
    }),
  );
});

test('two states of an object are one request in a queue', () => {
  const queue = new WorkQueue<Request>({ key: requestKey });
  queue.add(requestFor({ metadata: { namespace: 'default', name: 'web', resourceVersion: '1' } }));
  queue.add(requestFor({ metadata: { namespace: 'default', name: 'web', resourceVersion: '2' } }));
  expect(queue.len()).toBe(1);
});
