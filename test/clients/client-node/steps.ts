/** The steps with `@kubernetes/client-node`, in order. */
import { PassThrough } from 'node:stream';
import {
  ApiextensionsV1Api,
  AppsV1Api,
  AuthenticationV1Api,
  AuthorizationV1Api,
  BatchV1Api,
  CoreV1Api,
  CustomObjectsApi,
  Exec,
  KubeConfig,
  KubernetesObjectApi,
  Log,
  Metrics,
  makeInformer,
  PatchStrategy,
  PolicyV1Api,
  setHeaderOptions,
  type V1ConfigMap,
  VersionApi,
  Watch,
} from '@kubernetes/client-node';
import type { ClientStep } from '../answers.ts';
import { Notes } from './notes.ts';
import {
  configMapObject,
  containerObject,
  definition,
  deployment,
  job,
  lamp,
  namespace,
} from './objects.ts';

const as = (strategy: string) => setHeaderOptions('Content-Type', strategy);
const maps = { namespace };

export async function clientNodeSteps(kubeConfig: string): Promise<ClientStep[]> {
  const config = new KubeConfig();
  config.loadFromString(kubeConfig);
  const notes = new Notes();
  await typedSteps(config, notes);
  await subresourceSteps(config, notes);
  await reviewSteps(config, notes);
  await customSteps(config, notes);
  await objectSteps(config, notes);
  await watchSteps(config, notes);
  await streamSteps(config, notes);
  return notes.steps;
}

async function typedSteps(config: KubeConfig, notes: Notes): Promise<void> {
  const core = config.makeApiClient(CoreV1Api);
  const step = (name: string, work: () => Promise<unknown>) => notes.step(`typed: ${name}`, work);
  await step('create a Namespace', () =>
    core.createNamespace({ body: { metadata: { name: namespace } } }),
  );
  await step('create', () =>
    core.createNamespacedConfigMap({ ...maps, body: configMapObject('a') }),
  );
  await step('create again', () =>
    core.createNamespacedConfigMap({ ...maps, body: configMapObject('a') }),
  );
  await step('create without acting', () =>
    core.createNamespacedConfigMap({ ...maps, body: configMapObject('dry'), dryRun: 'All' }),
  );
  await step('create what is not valid', () =>
    core.createNamespacedConfigMap({ ...maps, body: configMapObject('A_') }),
  );
  await step('read', () => core.readNamespacedConfigMap({ ...maps, name: 'a' }));
  await step('read what there is not', () =>
    core.readNamespacedConfigMap({ ...maps, name: 'nope' }),
  );
  await step('replace', () =>
    core.replaceNamespacedConfigMap({
      ...maps,
      name: 'a',
      body: { ...configMapObject('a'), data: { a: '2' } },
    }),
  );
  await step('replace by an old version', () => {
    const { metadata } = configMapObject('a');
    const body = { ...configMapObject('a'), metadata: { ...metadata, resourceVersion: '1' } };
    return core.replaceNamespacedConfigMap({ ...maps, name: 'a', body });
  });
  const patch = (strategy: string, body: unknown) =>
    core.patchNamespacedConfigMap({ ...maps, name: 'a', body }, as(strategy));
  await step('patch, JSON', () =>
    patch(PatchStrategy.JsonPatch, [{ op: 'add', path: '/data/j', value: '1' }]),
  );
  await step('patch, JSON, of what there is not', () =>
    patch(PatchStrategy.JsonPatch, [{ op: 'remove', path: '/data/nope' }]),
  );
  await step('patch, merge', () => patch(PatchStrategy.MergePatch, { data: { a: null } }));
  await step('patch, strategic', () =>
    patch(PatchStrategy.StrategicMergePatch, { metadata: { labels: { x: 'y' } } }),
  );
  await step('patch, in no known language', () => patch('text/plain', {}));
  await step('apply', () =>
    core.patchNamespacedConfigMap(
      { ...maps, name: 'a', body: configMapObject('a'), fieldManager: 'node', force: true },
      as(PatchStrategy.ServerSideApply),
    ),
  );
  await step('apply in conflict', () =>
    core.patchNamespacedConfigMap(
      {
        ...maps,
        name: 'a',
        body: { ...configMapObject('a'), data: { a: '9' } },
        fieldManager: 'other',
      },
      as(PatchStrategy.ServerSideApply),
    ),
  );
  await step('list', () => core.listNamespacedConfigMap({ ...maps, labelSelector: 'app=web' }));
  await step('list in pages', async () => {
    await core.createNamespacedConfigMap({ ...maps, body: configMapObject('b') });
    const names: (string | undefined)[] = [];
    let token: string | undefined;
    do {
      const page = { limit: 1, ...(token === undefined ? {} : { _continue: token }) };
      const { items, metadata } = await core.listNamespacedConfigMap({ ...maps, ...page });
      names.push(...items.map((item) => item.metadata?.name));
      token = metadata?._continue;
    } while (token);
    return names;
  });
  await step('list by a field that there is not', () =>
    core.listNamespacedConfigMap({ ...maps, fieldSelector: 'data.a=1' }),
  );
  await step('list of all namespaces', async () => {
    const { items } = await core.listConfigMapForAllNamespaces({ labelSelector: 'app=web' });
    return items.map(({ metadata }) => metadata?.name);
  });
  await step('create a Secret', () =>
    core.createNamespacedSecret({
      ...maps,
      body: { metadata: { name: 's' }, stringData: { k: 'v' } },
    }),
  );
  await step('create a Job', () =>
    config.makeApiClient(BatchV1Api).createNamespacedJob({ ...maps, body: job }),
  );
  await step('delete', () => core.deleteNamespacedConfigMap({ ...maps, name: 'b' }));
  await step('delete again', () => core.deleteNamespacedConfigMap({ ...maps, name: 'b' }));
  await step('delete by a wrong precondition', () =>
    core.deleteNamespacedConfigMap({
      ...maps,
      name: 'a',
      body: { preconditions: { uid: 'nope' } },
    }),
  );
  await step('delete a collection', () =>
    core.deleteCollectionNamespacedConfigMap({ ...maps, labelSelector: 'app=web' }),
  );
}

async function subresourceSteps(config: KubeConfig, notes: Notes): Promise<void> {
  const apps = config.makeApiClient(AppsV1Api);
  const core = config.makeApiClient(CoreV1Api);
  const step = (name: string, work: () => Promise<unknown>) =>
    notes.step(`subresources: ${name}`, work);
  const web = { ...maps, name: 'web' };
  await step('create a Deployment', () =>
    apps.createNamespacedDeployment({ ...maps, body: deployment }),
  );
  await step('replace the status', async () => {
    const body = await apps.readNamespacedDeployment(web);
    return apps.replaceNamespacedDeploymentStatus({
      ...web,
      body: { ...body, status: { replicas: 2, readyReplicas: 1 } },
    });
  });
  await step('read the scale', () => apps.readNamespacedDeploymentScale(web));
  await step('replace the scale', async () => {
    const body = await apps.readNamespacedDeploymentScale(web);
    return apps.replaceNamespacedDeploymentScale({
      ...web,
      body: { ...body, spec: { replicas: 5 } },
    });
  });
  await step('patch the scale', () =>
    apps.patchNamespacedDeploymentScale(
      { ...web, body: { spec: { replicas: 6 } } },
      as(PatchStrategy.MergePatch),
    ),
  );
  await step('delete in the foreground', async () => {
    await apps.deleteNamespacedDeployment({ ...web, propagationPolicy: 'Foreground' });
    const { metadata } = await apps.readNamespacedDeployment(web);
    return [metadata?.finalizers, metadata?.deletionTimestamp !== undefined];
  });
  const pod = { metadata: { name: 'p' }, spec: { containers: [containerObject] } };
  await step('create a Pod', () => core.createNamespacedPod({ ...maps, body: pod }));
  await step('bind a Pod', () =>
    core.createNamespacedPodBinding({
      ...maps,
      name: 'p',
      body: { metadata: { name: 'p' }, target: { kind: 'Node', name: 'n1' } },
    }),
  );
  await step('log of a Pod', () => core.readNamespacedPodLog({ ...maps, name: 'p' }));
  await step('ephemeral containers', () =>
    core.patchNamespacedPodEphemeralcontainers(
      {
        ...maps,
        name: 'p',
        body: { spec: { ephemeralContainers: [{ name: 'd', image: 'busybox' }] } },
      },
      as(PatchStrategy.StrategicMergePatch),
    ),
  );
  await step('evict a Pod', () =>
    core.createNamespacedPodEviction({
      ...maps,
      name: 'p',
      body: { metadata: { name: 'p', namespace }, deleteOptions: { gracePeriodSeconds: 0 } },
    }),
  );
  await step('a disruption budget', () =>
    config.makeApiClient(PolicyV1Api).createNamespacedPodDisruptionBudget({
      ...maps,
      body: { metadata: { name: 'b' }, spec: { minAvailable: '50%', selector: {} } },
    }),
  );
}

async function reviewSteps(config: KubeConfig, notes: Notes): Promise<void> {
  const core = config.makeApiClient(CoreV1Api);
  const authentication = config.makeApiClient(AuthenticationV1Api);
  const step = (name: string, work: () => Promise<unknown>) => notes.step(`access: ${name}`, work);
  await step('version', async () => {
    const { major, minor } = await config.makeApiClient(VersionApi).getCode();
    return [major, minor];
  });
  await step('who asks', () => authentication.createSelfSubjectReview({ body: {} }));
  await step('review of access', () =>
    config.makeApiClient(AuthorizationV1Api).createSelfSubjectAccessReview({
      body: { spec: { resourceAttributes: { verb: 'get', resource: 'pods' } } },
    }),
  );
  await step('token of an account', async () => {
    const name = 'builder';
    await core.createNamespacedServiceAccount({ ...maps, body: { metadata: { name } } });
    const { status } = await core.createNamespacedServiceAccountToken({
      ...maps,
      name,
      body: { spec: { audiences: [], expirationSeconds: 1200 } },
    });
    const review = await authentication.createTokenReview({
      body: { spec: { token: status?.token ?? '' } },
    });
    return [review.status?.authenticated, review.status?.user?.username];
  });
}

async function customSteps(config: KubeConfig, notes: Notes): Promise<void> {
  const custom = config.makeApiClient(CustomObjectsApi);
  const step = (name: string, work: () => Promise<unknown>) => notes.step(`custom: ${name}`, work);
  const lamps = { group: 'node.example.com', version: 'v1', namespace, plural: 'lamps' };
  const one = { ...lamps, name: 'l' };
  await step('create a CustomResourceDefinition', async () => {
    const body = definition;
    const { spec } = await config
      .makeApiClient(ApiextensionsV1Api)
      .createCustomResourceDefinition({ body });
    const isServed = (): Promise<boolean> =>
      custom.listNamespacedCustomObject(lamps).then(
        () => true,
        () => false,
      );
    while (!(await isServed()));
    return spec;
  });
  await step('create', () => custom.createNamespacedCustomObject({ ...lamps, body: lamp('l', 5) }));
  await step('create what is not valid', () =>
    custom.createNamespacedCustomObject({ ...lamps, body: lamp('m', 0) }),
  );
  await step('create with a field that there is not, strictly', () =>
    custom.createNamespacedCustomObject({
      ...lamps,
      body: { ...lamp('m', 1), nope: true },
      fieldValidation: 'Strict',
    }),
  );
  await step('get', () => custom.getNamespacedCustomObject(one));
  await step('list', () => custom.listNamespacedCustomObject(lamps));
  await step('patch', () =>
    custom.patchNamespacedCustomObject(
      { ...one, body: { spec: { watts: 6 } } },
      as(PatchStrategy.MergePatch),
    ),
  );
  await step('patch, strategic', () =>
    custom.patchNamespacedCustomObject(
      { ...one, body: { spec: { watts: 6 } } },
      as(PatchStrategy.StrategicMergePatch),
    ),
  );
  await step('patch the status', () =>
    custom.patchNamespacedCustomObjectStatus(
      { ...one, body: { status: { lit: true }, spec: { watts: 9 } } },
      as(PatchStrategy.MergePatch),
    ),
  );
  await step('delete', () => custom.deleteNamespacedCustomObject(one));
}

async function objectSteps(config: KubeConfig, notes: Notes): Promise<void> {
  const objects = KubernetesObjectApi.makeApiClient(config);
  const step = (name: string, work: () => Promise<unknown>) => notes.step(`objects: ${name}`, work);
  const kind = { apiVersion: 'v1', kind: 'ConfigMap' };
  const of = (name: string) => ({ ...kind, metadata: { name, namespace } });
  const full = { ...configMapObject('o'), ...of('o') };
  await step('create', () => objects.create(full));
  await step('create of a kind that there is not', () => objects.create({ ...full, kind: 'Nope' }));
  await step('read', () => objects.read(of('o')));
  await step('patch', () =>
    objects.patch({ ...of('o'), data: { p: '1' } } as V1ConfigMap, undefined, undefined, 'node'),
  );
  await step('apply', () =>
    objects.patch(
      { ...of('applied'), data: { p: '1' } } as V1ConfigMap,
      undefined,
      undefined,
      'node',
      true,
      PatchStrategy.ServerSideApply,
    ),
  );
  await step('replace', async () => {
    const { metadata } = await objects.read<V1ConfigMap>(of('o'));
    return objects.replace({ ...kind, metadata, data: { r: '1' } } as V1ConfigMap);
  });
  await step('list', () => objects.list('v1', 'ConfigMap', namespace));
  await step('read a custom object', () =>
    objects.read({
      apiVersion: 'node.example.com/v1',
      kind: 'Lamp',
      metadata: { name: 'nope', namespace },
    }),
  );
  await step('delete', () => objects.delete(of('o')));
  await step('delete again', () => objects.delete(of('o')));
}

async function watchSteps(config: KubeConfig, notes: Notes): Promise<void> {
  const core = config.makeApiClient(CoreV1Api);
  const step = (name: string, work: () => Promise<unknown>) => notes.step(`watch: ${name}`, work);
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  const change = async (name: string): Promise<void> => {
    await core.createNamespacedConfigMap({ ...maps, body: configMapObject(name) });
    await core.patchNamespacedConfigMap(
      { ...maps, name, body: { data: { a: '2' } } },
      as(PatchStrategy.MergePatch),
    );
    await core.deleteNamespacedConfigMap({ ...maps, name });
  };
  await step('from the version of a list', async () => {
    const { metadata } = await core.listNamespacedConfigMap(maps);
    const { promise, resolve, reject } = Promise.withResolvers<string[]>();
    const seen: string[] = [];
    const query = { resourceVersion: metadata?.resourceVersion, allowWatchBookmarks: true };
    const abort = await new Watch(config).watch(
      path,
      query,
      (phase, object: V1ConfigMap) => {
        seen.push(`${phase} ${object.metadata?.name} ${JSON.stringify(object.data)}`);
        if (phase === 'DELETED') resolve(seen);
      },
      reject,
    );
    await change('w');
    return promise.finally(() => abort.abort());
  });
  await step('of a resource that there is not', () => {
    const { promise, reject } = Promise.withResolvers<never>();
    void new Watch(config).watch('/api/v1/nopes', {}, () => {}, reject);
    return promise;
  });
  await step('an informer', async () => {
    const list = () => core.listNamespacedConfigMap({ ...maps, labelSelector: 'app=web' });
    const informer = makeInformer<V1ConfigMap>(config, path, list, 'app=web');
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const { promise: connected, resolve: connect } = Promise.withResolvers<void>();
    const seen: string[] = [];
    const note = (what: string) => (object: V1ConfigMap) => {
      seen.push(`${what} ${object.metadata?.name} ${JSON.stringify(object.data)}`);
      if (what === 'delete') resolve();
    };
    for (const what of ['add', 'update', 'delete'] as const) informer.on(what, note(what));
    informer.on('error', reject);
    informer.on('connect', connect);
    await core.createNamespacedConfigMap({ ...maps, body: configMapObject('before') });
    await informer.start();
    await connected;
    await change('i');
    await promise;
    const left = informer.list(namespace).map(({ metadata }) => metadata?.name);
    await informer.stop();
    return { seen, left };
  });
}

async function streamSteps(config: KubeConfig, notes: Notes): Promise<void> {
  const step = (name: string, work: () => Promise<unknown>) => notes.step(`streams: ${name}`, work);
  const core = config.makeApiClient(CoreV1Api);
  const pod = { metadata: { name: 'x' }, spec: { containers: [containerObject] } };
  await step('exec in a Pod that does not run', async () => {
    await core.createNamespacedPod({ ...maps, body: pod });
    const out = new PassThrough();
    await new Exec(config).exec(namespace, 'x', 'c', ['true'], out, out, null, false);
  });
  await step('log of a Pod that does not run', () =>
    new Log(config).log(namespace, 'x', 'c', new PassThrough()),
  );
  await step('log of a Pod that there is not', () =>
    new Log(config).log(namespace, 'nope', 'c', new PassThrough()),
  );
  await step('metrics without a server of metrics', () =>
    new Metrics(config).getPodMetrics(namespace),
  );
}
