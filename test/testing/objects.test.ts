import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  brief,
  CONFIG_MAPS,
  configMapBody,
  JSON_PATCH,
  POD_SPEC,
  startApi,
  WIDGETS,
  WORKLOAD,
  widgetBody,
} from '../helpers/server/requests.ts';

describe('create', () => {
  test('gives the object a uid, a creation time, a version and its namespace', async () => {
    const { api } = await startApi();
    const { status, body } = await api.send('POST', CONFIG_MAPS, {
      body: configMapBody('a', { data: { k: 'v' } }),
    });
    expect(status).toBe(201);
    expect(body).toEqual({
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: {
        name: 'a',
        namespace: 'default',
        uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
        resourceVersion: expect.stringMatching(/^\d+$/),
        creationTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        managedFields: [expect.objectContaining({ manager: 'unknown', operation: 'Update' })],
      },
      data: { k: 'v' },
    });
    expect((await api.get(`${CONFIG_MAPS}/a`)).body).toEqual(body);
  });

  test('ignores what only the server sets, and the status of kinds that have one', async () => {
    const { api } = await startApi();
    const own = {
      uid: 'mine',
      creationTimestamp: '2001-01-01T00:00:00Z',
      generation: 7,
      deletionTimestamp: '2001-01-01T00:00:00Z',
    };
    const made = await api.make(WIDGETS, {
      ...widgetBody('a', { spec: { x: 1 }, status: { ready: true } }),
      metadata: { name: 'a', ...own },
    });
    expect(made.status).toBeUndefined();
    expect(made.metadata.generation).toBe(1);
    expect(made.metadata.uid).not.toBe('mine');
    expect(made.metadata.creationTimestamp).not.toBe(own.creationTimestamp);
    expect(made.metadata.deletionTimestamp).toBeUndefined();
  });

  test('makes a name from generateName, another one each time', async () => {
    const { api } = await startApi();
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'made-' } };
    const names = [
      (await api.make(CONFIG_MAPS, body)).metadata.name,
      (await api.make(CONFIG_MAPS, body)).metadata.name,
    ];
    for (const name of names) expect(name).toMatch(/^made-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    expect(names[0]).not.toBe(names[1]);
  });

  // One of 14 million names was taken now and then where a test made thousands: AlreadyExists.
  test('makes another name where the one that it made is taken, eight times', async () => {
    const { api } = await startApi();
    const random = vi.spyOn(Math, 'random').mockReturnValue(0);
    onTestFinished(() => random.mockRestore());
    const body = { ...configMapBody('a'), metadata: { generateName: `${'x'.repeat(60)}-` } };
    const create = () => api.send('POST', CONFIG_MAPS, { body });
    expect((await create()).body.metadata.name).toBe(`${'x'.repeat(58)}bbbbb`);
    for (let i = 0; i < 7 * 5; i++) random.mockReturnValueOnce(0);
    for (let i = 0; i < 5; i++) random.mockReturnValueOnce(0.5);
    expect((await create()).body.metadata.name).toBe(`${'x'.repeat(58)}rrrrr`);
    const none = await create();
    expect([none.status, none.body.reason]).toEqual([409, 'AlreadyExists']);
    expect(random).toHaveBeenCalledTimes(5 + 8 * 5 + 8 * 5);
  });

  test('refuses a name that is taken, in the words of the real server', async () => {
    const { api } = await startApi();
    await api.make(WIDGETS, widgetBody('a'));
    const { status, body } = await api.send('POST', WIDGETS, { body: widgetBody('a') });
    expect(status).toBe(409);
    expect(body).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'widgets.example.com "a" already exists',
      reason: 'AlreadyExists',
      details: { name: 'a', group: 'example.com', kind: 'widgets' },
      code: 409,
    });
  });

  test.for<[what: string, path: string, body: unknown, status: number, message: RegExp]>([
    ['no name', CONFIG_MAPS, { metadata: {} }, 422, /metadata.name: Required value/],
    [
      'a name that is no subdomain',
      CONFIG_MAPS,
      configMapBody('Bad_Name'),
      422,
      /a lowercase RFC 1123 subdomain/,
    ],
    // Cut to 58 characters it made a name that is right.
    [
      'a generateName that is too long',
      CONFIG_MAPS,
      { metadata: { generateName: 'x'.repeat(260) } },
      422,
      /: metadata.generateName: Invalid value: "x+": must be no more than 253/,
    ],
    [
      'a namespace with dots',
      '/api/v1/namespaces',
      { metadata: { name: 'a.b' } },
      422,
      /must not contain dots/,
    ],
    [
      'another namespace than the path',
      CONFIG_MAPS,
      { metadata: { name: 'a', namespace: 'b' } },
      400,
      /does not match the namespace/,
    ],
    [
      'another kind',
      CONFIG_MAPS,
      { ...configMapBody('a'), kind: 'Secret' },
      400,
      /cannot be handled as a ConfigMap/,
    ],
    [
      'another apiVersion',
      WIDGETS,
      { ...widgetBody('a'), apiVersion: 'example.com/v2' },
      400,
      /does not match the expected API version/,
    ],
    ['no kind', WIDGETS, { metadata: { name: 'a' } }, 400, /Object 'Kind' is missing/],
    [
      'a resourceVersion',
      CONFIG_MAPS,
      { metadata: { name: 'a', resourceVersion: '1' } },
      500,
      /should not be set/,
    ],
    [
      'labels that are no strings',
      WIDGETS,
      { ...widgetBody('a'), metadata: { name: 'a', labels: { n: 5 } } },
      400,
      /cannot unmarshal number/,
    ],
    [
      'a label out of syntax',
      WIDGETS,
      { ...widgetBody('a'), metadata: { name: 'a', labels: { 'b c': '!' } } },
      422,
      /metadata.labels/,
    ],
    [
      'a finalizer without group',
      CONFIG_MAPS,
      { metadata: { name: 'a', finalizers: ['mine'] } },
      422,
      /nor is it fully qualified/,
    ],
    ['half a body', CONFIG_MAPS, '{"metadata":', 400, /unexpected end of JSON input/],
    ['a list', CONFIG_MAPS, '[]', 400, /cannot unmarshal array/],
    [
      'a key no ConfigMap can have',
      CONFIG_MAPS,
      configMapBody('a', { data: { 'b/c': '' } }),
      422,
      /data\[b\/c\]/,
    ],
    [
      'data that is not base64',
      '/api/v1/namespaces/d/secrets',
      { metadata: { name: 'a' }, data: { k: '?' } },
      400,
      /base64/,
    ],
  ])('refuses %s', async ([, path, body, status, message]) => {
    const { api } = await startApi();
    await api.make(WIDGETS, widgetBody('other')); // from now on the kind of widgets is known
    const answer = await api.send('POST', path, { body });
    expect(answer).toMatchObject({
      status,
      body: { kind: 'Status', status: 'Failure', code: status },
    });
    expect(answer.body.message).toMatch(message);
    expect((await api.get(`${path}/a`)).status).toBe(404);
  });

  test('refuses a body above the limit of 3 MiB and goes on', async () => {
    const { api } = await startApi();
    const answer = await api.send('POST', CONFIG_MAPS, {
      body: configMapBody('a', { data: { k: 'x'.repeat(3 * 1024 * 1024) } }),
    });
    expect(answer).toMatchObject({ status: 413, body: { reason: 'RequestEntityTooLarge' } });
    await api.make(CONFIG_MAPS, configMapBody('a'));
  });

  test('with dryRun checks all and stores nothing', async () => {
    const { api } = await startApi();
    const answer = await api.send('POST', CONFIG_MAPS, {
      body: configMapBody('a'),
      query: { dryRun: 'All' },
    });
    expect(answer.status).toBe(201);
    expect(answer.body.metadata.resourceVersion).toBeUndefined();
    expect((await api.get(`${CONFIG_MAPS}/a`)).status).toBe(404);
    const wrong = await api.send('POST', CONFIG_MAPS, {
      body: configMapBody('a'),
      query: { dryRun: 'Some' },
    });
    expect(wrong).toMatchObject({ status: 422, body: { reason: 'Invalid' } });
  });

  test('keeps member names that are hostile to JavaScript', async () => {
    const { api } = await startApi();
    const body =
      '{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"__proto__":{"x":1},"constructor":2}}';
    await api.send('POST', WIDGETS, { body });
    await api.patch(`${WIDGETS}/a`, '{"spec":{"__proto__":{"y":2}}}');
    await api.patch(
      `${WIDGETS}/a`,
      '[{"op":"add","path":"/spec/__proto__/z","value":3}]',
      JSON_PATCH,
    );
    const { body: read } = await api.get(`${WIDGETS}/a`);
    expect(JSON.stringify(read.spec)).toBe('{"__proto__":{"x":1,"y":2,"z":3},"constructor":2}');
  });
});

describe('update', () => {
  test('replaces the object and counts the generation when the spec changes', async () => {
    const { api } = await startApi();
    const made = await api.make(WIDGETS, widgetBody('a', { spec: { x: 1, gone: true } }));
    const labelled = (
      await api.put(`${WIDGETS}/a`, { ...made, metadata: { ...made.metadata, labels: { l: '1' } } })
    ).body;
    expect(labelled.metadata).toMatchObject({
      generation: 1,
      labels: { l: '1' },
      uid: made.metadata.uid,
    });
    const changed = (await api.put(`${WIDGETS}/a`, { ...labelled, spec: { x: 2 } })).body;
    expect(changed.metadata.generation).toBe(2);
    expect(changed.spec).toEqual({ x: 2 });
    expect(BigInt(changed.metadata.resourceVersion)).toBeGreaterThan(
      BigInt(labelled.metadata.resourceVersion),
    );
  });

  test('on a stale version is a conflict and changes nothing', async () => {
    const { api } = await startApi();
    const first = await api.make(CONFIG_MAPS, configMapBody('a', { data: { k: '1' } }));
    await api.put(`${CONFIG_MAPS}/a`, { ...first, data: { k: '2' } });
    const { status, body } = await api.put(`${CONFIG_MAPS}/a`, { ...first, data: { k: '3' } });
    expect(status).toBe(409);
    expect(body.reason).toBe('Conflict');
    expect(body.message).toBe(
      'Operation cannot be fulfilled on configmaps "a": the object has been modified; ' +
        'please apply your changes to the latest version and try again',
    );
    expect((await api.get(`${CONFIG_MAPS}/a`)).body.data).toEqual({ k: '2' });
  });

  test('that changes nothing makes no version and no event', async () => {
    const { api } = await startApi();
    const made = await api.make(WIDGETS, widgetBody('a', { spec: { x: [1, { y: null }] } }));
    const watch = await api.watch(WIDGETS, { resourceVersion: made.metadata.resourceVersion });
    expect((await api.put(`${WIDGETS}/a`, made)).body).toEqual(made);
    expect((await api.patch(`${WIDGETS}/a`, {})).body).toEqual(made);
    await api.make(WIDGETS, widgetBody('b'));
    expect(brief((await watch.take(1))[0]!)).toBe('ADDED b');
  });

  test('without a version overwrites a ConfigMap, and is refused for a Lease', async () => {
    const { api } = await startApi();
    const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
    await api.make(CONFIG_MAPS, configMapBody('a'));
    await api.make(WIDGETS, widgetBody('a'));
    await api.make(leases, { metadata: { name: 'a' }, spec: { holderIdentity: 'x' } });
    expect(
      (await api.put(`${CONFIG_MAPS}/a`, configMapBody('a', { data: { k: 'v' } }))).status,
    ).toBe(200);
    for (const [path, body] of [
      [WIDGETS, widgetBody('a')],
      [leases, { metadata: { name: 'a' } }],
    ] as const) {
      const answer = await api.put(`${path}/a`, body);
      expect(answer.status).toBe(422);
      expect(answer.body.message).toMatch(
        /metadata.resourceVersion: Invalid value: 0: must be specified for an update/,
      );
    }
  });

  test('of what does not exist is not found, and creates a Lease', async () => {
    const { api } = await startApi();
    const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
    expect((await api.put(`${CONFIG_MAPS}/a`, configMapBody('a'))).status).toBe(404);
    const created = await api.put(`${leases}/a`, { metadata: { name: 'a' } });
    expect(created.status).toBe(201);
    expect((await api.get(`${leases}/a`)).status).toBe(200);
    await api.delete(`${leases}/a`);
    // its uid is that of another one
    expect((await api.put(`${leases}/a`, created.body)).status).toBe(409);
  });

  test('of two holders of one Lease version one wins', async () => {
    const { api } = await startApi();
    const path = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
    const lease = await api.make(path, {
      metadata: { name: 'leader' },
      spec: { holderIdentity: '' },
    });
    const answers = await Promise.all(
      ['a', 'b', 'c'].map((holderIdentity) =>
        api.put(`${path}/leader`, { ...lease, spec: { holderIdentity } }),
      ),
    );
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 409, 409]);
  });

  test.for<[what: string, body: object, status: number, message: RegExp]>([
    [
      'another name',
      configMapBody('b'),
      400,
      /the name of the object \(b\) does not match the name on the URL \(a\)/,
    ],
    ['no name', { metadata: {} }, 400, /name must be provided/],
    [
      'another uid',
      { metadata: { name: 'a', uid: 'other' } },
      409,
      /Precondition failed: UID in precondition: other/,
    ],
    [
      'a version that is no number',
      { metadata: { name: 'a', resourceVersion: 'x' } },
      500,
      /strconv.ParseUint/,
    ],
    [
      'a deletionTimestamp',
      { metadata: { name: 'a', deletionTimestamp: '2001-01-01T00:00:00Z' } },
      422,
      /deletionTimestamp: Invalid value/,
    ],
  ])('with %s is refused', async ([, body, status, message]) => {
    const { api } = await startApi();
    const made = await api.make(CONFIG_MAPS, configMapBody('a'));
    const answer = await api.put(`${CONFIG_MAPS}/a`, body);
    expect(answer.status).toBe(status);
    expect(answer.body.message).toMatch(message);
    expect((await api.get(`${CONFIG_MAPS}/a`)).body).toEqual(made);
  });
});

describe('delete', () => {
  test('answers with a Status, and the object is gone', async () => {
    const { api } = await startApi();
    const made = await api.make(WIDGETS, widgetBody('a'));
    expect(await api.delete(`${WIDGETS}/a`)).toMatchObject({
      status: 200,
      body: {
        kind: 'Status',
        status: 'Success',
        details: { name: 'a', group: 'example.com', kind: 'widgets', uid: made.metadata.uid },
      },
    });
    expect((await api.delete(`${WIDGETS}/a`)).body.message).toBe(
      'widgets.example.com "a" not found',
    );
  });

  test('waits for the finalizers; the update without the last one removes the object', async () => {
    const { api } = await startApi();
    const finalizers = ['example.com/a', 'example.com/b'];
    await api.make(WIDGETS, { ...widgetBody('a'), metadata: { name: 'a', finalizers } });
    const watch = await api.watch(WIDGETS, { resourceVersion: await api.version(WIDGETS) });
    const marked = (await api.delete(`${WIDGETS}/a`)).body;
    expect(marked.metadata).toMatchObject({
      deletionTimestamp: expect.any(String),
      finalizers,
      generation: 2,
    });
    expect((await api.delete(`${WIDGETS}/a`)).body).toEqual(marked);
    expect((await api.send('POST', WIDGETS, { body: widgetBody('a') })).body.message).toMatch(
      /^object is being deleted: /,
    );
    const added = await api.patch(`${WIDGETS}/a`, {
      metadata: { finalizers: [...finalizers, 'example.com/c'] },
    });
    expect(added.body.message).toMatch(
      /no new finalizers can be added if the object is being deleted/,
    );
    await api.patch(`${WIDGETS}/a`, { metadata: { finalizers: ['example.com/b'] } });
    const last = await api.patch(`${WIDGETS}/a`, { metadata: { finalizers: null } });
    expect(last.status).toBe(200);
    expect(last.body.metadata.finalizers).toBeUndefined();
    expect((await api.get(`${WIDGETS}/a`)).status).toBe(404);
    const events = await watch.take(3);
    expect(events.map(brief)).toEqual(['MODIFIED a', 'MODIFIED a', 'DELETED a']);
    expect(events[2]!.object.metadata.finalizers).toEqual(['example.com/b']);
    await api.make(WIDGETS, widgetBody('a'));
  });

  test('can be bound to a uid and a version', async () => {
    const { api } = await startApi();
    const { metadata } = await api.make(CONFIG_MAPS, configMapBody('a'));
    for (const preconditions of [{ uid: 'other' }, { resourceVersion: '99999' }]) {
      expect(await api.delete(`${CONFIG_MAPS}/a`, { preconditions })).toMatchObject({
        status: 409,
        body: { reason: 'Conflict' },
      });
    }
    const { uid, resourceVersion } = metadata;
    expect(
      (await api.delete(`${CONFIG_MAPS}/a`, { preconditions: { uid, resourceVersion } })).status,
    ).toBe(200);
  });

  test('in the foreground keeps the object for the garbage collector', async () => {
    const { api } = await startApi();
    await api.make(CONFIG_MAPS, configMapBody('a'));
    const { body } = await api.send('DELETE', `${CONFIG_MAPS}/a`, {
      query: { propagationPolicy: 'Foreground' },
    });
    expect(body.metadata.finalizers).toEqual(['foregroundDeletion']);
    expect(
      (await api.delete(`${CONFIG_MAPS}/a`, { propagationPolicy: 'Background' })).body.status,
    ).toBe('Success');
    expect((await api.delete(`${CONFIG_MAPS}/a`, { propagationPolicy: 'Sideways' })).status).toBe(
      422,
    );
  });

  // Options that Go does not read, or that mean nothing, were taken for none: what asked for a dry
  // run by `dryRun: 'All'` was deleted.
  test.for<[what: string, options: unknown, status: number, message: string]>([
    ['text for a dry run', { dryRun: 'All' }, 400, 'DeleteOptions.dryRun of type []string'],
    ['a number for a dry run', { dryRun: [5] }, 400, 'DeleteOptions.dryRun of type string'],
    [
      'another dry run',
      { dryRun: ['all'] },
      422,
      'dryRun: Unsupported value: ["all"]: supported values: "All"',
    ],
    ['an empty uid', { preconditions: { uid: '' } }, 409, 'the UID in the precondition ()'],
    [
      'an empty version',
      { preconditions: { resourceVersion: '' } },
      409,
      'the ResourceVersion in the precondition ()',
    ],
    [
      'a number for a version',
      { preconditions: { resourceVersion: 5 } },
      400,
      'resourceVersion of type string',
    ],
    [
      'a list of preconditions',
      { preconditions: [] },
      400,
      'preconditions of type v1.Preconditions',
    ],
    [
      'a number for a policy',
      { propagationPolicy: 5 },
      400,
      'propagationPolicy of type v1.DeletionPropagation',
    ],
    ['an empty policy', { propagationPolicy: '' }, 422, 'propagationPolicy: Unsupported value: ""'],
    [
      'text for a grace period',
      { gracePeriodSeconds: '0' },
      400,
      'gracePeriodSeconds of type int64',
    ],
    [
      'two policies',
      { orphanDependents: true, propagationPolicy: 'Orphan' },
      422,
      'cannot be both set',
    ],
    ['no object', [], 400, 'cannot unmarshal array into Go value'],
    [
      'another kind',
      { apiVersion: 'v1', kind: 'ConfigMap' },
      400,
      'no kind "ConfigMap" is registered for version "v1"',
    ],
  ])('with %s is refused, and the object stays', async ([, options, status, message]) => {
    const { api } = await startApi();
    await api.make(CONFIG_MAPS, configMapBody('a'));
    const answer = await api.delete(`${CONFIG_MAPS}/a`, options);
    expect(answer).toMatchObject({ status, body: { message: expect.stringContaining(message) } });
    expect((await api.delete(CONFIG_MAPS, options)).status).toBe(status);
    expect((await api.get(`${CONFIG_MAPS}/a`)).status).toBe(200);
  });

  // A Job and a ReplicationController went at once, as if the policy were Background for all kinds.
  test('of a Job or a ReplicationController orphans its dependents by default', async () => {
    const { api } = await startApi();
    const jobs = '/apis/batch/v1/namespaces/default/jobs';
    const controllers = '/api/v1/namespaces/default/replicationcontrollers';
    const finalizers = ['foregroundDeletion'];
    const controller = { template: WORKLOAD.template, selector: WORKLOAD.selector.matchLabels };
    const job = { template: { spec: { ...POD_SPEC, restartPolicy: 'Never' } } };
    for (const [path, spec] of [
      [jobs, job],
      [controllers, controller],
    ] as const) {
      await api.make(path, { metadata: { name: 'a' }, spec });
      const { body, header } = await api.delete(`${path}/a`);
      expect(body.metadata).toMatchObject({ finalizers: ['orphan'], generation: 2 });
      expect(header('warning')?.includes('child pods are preserved by default') ?? false).toBe(
        path === jobs,
      );
      expect((await api.delete(`${path}/a`, { propagationPolicy: 'Background' })).body.status).toBe(
        'Success',
      );
      await api.make(path, { metadata: { name: 'a', finalizers }, spec });
      expect((await api.delete(`${path}/a`)).body.metadata).toMatchObject({ finalizers });
    }
  });

  test('of a collection deletes what its selectors choose, and answers with that', async () => {
    const { api } = await startApi();
    for (const [name, app] of [
      ['a', 'x'],
      ['b', 'y'],
      ['c', 'x'],
    ] as const) {
      await api.make(CONFIG_MAPS, { metadata: { name, labels: { app } } });
    }
    await api.make('/api/v1/namespaces/other/configmaps', {
      metadata: { name: 'd', labels: { app: 'x' } },
    });
    const { body } = await api.send('DELETE', CONFIG_MAPS, { query: { labelSelector: 'app=x' } });
    expect(body.items.map((item) => item.metadata.name)).toEqual(['a', 'c']);
    const left = (await api.get('/api/v1/configmaps')).body.items.map((item) => item.metadata);
    const own = left.filter(({ namespace }) => !namespace.startsWith('kube-'));
    expect(own.map(({ name }) => name)).toEqual(['b', 'd']);
    expect((await api.send('DELETE', '/api/v1/configmaps')).status).toBe(405);
  });
});

test('a Secret has a type and takes stringData into data', async () => {
  const { api } = await startApi();
  const path = '/api/v1/namespaces/default/secrets';
  const made = await api.make(path, {
    metadata: { name: 'a' },
    data: { a: 'MQ==', b: 'Mg==' },
    stringData: { b: 'ü' },
  });
  expect(made).toMatchObject({ type: 'Opaque', data: { a: 'MQ==', b: 'w7w=' } });
  expect(made.stringData).toBeUndefined();
  const { body } = await api.patch(`${path}/a`, { stringData: { c: '3' } });
  expect(body.data).toEqual({ a: 'MQ==', b: 'w7w=', c: 'Mw==' });
});

test('an object is found in its scope alone', async () => {
  const { api } = await startApi();
  await api.make('/apis/example.com/v1/planets', {
    apiVersion: 'example.com/v1',
    kind: 'Planet',
    metadata: { name: 'a' },
  });
  expect((await api.get('/apis/example.com/v1/planets/a')).body.metadata.namespace).toBeUndefined();
  expect((await api.get('/apis/example.com/v1/namespaces/default/planets/a')).status).toBe(404);
  await api.make(WIDGETS, widgetBody('a'));
  expect((await api.get('/apis/example.com/v1/widgets/a')).status).toBe(404);
  for (const [method, body] of [
    ['POST', widgetBody('b')],
    ['PUT', widgetBody('a')],
    ['DELETE', undefined],
  ] as const)
    expect(await api.send(method, '/apis/example.com/v1/widgets', { body })).toMatchObject({
      status: 404,
      body: '404 page not found\n',
    });
  expect((await api.get('/api/v1/configmaps/a')).status).toBe(404);
  const outside = await api.send('POST', '/api/v1/configmaps', { body: configMapBody('a') });
  expect(outside.status).toBe(405);
});

test('a method that a path does not know is not allowed', async () => {
  const { api } = await startApi();
  await api.make(WIDGETS, widgetBody('a'));
  for (const [method, path, code] of [
    ['PUT', CONFIG_MAPS, 405],
    ['PATCH', CONFIG_MAPS, 405],
    ['POST', `${CONFIG_MAPS}/a`, 405],
    ['PUT', WIDGETS, 400],
    ['PATCH', WIDGETS, 415],
    ['POST', `${WIDGETS}/a`, 400],
    ['POST', `${WIDGETS}/a/status`, 405],
    ['DELETE', `${WIDGETS}/a/status`, 405],
    ['DELETE', '/version', 405],
  ] as const) {
    const { status } = await api.send(method, path, { body: {} });
    expect([method, path, status]).toEqual([method, path, code]);
  }
  expect((await api.patch(WIDGETS, {})).body.message).toBe('name must be provided');
});

test('a custom object that is posted to a name gets that of its body', async () => {
  const { api } = await startApi();
  await api.make(WIDGETS, widgetBody('a'));
  expect((await api.send('POST', `${WIDGETS}/b`, { body: widgetBody('c') })).status).toBe(201);
  expect((await api.get(WIDGETS)).body.items.map((item) => item.metadata.name)).toEqual(['a', 'c']);
});
