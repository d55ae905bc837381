/**
 * Predicates of errors, and warnings of the server. apimachinery: pkg/api/errors/errors_test.go,
 * pkg/util/net/http_test.go warnings.
 */
import { StatusError, type Transport, TransportError } from 'capstan/cache';
import * as errors from 'capstan/client';
import { newClient, type Warning } from 'capstan/client';
import { FakeClock } from 'capstan/testing';
import { afterEach, describe, expect, test } from 'vitest';
import { setErrorHandler } from '../../bindings/base/handle-error.ts';
import { warningsIn } from '../../bindings/client/warnings.ts';
import { at, ConfigMaps } from '../helpers/resources.ts';

afterEach(() => {
  setErrorHandler(undefined);
});

const failure = (code: number, reason = '', details?: object) =>
  new StatusError(
    code,
    { kind: 'Status', reason, message: 'm', code, ...(details && { details }) },
    'GET /x',
  );

const KINDS: [is: (error: unknown) => boolean, reason: string, code: number, codeAlone: boolean][] =
  [
    [errors.isNotFound, 'NotFound', 404, true],
    [errors.isAlreadyExists, 'AlreadyExists', 409, false],
    [errors.isConflict, 'Conflict', 409, true],
    [errors.isInvalid, 'Invalid', 422, true],
    [errors.isBadRequest, 'BadRequest', 400, true],
    [errors.isUnauthorized, 'Unauthorized', 401, true],
    [errors.isForbidden, 'Forbidden', 403, true],
    [errors.isMethodNotSupported, 'MethodNotAllowed', 405, true],
    [errors.isNotAcceptable, 'NotAcceptable', 406, true],
    [errors.isGone, 'Gone', 410, true],
    [errors.isResourceExpired, 'Expired', 410, false],
    [errors.isRequestEntityTooLarge, 'RequestEntityTooLarge', 413, true],
    [errors.isUnsupportedMediaType, 'UnsupportedMediaType', 415, true],
    [errors.isTooManyRequests, 'TooManyRequests', 429, true],
    [errors.isInternalError, 'InternalError', 500, true],
    [errors.isServerTimeout, 'ServerTimeout', 500, false],
    [errors.isServiceUnavailable, 'ServiceUnavailable', 503, true],
    [errors.isTimeout, 'Timeout', 504, true],
  ];

describe.each(KINDS)('%o for %s', (is, reason, code, codeAlone) => {
  test('is recognised by the reason, and by the code if there is no known reason', () => {
    expect(is(failure(code, reason))).toBe(true);
    expect(is(failure(200, reason))).toBe(true);
    expect(is(failure(code))).toBe(codeAlone);
    expect(is(failure(code, 'SomethingNew'))).toBe(codeAlone);
    const others = KINDS.filter(([other]) => other !== is);
    // TooLarge and TooManyRequests are recognised by their code whatever the reason.
    if (code !== 413 && code !== 429)
      for (const [, other] of others) expect(is(failure(code, other)), other).toBe(false);
  });

  test('is no other error', () => {
    for (const other of [
      undefined,
      null,
      'x',
      new Error('x'),
      new TransportError('reset', 'x'),
      { status: code, reason },
    ])
      expect(is(other)).toBe(false);
  });
});

test('errors that mean success are ignored, and all others rethrown', async () => {
  // Story: they returned the error, as in Go. `client.delete(…).catch(errors.ignoreNotFound)`
  // compiled, and swallowed every failure.
  const [gone, there, other] = [
    failure(404, 'NotFound'),
    failure(409, 'AlreadyExists'),
    new Error('x'),
  ];
  expect(await Promise.reject(gone).catch(errors.ignoreNotFound)).toBeUndefined();
  expect(await Promise.reject(there).catch(errors.ignoreAlreadyExists)).toBeUndefined();
  for (const error of [there, other, null])
    await expect(Promise.reject(error).catch(errors.ignoreNotFound)).rejects.toBe(error);
  for (const error of [gone, other, null])
    await expect(Promise.reject(error).catch(errors.ignoreAlreadyExists)).rejects.toBe(error);
  expect([errors.ignoreNotFound(undefined), errors.ignoreAlreadyExists(undefined)]).toEqual([
    undefined,
    undefined,
  ]);
});

test('causes and retryAfterSeconds are read from the details', () => {
  const conflict = failure(409, 'Conflict', {
    causes: [{ reason: 'FieldManagerConflict', field: '.spec' }],
  });
  expect(errors.hasStatusCause(conflict, 'FieldManagerConflict')).toBe(true);
  expect(errors.hasStatusCause(conflict, 'Other')).toBe(false);
  expect(errors.hasStatusCause(new Error('x'), 'Other')).toBe(false);
  expect(
    errors.suggestsClientDelay(failure(429, 'TooManyRequests', { retryAfterSeconds: 2 })),
  ).toBe(2000);
  expect(errors.suggestsClientDelay(failure(500, 'ServerTimeout', { retryAfterSeconds: 0 }))).toBe(
    0,
  );
  expect(
    errors.suggestsClientDelay(failure(503, 'ServiceUnavailable', { retryAfterSeconds: 0 })),
  ).toBeUndefined();
  // Go omits a zero
  expect(errors.suggestsClientDelay(failure(504, 'ServerTimeout', { kind: 'pods' }))).toBe(0);
  expect(errors.suggestsClientDelay(failure(429, '', { retryAfterSeconds: 0 }))).toBeUndefined();
  expect(errors.suggestsClientDelay(failure(504, 'ServerTimeout'))).toBeUndefined();
  expect(errors.suggestsClientDelay(failure(404, 'NotFound'))).toBeUndefined();
  expect(errors.suggestsClientDelay(new Error('x'))).toBeUndefined();
});

describe('warnings', () => {
  test.each<[string | null, string[]]>([
    [null, []],
    ['', []],
    ['299 - "old"', ['old']],
    ['299 - "one", 299 - "two, with a comma"', ['one', 'two, with a comma']],
    [
      '299 kube "a \\"quoted\\" \\\\ text" "Wed, 21 Oct 2026 07:28:00 GMT", 299 - "next"',
      ['a "quoted" \\ text', 'next'],
    ],
    ['199 - "of another kind", 299 - "ours"', ['ours']],
    ['299 - unquoted', []],
    ['299 - "open', []],
  ])('of %j are %j', (header, texts) => {
    expect(warningsIn(header)).toEqual(texts);
  });

  const warned = (text: string): Transport => ({
    request: async () => ({
      status: 200,
      headers: new Headers({ warning: text }),
      body: new Blob([
        '{"kind":"ConfigMap","metadata":{"name":"a"}}',
      ]).stream() as unknown as AsyncIterable<Uint8Array>,
    }),
  });

  test('go to the hook, with their request', async () => {
    const heard: Warning[] = [];
    const client = newClient({
      transport: warned('299 - "old", 299 - "very"'),
      onWarning: (warning) => heard.push(warning),
    });
    await client.get(ConfigMaps, at('a'));
    const request = { method: 'GET', path: '/api/v1/namespaces/default/configmaps/a' };
    expect(heard).toEqual([
      { text: 'old', ...request },
      { text: 'very', ...request },
    ]);
  });

  test('go to the logger if there is no hook, and nowhere without either', async () => {
    const logged: unknown[] = [];
    const silent = () => undefined;
    const logger = {
      debug: silent,
      info: silent,
      error: silent,
      warn: (...all: unknown[]) => void logged.push(all),
    };
    await newClient({ transport: warned('299 - "old"'), logger }).get(ConfigMaps, at('a'));
    expect(logged).toEqual([
      ['old', { method: 'GET', path: '/api/v1/namespaces/default/configmaps/a' }],
    ]);
    await newClient({ transport: warned('299 - "old"') }).get(ConfigMaps, at('a'));
  });

  test('do not fail a request, whatever the hook does', async () => {
    const reported: unknown[] = [];
    setErrorHandler((error) => reported.push(error));
    const wrong = new Error('hook');
    const onWarning = () => {
      throw wrong;
    };
    for (const hook of [onWarning, async () => onWarning()]) {
      const got = await newClient({ transport: warned('299 - "old"'), onWarning: hook }).get(
        ConfigMaps,
        at('a'),
      );
      expect(got.metadata.name).toBe('a');
    }
    await new FakeClock().settle();
    expect(reported).toEqual([wrong, wrong]);
  });
});
