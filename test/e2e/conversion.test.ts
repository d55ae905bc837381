/**
 * Conversions on a real API server that calls a manager's webhook over loopback: objects that are
 * written and stored in each version are read, listed, watched and changed in each; the manager has
 * put itself into the definition; then `capstan crd migrate` stores all in the hub's version, and
 * the old ones go.
 */
import { ListWatch, SharedIndexInformer, type Transport, waitForCacheSync } from 'capstan/cache';
import {
  type Client,
  type CustomResourceDefinition,
  crdResource,
  defineCustomResource,
  installCRDs,
  newClient,
  type ObjectOf,
} from 'capstan/client';
import { kubeConfigTransport } from 'capstan/client-node';
import type { Logger } from 'capstan/controller';
import { type ControllerManager, newManager } from 'capstan/manager';
import { roundTrips } from 'capstan/testing';
import { type Conversion, conversionDefinitions, newWebhookManagedBy } from 'capstan/webhook';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { main } from '../../bin/cli.ts';
import { type CertificateFolder, certificateFolder } from '../helpers/certificate-folder.ts';
import { eventually } from '../helpers/control-plane/conditions.ts';
import { ControlPlane } from '../helpers/control-plane/control-plane.ts';
import { freePort } from '../helpers/http-servers.ts';
import { parseText } from '../helpers/prometheus-text.ts';
import { textOf } from '../helpers/server/requests.ts';
import { readKubeConfig } from './same-answers/servers.ts';
import { versionsInEtcd } from './versions-in-etcd.ts';

const named = { group: 'example.com', kind: 'Site', scope: 'Namespaced' } as const;
const V1 = defineCustomResource({
  ...named,
  version: 'v1',
  spec: z.object({
    host: z.string().regex(/^[a-z.]+$/),
    port: z.int().min(1).max(9999).optional(),
    replicas: z.int().default(1),
    id: z.number().optional(),
  }),
  status: z.object({ ready: z.boolean().optional() }),
});
const V1beta1 = defineCustomResource({
  ...named,
  version: 'v1beta1',
  spec: z.object({
    address: z.string().regex(/^[a-z.]+(:[1-9]\d{0,3})?$/),
    replicas: z.int().default(1),
    id: z.number().optional(),
  }),
  status: z.object({ ready: z.boolean().optional() }),
});
const V1alpha1 = defineCustomResource({
  ...named,
  version: 'v1alpha1',
  spec: z.object({ url: z.string().regex(/^https:\/\/[a-z.]+$/) }),
  status: z.object({ phase: z.enum(['Ready', 'Waiting']).optional() }),
});
type Hub = ObjectOf<typeof V1>;
const VERSIONS = [V1alpha1, V1beta1, V1];

const beta: Conversion<ObjectOf<typeof V1beta1>, Hub> = {
  version: 'v1beta1',
  toHub({ spec: { address, ...spec }, ...site }) {
    if (address === 'broken') throw new Error('this address is broken');
    const [host = '', port] = address.split(':');
    const number = port === undefined ? {} : { port: Number(port) };
    return { ...site, spec: { ...spec, host, ...number } };
  },
  fromHub: ({ spec: { host, port, ...spec }, ...site }) => ({
    ...site,
    spec: { ...spec, address: port === undefined ? host : `${host}:${port}` },
  }),
};

/** What v1alpha1 cannot say of a spec. */
const REST = 'example.com/rest';
const isReady = { Ready: { ready: true }, Waiting: { ready: false }, None: {} } as const;
const phase: Record<string, { phase?: 'Ready' | 'Waiting' }> = {
  true: { phase: 'Ready' },
  false: { phase: 'Waiting' },
  undefined: {},
};
const alpha: Conversion<ObjectOf<typeof V1alpha1>, Hub> = {
  version: 'v1alpha1',
  toHub({ metadata, spec, status }) {
    const { [REST]: rest, ...annotations } = metadata.annotations ?? {};
    const kept = rest === undefined ? { replicas: 1 } : JSON.parse(rest);
    return {
      metadata: {
        ...metadata,
        annotations: Object.keys(annotations).length > 0 ? annotations : undefined,
      },
      spec: { ...kept, host: spec.url.slice('https://'.length) },
      ...(status === undefined ? {} : { status: isReady[status.phase ?? 'None'] }),
    };
  },
  fromHub({ metadata, spec: { host, ...rest }, status }) {
    const annotations = { ...metadata.annotations, [REST]: JSON.stringify(rest) };
    const isPlain = JSON.stringify(rest) === '{"replicas":1}';
    return {
      metadata: isPlain ? metadata : { ...metadata, annotations },
      spec: { url: `https://${host}` },
      ...(status === undefined ? {} : { status: phase[String(status.ready)] }),
    };
  },
};
const setupWebhooks = (manager: object): void =>
  newWebhookManagedBy(manager)
    .for(V1.resource)
    .withConversion(beta)
    .withConversion(alpha)
    .complete();

const NAME = 'sites.example.com';
const PLACE = 'example.com/sites';
const QUIET: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const stopper = new AbortController();
const namespace = 'default';

let plane: ControlPlane;
let transport: Transport;
let client: Client;
let managed: Transport;
let manager: ControllerManager;
let running: Promise<void>;
let certificates: CertificateFolder;
let url: string;

/** The definition with another storage version than the hub, as in the course of its life. */
function storing(storage: string, versions = VERSIONS): CustomResourceDefinition {
  const reach = { clientConfig: { url: 'https://127.0.0.1:1' } };
  const [crd] = conversionDefinitions(setupWebhooks, VERSIONS, reach);
  if (crd === undefined) throw new Error('there is no definition');
  // The manager owns spec.conversion.
  const { conversion: _, ...spec } = crd.spec;
  const names = versions.map(({ resource }) => resource.version);
  return {
    ...crd,
    spec: {
      ...spec,
      versions: spec.versions
        .filter(({ name }) => names.includes(name))
        .map((version) => ({ ...version, storage: version.name === storage })),
    },
  };
}

beforeAll(async () => {
  plane = await ControlPlane.start({ legible: true });
  transport = kubeConfigTransport(await readKubeConfig(plane));
  client = newClient({ transport, fieldOwner: 'test' });
  managed = kubeConfigTransport(await readKubeConfig(plane));
  certificates = await certificateFolder();
  const port = await freePort();
  url = `https://127.0.0.1:${port}`;
  manager = newManager({
    transport: managed,
    logger: QUIET,
    metrics: { bindAddress: '127.0.0.1:0' },
    webhook: {
      bindAddress: `127.0.0.1:${port}`,
      certDir: certificates.path,
      clientConfig: { url },
      configurationName: 'sites',
      install: true,
    },
  });
  await installCRDs(client, [storing('v1alpha1')], { timeout: 30_000 });
  setupWebhooks(manager);
  running = manager.start({ signal: stopper.signal });
  running.catch(() => undefined);
  await eventually('the manager has put itself into the definition', async () => {
    const { spec } = await client.get(crdResource, { name: NAME }, { live: true });
    return spec.conversion?.strategy === 'Webhook';
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

/** What each object is in each version. */
const SAME: Record<string, Record<string, { spec: object; annotations?: object }>> = {
  plain: {
    v1alpha1: { spec: { url: 'https://a.example' } },
    v1beta1: { spec: { address: 'a.example', replicas: 1 } },
    v1: { spec: { host: 'a.example', replicas: 1 } },
  },
  full: {
    v1alpha1: {
      spec: { url: 'https://b.example' },
      annotations: { [REST]: expect.stringMatching(/"port":81/) },
    },
    v1beta1: { spec: { address: 'b.example:81', replicas: 3, id: 7 } },
    v1: { spec: { host: 'b.example', port: 81, replicas: 3, id: 7 } },
  },
};
const resourceOf = (version: string) => {
  const found = VERSIONS.find(({ resource }) => resource.version === version);
  return (found as typeof V1).resource;
};

describe('the conversions of the test', () => {
  test.each([
    [beta, V1beta1],
    [alpha, V1alpha1],
  ])('lose nothing: %#', (conversion, spoke) =>
    roundTrips(conversion as never, [spoke, V1] as never),
  );
});

/** Whether new objects are stored in a version: each API server learns of it by a watch. */
async function storesIn(version: string): Promise<boolean> {
  const key = { namespace, name: 'probe' };
  const count = async () => (await versionsInEtcd(plane, PLACE))[`example.com/${version}`] ?? 0;
  const before = await count();
  await client.create(V1.resource, { metadata: key, spec: { host: 'probe', replicas: 1 } });
  const after = await count();
  await client.delete(V1.resource, key);
  return after === before + 1;
}

describe('a real API server', () => {
  test('gets spec.conversion from the manager, and nothing else', async () => {
    const { spec, metadata } = await client.get(crdResource, { name: NAME }, { live: true });
    expect(spec.conversion).toMatchObject({
      strategy: 'Webhook',
      webhook: {
        conversionReviewVersions: ['v1'],
        clientConfig: { url: `${url}/convert`, caBundle: expect.any(String) },
      },
    });
    expect(spec.versions.map(({ name }) => name)).toEqual(['v1', 'v1beta1', 'v1alpha1']);
    const { managedFields } = metadata as {
      managedFields?: { manager: string; fieldsV1: { 'f:spec': object } }[];
    };
    const own = managedFields?.find((entry) => entry.manager === 'capstan-webhooks');
    expect(Object.keys(own?.fieldsV1['f:spec'] ?? {})).toEqual(['f:conversion']);
  });

  test('reads and lists objects in each version, whichever they are stored in', async () => {
    for (const storage of ['v1alpha1', 'v1beta1', 'v1']) {
      await installCRDs(client, [storing(storage)], { timeout: 30_000 });
      await eventually(`objects are stored in ${storage}`, () => storesIn(storage));
      for (const [label, versions] of Object.entries(SAME))
        for (const version of Object.keys(versions)) {
          // What v1alpha1 cannot say is written in another version.
          const written = label === 'full' && version === 'v1alpha1' ? 'v1' : version;
          await client.create(resourceOf(written), {
            metadata: {
              namespace,
              name: `${label}-${version}-in-${storage}`,
              labels: { label, storage },
            },
            spec: versions[written]?.spec as never,
          });
        }
    }
    expect(await versionsInEtcd(plane, PLACE)).toEqual({
      'example.com/v1alpha1': 6,
      'example.com/v1beta1': 6,
      'example.com/v1': 6,
    });
    for (const version of ['v1alpha1', 'v1beta1', 'v1']) {
      const resource = resourceOf(version);
      const { items } = await client.list(resource, { namespace, live: true });
      expect(items).toHaveLength(18);
      for (const item of items) {
        const { name = '', labels, annotations } = item.metadata;
        const expected = SAME[String(labels?.label)]?.[version];
        expect({ name, spec: item.spec, annotations, in: item.apiVersion }).toEqual({
          name,
          spec: expected?.spec,
          annotations: expected?.annotations,
          in: `example.com/${version}`,
        });
        const one = await client.get(resource, { namespace, name }, { live: true });
        expect(one).toEqual(item);
      }
    }
  });

  test('watches objects in a version that are written in others', async () => {
    const informer = new SharedIndexInformer(new ListWatch(transport, V1beta1.resource));
    const seen: string[] = [];
    informer.addEventHandler({
      onUpdate: (_, { metadata, spec, apiVersion }) =>
        void seen.push(`${metadata.name} ${spec.address} ${apiVersion}`),
    });
    const run = informer.run();
    await waitForCacheSync({}, informer);
    expect(informer.getIndexer().list()).toHaveLength(18);
    for (const storage of ['v1alpha1', 'v1beta1', 'v1']) {
      const name = `full-v1-in-${storage}`;
      await client.patch(
        V1.resource,
        { namespace, name },
        { type: 'merge', body: { spec: { port: 82 } } },
      );
    }
    await eventually('the informer has seen the changes', async () => seen.length >= 3);
    await informer.stop();
    await run;
    expect(seen).toEqual(
      ['v1alpha1', 'v1beta1', 'v1'].map(
        (storage) => `full-v1-in-${storage} b.example:82 example.com/v1beta1`,
      ),
    );
  });

  // A client of an old version must not lose what it has never heard of.
  test('keeps what an old version cannot say, when a client of it writes', async () => {
    const key = { namespace, name: 'full-v1-in-v1beta1' };
    const old = structuredClone(await client.get(V1alpha1.resource, key, { live: true }));
    old.spec.url = 'https://c.example';
    await client.update(V1alpha1.resource, old);
    const now = await client.get(V1.resource, key, { live: true });
    expect(now.spec).toEqual({ host: 'c.example', port: 82, replicas: 3, id: 7 });
    expect(now.metadata.annotations).toBeUndefined();
    await client
      .status()
      .patch(V1alpha1.resource, key, { type: 'merge', body: { status: { phase: 'Ready' } } });
    expect((await client.get(V1.resource, key, { live: true })).status).toEqual({ ready: true });
    const applied = { metadata: key, spec: { address: 'd.example:83' } };
    const options = { fieldOwner: 'another', force: true };
    await client.apply(V1beta1.resource, applied as never, options);
    const { spec } = await client.get(V1.resource, key, { live: true });
    expect(spec).toEqual({ host: 'd.example', port: 83, replicas: 3, id: 7 });
  });

  test('keeps integers that JavaScript rounds', async () => {
    const key = { namespace, name: 'large' };
    const id = 9007199254740993n;
    const spec = { address: 'e.example', replicas: 1, id };
    await client.create(V1beta1.resource, { metadata: key, spec } as never);
    const path = '/apis/example.com/v1/namespaces/default/sites/large';
    expect(await textOf((await transport.request({ method: 'GET', path })).body)).toContain(
      `"id":${id}`,
    );
    await client.delete(V1.resource, key);
  });

  test('tells the user what a conversion has thrown', async () => {
    const spec = { address: 'broken', replicas: 1 };
    const written = client.create(V1beta1.resource, { metadata: { namespace, name: 'x' }, spec });
    await expect(written).rejects.toMatchObject({
      status: 500,
      message: expect.stringContaining(
        'Site default/x of example.com/v1beta1: this address is broken',
      ),
    });
    const response = await fetch(`${manager.url('metrics')}/metrics`);
    const requests = parseText(await response.text()).get(
      'controller_runtime_webhook_requests_total',
    );
    const ok = requests?.samples.find(({ labels }) => labels.code === '200');
    expect(ok?.labels.webhook).toBe('/convert');
    expect(ok?.value).toBeGreaterThan(50);
  });

  test('has all objects in the storage version after capstan crd migrate', async () => {
    await expect(installCRDs(client, [storing('v1', [V1, V1beta1])])).rejects.toMatchObject({
      status: 422,
      message: expect.stringContaining('status.storedVersions'),
    });
    let printed = '';
    const out = (text: string): void => {
      printed += text;
    };
    const args = ['crd', 'migrate', NAME, '--kubeconfig', plane.kubeconfig];
    const code = await main(args, { out, err: out });
    expect({ code, printed }).toEqual({
      code: 0,
      printed: `${NAME}: wrote 18 objects, storedVersions v1alpha1, v1beta1, v1 → v1\n`,
    });
    expect(await versionsInEtcd(plane, PLACE)).toEqual({ 'example.com/v1': 18 });
    const { items } = await client.list(V1.resource, { namespace, live: true });
    expect(items.filter(({ spec }) => spec.host === 'a.example')).toHaveLength(9);
    expect(items.every(({ metadata }) => metadata.annotations === undefined)).toBe(true);
    await installCRDs(client, [storing('v1', [V1, V1beta1])], { timeout: 30_000 });
    const { status } = await client.get(crdResource, { name: NAME }, { live: true });
    expect(status?.storedVersions).toEqual(['v1']);
    expect((await client.list(V1beta1.resource, { namespace, live: true })).items).toHaveLength(18);
  });
});
