/**
 * A manager that applies its webhook configurations, on the embedded API server: at the start, when
 * the authority changes, after failures, and where others have changed them.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newClient } from 'capstan/client';
import { MutatingWebhookConfiguration, ValidatingWebhookConfiguration } from 'capstan/kinds';
import { ApiServer } from 'capstan/testing';
import { newWebhookManagedBy, webhookConfigurations } from 'capstan/webhook';
import { expect, onTestFinished, test } from 'vitest';
import { webhooksOf } from '../../bindings/webhook/managed.ts';
import { expectError } from '../helpers/expect-error.ts';
import { collectErrorValues } from '../helpers/reported-errors.ts';
import { certDir, idleManager, startedManager, Website } from './webhooks.ts';

const reported = collectErrorValues();
const clientConfig = { service: { namespace: 'default', name: 'hooks' } };
const allow = { validateCreate: () => undefined };

async function installing() {
  const server = await ApiServer.start();
  const transport = server.transport();
  onTestFinished(async () => {
    await transport.close?.();
    await server.stop();
  });
  const certs = await certDir();
  const webhook = {
    bindAddress: '127.0.0.1:0',
    certDir: certs.path,
    clientConfig,
    configurationName: 'site',
    install: true,
  };
  const { manager, clock } = idleManager({
    transport,
    webhook,
    healthProbe: { bindAddress: 'localhost:0' },
  });
  const client = newClient({ transport });
  const validating = () => client.get(ValidatingWebhookConfiguration, { name: 'site' });
  const readiness = async () =>
    (await fetch(`${manager.url('healthProbe')}/readyz/webhook-configurations`)).status;
  return { server, transport, certs, manager, clock, client, validating, readiness };
}

const bundleOf = (path: string) => readFileSync(join(path, 'ca.crt')).toString('base64');

test('the configurations are applied with the authority, and again when it changes', async () => {
  const { manager, clock, certs, validating, readiness } = await installing();
  newWebhookManagedBy(manager).for(Website).withValidator(allow).complete();
  startedManager(manager);
  await expect.poll(readiness).toBe(200);
  const { webhooks } = await validating();
  expect(webhooks).toMatchObject([
    {
      name: 'validate.website.v1.example.com',
      clientConfig: {
        service: { ...clientConfig.service, path: '/validate-example-com-v1-website', port: 443 },
        caBundle: bundleOf(certs.path),
      },
    },
  ]);
  writeFileSync(join(certs.path, 'ca.crt'), 'another one');
  await expect
    .poll(async () => {
      await clock.run(10_000);
      return (await validating()).webhooks?.[0]?.clientConfig.caBundle;
    })
    .toBe(bundleOf(certs.path));
});

test('what somebody else has changed is applied again within ten minutes', async () => {
  const { manager, clock, client, validating, readiness } = await installing();
  newWebhookManagedBy(manager).for(Website).withValidator(allow).complete();
  startedManager(manager);
  await expect.poll(readiness).toBe(200);
  await client.delete(ValidatingWebhookConfiguration, { name: 'site' });
  await expect
    .poll(async () => {
      await clock.run(60_000);
      return (await validating().catch(() => undefined))?.webhooks?.length;
    })
    .toBe(1);
});

test('webhooks of a former version of the program are taken out', async () => {
  const { manager, client, readiness, validating } = await installing();
  const former = (manager: object) =>
    newWebhookManagedBy(manager)
      .for(Website)
      .withDefaulter(() => undefined)
      .complete();
  for (const one of webhookConfigurations(former, { name: 'site', clientConfig }))
    await client.apply(MutatingWebhookConfiguration, one as never, {
      fieldOwner: 'capstan-webhooks',
    });
  newWebhookManagedBy(manager).for(Website).withValidator(allow).complete();
  startedManager(manager);
  await expect.poll(readiness).toBe(200);
  expect((await validating()).webhooks).toHaveLength(1);
  const mutating = await client.get(MutatingWebhookConfiguration, { name: 'site' });
  expect(mutating.webhooks ?? []).toEqual([]);
});

test('a failure is reported and tried again; until then the replica is not ready', async () => {
  const { manager, clock, server, readiness } = await installing();
  server.inject({ do: 'status', status: 500, path: '/validatingwebhookconfigurations', times: 1 });
  newWebhookManagedBy(manager).for(Website).withValidator(allow).complete();
  startedManager(manager);
  await expect.poll(() => reported.length).toBeGreaterThan(0);
  expect(await readiness()).toBe(500);
  reported.length = 0;
  await expect
    .poll(async () => {
      await clock.run(1600);
      return readiness();
    })
    .toBe(200);
});

test('further installers get the same authority', async () => {
  const { manager, certs, readiness } = await installing();
  const seen: unknown[] = [];
  newWebhookManagedBy(manager).for(Website).withValidator(allow).complete();
  webhooksOf(manager).addInstaller(async (given) => void seen.push(given));
  startedManager(manager);
  await expect.poll(readiness).toBe(200);
  expect(seen).toEqual([
    { name: 'site', clientConfig, caBundle: readFileSync(join(certs.path, 'ca.crt'), 'utf8') },
  ]);
});

test('to be installed, the options have to say how the server is reached', () => {
  const { manager } = idleManager({ webhook: { certDir: '/nowhere', install: true } });
  expectError(
    () => newWebhookManagedBy(manager),
    'INVALID_ARGUMENT',
    'options.webhook.clientConfig',
  );
});
