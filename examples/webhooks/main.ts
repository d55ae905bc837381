/**
 * Webhooks on a real API server, with certificates that the manager makes itself: `node
 * examples/webhooks/main.ts` after a build. It starts the kube-apiserver and etcd in the folder
 * KUBEBUILDER_ASSETS, writes some objects, and prints what comes of them.
 */
import { StatusError } from 'capstan/cache';
import { newClient } from 'capstan/client';
import { newManager } from 'capstan/manager';
import { startEnvtest } from 'capstan/testing';
import { Site, setupWebhooks } from './webhooks.ts';

const PORT = Number(process.env.WEBHOOK_PORT ?? 9443);

await using server = await startEnvtest({ crds: [Site] });
const manager = newManager({
  transport: server.transport(),
  healthProbe: { bindAddress: 'localhost:0' },
  webhook: {
    bindAddress: `127.0.0.1:${PORT}`,
    // In a cluster: the name of a Service in dnsNames, and no clientConfig.
    clientConfig: { url: `https://127.0.0.1:${PORT}` },
    selfManaged: {
      namespace: 'default',
      secretName: 'site-webhook',
      dnsNames: ['127.0.0.1'],
      install: true,
    },
  },
});
setupWebhooks(manager);
const stop = new AbortController();
const running = manager.start({ signal: stop.signal });
await Promise.race([manager.elected(), running]);

const client = newClient({ transport: server.transport() });
const namespace = 'default';
const site = (name: string, spec: { host: string; contact?: string }, labels = {}) => ({
  metadata: { name, namespace, labels },
  spec,
});
const told = async (what: string, write: Promise<unknown>): Promise<void> =>
  console.log(
    `${what}:`,
    await write.then(
      () => 'done',
      (error) => (error instanceof StatusError ? error.body?.message : Promise.reject(error)),
    ),
  );

// The API server knows the webhooks a moment after the manager has installed them.
const probe = site('probe', { host: 'probe.example' });
while ((await client.create(Site.resource, probe, { dryRun: true })).spec.replicas !== 1)
  await new Promise((resolve) => setTimeout(resolve, 100));

const created = await client.create(
  Site.resource,
  site('shop', { host: 'shop.example' }, { keep: 'yes' }),
);
console.log('created with', created.spec);
const moved = { ...created, spec: { ...created.spec, host: 'other.example' } };
await told('another host', client.update(Site.resource, moved));
await told('a deletion', client.delete(Site.resource, { namespace, name: 'shop' }));
const wrong = site('wrong', { host: 'wrong.example', contact: 'nobody' });
await told('a wrong contact', client.create(Site.resource, wrong));

stop.abort();
await running;
