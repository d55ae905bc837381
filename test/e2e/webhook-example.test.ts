/**
 * The example of webhooks as a reader runs it, with plain Node on the built package; and the roles
 * of the guide, which have to suffice.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { loadAllYaml } from '@kubernetes/client-node';
import { newClient } from 'capstan/client';
import { ClusterRole, ClusterRoleBinding, ConfigMap, Role, RoleBinding } from 'capstan/kinds';
import { newManager } from 'capstan/manager';
import { startEnvtest } from 'capstan/testing';
import { newWebhookManagedBy } from 'capstan/webhook';
import { expect, test } from 'vitest';
import { eventually } from '../helpers/control-plane/conditions.ts';
import { freePort } from '../helpers/http-servers.ts';
import { root } from '../helpers/repository.ts';

test('the example shows a default and three denials', async () => {
  const env = { ...process.env, WEBHOOK_PORT: String(await freePort()) };
  const program = ['examples/webhooks/main.ts'];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, program, {
    cwd: root,
    env,
    timeout: 60_000,
  });
  expect(stderr).toBe('');
  const denied = (name: string, text: string) =>
    `admission webhook "${name}" denied the request: ${text}`;
  const rules = 'validate.site.v1.demo.capstan.dev';
  expect(stdout.trimEnd().split('\n')).toEqual([
    "created with { host: 'shop.example', replicas: 1 }",
    `another host: ${denied(rules, 'host is immutable')}`,
    `a deletion: ${denied(rules, 'it is to be kept')}`,
    `a wrong contact: ${denied(
      'schema.site.demo.capstan.dev',
      'Site is not valid: spec.contact: expected an address such as ops@example.com',
    )}`,
  ]);
});

test('the roles of the guide suffice for certificates and configurations', async () => {
  await using server = await startEnvtest();
  const client = newClient({ transport: server.transport() });
  const guide = readFileSync(`${root}/docs/guides/webhooks.md`, 'utf8');
  const [, yaml = ''] = /```yaml\n(apiVersion: v1\nkind: Service[^`]*)```/.exec(guide) ?? [];
  const name = 'website-webhook';
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', name };
  const subjects = [{ kind: 'ServiceAccount', namespace: 'default', name }];
  for (const object of loadAllYaml(yaml)) {
    if (object.kind === 'Role') await client.create(Role, object);
    if (object.kind === 'ClusterRole') await client.create(ClusterRole, object);
  }
  await client.create(RoleBinding, {
    metadata: { name, namespace: 'default' },
    roleRef: { ...roleRef, kind: 'Role' },
    subjects,
  });
  await client.create(ClusterRoleBinding, {
    metadata: { name },
    roleRef: { ...roleRef, kind: 'ClusterRole' },
    subjects,
  });
  const account = await server.addServiceAccount({ namespace: 'default', name });
  const errors: unknown[] = [];
  const manager = newManager({
    transport: account.transport(),
    logger: {
      debug: () => {},
      info: () => {},
      warn: () => {},
      error: (...error) => void errors.push(error),
    },
    healthProbe: { bindAddress: 'localhost:0' },
    webhook: {
      bindAddress: '127.0.0.1:0',
      selfManaged: {
        namespace: 'default',
        secretName: name,
        dnsNames: ['website-webhook.default.svc'],
        install: true,
      },
    },
  });
  newWebhookManagedBy(manager)
    .for(ConfigMap)
    .withDefaulter(() => undefined, { objectSelector: { matchLabels: { app: 'nobody' } } })
    .withValidator(
      { validateDelete: () => undefined },
      { objectSelector: { matchLabels: { app: 'nobody' } } },
    )
    .complete();
  const stopper = new AbortController();
  const running = manager.start({ signal: stopper.signal });
  running.catch(() => undefined);
  await eventually('the manager is ready', async () => {
    if (errors.length > 0) return true;
    return (await fetch(`${manager.url('healthProbe')}/readyz`)).status === 200;
  });
  stopper.abort();
  await running;
  expect(errors).toEqual([]);
});
