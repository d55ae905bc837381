/**
 * Helpers on a real API server: it accepts definitions made of schemas and validates as the schemas
 * do; owner references, finalizers and events agree with a raw GET.
 */

import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import type { Transport } from 'capstan/cache';
import {
  type Client,
  type CustomResourceDefinition,
  combineVersions,
  crdResource,
  defineCustomResource,
  EventRecorder,
  finalizer,
  installCRDs,
  type KubeEvent,
  newClient,
  objectReference,
  setControllerReference,
  setOwnerReference,
  setStatusCondition,
  uninstallCRDs,
} from 'capstan/client';
import { kubeConfigTransport } from 'capstan/client-node';
import * as v from 'valibot';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { CASES, objectOf, Wide } from '../helpers/client/crd-cases.ts';
import { judgeSample } from '../helpers/client/random-schemas.ts';
import { eventually } from '../helpers/control-plane/conditions.ts';
import { ControlPlane } from '../helpers/control-plane/control-plane.ts';
import { testSeed } from '../helpers/random.ts';
import { textOf } from '../helpers/server/requests.ts';
import { readKubeConfig } from './same-answers/servers.ts';

let plane: ControlPlane;
let transport: Transport;
let client: Client;

beforeAll(async () => {
  plane = await ControlPlane.start();
  transport = kubeConfigTransport(await readKubeConfig(plane));
  client = newClient({ transport });
});

afterAll(async () => {
  await transport?.close?.();
  await plane?.stop();
});

afterEach(({ task }) => {
  if (task.result?.state === 'fail') plane?.keepLogs();
});

/** The object as a raw GET returns it. */
async function raw<T = { metadata: object; spec: object }>(path: string): Promise<T> {
  const { body } = await transport.request({ method: 'GET', path });
  return JSON.parse(await textOf(body)) as T;
}

const GATEWAYS = '/apis/e2e.capstan.dev/v1/namespaces/default/gateways';

describe('a definition made of a schema', () => {
  test('is accepted, established, and structural', async () => {
    const [installed] = await installCRDs(client, [Wide.crd], { timeout: 30_000 });
    const conditions = Object.fromEntries(
      (installed?.status?.conditions ?? []).map(({ type, status }) => [type, status]),
    );
    expect(conditions).toMatchObject({ Established: 'True', NamesAccepted: 'True' });
    expect(conditions).not.toHaveProperty('NonStructuralSchema');
    const there = await raw<CustomResourceDefinition>(
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gateways.e2e.capstan.dev',
    );
    expect(there.spec.versions[0]?.schema, 'stored as it was sent').toEqual(
      JSON.parse(JSON.stringify(Wide.crd.spec.versions[0]?.schema)),
    );
  });

  test('makes the server accept and refuse what the schema does', async () => {
    const disagreements: unknown[] = [];
    for (const [index, [spec, valid]] of CASES.entries()) {
      const object = objectOf(`case-${index}`, spec);
      const here = (await Wide.validate(object)).issues === undefined;
      const there = await client.create(Wide.resource, object as never, { dryRun: true }).then(
        () => 'accepted',
        (error: { status?: number; message: string }) =>
          error.status === 422 ? `422: ${error.message}` : error.message,
      );
      if (here !== valid || (there === 'accepted') !== valid || !/^accepted$|^422/.test(there))
        disagreements.push({ spec, valid, here, there });
    }
    expect(disagreements).toEqual([]);
  });

  test('of random members makes the server accept and refuse the same values', async () => {
    const seed = testSeed();
    console.log(`random schemas: CAPSTAN_SEED=${seed}`);
    const { disagreements, accepted } = await judgeSample(client, seed, 1200);
    expect(disagreements).toEqual([]);
    expect(accepted).toBeGreaterThan(200);
    expect(accepted).toBeLessThan(1000);
  });

  test('gives objects their defaults, the same as the schema gives', async () => {
    const given = objectOf('defaults', { nested: {}, ports: [{ name: 'http', port: 80 }] });
    await client.create(Wide.resource, given as never);
    const { spec } = await raw(`${GATEWAYS}/defaults`);
    expect(spec).toEqual((await Wide.parse(given as never)).spec);
    expect(spec).toMatchObject({
      replicas: 1,
      mode: 'safe',
      nested: { deep: { count: 7 } },
      ports: [{ protocol: 'TCP' }],
    });
  });

  test('makes the server check rules and list keys that the schema cannot express', async () => {
    const range = (min: number, max: number) =>
      objectOf(`range-${min}-${max}`, { range: { min, max } });
    await client.create(Wide.resource, range(1, 2) as never, { dryRun: true });
    await expect(client.create(Wide.resource, range(2, 1) as never)).rejects.toThrow(
      'min is above max',
    );
    const twice = objectOf('twice', { ports: [1, 2].map((port) => ({ name: 'http', port })) });
    await expect(client.create(Wide.resource, twice as never)).rejects.toThrow('Duplicate value');
  });

  test('of Valibot or ArkType is accepted as well', async () => {
    const kinds = [
      defineCustomResource({
        group: 'e2e.capstan.dev',
        version: 'v1',
        kind: 'ValiThing',
        scope: 'Cluster',
        spec: toStandardJsonSchema(
          v.object({
            host: v.pipe(v.string(), v.minLength(1), v.regex(/^[a-z]+$/)),
            replicas: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0)), 1),
            mode: v.picklist(['a', 'b']),
            note: v.nullable(v.string()),
            labels: v.record(v.string(), v.string()),
            target: v.optional(v.union([v.pipe(v.number(), v.integer()), v.string()])),
            size: v.optional(v.union([v.literal('s'), v.literal('l')])),
          }),
        ),
      }),
      defineCustomResource({
        group: 'e2e.capstan.dev',
        version: 'v1',
        kind: 'ArkThing',
        scope: 'Cluster',
        spec: type({
          host: '1<=string<=63',
          mode: "'a'|'b'",
          note: 'string|null',
          labels: 'Record<string,string>',
          'target?': 'number.integer|string',
          'size?': "'s'|'l'",
          'ratio?': '0<number<1',
        }),
      }),
    ];
    await installCRDs(
      client,
      kinds.map(({ crd }) => crd),
      { timeout: 30_000 },
    );
    const cases: [object, boolean][] = [
      [{}, true],
      [{ host: '' }, false],
      [{ mode: 'c' }, false],
      [{ note: 'x' }, true],
      [{ note: 1 }, false],
      [{ labels: { a: 1 } }, false],
      [{ target: 'x' }, true],
      [{ target: 1.5 }, false],
      [{ size: 'm' }, false],
    ];
    for (const { resource, validate } of kinds) {
      for (const [more, valid] of cases) {
        const spec = { host: 'a', mode: 'a', note: null, labels: {}, ...more };
        const object = { metadata: { name: 'a' }, spec };
        const there = await client.create(resource as never, object, { dryRun: true }).then(
          () => true,
          () => false,
        );
        const here = (await validate(object)).issues === undefined;
        expect([here, there], `${resource.kind} ${JSON.stringify(more)}`).toEqual([valid, valid]);
      }
    }
  });

  test('serves several versions, one of them stored', async () => {
    const named = { group: 'e2e.capstan.dev', kind: 'Versioned', scope: 'Cluster' } as const;
    const v1 = defineCustomResource({ ...named, version: 'v1', spec: z.object({ a: z.string() }) });
    const beta = defineCustomResource({
      ...named,
      version: 'v1beta1',
      deprecated: 'use v1',
      spec: z.object({ a: z.string(), old: z.string().optional() }),
    });
    const [installed] = await installCRDs(client, [combineVersions([v1, beta])], {
      timeout: 30_000,
    });
    expect(installed?.status?.storedVersions).toEqual(['v1']);
    await client.create(beta.resource, { metadata: { name: 'x' }, spec: { a: '1' } });
    expect(await client.get(v1.resource, { name: 'x' })).toMatchObject({
      apiVersion: 'e2e.capstan.dev/v1',
      spec: { a: '1' },
    });
  });
});

describe('definitions', () => {
  const simple = (kind: string, plural: string) =>
    defineCustomResource({
      group: 'e2e.capstan.dev',
      version: 'v1',
      kind,
      plural,
      scope: 'Cluster',
      spec: z.object({ a: z.string() }),
    });

  test('are updated when they are installed again', async () => {
    const before = simple('Changing', 'changings');
    await installCRDs(client, [before.crd], { timeout: 30_000 });
    const after = defineCustomResource({
      group: 'e2e.capstan.dev',
      version: 'v1',
      kind: 'Changing',
      scope: 'Cluster',
      spec: z.object({ b: z.int() }),
    });
    const [installed] = await installCRDs(client, [after.crd], { timeout: 30_000 });
    expect(
      installed?.spec.versions[0]?.schema.openAPIV3Schema.properties?.spec?.properties,
    ).toEqual({
      b: { type: 'integer', minimum: -9007199254740991, maximum: 9007199254740991 },
    });
  });

  test('whose names are taken are an error with the words of the server', async () => {
    await installCRDs(client, [simple('Taken', 'takens').crd], { timeout: 30_000 });
    const error = await installCRDs(client, [simple('Taken', 'others').crd], {
      timeout: 30_000,
    }).catch((e: unknown) => e);
    expect(error).toMatchObject({
      code: 'CRD',
      definition: 'others.e2e.capstan.dev',
      message: expect.stringMatching(
        /does not accept .*NamesAccepted=False .*"Taken(List)?" is already in use/,
      ),
    });
    await uninstallCRDs(client, [simple('Taken', 'others').crd]);
  });

  test('that the server refuses are an error with its reasons', async () => {
    const { crd } = simple('Broken', 'brokens');
    const broken = { ...crd, metadata: { name: 'wrong.e2e.capstan.dev' } };
    await expect(installCRDs(client, [broken])).rejects.toMatchObject({
      code: 'STATUS',
      status: 422,
    });
  });

  test('that are uninstalled are deleted with their objects, and can return', async () => {
    const { crd, resource } = simple('Passing', 'passings');
    await installCRDs(client, [crd], { timeout: 30_000 });
    await client.create(resource, { metadata: { name: 'x' }, spec: { a: '1' } });
    await client.delete(crdResource, { name: 'passings.e2e.capstan.dev' });
    await installCRDs(client, [crd], { timeout: 30_000 });
    await eventually(
      'its storage is made anew',
      async () => (await client.list(resource)).items.length === 0,
    );
    await uninstallCRDs(client, [crd], { timeout: 30_000 });
    await expect(
      client.get(crdResource, { name: 'passings.e2e.capstan.dev' }),
    ).rejects.toMatchObject({ status: 404 });
    await uninstallCRDs(client, [crd]);
  });
});

describe('helpers', () => {
  const create = (name: string) => client.create(Wide.resource, objectOf(name, {}) as never);

  test('for owner references give references that the server keeps', async () => {
    const owner = await create('owner');
    const other = await create('other-owner');
    const owned = setOwnerReference(
      other,
      setControllerReference(owner, await create('owned'), Wide.resource),
      Wide.resource,
    );
    await client.update(Wide.resource, owned);
    const { metadata } = await raw<typeof owned>(`${GATEWAYS}/owned`);
    const reference = { apiVersion: 'e2e.capstan.dev/v1', kind: 'Gateway' };
    expect(metadata.ownerReferences).toEqual([
      {
        ...reference,
        name: 'owner',
        uid: owner.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
      { ...reference, name: 'other-owner', uid: other.metadata.uid },
    ]);
  });

  test('for finalizers hold an object until it was cleaned up', async () => {
    const name = 'e2e.capstan.dev/cleanup';
    const object = await create('finalized');
    const key = { namespace: 'default', name: 'finalized' };
    const cleaned: unknown[] = [];
    const run = async () =>
      finalizer(client, Wide.resource, name, await client.get(Wide.resource, key), {
        apply: () => 'applied',
        cleanup: ({ metadata }) => {
          cleaned.push(metadata.uid);
          return 'cleaned';
        },
      });
    expect(await run()).toBe('applied');
    expect(await raw(`${GATEWAYS}/finalized`)).toMatchObject({ metadata: { finalizers: [name] } });
    expect(await run(), 'with nothing to write').toBe('applied');
    await client.delete(Wide.resource, key);
    expect(await raw(`${GATEWAYS}/finalized`)).toMatchObject({ metadata: { finalizers: [name] } });
    await run();
    expect(cleaned).toEqual([object.metadata.uid]);
    expect(await raw(`${GATEWAYS}/finalized`)).toMatchObject({ code: 404 });
    const stale = { ...object, metadata: { ...object.metadata, uid: 'another' } };
    await create('finalized');
    const handlers = { apply: () => undefined, cleanup: () => undefined };
    await expect(finalizer(client, Wide.resource, name, stale, handlers)).rejects.toMatchObject({
      status: 422,
    });
  });

  test('for events write Events and their series', async () => {
    const object = await create('talked-about');
    const recorder = new EventRecorder({
      client,
      reportingController: 'e2e.capstan.dev/test',
      reportingInstance: 'test-1',
    });
    const regarding = objectReference(Wide.resource, object);
    const deploying = { reason: 'Deployed', action: 'Deploying', note: 'ä'.repeat(600) };
    recorder.event(regarding, deploying);
    recorder.event(regarding, {
      type: 'Warning',
      reason: 'Failed',
      action: 'Deploying',
      related: regarding,
    });
    const first = async () => {
      const { items } = await raw<{ items: KubeEvent[] }>(
        '/apis/events.k8s.io/v1/namespaces/default/events',
      );
      return items.filter(({ regarding }) => regarding.name === 'talked-about');
    };
    await expect.poll(async () => (await first()).length, { timeout: 10_000 }).toBe(2);
    for (let i = 0; i < 4; i++) recorder.event(regarding, deploying);
    await recorder.close();
    const events = await first();
    const deployed = events.find(({ reason }) => reason === 'Deployed');
    expect(events).toHaveLength(2);
    expect(deployed).toMatchObject({
      type: 'Normal',
      action: 'Deploying',
      reportingController: 'e2e.capstan.dev/test',
      reportingInstance: 'test-1',
      regarding: { kind: 'Gateway', apiVersion: 'e2e.capstan.dev/v1', uid: object.metadata.uid },
      series: { count: 5 },
    });
    expect(new TextEncoder().encode(deployed?.note).length).toBe(1023);
    expect(events.find(({ reason }) => reason === 'Failed')).toMatchObject({
      type: 'Warning',
      related: { kind: 'Gateway' },
    });
    expect(recorder.counts()).toMatchObject({ recorded: 6, lost: 0, filtered: 0 });
  });

  test('for conditions give what the server takes for conditions', async () => {
    const conditions = setStatusCondition(undefined, {
      type: 'Ready',
      status: 'True',
      reason: 'Done',
      message: '',
    });
    const spec = z.object({});
    const status = z.object({
      conditions: z.array(z.object({ type: z.string(), lastTransitionTime: z.iso.datetime() })),
    });
    const Conditioned = defineCustomResource({
      group: 'e2e.capstan.dev',
      version: 'v1',
      kind: 'Conditioned',
      scope: 'Cluster',
      spec,
      status,
    });
    await installCRDs(client, [Conditioned.crd], { timeout: 30_000 });
    const object = await client.create(Conditioned.resource, { metadata: { name: 'a' }, spec: {} });
    await client.status().update(Conditioned.resource, { ...object, status: { conditions } });
    expect(await raw('/apis/e2e.capstan.dev/v1/conditioneds/a')).toMatchObject({
      status: {
        conditions: [{ type: 'Ready', lastTransitionTime: conditions[0]?.lastTransitionTime }],
      },
    });
  });
});
