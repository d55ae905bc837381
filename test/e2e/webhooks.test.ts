/**
 * Webhooks of a manager that a real API server calls over loopback: it stores what a defaulter has
 * changed, shows its users denials, causes and warnings, and does what configurations say about
 * dry runs, deletions, CONNECT, subresources, conditions, reinvocations and servers that are gone.
 * The manager has applied the configurations itself.
 */
import type { StatusError, Transport } from 'capstan/cache';
import {
  type Client,
  defineCustomResource,
  installCRDs,
  isForbidden,
  isInvalid,
  newClient,
  type ObjectOf,
} from 'capstan/client';
import { kubeConfigTransport } from 'capstan/client-node';
import type { Logger } from 'capstan/controller';
import { ConfigMap, Pod, ValidatingWebhookConfiguration } from 'capstan/kinds';
import { type ControllerManager, newManager } from 'capstan/manager';
import {
  AdmissionDenied,
  type AdmissionRequest,
  newWebhookManagedBy,
  schemaValidator,
  webhookConfigurations,
} from 'capstan/webhook';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { type CertificateFolder, certificateFolder } from '../helpers/certificate-folder.ts';
import { eventually } from '../helpers/control-plane/conditions.ts';
import { ControlPlane } from '../helpers/control-plane/control-plane.ts';
import { freePort } from '../helpers/http-servers.ts';
import { parseText } from '../helpers/prometheus-text.ts';
import { testSeed } from '../helpers/random.ts';
import { textOf } from '../helpers/server/requests.ts';
import { readKubeConfig } from './same-answers/servers.ts';

const Site = defineCustomResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Site',
  scope: 'Namespaced',
  spec: z.object({
    host: z.string(),
    replicas: z.int().optional(),
    tags: z.array(z.string()).optional(),
    contact: z
      .string()
      .refine((value) => value.includes('@'), 'no address')
      .optional(),
  }),
  status: z.object({ replicas: z.int().optional() }),
  subresources: {
    scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
  },
});
type Site = ObjectOf<typeof Site>;
const Thing = defineCustomResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Thing',
  scope: 'Namespaced',
  spec: z.looseObject({}),
});
interface Scale {
  spec: { replicas?: number };
}
interface ExecOptions {
  command?: string[];
}
type Request = AdmissionRequest<object>;

const QUIET: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const seed = testSeed();
console.log(`test/e2e/webhooks.test.ts: CAPSTAN_SEED=${seed}`);
const stopper = new AbortController();
const seen: { what: string; request: Request }[] = [];
const saw = (what: string, request: Request): void => void seen.push({ what, request });

let plane: ControlPlane;
let transport: Transport;
let client: Client;
let managed: Transport;
let manager: ControllerManager;
let running: Promise<void>;
let certificates: CertificateFolder;

function registerAll(registered: object): void {
  newWebhookManagedBy(registered)
    .for(Site.resource)
    .withDefaulter((site, request) => {
      saw('default', request);
      site.spec.replicas ??= 1;
      site.spec.tags = [...new Set(['web', ...(site.spec.tags ?? [])])];
    })
    .withValidator(
      {
        validateCreate(site, request) {
          saw('create', request);
          if (site.spec.host === 'deprecated.example') request.warn('this host will go');
          if (site.spec.host !== 'taken.example') return;
          throw new AdmissionDenied('the host is taken', {
            causes: [
              { field: 'spec.host', message: 'used by another', reason: 'FieldValueDuplicate' },
            ],
          });
        },
        validateUpdate(old, now, request) {
          saw('update', request);
          if (old.spec.host !== now.spec.host) throw new AdmissionDenied('host is immutable');
        },
        validateDelete(site, request) {
          saw('delete', request);
          if (site.metadata.labels?.keep === 'yes') throw new AdmissionDenied('kept by its label');
        },
      },
      {
        matchConditions: [
          // Requests for a collection have no name.
          {
            name: 'not-skipped',
            expression: '!has(request.name) || request.name != "skipped"',
          },
        ],
      },
    )
    .complete();
  newWebhookManagedBy(registered)
    .for(Site.resource)
    .withValidator(schemaValidator(Site), {
      path: '/schema-of-sites',
      name: 'schema.site.example.com',
    })
    .complete();
  newWebhookManagedBy(registered)
    .for<Scale>(Site.resource, { subResource: 'scale' })
    .withValidator({
      validateUpdate(_, now, request) {
        saw('scale', request);
        if ((now.spec.replicas ?? 0) > 10) throw new AdmissionDenied('at most 10 replicas');
      },
    })
    .complete();
  newWebhookManagedBy(registered)
    .for<Site>(Site.resource, { subResource: 'status' })
    .withValidator({
      validateUpdate(old, now, request) {
        saw('status', request);
        if ((now.status?.replicas ?? 0) < (old.status?.replicas ?? 0))
          throw new AdmissionDenied('replicas only grow');
      },
    })
    .complete();
  newWebhookManagedBy(registered)
    .for(Thing.resource)
    .withDefaulter((thing) => {
      thing.spec = JSON.parse(thing.metadata.annotations?.becomes ?? '{}');
    })
    .complete();
  newWebhookManagedBy(registered)
    .for<ExecOptions>(Pod, { subResource: 'exec' })
    .withValidator({
      validateConnect(options, request) {
        saw('connect', request);
        throw new AdmissionDenied(`no ${options.command?.join(' ')} here`);
      },
    })
    .complete();
  newWebhookManagedBy(registered)
    .for(ConfigMap)
    .withValidator(
      {
        validateCreate: (_, request) => {
          saw('slow', request);
          return new Promise(() => undefined);
        },
      },
      { timeoutSeconds: 1, objectSelector: { matchLabels: { webhook: 'slow' } } },
    )
    .complete();
  for (const policy of ['IfNeeded', 'Never'] as const) {
    const label = policy.toLowerCase();
    const mutate = (
      name: string,
      reinvocationPolicy: typeof policy,
      change: (data: Record<string, string>) => void,
    ) =>
      newWebhookManagedBy(registered)
        .for(ConfigMap)
        .withDefaulter(
          (map, request) => {
            saw(name, request);
            map.data ??= {};
            change(map.data);
          },
          {
            path: `/${name}-${label}`,
            name: `${name}-${label}.configmap.example.com`,
            objectSelector: { matchLabels: { webhook: label } },
            reinvocationPolicy,
          },
        )
        .complete();
    mutate('first', policy, (data) => {
      if (data.second !== undefined) data.first = `saw ${data.second}`;
    });
    mutate('second', 'Never', (data) => {
      data.second = 'here';
    });
  }
}

beforeAll(async () => {
  plane = await ControlPlane.start();
  transport = kubeConfigTransport(await readKubeConfig(plane));
  client = newClient({ transport });
  managed = kubeConfigTransport(await readKubeConfig(plane));
  certificates = await certificateFolder();
  const port = await freePort();
  manager = newManager({
    transport: managed,
    logger: QUIET,
    metrics: { bindAddress: '127.0.0.1:0' },
    webhook: {
      bindAddress: `127.0.0.1:${port}`,
      certDir: certificates.path,
      clientConfig: { url: `https://127.0.0.1:${port}` },
      configurationName: 'sites',
      install: true,
    },
  });
  await installCRDs(client, [Site.crd, Thing.crd], { timeout: 30_000 });
  registerAll(manager);
  running = manager.start({ signal: stopper.signal });
  running.catch(() => undefined);
  await eventually('the API server calls the webhooks', async () => {
    const probed = await client.create(Site.resource, site('probe', { host: 'a.example' }), {
      dryRun: true,
    });
    return probed.spec.replicas === 1 && seen.some(({ what }) => what === 'create');
  });
});

afterAll(async () => {
  stopper.abort();
  await running;
  await managed?.close?.();
  await transport?.close?.();
  await plane?.stop();
  certificates?.remove();
});

beforeEach(() => void seen.splice(0));
afterEach(({ task }) => {
  if (task.result?.state === 'fail') plane?.keepLogs();
});

const site = (name: string, spec: Site['spec'], labels?: Record<string, string>) => ({
  apiVersion: 'example.com/v1',
  kind: 'Site',
  metadata: { name, namespace: 'default', labels },
  spec,
});
const configMap = (name: string, webhook: string) => ({
  metadata: { name, namespace: 'default', labels: { webhook } },
});
const failureOf = async (promise: Promise<unknown>): Promise<StatusError> => {
  const error = await promise.then(
    () => undefined,
    (thrown: StatusError) => thrown,
  );
  if (error === undefined) throw new Error('it was allowed');
  return error;
};
const whats = (): string[] => seen.map(({ what }) => what);

describe('a real API server', () => {
  test('stores what the defaulter has made, and asks the validator about that', async () => {
    const created = await client.create(
      Site.resource,
      site('mutated', { host: 'a.example', tags: ['mine'] }),
    );
    expect(created.spec).toEqual({ host: 'a.example', replicas: 1, tags: ['web', 'mine'] });
    expect(whats()).toEqual(['default', 'create']);
    expect(seen[0]?.request).toMatchObject({
      operation: 'CREATE',
      name: 'mutated',
      namespace: 'default',
      dryRun: false,
      options: { kind: 'CreateOptions' },
    });
    expect(seen[0]?.request.userInfo).toMatchObject({ username: 'admin' });
    expect(seen[0]?.request.userInfo.groups).toContain('system:masters');
  });

  test('shows a denial with its message and causes', async () => {
    const error = await failureOf(
      client.create(Site.resource, site('denied', { host: 'taken.example' })),
    );
    expect(isForbidden(error)).toBe(true);
    expect(error.message).toContain(
      'admission webhook "validate.site.v1.example.com" denied the request: the host is taken',
    );
    expect(error.body?.details?.causes).toEqual([
      { field: 'spec.host', message: 'used by another', reason: 'FieldValueDuplicate' },
    ]);
  });

  test('gives the validator of an update both objects', async () => {
    const created = await client.create(Site.resource, site('updated', { host: 'a.example' }));
    const spec = { ...created.spec, replicas: 3 };
    const updated = await client.update(Site.resource, { ...created, spec });
    expect(updated.spec.replicas).toBe(3);
    const error = await failureOf(
      client.update(Site.resource, { ...updated, spec: { ...spec, host: 'b.example' } }),
    );
    expect(error.message).toContain('host is immutable');
  });

  test('shows warnings', async () => {
    const { headers, status } = await transport.request({
      method: 'POST',
      path: '/apis/example.com/v1/namespaces/default/sites',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(site('warned', { host: 'deprecated.example' })),
    });
    expect(status).toBe(201);
    expect(headers.get('warning')).toContain('this host will go');
  });

  test('tells a dry run, and stores nothing', async () => {
    await client.create(Site.resource, site('dry', { host: 'a.example' }), { dryRun: true });
    expect(seen.map(({ request }) => request.dryRun)).toEqual([true, true]);
    const error = await failureOf(client.get(Site.resource, { namespace: 'default', name: 'dry' }));
    expect(error.code).toBe('STATUS');
  });

  test('asks about a deletion, with the object that goes', async () => {
    const key = { namespace: 'default', name: 'kept' };
    const kept = await client.create(
      Site.resource,
      site('kept', { host: 'a.example' }, { keep: 'yes' }),
    );
    const error = await failureOf(client.delete(Site.resource, key));
    expect(error.message).toContain('kept by its label');
    await client.update(Site.resource, { ...kept, metadata: { ...kept.metadata, labels: {} } });
    await client.delete(Site.resource, key);
    expect(whats().filter((what) => what === 'delete')).toHaveLength(2);
  });

  test('asks about an exec by CONNECT', async () => {
    const container = { name: 'main', image: 'example.com/nothing' };
    await client.create(Pod, {
      metadata: { name: 'pod', namespace: 'default' },
      spec: { containers: [container] },
    });
    const { status, body } = await transport.request({
      method: 'POST',
      path: '/api/v1/namespaces/default/pods/pod/exec?command=rm&command=-rf',
    });
    expect(status).toBe(403);
    expect(JSON.parse(await textOf(body)).message).toContain('no rm -rf here');
    expect(seen[0]?.request).toMatchObject({ operation: 'CONNECT', subResource: 'exec' });
  });

  test('asks about the subresource scale, whose object is a Scale', async () => {
    const created = await client.create(Site.resource, site('scaled', { host: 'a.example' }));
    seen.splice(0);
    const scale = (replicas: number) =>
      client.subResource('scale').update(Site.resource, created, {
        body: {
          apiVersion: 'autoscaling/v1',
          kind: 'Scale',
          metadata: { name: 'scaled', namespace: 'default' },
          spec: { replicas },
        },
      });
    await scale(5);
    const error = await failureOf(scale(11));
    expect(error.message).toContain('at most 10 replicas');
    expect(whats()).toEqual(['scale', 'scale']);
    const now = await client.get(Site.resource, { namespace: 'default', name: 'scaled' });
    expect(now.spec.replicas).toBe(5);
  });

  test('asks about the subresource status, and about nothing else then', async () => {
    const created = await client.create(Site.resource, site('stated', { host: 'a.example' }));
    const write = (replicas: number) =>
      client.status().update(Site.resource, { ...created, status: { replicas } });
    seen.splice(0);
    const updated = await write(2);
    const { resourceVersion } = updated.metadata;
    Object.assign(created.metadata, { resourceVersion });
    const error = await failureOf(write(1));
    expect(error.message).toContain('replicas only grow');
    expect(whats()).toEqual(['status', 'status']);
    expect(seen[1]?.request.oldObject).toMatchObject({ status: { replicas: 2 } });
  });

  test('asks about each object of a collection that is deleted', async () => {
    const labels = { group: 'many' };
    for (const name of ['many-a', 'many-b'])
      await client.create(Site.resource, site(name, { host: 'a.example' }, labels));
    seen.splice(0);
    await client.deleteAllOf(Site.resource, {
      namespace: 'default',
      labelSelector: 'group=many',
    });
    expect(whats()).toEqual(['delete', 'delete']);
    const names = seen.map(({ request }) => (request.oldObject as Site).metadata.name);
    expect(names.sort()).toEqual(['many-a', 'many-b']);
    expect(seen.map(({ request }) => request.name)).toEqual(['', '']);
  });

  test('makes of random objects what the defaulter made of them', async () => {
    const names = fc.oneof(fc.constantFrom('a', 'b', '~', '/', '~1', '0', '-'), fc.string());
    const value = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        fc.integer(),
        fc.boolean(),
        fc.string(),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(names, tie('value'), { maxKeys: 4 }),
      ),
    })).value;
    const object = fc.dictionary(names, value, { maxKeys: 5 });
    await fc.assert(
      fc.asyncProperty(object, object, async (before, after) => {
        const annotations = { becomes: JSON.stringify(after) };
        const created = await client.create(
          Thing.resource,
          {
            apiVersion: 'example.com/v1',
            kind: 'Thing',
            metadata: { name: 'thing', namespace: 'default', annotations },
            spec: before,
          },
          { dryRun: true },
        );
        expect(created.spec).toEqual(after);
      }),
      { seed, numRuns: 200 },
    );
  });

  test('calls only those whose matchConditions hold', async () => {
    await client.create(Site.resource, site('skipped', { host: 'taken.example' }));
    expect(whats()).toEqual(['default']);
  });

  test.each([
    ['IfNeeded', ['first', 'second', 'first'], 'saw here'],
    ['Never', ['first', 'second'], undefined],
  ] as const)('calls a defaulter again as its reinvocationPolicy %s says', async (...row) => {
    const [policy, calls, first] = row;
    const label = policy.toLowerCase();
    const { data } = await client.create(ConfigMap, configMap(`reinvoked-${label}`, label));
    expect(whats()).toEqual(calls);
    expect(data).toEqual({ second: 'here', ...(first === undefined ? {} : { first }) });
  });

  test('does not wait beyond timeoutSeconds, and the signal of the handler fires', async () => {
    const began = performance.now();
    const error = await failureOf(client.create(ConfigMap, configMap('slow', 'slow')));
    expect(performance.now() - began).toBeLessThan(10_000);
    expect(error.message).toMatch(/validate\.configmap\.v1.*(not answered|deadline|timeout)/s);
    await eventually('the signal fires', () => seen[0]?.request.signal.aborted === true);
  });

  test('denies by a schema what only code knows, and not what was wrong before', async () => {
    const bad = await failureOf(
      client.create(Site.resource, site('schema', { host: 'a.example', contact: 'nobody' })),
    );
    expect(isInvalid(bad)).toBe(true);
    expect(bad.body?.details?.causes).toEqual([
      { field: 'spec.contact', message: 'no address', reason: 'FieldValueInvalid' },
    ]);
  });

  test('refuses or lets pass what a server that is gone should have reviewed', async () => {
    const dead = await freePort();
    const setup = (registered: object): void => {
      for (const failurePolicy of ['Fail', 'Ignore'] as const) {
        const label = failurePolicy.toLowerCase();
        newWebhookManagedBy(registered)
          .for(ConfigMap)
          .withValidator(
            { validateCreate: () => undefined },
            {
              failurePolicy,
              path: `/${label}`,
              name: `${label}.configmap.example.com`,
              objectSelector: { matchLabels: { webhook: label } },
            },
          )
          .complete();
      }
    };
    const url = `https://127.0.0.1:${dead}`;
    for (const one of webhookConfigurations(setup, { name: 'gone', clientConfig: { url } }))
      await client.create(ValidatingWebhookConfiguration, one as never);
    const create = (label: string) =>
      client.create(ConfigMap, configMap('gone', label), { dryRun: true });
    await eventually('the webhook is called', async () => {
      const error = await create('fail').then(
        () => undefined,
        (thrown: StatusError) => thrown,
      );
      return (
        error?.message.includes('failed calling webhook "fail.configmap.example.com"') === true
      );
    });
    await create('ignore');
  });

  test('is counted with the metrics of controller-runtime', async () => {
    const response = await fetch(`${manager.url('metrics')}/metrics`);
    const metrics = parseText(await response.text());
    const total = metrics
      .get('controller_runtime_webhook_requests_total')
      ?.samples.filter(({ labels }) => labels.code === '200')
      .reduce((sum, { value }) => sum + value, 0);
    expect(total).toBeGreaterThan(20);
  });
});
