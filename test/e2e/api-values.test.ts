/**
 * Quantities and strategic merge patches, judged by a real API server: it writes each quantity as
 * we do, and a patch from two states gives what an update with the second state gives.
 */
import { parseQuantity, semanticEqual, strategicMergeFrom } from 'capstan/apimachinery';
import { type Client, newClient } from 'capstan/client';
import { kubeConfigTransport } from 'capstan/client-node';
import { Deployment, ResourceQuota, Service } from 'capstan/kinds';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { vectors } from '../helpers/apimachinery-vectors.ts';
import { ControlPlane } from '../helpers/control-plane/control-plane.ts';
import { Random, testSeed } from '../helpers/random.ts';
import { readKubeConfig } from './same-answers/servers.ts';

let plane: ControlPlane;
let client: Client;

beforeAll(async () => {
  plane = await ControlPlane.start();
  client = newClient({ transport: kubeConfigTransport(await readKubeConfig(plane)) });
}, 120_000);

afterAll(() => plane?.stop());

const namespace = 'default';

test('a server writes quantities as parseQuantity does', async () => {
  const texts = vectors<{ a: string }, { error?: string; sign: number }>('quantities')
    .filter(([, { error, sign }]) => error === undefined && sign >= 0)
    .map(([{ a }]) => a)
    .filter((text) => text.trim() === text && parseQuantity(text).toNumber() < 1e18)
    .slice(0, 400);
  // whole numbers alone are valid there
  const whole = texts.filter((text) => parseQuantity(text).roundUp(0).equal(text));
  expect(whole.length).toBeGreaterThan(100);
  const hard = Object.fromEntries(whole.map((text, at) => [`requests.example.com/r${at}`, text]));
  const { spec } = await client.create(ResourceQuota, {
    metadata: { namespace, name: 'quantities' },
    spec: { hard },
  });
  const expected = whole.map((text) => String(parseQuantity(text)));
  expect(whole.map((_, at) => spec?.hard?.[`requests.example.com/r${at}`])).toEqual(expected);
});

const seed = testSeed();

test(`a strategic merge patch gives what an update gives, seed ${seed}`, async () => {
  const random = new Random(seed);
  const key = { namespace, name: 'web' };
  await client.create(Deployment, deployment(random));
  for (let i = 0; i < 60; i++) {
    const found = await client.get(Deployment, key);
    const modified = { ...structuredClone(found), spec: deployment(random).spec };
    const patch = strategicMergeFrom(Deployment, found).to(modified as never);
    const updated = await client.update(Deployment, modified as never, { dryRun: true });
    const patched = await client.patch(Deployment, key, patch);
    const message = JSON.stringify({ found: found.spec, modified: modified.spec, patch });
    expect(semanticEqual(patched.spec, updated.spec, { type: 'DeploymentSpec' }), message).toBe(
      true,
    );
  }
});

test('ports that share a key are replaced as wanted', async () => {
  const key = { namespace, name: 'dns' };
  const port = (protocol: string) => ({ port: 53, protocol, name: protocol.toLowerCase() });
  const service = (ports: object[]) => ({ metadata: key, spec: { ports } }) as never;
  await client.create(Service, service([port('UDP'), port('TCP')]));
  const found = await client.get(Service, key);
  const modified = structuredClone(found);
  if (modified.spec) modified.spec.ports = [port('TCP'), { name: 'http', port: 80 }];
  const patched = await client.patch(Service, key, strategicMergeFrom(Service, found).to(modified));
  expect(patched.spec?.ports?.map(({ name }) => name)).toEqual(['tcp', 'http']);
});

/** A valid Deployment with containers, ports, variables and volumes in any order. */
function deployment(random: Random) {
  const some = <T>(items: readonly T[], least = 0): T[] => {
    const rest = [...items];
    const count = least + random.int(items.length + 1 - least);
    return Array.from({ length: count }, () => rest.splice(random.int(rest.length), 1)[0] as T);
  };
  const volumes = some(['a', 'b', 'c']).map((name) =>
    random.chance(0.5)
      ? { name, emptyDir: {} }
      : { name, configMap: { name: random.pick(['x', 'y']) } },
  );
  const container = (name: string) => ({
    name,
    image: random.pick(['one', 'two']),
    args: some(['-a', '-b']),
    env: some(['A', 'B', 'C']).map((variable) => ({
      name: variable,
      value: random.pick(['1', '2']),
    })),
    ports: some([80, 81, 82]).map((containerPort) => ({ containerPort, protocol: 'TCP' })),
    volumeMounts: some(volumes).map((volume) => ({
      name: volume.name,
      mountPath: `/${volume.name}`,
    })),
    resources: random.chance(0.5) ? { limits: { cpu: random.pick(['1000m', '1', '2']) } } : {},
  });
  const labels = { app: 'web' };
  return {
    metadata: { namespace, name: 'web' },
    spec: {
      replicas: random.int(3),
      selector: { matchLabels: labels },
      strategy: random.chance(0.5) ? { type: 'Recreate' } : { type: 'RollingUpdate' },
      template: {
        metadata: { labels: { ...labels, ...(random.chance(0.5) ? { more: 'yes' } : {}) } },
        spec: {
          volumes,
          containers: some(['web', 'proxy', 'log'], 1).map(container),
          initContainers: some(['first', 'second']).map(container),
        },
      },
    },
  };
}
