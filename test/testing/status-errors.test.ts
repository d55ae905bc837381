/** The errors of tests: those of the embedded server, and what the predicates say of all. */
import { type Status, StatusError } from 'capstan/cache';
import * as api from 'capstan/client';
import { ConfigMap, Deployment, Pod } from 'capstan/kinds';
import { fakeClient, statusErrors } from 'capstan/testing';
import { expect, test } from 'vitest';
import { expectError } from '../helpers/expect-error.ts';

const metadata = { namespace: 'default', name: 'a' };

async function failure(call: Promise<unknown>): Promise<StatusError> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof StatusError)) throw new Error(`expected a StatusError, got ${error}`);
  return error;
}

test('the errors of a server have the same status', async () => {
  const client = fakeClient();
  const created = await client.create(ConfigMap, { metadata });
  await client.update(ConfigMap, { ...created, data: { a: '1' } });
  const missing = { ...metadata, name: 'b' };
  const deployment = {
    metadata,
    spec: { replicas: -1, selector: {}, template: {} },
  } as never;
  const invalid = await failure(client.create(Deployment, deployment));
  const causes = (invalid.body.details?.causes ?? []) as { field: string; message: string }[];
  const pairs: [StatusError, StatusError][] = [
    [await failure(client.get(ConfigMap, missing)), statusErrors.notFound(ConfigMap, 'b')],
    [await failure(client.get(Deployment, missing)), statusErrors.notFound(Deployment, 'b')],
    [
      await failure(client.create(ConfigMap, { metadata })),
      statusErrors.alreadyExists(ConfigMap, 'a'),
    ],
    [await failure(client.update(ConfigMap, created)), statusErrors.conflict(ConfigMap, 'a')],
    [invalid, statusErrors.invalid(Deployment, 'a', causes)],
  ];
  for (const [of, made] of pairs) {
    expect(made.body).toEqual(of.body);
    expect([made.status, made.reason, made.code]).toEqual([of.status, of.reason, 'STATUS']);
  }
  expect(statusErrors.notFound(Deployment, 'b').message).toBe(
    'the server: 404 NotFound: deployments.apps "b" not found',
  );
});

type Is = (error: unknown) => boolean;
const { isInternalError: _, ...all } = api;
const predicates = Object.entries(all).filter(
  ([name]) => /^is[A-Z]/.test(name) && !/Condition|BeingDeleted|Namespaced/.test(name),
) as [string, Is][];

test.each<[StatusError, string[], Partial<Status>]>([
  [statusErrors.notFound(Pod, 'a'), ['isNotFound'], {}],
  [statusErrors.alreadyExists(Pod, 'a'), ['isAlreadyExists'], {}],
  [
    statusErrors.conflict(Pod, 'a', 'no'),
    ['isConflict'],
    { message: 'Operation cannot be fulfilled on pods "a": no' },
  ],
  [
    statusErrors.forbidden(Pod, '', 'no'),
    ['isForbidden'],
    { message: 'pods is forbidden: no', details: { kind: 'pods' } },
  ],
  [
    statusErrors.forbidden(Deployment, 'a', 'no'),
    ['isForbidden'],
    { message: 'deployments.apps "a" is forbidden: no' },
  ],
  [statusErrors.invalid(Pod, 'a', [{ field: 'spec', message: 'no' }]), ['isInvalid'], {}],
  [statusErrors.badRequest('no'), ['isBadRequest'], { message: 'no' }],
  [statusErrors.unauthorized(), ['isUnauthorized'], { message: 'Unauthorized' }],
  [statusErrors.methodNotSupported(Pod, 'list'), ['isMethodNotSupported'], {}],
  [statusErrors.resourceExpired(), ['isResourceExpired'], { code: 410 }],
  [statusErrors.requestEntityTooLarge(), ['isRequestEntityTooLarge'], { code: 413 }],
  [
    statusErrors.tooManyRequests('later', { retryAfter: 1500 }),
    ['isTooManyRequests'],
    { details: { retryAfterSeconds: 2 } },
  ],
  [
    statusErrors.internalError('no'),
    [],
    { message: 'Internal error occurred: no', details: { causes: [{ message: 'no' }] } },
  ],
  [
    statusErrors.serverTimeout(Deployment, 'update', { retryAfter: 0 }),
    ['isServerTimeout'],
    {
      code: 500,
      message:
        'The update operation against deployments.apps could not be completed at this time, ' +
        'please try again.',
    },
  ],
  [statusErrors.serviceUnavailable('no'), ['isServiceUnavailable'], {}],
  [statusErrors.timeout('no'), ['isTimeout'], { message: 'Timeout: no' }],
  [statusErrors.ofCode(404), ['isNoMatch', 'isNotFound'], {}], // of no object
])('%s is known', (error, names, body) => {
  expect(predicates.filter(([, is]) => is(error)).map(([name]) => name)).toEqual(names);
  expect(error.body).toMatchObject(body);
});

test('they refuse what is no argument', () => {
  expectError(() => statusErrors.notFound({} as never, 'a'), 'INVALID_ARGUMENT', 'resource');
  expectError(() => statusErrors.notFound(Pod, 3 as never), 'INVALID_ARGUMENT', 'name');
  expectError(() => statusErrors.badRequest(3 as never), 'INVALID_ARGUMENT', 'why');
  expectError(() => statusErrors.ofCode(200), 'INVALID_ARGUMENT', '400 to 599');
  expectError(
    () => statusErrors.tooManyRequests('no', { retry: 1 } as never),
    'INVALID_ARGUMENT',
    'did you mean "retryAfter"',
  );
});
