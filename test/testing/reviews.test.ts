/**
 * Tokens of ServiceAccounts, and reviews: what programs ask a cluster about who they are and what
 * they may.
 */
import { FakeClock } from 'capstan/testing';
import { describe, expect, test } from 'vitest';
import { type ApiObject, type ApiRequests, soon, startApi } from '../helpers/server/requests.ts';

const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts';
const TOKEN_REVIEWS = '/apis/authentication.k8s.io/v1/tokenreviews';
const AUTHORIZATION = '/apis/authorization.k8s.io/v1';

interface TokenStatus {
  token: string;
  expirationTimestamp: string;
}

async function tokenOf(api: ApiRequests, spec: object = {}): Promise<string> {
  const { status } = await api.make(`${ACCOUNTS}/bot/token`, { spec });
  return (status as TokenStatus).token;
}

const reviewed = async (
  api: ApiRequests,
  token: string,
  audiences?: string[],
): Promise<ApiObject> =>
  (await api.make(TOKEN_REVIEWS, { spec: { token, audiences } })).status as ApiObject;

const claimsOf = (token: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString());

describe('a token of a ServiceAccount', () => {
  test('says whose it is, and until when', async () => {
    const { api } = await startApi({ clock: new FakeClock(), startTime: Date.UTC(2026, 0, 2) });
    const account = await api.make(ACCOUNTS, { metadata: { name: 'bot' } });
    const made = await api.make(`${ACCOUNTS}/bot/token`, { spec: { expirationSeconds: 600 } });
    expect(made).toMatchObject({
      kind: 'TokenRequest',
      metadata: { name: 'bot', namespace: 'default', uid: account.metadata.uid },
      spec: { audiences: ['https://kubernetes.default.svc'], expirationSeconds: 600 },
      status: { expirationTimestamp: '2026-01-02T00:10:00Z' },
    });
    const claims = claimsOf((made.status as TokenStatus).token);
    expect(claims).toMatchObject({
      sub: 'system:serviceaccount:default:bot',
      exp: Date.UTC(2026, 0, 2) / 1000 + 600,
      'kubernetes.io': {
        namespace: 'default',
        serviceaccount: { name: 'bot', uid: account.metadata.uid },
      },
    });
  });

  test('is known in a review, for its audiences, until it expires', async () => {
    const clock = new FakeClock();
    const { api } = await startApi({ clock });
    await api.make(ACCOUNTS, { metadata: { name: 'bot' } });
    const token = await tokenOf(api, { expirationSeconds: 600 });
    expect(await reviewed(api, token)).toMatchObject({
      authenticated: true,
      user: {
        username: 'system:serviceaccount:default:bot',
        groups: [
          'system:serviceaccounts',
          'system:serviceaccounts:default',
          'system:authenticated',
        ],
      },
      audiences: ['https://kubernetes.default.svc'],
    });
    expect(await reviewed(api, token, ['other'])).toEqual({
      user: {},
      error: 'invalid bearer token',
    });
    const other = await tokenOf(api, { audiences: ['other'], expirationSeconds: 600 });
    expect(await reviewed(api, other, ['other', 'third'])).toMatchObject({ audiences: ['other'] });
    expect((await reviewed(api, other)).authenticated).toBeUndefined();
    clock.step(600_000);
    expect((await reviewed(api, token)).authenticated).toBeUndefined();
  });

  test('ends with the account, and with the Pod that it is bound to', async () => {
    const { api } = await startApi();
    await api.make(ACCOUNTS, { metadata: { name: 'bot' } });
    const containers = [{ name: 'c', image: 'i' }];
    const pods = '/api/v1/namespaces/default/pods';
    const spec = { serviceAccountName: 'bot', containers };
    const { metadata } = await api.make(pods, { metadata: { name: 'p' }, spec });
    const free = await tokenOf(api);
    const bound = await tokenOf(api, { boundObjectRef: { kind: 'Pod', name: 'p' } });
    expect((await reviewed(api, bound)).user).toMatchObject({
      extra: {
        'authentication.kubernetes.io/pod-name': ['p'],
        'authentication.kubernetes.io/pod-uid': [metadata.uid],
      },
    });
    await api.delete(`${pods}/p`);
    const isKnown = async (token: string) => (await reviewed(api, token)).authenticated;
    await soon(() => isKnown(bound)).toBeUndefined();
    expect(await isKnown(free)).toBe(true);
    await api.delete(`${ACCOUNTS}/bot`);
    await soon(() => isKnown(free)).toBeUndefined();
  });

  test.each<[string, string, object, number, string[]?]>([
    ['of no account', 'none', { spec: {} }, 404],
    [
      'for too short a time',
      'bot',
      { spec: { expirationSeconds: 599 } },
      422,
      ['spec.expirationSeconds'],
    ],
    [
      'for too long',
      'bot',
      { spec: { expirationSeconds: 2 ** 32 + 1 } },
      422,
      ['spec.expirationSeconds'],
    ],
    ['by another name', 'bot', { metadata: { name: 'b' } }, 422, ['metadata.name']],
    ['by another uid', 'bot', { metadata: { name: 'bot', uid: 'u' } }, 409],
    ['in another namespace', 'bot', { metadata: { namespace: 'x' } }, 400],
    ['of another kind', 'bot', { apiVersion: 'v1', kind: 'Pod' }, 400],
    [
      'bound to a Pod that is not there',
      'bot',
      { spec: { boundObjectRef: { kind: 'Pod', name: 'p' } } },
      404,
    ],
    [
      'bound to what no token can be',
      'bot',
      { spec: { boundObjectRef: { kind: 'ConfigMap', apiVersion: 'v1' } } },
      400,
    ],
  ])('is refused %s', async (_, name, body, status, fields) => {
    const { api } = await startApi();
    await api.make(ACCOUNTS, { metadata: { name: 'bot' } });
    const answer = await api.send('POST', `${ACCOUNTS}/${name}/token`, { body });
    expect(answer.status).toBe(status);
    expect(answer.body.details?.causes?.map(({ field }) => field)).toEqual(fields);
  });

  test('authenticates a request', async () => {
    const { api } = await startApi({
      users: { secret: { name: 'ann', groups: ['dev'], uid: '7' } },
    });
    const reviews = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
    const as = (authorization: string) =>
      api.send('POST', reviews, { body: {}, headers: { authorization } });
    expect((await as('Bearer secret')).body.status).toEqual({
      userInfo: { username: 'ann', uid: '7', groups: ['dev', 'system:authenticated'] },
    });
    expect((await as('Bearer other')).status).toBe(401);
    const headers = { authorization: 'Bearer secret' };
    await api.send('POST', ACCOUNTS, { body: { metadata: { name: 'bot' } }, headers });
    const made = await api.send('POST', `${ACCOUNTS}/bot/token`, { body: {}, headers });
    const { status } = await as(`Bearer ${(made.body.status as TokenStatus).token}`);
    expect(status).toBe(201);
    expect((await api.get(ACCOUNTS)).status).toBe(401);
  });
});

describe('a review of access', () => {
  test.each<[string, object, string[]]>([
    ['subjectaccessreviews', {}, ['spec.resourceAttributes', 'spec.user']],
    ['subjectaccessreviews', { user: 'u' }, ['spec.resourceAttributes']],
    [
      'subjectaccessreviews',
      { user: 'u', resourceAttributes: {}, nonResourceAttributes: {} },
      ['spec.nonResourceAttributes'],
    ],
    ['selfsubjectaccessreviews', {}, ['spec.resourceAttributes']],
    [
      'namespaces/a/localsubjectaccessreviews',
      { user: 'u', resourceAttributes: { namespace: 'b' } },
      ['spec.resourceAttributes.namespace'],
    ],
    [
      'namespaces/a/localsubjectaccessreviews',
      { user: 'u', nonResourceAttributes: { path: '/' } },
      ['spec.nonResourceAttributes'],
    ],
    [
      'subjectaccessreviews',
      { user: 'u', resourceAttributes: { labelSelector: {} } },
      ['spec.resourceAttributes.labelSelector.requirements'],
    ],
  ])('%s of %j is refused', async (path, spec, fields) => {
    const { api } = await startApi();
    const answer = await api.send('POST', `${AUTHORIZATION}/${path}`, { body: { spec } });
    expect(answer.status).toBe(422);
    expect(answer.body.details.causes?.map(({ field }) => field)).toEqual(fields);
  });

  test('allows everything without RBAC, and is not stored', async () => {
    const { api } = await startApi();
    const spec = { user: 'u', resourceAttributes: { verb: 'get', resource: 'pods' } };
    const path = `${AUTHORIZATION}/subjectaccessreviews`;
    expect(await api.make(path, { spec })).toMatchObject({
      kind: 'SubjectAccessReview',
      spec,
      status: { allowed: true },
    });
    expect((await api.get(path)).status).toBe(405);
    expect((await api.get(`${path}/x`)).status).toBe(404);
    const rules = await api.make(`${AUTHORIZATION}/selfsubjectrulesreviews`, {
      spec: { namespace: 'default' },
    });
    expect(rules.status).toEqual({
      resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
      nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
      incomplete: false,
    });
  });
});
