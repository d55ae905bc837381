/** Server-side apply without a real server; that the two agree is for test/e2e/same-answers. */
import { FakeClock } from 'capstan/testing';
import { describe, expect, test } from 'vitest';
import {
  APPLY_PATCH,
  type ApiObject,
  type ApiRequests,
  CONFIG_MAPS,
  configMapBody,
  POD_SPEC,
  STRATEGIC,
  startApi,
  WIDGETS,
  widgetBody,
} from '../helpers/server/requests.ts';

const TEMPLATES = '/api/v1/namespaces/default/podtemplates';

const apply = (
  api: ApiRequests,
  path: string,
  manager: string,
  body: unknown,
  query: Record<string, string> = {},
) =>
  api.send('PATCH', path, { body, type: APPLY_PATCH, query: { fieldManager: manager, ...query } });

interface Manager {
  manager: string;
  operation: string;
  time?: string;
  subresource?: string;
  fieldsV1: object;
}
const managers = (body: ApiObject): Manager[] =>
  (body.metadata as unknown as { managedFields?: Manager[] }).managedFields ?? [];
const owned = (body: ApiObject): Record<string, object> =>
  Object.fromEntries(managers(body).map(({ manager, fieldsV1 }) => [manager, fieldsV1]));

/** Pods in all but name: their lists merge alike, and no rule says what may change. */
const pod = (spec: object) => ({
  apiVersion: 'v1',
  kind: 'PodTemplate',
  metadata: { name: 'a' },
  template: { spec },
});
const specOf = (body: object) =>
  (body as { template: { spec: Record<string, unknown> } }).template.spec;

describe('apply', () => {
  test('creates, and again changes nothing', async () => {
    const { api } = await startApi();
    const first = await apply(
      api,
      `${CONFIG_MAPS}/a`,
      'one',
      configMapBody('a', { data: { k: '1' } }),
    );
    expect(first.status).toBe(201);
    const again = await apply(
      api,
      `${CONFIG_MAPS}/a`,
      'one',
      configMapBody('a', { data: { k: '1' } }),
    );
    expect(again).toMatchObject({ status: 200, body: first.body });
    expect(owned(first.body)).toEqual({ one: { 'f:data': { 'f:k': {} } } });
  });

  test('is a conflict if the value of an owner differs; it names each field', async () => {
    const { api } = await startApi();
    await apply(api, `${CONFIG_MAPS}/a`, 'one', configMapBody('a', { data: { k: '1', m: '1' } }));
    const made = (await api.get(`${CONFIG_MAPS}/a`)).body;
    const refused = await apply(
      api,
      `${CONFIG_MAPS}/a`,
      'two',
      configMapBody('a', { data: { k: '2', m: '2', n: '1' } }),
    );
    expect(refused).toMatchObject({ status: 409, body: { reason: 'Conflict' } });
    expect(refused.body.message).toBe(
      'Apply failed with 2 conflicts: conflicts with "one":\n- .data.k\n- .data.m',
    );
    expect(refused.body.details.causes).toEqual([
      { reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.data.k' },
      { reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.data.m' },
    ]);
    expect((await api.get(`${CONFIG_MAPS}/a`)).body).toEqual(made);
  });

  test('is a conflict with what an update wrote, until it is done by force', async () => {
    const { api } = await startApi();
    await apply(api, `${CONFIG_MAPS}/a`, 'one', configMapBody('a', { data: { k: '1' } }));
    const body = configMapBody('a', { data: { k: '2' } });
    await api.send('PUT', `${CONFIG_MAPS}/a`, { body, query: { fieldManager: 'two' } });
    const again = (query = {}) =>
      apply(api, `${CONFIG_MAPS}/a`, 'one', configMapBody('a', { data: { k: '3' } }), query);
    const refused = await again();
    expect(refused.body.message).toMatch(
      /^Apply failed with 1 conflict: conflict with "two" using v1/,
    );
    expect((await again({ force: 'true' })).body.data).toEqual({ k: '3' });
  });

  test('of the value that another manager applied adds an owner; again: no change', async () => {
    const { api } = await startApi();
    const object = configMapBody('a', { data: { k: '1' } });
    const path = `${CONFIG_MAPS}/a`;
    const first = await apply(api, path, 'one', object);
    const both = await apply(api, path, 'two', object);
    expect(Object.keys(owned(both.body)).sort()).toEqual(['one', 'two']);
    expect(both.body.metadata.resourceVersion).not.toBe(first.body.metadata.resourceVersion);
    const put = await api.send('PUT', path, { body: object, query: { fieldManager: 'three' } });
    for (const { body } of [
      put,
      await apply(api, path, 'one', object),
      await apply(api, path, 'one', object, { force: 'true' }),
    ])
      expect(body).toEqual(both.body);
  });

  test('owns the labels that it gives, and no name', async () => {
    const { api } = await startApi();
    const metadata = { name: 'a', labels: { a: 'b' } };
    const { body } = await apply(api, `${CONFIG_MAPS}/a`, 'one', configMapBody('a', { metadata }));
    expect(body.metadata.labels).toEqual({ a: 'b' });
    expect(owned(body)).toEqual({ one: { 'f:metadata': { 'f:labels': { 'f:a': {} } } } });
  });

  test('by force takes the fields over', async () => {
    const { api } = await startApi();
    await apply(api, `${CONFIG_MAPS}/a`, 'one', configMapBody('a', { data: { k: '1', m: '1' } }));
    const forced = await apply(
      api,
      `${CONFIG_MAPS}/a`,
      'two',
      configMapBody('a', { data: { k: '2' } }),
      { force: 'true' },
    );
    expect(forced.body.data).toEqual({ k: '2', m: '1' });
    expect(owned(forced.body)).toEqual({
      one: { 'f:data': { 'f:m': {} } },
      two: { 'f:data': { 'f:k': {} } },
    });
  });

  test('removes fields that it no longer applies and that have no other owner', async () => {
    const { api } = await startApi();
    await apply(
      api,
      `${CONFIG_MAPS}/a`,
      'one',
      configMapBody('a', { data: { k: '1', m: '1', n: '1' } }),
    );
    await apply(api, `${CONFIG_MAPS}/a`, 'two', configMapBody('a', { data: { m: '1' } }));
    await api.patch(`${CONFIG_MAPS}/a`, { data: { n: '2' } });
    const { body } = await apply(api, `${CONFIG_MAPS}/a`, 'one', configMapBody('a'));
    expect(body.data).toEqual({ m: '1', n: '2' });
  });

  test('merges lists by their keys and replaces those that have none', async () => {
    const { api } = await startApi();
    const env = (...names: string[]) => names.map((name) => ({ name, value: name }));
    const spec = (containers: object[], more: object = {}) => pod({ containers, ...more });
    await apply(
      api,
      `${TEMPLATES}/a`,
      'one',
      spec([{ name: 'c', image: 'i', env: env('x'), args: ['1'] }]),
    );
    await apply(
      api,
      `${TEMPLATES}/a`,
      'two',
      spec([
        { name: 'c', env: env('y') },
        { name: 'd', image: 'i' },
      ]),
    );
    const both = (await api.get(`${TEMPLATES}/a`)).body;
    expect(specOf(both).containers).toMatchObject([
      { name: 'c', image: 'i', env: env('x', 'y'), args: ['1'], resources: {} },
      { name: 'd', image: 'i', resources: {} },
    ]);
    const whole = await apply(api, `${TEMPLATES}/a`, 'two', spec([{ name: 'c', args: ['2'] }]));
    expect(whole.body.details.causes).toEqual([
      expect.objectContaining({
        field: '.template.spec.containers[name="c"].args',
        reason: 'FieldManagerConflict',
      }),
    ]);
    const left = await apply(api, `${TEMPLATES}/a`, 'two', pod({}));
    expect(specOf(left.body).containers).toMatchObject([
      { name: 'c', image: 'i', env: env('x'), args: ['1'], resources: {} },
    ]);
  });

  test('keeps the status apart, with owners of its own', async () => {
    const { api } = await startApi();
    const both = widgetBody('a', { spec: { size: 1 }, status: { ready: true } });
    const made = await apply(api, `${WIDGETS}/a`, 'one', both);
    expect(made.body.status).toBeUndefined();
    const { body } = await apply(api, `${WIDGETS}/a/status`, 'one', both);
    expect(body).toMatchObject({ spec: { size: 1 }, status: { ready: true } });
    expect(
      managers(body).map(({ subresource, fieldsV1 }) => [subresource, Object.keys(fieldsV1)]),
    ).toEqual([
      [undefined, ['f:spec']],
      ['status', ['f:status']],
    ]);
    expect((await apply(api, `${WIDGETS}/none/status`, 'one', widgetBody('none'))).status).toBe(
      404,
    );
  });

  test('knows what was there before the first apply', async () => {
    const { api } = await startApi();
    await api.make(CONFIG_MAPS, configMapBody('a', { data: { k: '1' } }));
    await api.patch(`${CONFIG_MAPS}/a`, { metadata: { managedFields: [{}] } });
    expect(managers((await api.get(`${CONFIG_MAPS}/a`)).body)).toEqual([]);
    const untold = await api.patch(`${CONFIG_MAPS}/a`, { data: { n: '1' } });
    expect(managers(untold.body)).toEqual([]);
    const other = configMapBody('a', { data: { k: '2' } });
    const refused = await apply(api, `${CONFIG_MAPS}/a`, 'one', other);
    expect(refused.body.message).toMatch(/conflict with "before-first-apply" using v1: \.data\.k$/);
    const { body } = await apply(
      api,
      `${CONFIG_MAPS}/a`,
      'one',
      configMapBody('a', { data: { m: '1' } }),
    );
    expect(Object.keys(owned(body))).toEqual(['one', 'before-first-apply']);
    const forced = await apply(api, `${CONFIG_MAPS}/a`, 'one', other, { force: 'true' });
    expect(forced.body.data).toEqual({ k: '2', n: '1' });
  });

  // A controller that applies `labels: {}` to a custom resource writes for ever on a cluster, and
  // was quiet here.
  test.for([
    ['labels', {}],
    ['finalizers', []],
  ] as const)('of %s that are empty writes a custom resource each time', async ([name, empty]) => {
    const { api } = await startApi();
    const versions = async (path: string, object: object): Promise<number> => {
      const send = async (body: object) =>
        (await apply(api, path, 'one', body)).body.metadata.resourceVersion;
      const seen = [await send(object), await send(object), await send(object)];
      for (let at = 0; at < 2; at++)
        seen.push((await api.patch(path, {})).body.metadata.resourceVersion);
      return new Set(seen).size;
    };
    const metadata = { name: 'a', [name]: empty };
    // What is stored has them, and what is read has not: the first write of anybody else takes them
    // away.
    expect(await versions(`${WIDGETS}/a`, widgetBody('a', { metadata }))).toBe(4);
    expect(await versions(`${CONFIG_MAPS}/a`, configMapBody('a', { metadata }))).toBe(1);
  });

  test('writes down when, and a write that changes nothing is none', async () => {
    const clock = new FakeClock();
    const { api } = await startApi({ clock });
    const at = (body: ApiObject) => managers(body).map(({ time }) => Date.parse(time ?? ''));
    const first = await apply(
      api,
      `${CONFIG_MAPS}/a`,
      'one',
      configMapBody('a', { data: { k: '1' } }),
    );
    clock.step(5000);
    const same = await apply(
      api,
      `${CONFIG_MAPS}/a`,
      'one',
      configMapBody('a', { data: { k: '1' } }),
    );
    expect(same.body).toEqual(first.body);
    const changed = await apply(
      api,
      `${CONFIG_MAPS}/a`,
      'one',
      configMapBody('a', { data: { k: '2' } }),
    );
    expect(at(changed.body)[0]! - at(first.body)[0]!).toBe(5000);
    expect(changed.body.metadata.resourceVersion).not.toBe(first.body.metadata.resourceVersion);
  });

  test.for<
    [what: string, body: unknown, query: Record<string, string>, status: number, message: string]
  >([
    ['nobody', configMapBody('a'), { fieldManager: '' }, 422, 'is required for apply patch'],
    [
      'a name that is too long',
      configMapBody('a'),
      { fieldManager: 'x'.repeat(129) },
      422,
      'Too long',
    ],
    ['a name with a line feed', configMapBody('a'), { fieldManager: 'a\nb' }, 422, 'U+000A'],
    [
      'another kind',
      { ...configMapBody('a'), kind: 'Secret' },
      {},
      400,
      'invalid object type: /v1, Kind=Secret',
    ],
    [
      'another version',
      { ...configMapBody('a'), apiVersion: 'v2' },
      {},
      400,
      'invalid object type: /v2, Kind=ConfigMap',
    ],
    ['no kind', {}, {}, 400, 'invalid object type: /, Kind='],
    ['another name', configMapBody('b'), {}, 400, 'does not match the name on the URL'],
    ['no name', { ...configMapBody('a'), metadata: {} }, {}, 400, 'name must be provided'],
    [
      'managers of its own',
      { ...configMapBody('a'), metadata: { name: 'a', managedFields: [{}] } },
      {},
      400,
      'must be nil',
    ],
    [
      'a field of another type',
      configMapBody('a', { data: { k: 1 } }),
      {},
      500,
      '.data.k: expected string',
    ],
    [
      'a field that there is not',
      configMapBody('a', { odd: 1 }),
      {},
      500,
      '.odd: field not declared in schema',
    ],
    [
      'an item that is there twice',
      { ...configMapBody('a'), metadata: { name: 'a', finalizers: ['e.x/a', 'e.x/a'] } },
      {},
      500,
      'duplicate entries',
    ],
    ['a list', [], {}, 400, 'cannot unmarshal array'],
    ['half a body', '{"a"', {}, 400, 'error decoding YAML'],
    [
      'a uid of nothing',
      { ...configMapBody('a'), metadata: { name: 'a', uid: 'x' } },
      {},
      409,
      'uid mismatch',
    ],
  ])('of %s is refused and creates nothing', async ([, body, query, status, message]) => {
    const { api } = await startApi();
    const answer = await apply(api, `${CONFIG_MAPS}/a`, 'one', body, query);
    expect(answer).toMatchObject({ status, body: { message: expect.stringContaining(message) } });
    expect((await api.get(`${CONFIG_MAPS}/a`)).status).toBe(404);
  });
});

describe('owners', () => {
  test('are named by fieldManager or the user agent', async () => {
    const { api } = await startApi();
    const named = {
      query: { fieldManager: 'maker' },
      body: configMapBody('a', { data: { k: '1', m: '1' } }),
    };
    await api.send('POST', CONFIG_MAPS, named);
    const agent = {
      body: { data: { k: '2' } },
      type: 'application/merge-patch+json',
      headers: { 'user-agent': 'tool/1.2 (x)' },
    };
    const { body } = await api.send('PATCH', `${CONFIG_MAPS}/a`, agent);
    expect(owned(body)).toEqual({
      maker: { 'f:data': { '.': {}, 'f:m': {} } },
      tool: { 'f:data': { 'f:k': {} } },
    });
  });

  // `[]` took all owners away from custom objects too, where a real server reads it as if nothing
  // had been sent.
  test('stay if a custom resource is sent without them; an empty list removes them', async () => {
    const { api } = await startApi();
    const sent = async (path: string, managedFields: object[]): Promise<string[]> => {
      const { body } = await api.patch(path, {
        metadata: { managedFields, labels: { a: String(managedFields.length) } },
      });
      return managers(body).map(({ manager }) => manager);
    };
    await apply(api, `${WIDGETS}/a`, 'one', widgetBody('a', { spec: { k: '1' } }));
    await apply(api, `${CONFIG_MAPS}/a`, 'one', configMapBody('a', { data: { k: '1' } }));
    expect(await sent(`${WIDGETS}/a`, [])).toEqual(['one', 'unknown']);
    expect(await sent(`${CONFIG_MAPS}/a`, [])).toEqual([]);
    expect(await sent(`${WIDGETS}/a`, [{}])).toEqual([]);
  });

  test('have the time of their own last change', async () => {
    const clock = new FakeClock();
    const { api } = await startApi({ clock });
    let first = 0;
    /** Seconds after the first write, one write each second. */
    const times = ({ body }: { body: ApiObject }) => {
      clock.step(1000);
      const of = (time = '') => Date.parse(time) / 1000;
      first ||= of(managers(body)[0]?.time);
      return Object.fromEntries(
        managers(body).map((each) => [each.manager, of(each.time) - first]),
      );
    };
    const written = async (method: string, path: string, manager: string, data: object) =>
      times(
        await api.send(method, path, {
          body: configMapBody('a', { data }),
          query: { fieldManager: manager },
        }),
      );
    const path = `${CONFIG_MAPS}/a`;
    const update = (manager: string, data: object) => written('PUT', path, manager, data);
    expect(await written('POST', CONFIG_MAPS, 'one', { k: '1' })).toEqual({ one: 0 });
    expect(await update('one', { k: '1' }), 'no change').toEqual({ one: 0 });
    expect(await update('one', { k: '2' })).toEqual({ one: 2 });
    expect(await update('two', { k: '2', m: '1' })).toEqual({ one: 2, two: 3 });
    expect(await update('two', { k: '2', m: '2' })).toEqual({ one: 2, two: 4 });
    expect(await update('one', { k: '2', m: '3' }), 'all that two had').toEqual({ one: 5 });
    expect(await update('two', { k: '3', m: '3' }), 'a part').toEqual({ one: 5, two: 6 });
  });

  test('who apply have the time of their own last change too', async () => {
    const clock = new FakeClock();
    const { api } = await startApi({ clock });
    const times: Record<string, string | undefined>[] = [];
    const send = async (manager: string, data: object, query = {}) => {
      clock.step(1000);
      const path = `${CONFIG_MAPS}/a`;
      const { body } = await apply(api, path, manager, configMapBody('a', { data }), query);
      times.push(Object.fromEntries(managers(body).map(({ manager, time }) => [manager, time])));
      return body;
    };
    await send('one', { k: '1', l: '1' });
    await send('two', { m: '1' });
    await send('one', { k: '2', l: '1' });
    const taken = await send('two', { m: '1', l: '2' }, { force: 'true' });
    expect(await send('one', { k: '2' })).toEqual(taken);
    expect(await send('two', { m: '1', l: '2' })).toEqual(taken);
    expect(times[1]?.one).toBe(times[0]?.one);
    expect(times[2]?.two).toBe(times[1]?.two);
    expect(times[2]?.one).not.toBe(times[0]?.one);
    expect(times[3]?.one).toBe(times[2]?.one);
    expect(times[3]?.two).not.toBe(times[2]?.two);
  });

  test('are not changed through a subresource', async () => {
    const { api } = await startApi();
    const path = `${WIDGETS}/a`;
    await apply(api, path, 'one', widgetBody('a', { spec: { size: 1 } }));
    const odd = { manager: 'odd', operation: 'Apply', apiVersion: 'example.com/v1' };
    const fields = { fieldsType: 'FieldsV1', fieldsV1: { 'f:spec': {} } };
    for (const managedFields of [[{ ...odd, ...fields }], [], [{}]]) {
      const { metadata, ...rest } = (await api.get(path)).body;
      const status = { entries: JSON.stringify(managedFields) };
      const body = { ...rest, metadata: { ...metadata, managedFields }, status };
      const query = { fieldManager: 'two' };
      const written = await api.send('PUT', `${path}/status`, { body, query });
      expect(written.body.status).toEqual(status);
      expect(managers(written.body).map(({ manager }) => manager)).toEqual(['one', 'two']);
    }
  });

  test('of a removed field are removed', async () => {
    const { api } = await startApi();
    await api.make(CONFIG_MAPS, configMapBody('a', { data: { k: '1' } }));
    const { body } = await api.patch(`${CONFIG_MAPS}/a`, { data: null });
    expect(managers(body)).toEqual([]);
  });

  test('that wrote long ago are gathered when there are more than ten', async () => {
    const clock = new FakeClock();
    const { api } = await startApi({ clock });
    await api.make(CONFIG_MAPS, configMapBody('a', { data: { k: '1' } }));
    let last: ApiObject | undefined;
    for (let at = 0; at < 13; at++) {
      clock.step(1000);
      const send = {
        body: { data: { [`k${at}`]: '1' } },
        type: 'application/merge-patch+json',
        query: { fieldManager: `m${at}` },
      };
      last = (await api.send('PATCH', `${CONFIG_MAPS}/a`, send)).body;
    }
    const names = managers(last as ApiObject).map(({ manager }) => manager);
    expect(names).toHaveLength(10);
    expect(names[0]).toBe('ancient-changes');
    expect(owned(last as ApiObject)['ancient-changes']).toEqual({
      'f:data': { '.': {}, 'f:k': {}, 'f:k0': {}, 'f:k1': {}, 'f:k2': {}, 'f:k3': {} },
    });
  });
});

describe('a strategic merge patch', () => {
  const env = (...names: string[]) => names.map((name) => ({ name, value: name }));

  test.for<[what: string, spec: object, expected: object]>([
    [
      'merges by key',
      { containers: [{ name: 'b', image: 'j' }] },
      {
        containers: [
          { name: 'a', image: 'i', env: env('x', 'y') },
          { name: 'b', image: 'j' },
        ],
      },
    ],
    [
      'deletes by key',
      { containers: [{ name: 'a', $patch: 'delete' }] },
      { containers: [{ name: 'b', image: 'i' }] },
    ],
    [
      'replaces a list',
      { containers: [{ $patch: 'replace' }, { name: 'c', image: 'i' }] },
      { containers: [{ name: 'c', image: 'i' }] },
    ],
    [
      'deletes below',
      { containers: [{ name: 'a', env: [{ name: 'x', $patch: 'delete' }] }] },
      {
        containers: [
          { name: 'a', image: 'i', env: env('y') },
          { name: 'b', image: 'i' },
        ],
      },
    ],
    [
      'orders',
      { '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }] },
      {
        containers: [
          { name: 'b', image: 'i' },
          { name: 'a', image: 'i', env: env('x', 'y') },
        ],
      },
    ],
    ['replaces what has no key', { tolerations: [{ key: 'b' }] }, { tolerations: [{ key: 'b' }] }],
    [
      'replaces a map',
      { nodeSelector: { $patch: 'replace', z: '1' } },
      { nodeSelector: { z: '1' } },
    ],
    [
      'retains keys',
      { volumes: [{ name: 'v', $retainKeys: ['name', 'hostPath'], hostPath: { path: '/' } }] },
      { volumes: [{ name: 'v', hostPath: { path: '/' } }] },
    ],
    // kubectl removes what it does not retain a second time, by null.
    [
      'retains keys and takes null for the others',
      {
        volumes: [
          { name: 'v', $retainKeys: ['name', 'hostPath'], hostPath: { path: '/' }, emptyDir: null },
        ],
      },
      { volumes: [{ name: 'v', hostPath: { path: '/' } }] },
    ],
  ])('%s', async ([, spec, expected]) => {
    const { api } = await startApi();
    const made = {
      containers: [
        { name: 'a', image: 'i', env: env('x', 'y') },
        { name: 'b', image: 'i' },
      ],
      tolerations: [{ key: 'a' }],
      nodeSelector: { x: '1' },
      volumes: [{ name: 'v', emptyDir: {} }],
    };
    await api.make(TEMPLATES, pod(made));
    const { status, body } = await api.patch(`${TEMPLATES}/a`, { template: { spec } }, STRATEGIC);
    expect({ status, spec: specOf(body) }).toMatchObject({
      status: 200,
      spec: { ...made, ...expected },
    });
  });

  // It was gone altogether, whatever Go has for it: a pointer stays, and an empty map is left out.
  test('leaves what is empty of what it deletes', async () => {
    const { api } = await startApi();
    await api.make(
      TEMPLATES,
      pod({ ...POD_SPEC, nodeSelector: { x: '1' }, securityContext: { runAsUser: 1 } }),
    );
    const deleted = { $patch: 'delete' };
    const { body } = await api.patch(
      `${TEMPLATES}/a`,
      { template: { spec: { nodeSelector: deleted, securityContext: deleted } } },
      STRATEGIC,
    );
    const { nodeSelector, securityContext } = specOf(body);
    expect([nodeSelector, securityContext]).toEqual([undefined, {}]);
  });

  // It was a TypeError of the server's own, told as 500 and on the console.
  test('refuses a null in a list of objects, saying so', async () => {
    const { api } = await startApi();
    await api.make(TEMPLATES, pod({ containers: [{ name: 'a', image: 'i' }] }));
    const { status, body } = await api.patch(
      `${TEMPLATES}/a`,
      { template: { spec: { containers: [null] } } },
      STRATEGIC,
    );
    expect([status, body.message]).toEqual([
      500,
      expect.stringContaining('list element types are not identical'),
    ]);
  });

  test('deletes from a list of names', async () => {
    const { api } = await startApi();
    await api.make(CONFIG_MAPS, {
      ...configMapBody('a'),
      metadata: { name: 'a', finalizers: ['e.x/a', 'e.x/b'] },
    });
    const metadata = { '$deleteFromPrimitiveList/finalizers': ['e.x/a'] };
    const { body } = await api.patch(`${CONFIG_MAPS}/a`, { metadata }, STRATEGIC);
    expect(body.metadata.finalizers).toEqual(['e.x/b']);
  });
});
