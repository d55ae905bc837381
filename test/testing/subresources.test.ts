/** The subresources of built-in kinds beside status and scale. */
import { describe, expect, test } from 'vitest';
import {
  type ApiRequests,
  type ApiResponse,
  MERGE_PATCH,
  STRATEGIC,
  startApi,
} from '../helpers/server/requests.ts';

const PODS = '/api/v1/namespaces/default/pods';
const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';

/** A certificate signing request of a client certificate, made by openssl. */
const SIGNING_REQUEST = `-----BEGIN CERTIFICATE REQUEST-----
MIHnMIGOAgEAMCwxFDASBgNVBAMMC2t1YmUtY2xpZW50MRQwEgYDVQQKDAtleGFt
cGxlOmRldjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABKrEXrkZ+j/V6cPdNN4H
i+bULc7GbrRkDR7Hu2lPttJN6vZlPCnwNih3h++/8NyqIRFVMu1oyQ2y9VHaUx0A
5SqgADAKBggqhkjOPQQDAgNIADBFAiBIryZiiwzwWejcDGMr9CxKj5wF5YMEovfm
PD/Qtyk58wIhAKql0x3nXuk3x/2knlHlyiEA8WB0VmKJydiCJzTwFYKt
-----END CERTIFICATE REQUEST-----
`;

const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBgzCCASmgAwIBAgIUGnBk3x5ALY6GRL9LHhA6JZ+Bvc8wCgYIKoZIzj0EAwIw
FjEUMBIGA1UEAwwLa3ViZS1jbGllbnQwIBcNMjYxMTI2MDY0MzQ1WhgPMjEyNjEx
MDIwNjQzNDVaMBYxFDASBgNVBAMMC2t1YmUtY2xpZW50MFkwEwYHKoZIzj0CAQYI
KoZIzj0DAQcDQgAE1xS71ztNQM+5aTzxGfqL9rtCB8bnt04h03m6h5NdO32aClUI
NzHWv5bn+fwl+7Nm1EFuPO4NvcBF6b8r5P/u+KNTMFEwHQYDVR0OBBYEFLtz7q2A
Ll6UfbPXT8Uma/MXgy7ZMB8GA1UdIwQYMBaAFLtz7q2ALl6UfbPXT8Uma/MXgy7Z
MA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIhAK/166IhgnRJcK+H
b8UNDwoBp9aRgvI/faCeb3M0G5IBAiBK9viyRpGwJC3f2P5+drS83avMZodX1AoA
zRN1VkWbzQ==
-----END CERTIFICATE-----
`;

const container = { name: 'web', image: 'i', resources: { requests: { cpu: '1' } } };
const pod = (name: string, more: object = {}): object => ({
  metadata: { name, labels: { app: name } },
  spec: { containers: [container], ...more },
});
const fieldsOf = ({ body }: ApiResponse): string[] | undefined =>
  body.details?.causes?.map(({ field }) => field);

describe('ephemeral containers', () => {
  test('are added by a patch, which changes nothing else', async () => {
    const { api } = await startApi();
    await api.make(PODS, pod('a'));
    const added = await api.patch(
      `${PODS}/a/ephemeralcontainers`,
      {
        metadata: { labels: { b: 'c' } },
        spec: { nodeName: 'n', ephemeralContainers: [{ name: 'debug', image: 'busybox' }] },
      },
      STRATEGIC,
    );
    expect(added.status).toBe(200);
    expect(added.body).toMatchObject({
      metadata: { generation: 2, labels: { app: 'a' } },
      spec: { ephemeralContainers: [{ name: 'debug', image: 'busybox' }] },
    });
    expect(added.body.metadata.labels).toEqual({ app: 'a' });
    expect(added.body.spec.nodeName).toBeUndefined();
    expect((await api.get(`${PODS}/a/ephemeralcontainers`)).body).toEqual(added.body);
  });

  test.each<[string, object, string]>([
    ['without an image', { name: 'debug' }, 'image'],
    ['with the name of another container', { name: 'web', image: 'i' }, 'name'],
    ['with ports', { name: 'debug', image: 'i', ports: [{ containerPort: 1 }] }, 'ports'],
    [
      'with a probe',
      { name: 'debug', image: 'i', livenessProbe: { exec: { command: ['a'] } } },
      'livenessProbe',
    ],
    [
      'with a missing target container',
      { name: 'debug', image: 'i', targetContainerName: 'x' },
      'targetContainerName',
    ],
  ])('are refused %s', async (_, debug, field) => {
    const { api } = await startApi();
    await api.make(PODS, pod('a'));
    const path = `${PODS}/a/ephemeralcontainers`;
    const answer = await api.patch(path, { spec: { ephemeralContainers: [debug] } }, STRATEGIC);
    expect(answer.status).toBe(422);
    expect(fieldsOf(answer)).toEqual([`spec.ephemeralContainers[0].${field}`]);
  });

  test('cannot be changed or removed', async () => {
    const { api } = await startApi();
    await api.make(PODS, pod('a'));
    const path = `${PODS}/a/ephemeralcontainers`;
    const debug = (image: string) => ({
      spec: { ephemeralContainers: [{ name: 'debug', image }] },
    });
    expect((await api.patch(path, debug('one'), STRATEGIC)).status).toBe(200);
    expect(fieldsOf(await api.patch(path, debug('two'), STRATEGIC))).toEqual([
      'spec.ephemeralContainers',
    ]);
    const none = { spec: { ephemeralContainers: null } };
    expect((await api.patch(path, none, MERGE_PATCH)).status).toBe(422);
  });
});

describe('a resize', () => {
  const resize = (api: ApiRequests, resources: unknown): Promise<ApiResponse> =>
    api.patch(
      `${PODS}/a/resize`,
      { spec: { nodeName: 'n', containers: [{ name: 'web', image: 'other', resources }] } },
      STRATEGIC,
    );

  test('changes only CPU and memory', async () => {
    const { api } = await startApi();
    await api.make(PODS, pod('a'));
    const { status, body } = await resize(api, { requests: { cpu: '2' } });
    expect(status).toBe(200);
    expect(body.metadata.generation).toBe(2);
    expect(body.spec).toMatchObject({
      containers: [{ name: 'web', image: 'i', resources: { requests: { cpu: '2' } } }],
    });
    expect(body.spec.nodeName).toBeUndefined();
  });

  test('cannot change the class, other resources or the set of containers', async () => {
    const { api } = await startApi();
    await api.make(PODS, pod('a'));
    const refused = async (answer: Promise<ApiResponse>): Promise<unknown> => {
      const { status } = await answer;
      return status === 422 ? fieldsOf(await answer) : status;
    };
    expect(await refused(resize(api, null))).toContain('spec');
    expect(await refused(resize(api, { requests: { 'ephemeral-storage': '1' } }))).toEqual([
      'spec',
    ]);
    const more = { spec: { containers: [container, { name: 'more', image: 'i' }] } };
    expect(await refused(api.patch(`${PODS}/a/resize`, more))).toContain('spec.containers');
  });

  // Only the new name was validated, so that the other errors of the renamed container were not
  // reported.
  test('that renames a container reports all errors of the sent container', async () => {
    const { api } = await startApi();
    await api.make(PODS, pod('a'));
    const other = { spec: { containers: [{ name: 'other', resources: {} }] } };
    const { status, body } = await api.patch(`${PODS}/a/resize`, other, MERGE_PATCH);
    expect(status).toBe(422);
    expect(body.details.causes?.map(({ field }) => field)).toEqual([
      'spec.containers[0].image',
      'spec', // its class
      'spec.containers[0].name',
    ]);
  });
});

describe('an eviction', () => {
  const evict = (api: ApiRequests, name = 'a', query = {}): Promise<ApiResponse> =>
    api.send('POST', `${PODS}/${name}/eviction`, { body: { metadata: { name } }, query });

  async function withBudget(): Promise<ApiRequests> {
    const { api } = await startApi();
    await api.make(PODS, pod('a'));
    const ready = { conditions: [{ type: 'Ready', status: 'True' }], phase: 'Running' };
    await api.patch(`${PODS}/a/status`, { status: ready });
    await api.make(BUDGETS, {
      metadata: { name: 'b' },
      spec: { minAvailable: 1, selector: { matchLabels: { app: 'a' } } },
    });
    return api;
  }

  test('of a Pod whose budget has no status yet is answered with Retry-After', async () => {
    const api = await withBudget();
    const answer = await evict(api);
    expect(answer.status).toBe(429);
    expect(answer.header('retry-after')).toBe('10');
    expect(answer.body.details).toMatchObject({
      causes: [{ reason: 'DisruptionBudget' }],
      retryAfterSeconds: 10,
    });
    expect((await api.get(`${PODS}/a`)).status).toBe(200);
  });

  test('takes a disruption from the budget, and is refused where none is left', async () => {
    const api = await withBudget();
    const status = (disruptionsAllowed: number) =>
      api.patch(`${BUDGETS}/b/status`, {
        status: { observedGeneration: 1, disruptionsAllowed, currentHealthy: 1, desiredHealthy: 1 },
      });
    await status(0);
    const refused = await evict(api);
    expect(refused.status).toBe(429);
    expect(refused.header('retry-after')).toBeNull();
    await status(1);
    expect((await evict(api, 'a', { dryRun: 'All' })).status).toBe(201);
    expect((await evict(api)).status).toBe(201);
    expect((await api.get(`${PODS}/a`)).status).toBe(404);
    expect((await api.get(`${BUDGETS}/b`)).body.status).toMatchObject({
      disruptionsAllowed: 0,
      disruptedPods: { a: expect.any(String) },
      conditions: [{ type: 'DisruptionAllowed', status: 'False' }],
    });
  });

  /**
   * The budget does not count a Pod that is not healthy. If the uid of the precondition differs,
   * the server assumes that the Pod has become healthy meanwhile, and answers 429 and not 409.
   */
  test('of an unhealthy Pod with another uid is answered with Retry-After', async () => {
    const api = await withBudget();
    await api.patch(`${BUDGETS}/b/status`, {
      status: { observedGeneration: 1, currentHealthy: 1, desiredHealthy: 1 },
    });
    const notReady = { conditions: [{ type: 'Ready', status: 'False' }] };
    await api.patch(`${PODS}/a/status`, { status: notReady });
    const evictIf = (preconditions: object): Promise<ApiResponse> =>
      api.send('POST', `${PODS}/a/eviction`, {
        body: { metadata: { name: 'a' }, deleteOptions: { preconditions } },
      });
    const answer = await evictIf({ uid: 'u' });
    expect(answer.status).toBe(429);
    expect(answer.header('retry-after')).toBe('10');
    expect((await evictIf({ uid: 'u', resourceVersion: '1' })).status).toBe(409);
    // If only a resourceVersion is given, the server replaces it by the one that it has read.
    expect((await evictIf({ resourceVersion: '1' })).status).toBe(201);
  });

  test('of a pending Pod needs no disruption of the budget', async () => {
    const api = await withBudget();
    await api.patch(`${PODS}/a/status`, { status: { phase: 'Pending' } });
    expect((await evict(api)).status).toBe(201);
  });
});

describe('a subresource that a kubelet serves', () => {
  test('has empty logs, and no host for exec and proxy', async () => {
    const { api } = await startApi();
    await api.make(PODS, pod('a'));
    const log = await api.get(`${PODS}/a/log`);
    expect([log.status, log.body, log.header('content-type')]).toEqual([204, '', null]);
    expect((await api.get(`${PODS}/a/log`, { container: 'x' })).status).toBe(400);
    expect(fieldsOf(await api.get(`${PODS}/a/log`, { tailLines: '-1' }))).toEqual(['tailLines']);
    expect((await api.get(`${PODS}/none/log`)).status).toBe(404);
    for (const method of ['GET', 'POST'])
      expect((await api.send(method, `${PODS}/a/exec`)).body.message).toBe(
        'pod a does not have a host assigned',
      );
    expect((await api.put(`${PODS}/a/exec`, {})).status).toBe(405);
    expect((await api.get(`${PODS}/a/proxy/x/y`)).status).toBe(400);
  });
});

test('a binding may be created at /bindings too', async () => {
  const { api } = await startApi();
  await api.make(PODS, pod('a'));
  const path = '/api/v1/namespaces/default/bindings';
  const binding = { metadata: { name: 'a' }, target: { kind: 'Node', name: 'n' } };
  expect(await api.make(path, binding)).toMatchObject({ kind: 'Status', status: 'Success' });
  expect((await api.get(`${PODS}/a`)).body.spec.nodeName).toBe('n');
  expect((await api.send('POST', path, { body: binding })).status).toBe(409);
  expect((await api.get(path)).status).toBe(405);
});

test('only a PUT finalizes a Namespace', async () => {
  const { api } = await startApi();
  await api.make('/api/v1/namespaces', { metadata: { name: 'n' } });
  const path = '/api/v1/namespaces/n/finalize';
  const put = await api.put(path, { metadata: { name: 'n' }, spec: { finalizers: ['a.b/c'] } });
  expect(put.body.spec).toEqual({ finalizers: ['a.b/c'] });
  expect((await api.get(path)).status).toBe(405);
  expect((await api.patch(path, {})).status).toBe(405);
});

test('discovery has reviews, bindings and all subresources', async () => {
  const { api } = await startApi();
  const names = async (path: string): Promise<string[]> => {
    const { resources } = (await api.get(path)).body as unknown as {
      resources: { name: string; verbs: string[] }[];
    };
    return resources.map(({ name, verbs }) => `${name} ${verbs.join(',')}`);
  };
  expect(await names('/api/v1')).toEqual(
    expect.arrayContaining([
      'bindings create',
      'pods/ephemeralcontainers get,patch,update',
      'pods/eviction create',
      'pods/log get',
      'pods/resize get,patch,update',
      'serviceaccounts/token create',
      'namespaces/finalize update',
    ]),
  );
  expect(await names('/apis/authentication.k8s.io/v1')).toEqual([
    'selfsubjectreviews create',
    'tokenreviews create',
  ]);
  expect(await names('/apis/authorization.k8s.io/v1')).toHaveLength(4);
});

describe('a CertificateSigningRequest', () => {
  const REQUESTS = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
  const condition = (type: string) => ({
    status: { conditions: [{ type, status: 'True', reason: 'r', message: 'm' }] },
  });

  async function requested(): Promise<ApiRequests> {
    const { api } = await startApi();
    await api.make(REQUESTS, {
      metadata: { name: 'a' },
      spec: {
        request: Buffer.from(SIGNING_REQUEST).toString('base64'),
        signerName: 'example.com/s',
        usages: ['client auth'],
      },
    });
    return api;
  }

  test('has the user who sent it, and is approved through the subresource approval', async () => {
    const api = await requested();
    const { body, status } = await api.patch(`${REQUESTS}/a/approval`, {
      ...condition('Approved'),
      spec: { username: 'x' },
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      spec: { username: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] },
      status: { conditions: [{ type: 'Approved', lastUpdateTime: expect.any(String) }] },
    });
    const undecided = await api.patch(`${REQUESTS}/a/approval`, { status: { conditions: null } });
    expect(fieldsOf(undecided)).toEqual(['status.conditions']);
  });

  test('is not approved through its status, nor signed through its approval', async () => {
    const api = await requested();
    const decided = await api.patch(`${REQUESTS}/a/status`, condition('Denied'));
    expect(fieldsOf(decided)).toEqual(['status.conditions']);
    const signed = { status: { certificate: Buffer.from(CERTIFICATE).toString('base64') } };
    expect((await api.patch(`${REQUESTS}/a/approval`, signed)).body.status).toEqual({});
    expect((await api.patch(`${REQUESTS}/a/status`, signed)).body).toMatchObject(signed);
    const unsigned = { status: { certificate: null } };
    expect(fieldsOf(await api.patch(`${REQUESTS}/a/status`, unsigned))).toEqual([
      'status.certificate',
    ]);
  });
});
