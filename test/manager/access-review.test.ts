/**
 * Metrics behind reviews of the API server. controller-runtime:
 * pkg/metrics/filters/filters_test.go.
 */
import type { Transport, TransportRequest } from 'capstan/cache';
import { type AccessReviewOptions, withAuthenticationAndAuthorization } from 'capstan/manager';
import { FakeClock } from 'capstan/workqueue';
import { describe, expect, onTestFinished, test } from 'vitest';
import { collectErrorValues } from '../helpers/reported-errors.ts';
import { managerOf, startManager } from './recording-runnables.ts';

const reported = collectErrorValues();

interface Review {
  readonly kind: string;
  readonly apiVersion: string;
  readonly spec: {
    token?: string;
    audiences?: string[];
    user?: string;
    nonResourceAttributes?: { path: string; verb: string };
  };
}

const scraper = { username: 'system:serviceaccount:monitoring:scraper', uid: 'u', groups: ['g'] };
const ALLOWED = { authenticated: true, user: scraper };

/**
 * An API server that knows the tokens `good` and `poor`. Only the user of `good` may read
 * everything.
 */
function reviewer(
  answer: (review: Review) => object | Promise<object> = ({ kind, spec }) =>
    kind === 'TokenReview'
      ? {
          authenticated: spec.token !== 'bad',
          user: spec.token === 'good' ? scraper : { username: 'poor' },
        }
      : { allowed: spec.user === scraper.username },
) {
  const requested: (Review & { path: string; method: string })[] = [];
  const transport: Transport = {
    async request({ method, path, body, signal }: TransportRequest) {
      const review = JSON.parse(body as string) as Review;
      requested.push({ ...review, path, method });
      const gone = new Promise<never>((_, reject) =>
        signal?.addEventListener('abort', () => reject(signal.reason)),
      );
      gone.catch(() => undefined); // the race below reports it
      const status = await Promise.race([answer(review), gone]);
      return {
        status: 201,
        headers: { get: () => null },
        body: (async function* () {
          yield new TextEncoder().encode(JSON.stringify({ ...review, status }));
        })(),
      };
    },
  };
  return { transport, asked: requested };
}

async function served(transport: Transport, options: AccessReviewOptions = {}) {
  const clock = new FakeClock();
  const { manager } = managerOf({
    clock,
    metrics: {
      bindAddress: '127.0.0.1:0',
      filter: withAuthenticationAndAuthorization(transport, { clock, ...options }),
      extraHandlers: { '/debug': (_, response) => void response.end('Some debug info') },
    },
  });
  const { stop, done } = startManager(manager, clock);
  onTestFinished(async () => {
    stop();
    await done;
  });
  await manager.serving();
  const get = async (path: string, authorization?: string, method = 'GET') => {
    const headers = {
      connection: 'close',
      ...(authorization === undefined ? {} : { authorization }),
    };
    const response = await fetch(`${manager.url('metrics')}${path}`, { headers, method });
    return { status: response.status, text: await response.text() };
  };
  return { get, clock };
}

describe('metrics behind the API server’s reviews', () => {
  test('are served to a user who may get the path (…registry, extra endpoints)', async () => {
    const { transport, asked } = reviewer();
    const { get, clock } = await served(transport);
    expect((await get('/metrics?name=a', 'Bearer good')).status).toBe(200);
    expect(await get('/debug', 'bearer  good')).toEqual({ status: 200, text: 'Some debug info' });
    expect(clock.timers()).toBe(0);
    expect(asked.map(({ kind, path, method, spec }) => ({ kind, path, method, spec }))).toEqual([
      {
        kind: 'TokenReview',
        path: '/apis/authentication.k8s.io/v1/tokenreviews',
        method: 'POST',
        spec: { token: 'good' },
      },
      ...['/metrics', '/debug'].map((path) => ({
        kind: 'SubjectAccessReview',
        path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
        method: 'POST',
        spec: {
          user: scraper.username,
          uid: 'u',
          groups: ['g'],
          nonResourceAttributes: { path, verb: 'get' },
        },
      })),
    ]);
  });

  test.each([undefined, '', 'Bearer', 'Bearer ', 'Basic Z29vZA==', 'good', 'Bearer good enough'])(
    'are not for who has no token, and nobody is asked: %s',
    async (authorization) => {
      const { transport, asked } = reviewer();
      const { get } = await served(transport);
      expect(await get('/metrics', authorization)).toEqual({ status: 401, text: 'Unauthorized\n' });
      expect(asked).toEqual([]);
    },
  );

  test('are refused to unknown users and to users without permission', async () => {
    const { get } = await served(reviewer().transport);
    expect(await get('/metrics', 'Bearer bad')).toEqual({ status: 401, text: 'Unauthorized\n' });
    expect(await get('/metrics', 'Bearer poor')).toEqual({
      status: 403,
      text: 'Authorization denied for user poor\n',
    });
  });

  test('are served by verb and path of the review', async () => {
    const { transport } = reviewer(({ kind, spec: { nonResourceAttributes: asked } }) =>
      kind === 'TokenReview'
        ? ALLOWED
        : { allowed: `${asked?.verb} ${asked?.path}` === 'put /debug' },
    );
    const { get } = await served(transport);
    const denied = { status: 403, text: `Authorization denied for user ${scraper.username}\n` };
    const debug = { status: 200, text: 'Some debug info' };
    expect(await get('/debug', 'Bearer good', 'PUT')).toEqual(debug);
    expect(await get('/debug', 'Bearer good')).toEqual(denied);
    expect(await get('/metrics', 'Bearer good', 'PUT')).toEqual(denied);
    expect(await get('/metrics', 'Bearer good')).toEqual(denied);
  });

  test.each([
    ['Authentication failed', 'TokenReview'],
    [`Authorization for user ${scraper.username} failed`, 'SubjectAccessReview'],
  ])('are for nobody without an answer: %s', async (text, failing) => {
    const failure = new Error('no answer');
    const { transport } = reviewer(({ kind }) => {
      if (kind === failing) throw failure;
      return ALLOWED;
    });
    const { get } = await served(transport);
    expect(await get('/metrics', 'Bearer good')).toEqual({ status: 500, text: `${text}\n` });
    expect(reported).toEqual([failure]);
  });

  test('are refused if there is no response after ten seconds', async () => {
    const { transport, asked } = reviewer(() => new Promise(() => undefined));
    const { get, clock } = await served(transport);
    const answer = get('/metrics', 'Bearer good');
    while (asked.length === 0) await new Promise(setImmediate);
    clock.step(9999);
    await clock.settle();
    expect(reported).toEqual([]);
    clock.step(1);
    expect(await answer).toEqual({ status: 500, text: 'Authentication failed\n' });
    expect(clock.timers()).toBe(0);
  });

  test('are reviewed again after a minute for the token, later for access', async () => {
    const { transport, asked } = reviewer();
    const { get, clock } = await served(transport);
    const askedAfter = async (ms: number, authorization: string): Promise<string[]> => {
      clock.step(ms);
      asked.length = 0;
      await get('/metrics', authorization);
      return asked.map(({ kind }) => kind);
    };
    expect(await askedAfter(0, 'Bearer good')).toEqual(['TokenReview', 'SubjectAccessReview']);
    expect(await askedAfter(60_000, 'Bearer good')).toEqual([]);
    expect(await askedAfter(1, 'Bearer good')).toEqual(['TokenReview']);
    expect(await askedAfter(240_000, 'Bearer good')).toEqual([
      'TokenReview',
      'SubjectAccessReview',
    ]);
    expect(await askedAfter(0, 'Bearer poor')).toEqual(['TokenReview', 'SubjectAccessReview']);
    expect(await askedAfter(30_000, 'Bearer poor')).toEqual([]);
    expect(await askedAfter(1, 'Bearer poor')).toEqual(['SubjectAccessReview']);
    expect(await askedAfter(0, 'Bearer bad')).toEqual(['TokenReview']);
    expect(await askedAfter(60_000, 'Bearer bad')).toEqual([]);
  });

  test('are served to tokens of the given audiences only', async () => {
    const answered = (audiences: string[] | undefined) =>
      reviewer(({ kind }) =>
        kind === 'TokenReview'
          ? { authenticated: true, user: scraper, audiences }
          : { allowed: true },
      );
    const meant = answered(['metrics']);
    const options = { audiences: ['metrics'] };
    expect(
      (await (await served(meant.transport, options)).get('/metrics', 'Bearer good')).status,
    ).toBe(200);
    expect(meant.asked[0]?.spec.audiences).toEqual(['metrics']);
    for (const others of [['api'], undefined])
      expect(
        (await (await served(answered(others).transport, options)).get('/metrics', 'Bearer good'))
          .status,
      ).toBe(401);
  });
});
