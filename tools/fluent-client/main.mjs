/**
 * Runs kubernetes-fluent-client against the API server of KUBECONFIG, and prints each step with
 * what it saw as a line of JSON. test/clients/ compares the lines from two servers.
 */
import { once } from 'node:events';
import { GenericKind, K8s, kind, RegisterKind, WatchEvent } from 'kubernetes-fluent-client';

const namespace = 'fluent';

/** @param {string} name @param {() => Promise<unknown>} work */
async function step(name, work) {
  let answer;
  try {
    answer = JSON.stringify((await work()) ?? null, shown, 1);
  } catch (error) {
    const said = error?.data?.message ?? error?.message ?? JSON.stringify(error);
    answer = `! ${error?.status ?? ''} ${said}`;
  }
  console.log(JSON.stringify({ name, answer }));
}

/** Members in the order of their names, and without the owners of fields. */
function shown(/** @type {string} */ name, /** @type {unknown} */ value) {
  if (name === 'managedFields') return undefined;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

const configMap = (name, data) => ({
  metadata: { name, namespace, labels: { app: 'web' } },
  data,
});
const container = { name: 'c', image: 'nginx' };
const deployment = {
  metadata: { name: 'web', namespace },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [container] } },
  },
};

await step('Create a Namespace', () =>
  K8s(kind.Namespace).Create({ metadata: { name: namespace } }),
);
await step('Apply', () => K8s(kind.ConfigMap).Apply(configMap('a', { a: '1' })));
await step('Apply again', () => K8s(kind.ConfigMap).Apply(configMap('a', { b: '2' })));
await step('Create', () => K8s(kind.ConfigMap).Create(configMap('b', { a: '1' })));
await step('Create again', () => K8s(kind.ConfigMap).Create(configMap('b', { a: '1' })));
await step('Create what is not valid', () => K8s(kind.ConfigMap).Create(configMap('A_', {})));
await step('Apply in conflict', () => K8s(kind.ConfigMap).Apply(configMap('b', { a: '2' })));
await step('Apply by force', () =>
  K8s(kind.ConfigMap).Apply(configMap('b', { a: '2' }), { force: true }),
);
await step('Get', () => K8s(kind.ConfigMap).InNamespace(namespace).Get('a'));
await step('Get what there is not', () => K8s(kind.ConfigMap).InNamespace(namespace).Get('nope'));
await step('Get by a label', () =>
  K8s(kind.ConfigMap).InNamespace(namespace).WithLabel('app', 'web').Get(),
);
await step('Get by a field', () =>
  K8s(kind.ConfigMap).InNamespace(namespace).WithField('metadata.name', 'b').Get(),
);
await step('Get by a field that there is not', () =>
  K8s(kind.ConfigMap).InNamespace(namespace).WithField('immutable', 'true').Get(),
);
await step('Patch', () =>
  K8s(kind.ConfigMap, { namespace, name: 'a' }).Patch([{ op: 'add', path: '/data/c', value: '3' }]),
);
await step('Patch of what there is not', () =>
  K8s(kind.ConfigMap, { namespace, name: 'a' }).Patch([{ op: 'remove', path: '/data/nope' }]),
);
await step('Apply a Deployment', () => K8s(kind.Deployment).Apply(deployment));
await step('Scale', async () => {
  await K8s(kind.Deployment).InNamespace(namespace).Scale(3, 'web');
  return (await K8s(kind.Deployment).InNamespace(namespace).Get('web')).spec?.replicas;
});
await step('PatchStatus', () =>
  K8s(kind.Deployment).PatchStatus({
    metadata: { name: 'web', namespace },
    spec: {},
    status: { replicas: 3 },
  }),
);
await step('Finalize', async () => {
  const named = K8s(kind.Deployment).InNamespace(namespace);
  await named.Finalize('add', 'example.com/wait', 'web');
  return (await K8s(kind.Deployment).InNamespace(namespace).Get('web')).metadata?.finalizers;
});
await step('Finalize, taken away', async () => {
  const named = K8s(kind.Deployment).InNamespace(namespace);
  await named.Finalize('remove', 'example.com/wait', 'web');
  return (await K8s(kind.Deployment).InNamespace(namespace).Get('web')).metadata?.finalizers;
});
await step('Raw', async () => Object.keys(await K8s(kind.Pod).Raw('/api/v1')));
await step('Logs of a Pod that does not run', async () => {
  await K8s(kind.Pod).Apply({
    metadata: { name: 'p', namespace },
    spec: { containers: [container] },
  });
  return K8s(kind.Pod).InNamespace(namespace).Logs('p');
});
await step('Evict', () => K8s(kind.Pod).InNamespace(namespace).Evict('p'));

await step('Watch', async () => {
  /** @type {string[]} */
  const seen = [];
  let enough = () => {};
  const done = new Promise((resolve) => {
    enough = () => resolve(undefined);
  });
  const watcher = K8s(kind.ConfigMap)
    .InNamespace(namespace)
    .WithLabel('app', 'web')
    .Watch((object, phase) => {
      seen.push(`${phase} ${object.metadata?.name} ${JSON.stringify(object.data)}`);
      if (phase === 'DELETED') enough();
    });
  const connected = once(watcher.events, WatchEvent.CONNECT);
  await watcher.start();
  await connected;
  await K8s(kind.ConfigMap).Apply(configMap('seen', { a: '1' }));
  await K8s(kind.ConfigMap).Apply(configMap('seen', { a: '2' }));
  await K8s(kind.ConfigMap).InNamespace(namespace).Delete('seen');
  await done;
  watcher.close();
  return seen;
});

class Lamp extends GenericKind {}
RegisterKind(Lamp, { group: 'fluent.example.com', version: 'v1', kind: 'Lamp', plural: 'lamps' });
const names = { plural: 'lamps', singular: 'lamp', kind: 'Lamp' };
const schema = {
  type: 'object',
  properties: {
    spec: { type: 'object', properties: { watts: { type: 'integer', minimum: 1 } } },
    status: { type: 'object', properties: { lit: { type: 'boolean' } } },
  },
};
await step('Apply a CustomResourceDefinition', async () => {
  const version = { name: 'v1', served: true, storage: true, subresources: { status: {} } };
  const { spec } = await K8s(kind.CustomResourceDefinition).Apply({
    metadata: { name: 'lamps.fluent.example.com' },
    spec: {
      group: 'fluent.example.com',
      names,
      scope: 'Namespaced',
      versions: [{ ...version, schema: { openAPIV3Schema: schema } }],
    },
  });
  const served = () => K8s(Lamp).InNamespace(namespace).Get();
  while (!(await served().then(Boolean, () => false)));
  return spec;
});
const lamp = (watts) => ({ metadata: { name: 'l', namespace }, spec: { watts } });
await step('Apply a custom object', () => K8s(Lamp).Apply(lamp(5)));
await step('Apply a custom object that is not valid', () => K8s(Lamp).Apply(lamp(0)));
await step('PatchStatus of a custom object', () =>
  K8s(Lamp).PatchStatus({ ...lamp(5), status: { lit: true } }),
);
await step('Get a custom object', () => K8s(Lamp).InNamespace(namespace).Get('l'));
await step('Delete a custom object', () => K8s(Lamp).InNamespace(namespace).Delete('l'));
await step('Delete', () => K8s(kind.ConfigMap).InNamespace(namespace).Delete('a'));
await step('Delete again', () => K8s(kind.ConfigMap).InNamespace(namespace).Delete('a'));
await step('Get what was deleted', () => K8s(kind.ConfigMap).InNamespace(namespace).Get('a'));
process.exit(0);
