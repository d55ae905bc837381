/** Exchanges about the special behaviour of single kinds. */
import type { Exchange } from './exchange.ts';
import { clusterRoles, deployments, endpointSlices, pods } from './resources.ts';
import { defaultedContainer, deploymentSpec, podSpec } from './templates.ts';

const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
const DRY_RUN = { dryRun: ['All'] };

export const kinds: Exchange[] = [
  {
    name: 'a Deployment counts its annotations as a generation, an EndpointSlice its labels',
    async run(api) {
      const slice = {
        addressType: 'IPv4',
        endpoints: [{ addresses: ['10.0.0.1'], conditions: {} }],
        ports: [{ name: 'a', port: 1, protocol: 'TCP' }],
      };
      for (const [type, fields] of [
        [deployments, { spec: deploymentSpec() }],
        [endpointSlices, slice],
      ] as const) {
        const things = api.of(type);
        await things.create(things.object('one', fields));
        for (const metadata of [
          { annotations: { a: '1' } },
          { labels: { a: '1' } },
          { finalizers: ['e.x/a'] },
        ]) {
          await things.patch('one', 'merge', { metadata });
        }
        await things.apply('one', 'other', {
          metadata: { annotations: { b: '1' }, labels: { b: '1' } },
        });
        await things.patch('one', 'merge', { metadata: { annotations: null, labels: null } });
      }
      await api
        .of(deployments)
        .patch('one/status', 'merge', { metadata: { annotations: { a: '2' } } });
    },
  },
  {
    name: 'a Namespace has its name as a label, and does not go with others',
    async run(api) {
      const quiet = api.unrecorded();
      for (const given of [
        { name: `${api.namespace}-a` },
        { generateName: `${api.namespace}-b-` },
      ]) {
        const { body } = await quiet.call('POST', '/api/v1/namespaces', {
          body: { metadata: given },
        });
        await api.call('GET', `/api/v1/namespaces/${body.metadata.name}`, { accept: METADATA });
      }
      await api.call('DELETE', '/api/v1/namespaces', { query: { labelSelector: 'no=body' } });
    },
  },
  {
    name: 'what has no namespace loses the one it is sent with',
    async run(api) {
      const roles = api.everywhere(clusterRoles);
      const [one, two] = [`${api.namespace}-a`, `${api.namespace}-b`];
      const rules = [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }];
      const made = roles.object(one, { metadata: { namespace: 'n' }, rules });
      await roles.create(made);
      await roles.patch(one, 'merge', { metadata: { namespace: 'n', labels: { a: '1' } } });
      await roles.put(one, made);
      for (let times = 0; times < 2; times++)
        await roles.apply(two, 'm', { metadata: { namespace: 'n' }, rules });
      const things = api.of(clusterRoles);
      await things.create(made);
    },
  },
  {
    name: 'a Pod that is deleted is marked first',
    async run(api) {
      const things = api.of(pods);
      const quiet = api.unrecorded().of(pods);
      const { body } = await quiet.list();
      const query = { resourceVersion: body.metadata.resourceVersion };
      const watch = await api.watch(things.path, query, METADATA);
      for (const [name, options] of Object.entries({
        a: undefined,
        b: { gracePeriodSeconds: 5 },
        c: DRY_RUN,
      })) {
        await quiet.create(
          things.object(name, {
            spec: podSpec([defaultedContainer('a')], { enableServiceLinks: true }),
          }),
        );
        await quiet.patch(name, 'merge', { metadata: { managedFields: [{}] } });
        await quiet.delete(name, options);
      }
      await quiet.deleteAll();
      await watch.take(12);
    },
  },
];
