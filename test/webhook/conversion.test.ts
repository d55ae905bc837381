/**
 * Conversions: ConversionReviews and the answers that become of them, over HTTPS, and the
 * definitions that are made from the registration.
 */
import { defineCustomResource, type ObjectOf } from 'capstan/client';
import {
  type Conversion,
  conversionDefinitions,
  newWebhookManagedBy,
  webhookConfigurations,
} from 'capstan/webhook';
import { FakeClock } from 'capstan/workqueue';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import {
  type ConversionRequest,
  convert,
  decodeConversion,
} from '../../bindings/webhook/conversion.ts';
import { RecordedWebhooks } from '../../bindings/webhook/recorded.ts';
import type { BadReview } from '../../bindings/webhook/review.ts';
import { parseText } from '../helpers/prometheus-text.ts';
import { testSeed } from '../helpers/random.ts';
import { collectErrorValues } from '../helpers/reported-errors.ts';
import { bytesOf, servingWebhooks } from './webhooks.ts';

const named = { group: 'example.com', kind: 'Site', scope: 'Namespaced' } as const;
const V1 = defineCustomResource({
  ...named,
  version: 'v1',
  spec: z.object({ host: z.string(), port: z.int().optional(), id: z.number().optional() }),
});
const V1beta1 = defineCustomResource({
  ...named,
  version: 'v1beta1',
  spec: z.object({ address: z.string(), id: z.number().optional() }),
});
const V1alpha1 = defineCustomResource({
  ...named,
  version: 'v1alpha1',
  spec: z.object({ name: z.string() }),
});
type Hub = ObjectOf<typeof V1>;
type Beta = ObjectOf<typeof V1beta1>;
type Alpha = ObjectOf<typeof V1alpha1>;

const beta: Conversion<Beta, Hub> = {
  version: 'v1beta1',
  toHub({ metadata, spec: { address, ...spec } }) {
    const [host = '', port] = address.split(':');
    return { metadata, spec: { ...spec, host, ...(port ? { port: Number(port) } : {}) } };
  },
  fromHub: ({ metadata, spec: { host, port, ...spec } }) => ({
    metadata,
    spec: { ...spec, address: port === undefined ? host : `${host}:${port}` },
  }),
};
const alpha: Conversion<Alpha, Hub> = {
  version: 'v1alpha1',
  toHub({ metadata, spec }) {
    metadata.annotations = { ...metadata.annotations, was: 'alpha' };
    const { labels, annotations } = metadata;
    return { metadata: { labels, annotations }, spec: { host: spec.name } };
  },
  fromHub({ spec, ...site }) {
    delete site.metadata.labels;
    return { ...site, spec: { name: spec.host } };
  },
};
const setup = (manager: object): void =>
  newWebhookManagedBy(manager)
    .for(V1.resource)
    .withConversion(beta)
    .withConversion(alpha)
    .complete();

const recordedConversions = () => {
  const recorded = new RecordedWebhooks();
  setup(recorded);
  return recorded.conversions;
};

const reported = collectErrorValues();
const metadata = { name: 'a', namespace: 'default', uid: 'u', labels: { l: '1' } };
const site = (version: string, spec: object, more: object = metadata) => ({
  apiVersion: `example.com/${version}`,
  kind: 'Site',
  metadata: more,
  spec,
});
const reviewOf = (desired: string, ...objects: object[]) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'ConversionReview',
  request: { uid: 'a-uid', desiredAPIVersion: `example.com/${desired}`, objects },
});

describe('conversions', () => {
  test('go to the hub, from it, and by it', async () => {
    const { review } = await servingWebhooks(setup);
    const converted = async (desired: string, ...objects: object[]) => {
      const { status, response } = await review('/convert', reviewOf(desired, ...objects));
      expect({ status, uid: response.uid, result: response.result }).toEqual({
        status: 200,
        uid: 'a-uid',
        result: { status: 'Success' },
      });
      return response.convertedObjects;
    };
    expect(
      await converted(
        'v1',
        site('v1beta1', { address: 'a.example:80' }),
        site('v1', { host: 'b' }),
        site('v1beta1', { address: 'c' }),
      ),
    ).toEqual([
      site('v1', { host: 'a.example', port: 80 }),
      site('v1', { host: 'b' }),
      site('v1', { host: 'c' }),
    ]);
    expect(await converted('v1beta1', site('v1', { host: 'a', port: 1 }))).toEqual([
      site('v1beta1', { address: 'a:1' }),
    ]);
    expect(await converted('v1beta1', site('v1alpha1', { name: 'a' }))).toEqual([
      site('v1beta1', { address: 'a' }, { ...metadata, annotations: { was: 'alpha' } }),
    ]);
    expect(await converted('v1')).toEqual([]);
  });

  // A server refuses any other change of metadata, and an author who builds it anew loses the uid.
  test('change labels and annotations of the metadata, and nothing else', async () => {
    const { review } = await servingWebhooks(setup);
    const there = await review('/convert', reviewOf('v1', site('v1alpha1', { name: 'a' })));
    expect(there.response.convertedObjects).toEqual([
      site('v1', { host: 'a' }, { ...metadata, annotations: { was: 'alpha' } }),
    ]);
    const back = await review('/convert', reviewOf('v1alpha1', site('v1', { host: 'a' })));
    const { labels: _, ...unlabelled } = metadata;
    expect(back.response.convertedObjects).toEqual([site('v1alpha1', { name: 'a' }, unlabelled)]);
  });

  test('keep integers that JavaScript rounds', async () => {
    const { send } = await servingWebhooks(setup);
    const text = JSON.stringify(reviewOf('v1', site('v1beta1', { address: 'a', id: 0 })));
    const { text: answer } = await send(
      '/convert',
      text.replace('"id":0', '"id":9007199254740993'),
    );
    expect(answer).toContain('"spec":{"id":9007199254740993,"host":"a"}');
  });

  test('that fail are told to the server, reported, and counted if they are bugs', async () => {
    const failing: Conversion<Beta, Hub> = {
      version: 'v1beta1',
      toHub({ spec }) {
        if (spec.address === 'bug') throw new TypeError('undefined is not a function');
        if (spec.address === 'late') return Promise.resolve() as never;
        throw new Error('no such address');
      },
      fromHub: () => undefined as never,
    };
    const { review, manager } = await servingWebhooks(
      (m) => newWebhookManagedBy(m).for(V1.resource).withConversion(failing).complete(),
      { metrics: { bindAddress: 'localhost:0' } },
    );
    const message = async (desired: string, object: object) => {
      const { response } = await review('/convert', reviewOf(desired, object));
      expect(response.convertedObjects).toEqual([]);
      const { result } = response as { result: { status: string; message: string } };
      expect(result.status).toBe('Failure');
      return result.message;
    };
    expect(await message('v1', site('v1beta1', { address: 'a' }))).toBe(
      'Site default/a of example.com/v1beta1: no such address',
    );
    expect(await message('v1', site('v1beta1', { address: 'bug' }))).toContain('not a function');
    expect(await message('v1', site('v1beta1', { address: 'late' }))).toContain(
      'the result of toHub()" expected an object',
    );
    expect(await message('v1beta1', site('v1', {}))).toContain(
      'the result of fromHub()" expected an object, got undefined',
    );
    expect(await message('v2', site('v1', {}))).toContain(
      'Site expected one of the versions v1, v1beta1, got v2',
    );
    expect(await message('v1', { ...site('v1beta1', {}), kind: 'Page' })).toContain(
      'Page has no conversion from example.com/v1beta1 to example.com/v1',
    );
    expect(reported).toHaveLength(6);
    const metrics = parseText(await (await fetch(`${manager.url('metrics')}/metrics`)).text());
    const valuesOf = (name: string) =>
      metrics.get(`controller_runtime_${name}`)?.samples.map(({ value }) => value);
    expect(valuesOf('conversion_webhook_panics_total')).toEqual([1]);
    expect(valuesOf('webhook_requests_total')).toEqual([6, 0]);
  });

  test.each([
    [{ metadata: { ...metadata, name: 'b' } }, 'metadata.name "a" as before, got "b"'],
    [{ metadata: { uid: 'v' } }, 'metadata.uid "u" as before, got "v"'],
    [{ metadata: { generation: 1 } }, 'metadata.generation undefined as before, got 1'],
    [{ metadata: 1 }, 'toHub().metadata" expected an object, got 1'],
    [{ kind: 'Page' }, 'kind "Site" as before, got "Page"'],
    [{ toJSON: () => 'text' }, 'the result of toHub()" expected an object, got "text"'],
  ])('may not change what an object is: %j', async (changed, why) => {
    const setupChanged = (m: object): void => {
      const toHub = () => ({ spec: { host: 'a' }, ...changed }) as never;
      const withChange = { ...beta, toHub };
      newWebhookManagedBy(m).for(V1.resource).withConversion(withChange).complete();
    };
    const { review } = await servingWebhooks(setupChanged);
    const good = site('v1', { host: 'b' });
    const { response } = await review('/convert', reviewOf('v1', good, site('v1beta1', {})));
    expect(response).toMatchObject({
      convertedObjects: [],
      result: { status: 'Failure', message: expect.stringContaining(why) },
    });
    expect(reported.splice(0)).toHaveLength(1);
  });

  // The server gives up after the time that it says in the query.
  describe('of many objects', () => {
    const request = {
      uid: 'a',
      desiredAPIVersion: 'example.com/v1',
      objects: Array.from({ length: 4 }, () => site('v1beta1', { address: 'a' })),
    };
    const slow = (clock: FakeClock, ms: number) => {
      let calls = 0;
      const spoke = {
        version: 'v1beta1',
        toHub: (object: object) => {
          calls++;
          clock.step(ms);
          return object;
        },
        fromHub: (object: object) => object,
      };
      const kinds = new Map([['example.com/Site', { resource: hubOf(V1), spokes: [spoke] }]]);
      return { kinds, calls: () => calls };
    };
    const hubOf = ({ resource }: typeof V1) => resource;

    test('end at the deadline', async () => {
      const clock = new FakeClock();
      const { kinds, calls } = slow(clock, 6);
      const errors: unknown[] = [];
      const context = { clock, timeout: 15, hungUp: new AbortController().signal };
      const answer = convert(request, kinds, {
        ...context,
        onError: (error) => errors.push(error),
      });
      await clock.run(100);
      expect(JSON.parse(await answer).response).toMatchObject({
        convertedObjects: [],
        result: {
          status: 'Failure',
          message: expect.stringContaining('of 4 objects was not done within 15 ms: 3'),
        },
      });
      expect({ calls: calls(), errors }).toMatchObject({ calls: 3, errors: [{ code: 'TIMEOUT' }] });
    });

    test('let others run, and end when nobody waits', async () => {
      const clock = new FakeClock();
      const { kinds, calls } = slow(clock, 6);
      const gone = new AbortController();
      const context = { clock, timeout: 1000, hungUp: gone.signal, onError: () => undefined };
      const answer = convert(request, kinds, context);
      expect(calls()).toBe(2);
      gone.abort();
      await clock.run(1);
      await answer;
      expect(calls()).toBe(2);
    });
  });

  test('refuse what is no ConversionReview, with a status and a text', async () => {
    const { review, send } = await servingWebhooks(setup);
    const whole = reviewOf('v1', site('v1', {}));
    for (const [body, why] of [
      [{}, 'kind: expected "ConversionReview"'],
      [{ ...whole, apiVersion: 'apiextensions.k8s.io/v1beta1' }, 'apiVersion: expected'],
      [{ ...whole, request: undefined }, 'request: expected an object'],
      [{ ...whole, request: { ...whole.request, uid: '' } }, 'request.uid: expected a text'],
      [{ ...whole, request: { ...whole.request, objects: [1] } }, 'request.objects: expected'],
      [
        { ...whole, request: { ...whole.request, desiredAPIVersion: 1 } },
        'request.desiredAPIVersion: expected a text',
      ],
    ] as const)
      expect(await review('/convert', body)).toMatchObject({
        status: 400,
        text: expect.stringContaining(why),
      });
    expect(await send('/convert', '')).toMatchObject({
      status: 400,
      text: 'body: expected a ConversionReview, got nothing\n',
    });
  });

  // The server sends all objects of a list in one request.
  test('take a list that is longer than what admission takes', async () => {
    const { send } = await servingWebhooks(setup);
    const objects = Array.from({ length: 100 }, () =>
      site('v1beta1', { address: 'x'.repeat(100_000) }),
    );
    const { response } = await send('/convert', bytesOf(reviewOf('v1', ...objects)));
    expect(response.convertedObjects).toHaveLength(100);
  });
});

describe('at random,', () => {
  const kinds = recordedConversions();
  const hungUp = new AbortController().signal;
  const clock = new FakeClock();
  /** A refusal, or an answer with all objects or none. */
  const check = async (body: Uint8Array): Promise<void> => {
    let request: ConversionRequest;
    try {
      request = decodeConversion(body);
    } catch (error) {
      expect((error as BadReview).status).toBe(400);
      return;
    }
    const context = { clock, timeout: 1000, hungUp, onError: () => undefined };
    const { response } = JSON.parse(await convert(request, kinds, context));
    expect(response.uid).toBe(request.uid);
    const isWhole = response.result.status === 'Success';
    expect(response.convertedObjects).toHaveLength(isWhole ? request.objects.length : 0);
    for (const object of response.convertedObjects)
      expect(object.apiVersion).toBe(request.desiredAPIVersion);
  };
  const parameters = { seed: testSeed(), numRuns: 1000 };

  test('any members are refused or converted', async () => {
    const anyJson = fc.jsonValue({ maxDepth: 3 });
    const version = fc.constantFrom('v1', 'v1beta1', 'v1alpha1', 'v2');
    const apiVersion = fc.oneof(
      version.map((v) => `example.com/${v}`),
      fc.string(),
    );
    const object = fc.record(
      {
        apiVersion: fc.oneof(apiVersion, anyJson),
        kind: fc.oneof(fc.constant('Site'), anyJson),
        metadata: fc.oneof(fc.constant(metadata), anyJson),
        spec: fc.oneof(fc.constant({ address: 'a', host: 'b', name: 'c' }), anyJson),
      },
      { requiredKeys: [] },
    );
    const request = fc.record({
      uid: fc.oneof(fc.constant('a'), anyJson),
      desiredAPIVersion: fc.oneof(apiVersion, anyJson),
      objects: fc.oneof(
        { weight: 9, arbitrary: fc.array(object) },
        { weight: 1, arbitrary: anyJson },
      ),
    });
    const run = (given: unknown) => check(bytesOf({ ...reviewOf('v1'), request: given }));
    await fc.assert(fc.asyncProperty(request, run), parameters);
  });

  test('damaged bytes are refused or converted', async () => {
    const body = bytesOf(reviewOf('v1', site('v1beta1', { address: 'a' }), site('v1alpha1', {})));
    const changes = fc.array(fc.tuple(fc.nat(body.length - 1), fc.nat(255)), { maxLength: 4 });
    const run = ([damage, length]: [[number, number][], number]) => {
      const damaged = body.slice(0, length);
      for (const [at, byte] of damage) if (at < length) damaged[at] = byte;
      return check(damaged);
    };
    const length = fc.oneof(fc.constant(body.length), fc.nat(body.length));
    await fc.assert(fc.asyncProperty(fc.tuple(changes, length), run), parameters);
  });
});

describe('definitions of converted kinds', () => {
  const reach = {
    clientConfig: { service: { namespace: 'default', name: 'sites' } },
    caBundle: 'PEM',
  };

  test('have the registered versions, the hub stored, and spec.conversion', () => {
    const [crd, ...more] = conversionDefinitions(setup, [V1alpha1, V1beta1, V1], reach);
    expect(more).toEqual([]);
    expect(crd?.spec.versions.map(({ name, storage }) => [name, storage])).toEqual([
      ['v1', true],
      ['v1beta1', false],
      ['v1alpha1', false],
    ]);
    expect(crd?.spec.conversion).toEqual({
      strategy: 'Webhook',
      webhook: {
        conversionReviewVersions: ['v1'],
        clientConfig: {
          service: { namespace: 'default', name: 'sites', path: '/convert' },
          caBundle: Buffer.from('PEM').toString('base64'),
        },
      },
    });
  });

  test.each([
    [[V1, V1beta1], '"versions" expected a definition of Site in v1alpha1, which has a conversion'],
    [
      [
        V1,
        V1beta1,
        V1alpha1,
        defineCustomResource({ ...named, version: 'v2', spec: z.object({}) }),
      ],
      'Site expected a conversion for each of its versions, v2 has none',
    ],
  ])('cannot differ from the registration: %#', (versions, why) => {
    expect(() => conversionDefinitions(setup, versions, reach)).toThrow(why);
  });

  test('are not among the configurations of webhooks', () => {
    expect(() => webhookConfigurations(setup, { name: 'sites', ...reach })).toThrow(
      'got only conversions: use conversionDefinitions() for these',
    );
  });

  test('need a registration', () => {
    expect(() => conversionDefinitions(() => undefined, [V1], reach)).toThrow(
      'setup expected to register a conversion, got none',
    );
  });
});

describe('a registration', () => {
  const builder = () => {
    let made: ReturnType<ReturnType<typeof newWebhookManagedBy>['for']> | undefined;
    conversionDefinitions(
      (manager) => {
        setup(manager);
        made = newWebhookManagedBy(manager).for(V1.resource) as never;
      },
      [V1, V1beta1, V1alpha1],
      { clientConfig: { url: 'https://127.0.0.1:1' } },
    );
    return made as NonNullable<typeof made>;
  };

  test.each([
    [{ ...beta, version: 'v1' }, 'expected another version of Site than v1, got v1'],
    [{ ...beta, version: 1 }, '"conversion.version" expected'],
    [{ ...beta, toHub: undefined }, '"conversion.toHub" expected a function'],
    [{ version: 'v2', tohub: beta.toHub, fromHub: beta.fromHub }, 'did you mean "toHub"'],
  ])('%j is rejected', (conversion, why) => {
    expect(() => builder().withConversion(conversion as never)).toThrow(why);
  });

  test('has each version once, each kind once, and no subresource', () => {
    const first = builder().withConversion(beta);
    expect(() => first.withConversion(beta)).toThrow('than v1, v1beta1, got v1beta1');
    expect(() => first.complete()).toThrow('are registered already');
  });
});
