/**
 * Certificates in a Secret of the embedded API server: replicas that begin at once, writes that
 * collide, a Secret that is empty, deleted or somebody else's, failures; and a manager that serves
 * and installs them through renewals and a new authority.
 */
import { connect } from 'node:tls';
import { newClient } from 'capstan/client';
import { Secret, ValidatingWebhookConfiguration } from 'capstan/kinds';
import { newManager } from 'capstan/manager';
import { ApiServer } from 'capstan/testing';
import { newWebhookManagedBy } from 'capstan/webhook';
import { FakeClock } from 'capstan/workqueue';
import { expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../bindings/base/logger.ts';
import { rotationTimes } from '../../bindings/webhook/managed.ts';
import { ROTATION_TIMES } from '../../bindings/webhook/rotation.ts';
import { SelfManaged, type SelfManagedOptions } from '../../bindings/webhook/self-managed.ts';
import { collectErrorValues } from '../helpers/reported-errors.ts';
import { startedManager, Website } from './webhooks.ts';

const reported = collectErrorValues();
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const at = { namespace: 'default', secretName: 'hooks', dnsNames: ['hooks.default.svc'] };
const key = { namespace: 'default', name: 'hooks' };

async function cluster() {
  const server = await ApiServer.start();
  const transport = server.transport();
  onTestFinished(async () => {
    await transport.close?.();
    await server.stop();
  });
  const client = newClient({ transport });
  // Some hours ago: node:tls checks certificates by the real time. In seconds, as they are.
  const clock = new FakeClock(0, Math.floor(Date.now() / 1000) * 1000 - 4 * HOUR);
  const stored = () => client.get(Secret, key);
  return { server, transport, client, clock, stored };
}
type Cluster = Awaited<ReturnType<typeof cluster>>;

function replica({ client, clock }: Cluster, options: Partial<SelfManagedOptions> = {}) {
  const stopper = new AbortController();
  const certificates = new SelfManaged({
    ...at,
    client,
    clock,
    wallNow: () => clock.wallNow(),
    logger: silentLogger,
    isInstalled: () => true,
    ...options,
  });
  const done = certificates.start({ signal: stopper.signal });
  const stop = async () => {
    stopper.abort();
    await done;
  };
  onTestFinished(stop);
  return { certificates, stop };
}

const base64 = (text: string) => Buffer.from(text).toString('base64');
const countOf = (bundle: string) => bundle.match(/BEGIN CERTIFICATE/g)?.length;

test('replicas that begin at once agree on one Secret', async () => {
  const all = await cluster();
  const replicas = Array.from({ length: 5 }, () => replica(all));
  const pairs = await Promise.all(replicas.map(({ certificates }) => certificates.current()));
  const bundles = await Promise.all(replicas.map(({ certificates }) => certificates.authority()));
  const { metadata, type, data } = await all.stored();
  expect(type).toBe('kubernetes.io/tls');
  expect(metadata.labels).toEqual({ 'app.kubernetes.io/managed-by': 'capstan-webhooks' });
  for (const pair of pairs) {
    expect(base64(pair.cert)).toBe(data?.['tls.crt']);
    expect(base64(pair.key)).toBe(data?.['tls.key']);
  }
  for (const bundle of bundles) expect(base64(bundle)).toBe(data?.['ca.crt']);
  expect(reported).toEqual([]);
});

test('a certificate is renewed once, and each replica has it a minute later', async () => {
  const all = await cluster();
  const replicas = Array.from({ length: 3 }, () => replica(all));
  const pairs = () => Promise.all(replicas.map(({ certificates }) => certificates.current()));
  const [first] = await pairs();
  const before = await all.stored();
  all.clock.step(60 * DAY - 120_000);
  await all.clock.run(60_000);
  expect((await all.stored()).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  await expect
    .poll(async () => {
      await all.clock.run(60_000);
      return new Set((await pairs()).map(({ cert }) => cert)).size;
    })
    .toBe(1);
  await expect
    .poll(async () => {
      await all.clock.run(60_000);
      return (await pairs()).every(({ cert }) => cert !== first?.cert);
    })
    .toBe(true);
  const after = await all.stored();
  expect(after.data?.['ca.crt']).toBe(before.data?.['ca.crt']);
  const pair = await pairs();
  expect(new Set(pair.map(({ cert }) => base64(cert)))).toEqual(new Set([after.data?.['tls.crt']]));
});

test('a new authority signs only when its bundle is installed', async () => {
  const all = await cluster();
  let installed = '';
  const { certificates } = replica(all, { isInstalled: (bundle) => bundle === installed });
  const { cert } = await certificates.current();
  installed = await certificates.authority();
  const { data, ...secret } = await all.stored();
  await all.client.update(Secret, { ...secret, data: { ...data, 'ca.key': base64('lost') } });
  await expect
    .poll(async () => {
      await all.clock.run(60_000);
      return countOf(await certificates.authority());
    })
    .toBe(2);
  all.clock.step(ROTATION_TIMES.overlap);
  await all.clock.run(60_000);
  const bundle = await polledBundle(all, certificates);
  expect((await certificates.current()).cert).toBe(cert);
  installed = bundle;
  await expect
    .poll(async () => {
      await all.clock.run(60_000);
      return (await certificates.current()).cert === cert;
    })
    .toBe(false);
  expect(countOf(await certificates.authority())).toBe(2);
});

/** The bundle as soon as the Secret is read again. */
async function polledBundle({ clock }: Cluster, certificates: SelfManaged): Promise<string> {
  let bundle = '';
  await expect
    .poll(async () => {
      await clock.run(60_000);
      bundle = await certificates.authority();
      return true;
    })
    .toBe(true);
  return bundle;
}

test('an empty Secret is filled, and what it has besides stays', async () => {
  const all = await cluster();
  await all.client.create(Secret, {
    metadata: { ...key, labels: { app: 'web' }, annotations: { note: 'by hand' } },
  });
  const { certificates } = replica(all);
  await certificates.current();
  await all.clock.run(120_000);
  const { metadata, data } = await all.stored();
  expect(metadata.labels).toMatchObject({ app: 'web' });
  expect(metadata.annotations).toEqual({ note: 'by hand' });
  expect(Object.keys(data ?? {}).sort()).toEqual(['ca.crt', 'ca.key', 'tls.crt', 'tls.key']);
  expect(reported).toEqual([]);
});

test('a Secret of somebody else is not touched', async () => {
  const all = await cluster();
  const foreign = await all.client.create(Secret, {
    metadata: key,
    data: { password: base64('secret') },
  });
  const { stop, certificates } = replica(all);
  await expect.poll(() => reported.length).toBeGreaterThan(0);
  expect(reported.splice(0)[0]).toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('the Secret default/hooks has data, and expected'),
  });
  expect((await all.stored()).metadata.resourceVersion).toBe(foreign.metadata.resourceVersion);
  await stop();
  await expect(certificates.current()).rejects.toMatchObject({ code: 'STOPPED' });
});

test('the authorities of a Secret that was deleted stay trusted', async () => {
  const all = await cluster();
  const replicas = [replica(all), replica(all)];
  const [first] = await Promise.all(replicas.map(({ certificates }) => certificates.authority()));
  await all.client.delete(Secret, key);
  await expect
    .poll(async () => {
      await all.clock.run(60_000);
      const bundles = await Promise.all(
        replicas.map(({ certificates }) => certificates.authority()),
      );
      return bundles.map((bundle) => bundle.endsWith(first ?? '') && countOf(bundle));
    })
    .toEqual([2, 2]);
});

test('keys that do not fit, and texts that are no certificates, are replaced', async () => {
  const all = await cluster();
  const { certificates } = replica(all);
  const { cert } = await certificates.current();
  for (const name of ['tls.key', 'tls.crt']) {
    const { data, ...secret } = await all.stored();
    const broken = base64('nothing');
    await all.client.update(Secret, { ...secret, data: { ...data, [name]: broken } });
    await expect
      .poll(async () => {
        await all.clock.run(60_000);
        return (await all.stored()).data?.[name];
      })
      .not.toBe(broken);
  }
  expect((await certificates.current()).cert).not.toBe(cert);
  expect(countOf(await certificates.authority())).toBe(1);
});

test('failures are reported and tried again; the certificate stays meanwhile', async () => {
  const all = await cluster();
  all.server.inject({ do: 'status', status: 500, path: '/secrets', times: 1 });
  const { certificates } = replica(all);
  await expect.poll(() => reported.length).toBeGreaterThan(0);
  reported.length = 0;
  await all.clock.run(1600);
  const { cert } = await certificates.current();
  const bundle = await certificates.authority();
  const mend = all.server.inject({ do: 'status', status: 500, path: '/secrets' });
  await expect
    .poll(async () => {
      await all.clock.run(60_000);
      return reported.length;
    })
    .toBeGreaterThan(2);
  reported.length = 0;
  expect((await certificates.current()).cert).toBe(cert);
  // What this replica knows may be old by now: nobody gets it to install.
  all.clock.step(ROTATION_TIMES.overlap / 2);
  await expect(certificates.authority()).rejects.toMatchObject({ code: 'TIMEOUT' });
  mend();
  await expect
    .poll(async () => {
      await all.clock.run(60_000);
      return certificates.authority().catch(() => undefined);
    })
    .toBe(bundle);
  reported.length = 0;
});

test('a manager that never starts leaves nobody waiting', async () => {
  const { client, clock } = await cluster();
  const certificates = new SelfManaged({
    ...at,
    client,
    clock,
    wallNow: () => clock.wallNow(),
    isInstalled: () => true,
  });
  certificates.discard();
  await expect(certificates.current()).rejects.toMatchObject({ code: 'STOPPED' });
  await expect(certificates.authority()).rejects.toMatchObject({ code: 'STOPPED' });
});

test('managers serve what the configuration trusts, through a new authority', async () => {
  const { transport, client, clock } = await cluster();
  const managers = [0, 1].map(() => {
    const manager = newManager({
      transport,
      clock,
      webhook: {
        bindAddress: '127.0.0.1:0',
        selfManaged: { ...at, dnsNames: ['hooks.default.svc', '127.0.0.1'], install: true },
      },
    });
    rotationTimes.set(manager, { ...ROTATION_TIMES, overlap: 4 * 60_000 });
    newWebhookManagedBy(manager)
      .for(Website)
      .withValidator({ validateCreate: () => undefined })
      .complete();
    startedManager(manager);
    return manager;
  });
  await Promise.all(managers.map((manager) => manager.elected()));
  const bundle = async () => {
    const { webhooks } = await client.get(ValidatingWebhookConfiguration, { name: 'hooks' });
    return Buffer.from(webhooks?.[0]?.clientConfig.caBundle ?? '', 'base64').toString();
  };
  await expect.poll(() => bundle().catch(() => '')).toContain('BEGIN CERTIFICATE');
  const { webhooks } = await client.get(ValidatingWebhookConfiguration, { name: 'hooks' });
  expect(webhooks?.[0]?.clientConfig.service).toMatchObject({
    name: 'hooks',
    namespace: 'default',
  });
  /** The number of authorities that the API server trusts, if it trusts both managers. */
  const trusted = async () => {
    const ca = await bundle();
    await Promise.all(managers.map((manager) => handshake(manager.url('webhook') ?? '', ca)));
    return countOf(ca);
  };
  expect(await trusted()).toBe(1);
  const { data, ...secret } = await client.get(Secret, key);
  await client.update(Secret, { ...secret, data: { ...data, 'ca.key': '' } });
  const seen = new Set<string>();
  await expect
    .poll(async () => {
      await clock.run(10_000);
      seen.add(`${await trusted()} ${(await signers(managers.map((m) => m.url('webhook')))).size}`);
      return [...seen];
    })
    .toContain('2 1');
  const before = await signers(managers.map((m) => m.url('webhook')));
  // The new authority signs after the overlap, and at no time is a manager not trusted.
  await expect
    .poll(async () => {
      await clock.run(10_000);
      await trusted();
      const now = await signers(managers.map((m) => m.url('webhook')));
      return now.size === 1 && [...now].every((one) => !before.has(one));
    })
    .toBe(true);
});

test('a manager without its first certificate is alive, and not ready', async () => {
  const { server, transport, clock } = await cluster();
  const mend = server.inject({ do: 'status', status: 403, path: '/secrets' });
  const manager = newManager({
    transport,
    clock,
    healthProbe: { bindAddress: 'localhost:0' }, // an address of its own
    webhook: { bindAddress: '127.0.0.1:0', selfManaged: at },
  });
  newWebhookManagedBy(manager)
    .for(Website)
    .withValidator({ validateCreate: () => undefined })
    .complete();
  startedManager(manager);
  const statusOf = async (path: string) =>
    (await fetch(`${manager.url('healthProbe')}${path}`)).status;
  await expect.poll(() => statusOf('/healthz')).toBe(200);
  await expect.poll(() => reported.length).toBeGreaterThan(0);
  expect(await statusOf('/readyz')).toBe(500);
  mend();
  await expect
    .poll(async () => {
      await clock.run(10_000);
      return statusOf('/readyz');
    })
    .toBe(200);
  reported.length = 0;
});

test('a manager that is stopped before its first certificate ends', async () => {
  const { server, transport, clock } = await cluster();
  server.inject({ do: 'status', status: 403, path: '/secrets' });
  const manager = newManager({
    transport,
    clock,
    webhook: { bindAddress: '127.0.0.1:0', selfManaged: at },
  });
  newWebhookManagedBy(manager)
    .for(Website)
    .withValidator({ validateCreate: () => undefined })
    .complete();
  const { stop, done } = startedManager(manager);
  await expect.poll(() => reported.length).toBeGreaterThan(0);
  stop();
  await done;
  reported.length = 0;
});

const handshake = (url: string, ca: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const port = Number(new URL(url).port);
    const socket = connect({ host: '127.0.0.1', port, ca, rejectUnauthorized: ca !== '' }, () => {
      resolve(socket.getPeerX509Certificate()?.fingerprint256 ?? '');
      socket.destroy();
    });
    socket.once('error', reject);
  });

const signers = async (urls: readonly (string | undefined)[]): Promise<Set<string>> =>
  new Set(await Promise.all(urls.map((url) => handshake(url ?? '', ''))));
