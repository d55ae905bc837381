/** Exchanges about scale, binding, eviction, and discovery. */
import type { Exchange } from './exchange.ts';
import { coreEvents, deployments, events, pods, sites, widgets } from './resources.ts';
import { defaultedContainer, deploymentSpec, podSpec } from './templates.ts';

export const subresources: Exchange[] = [
  {
    name: 'the scale of a custom resource is read and written',
    async run(api) {
      const things = api.of(sites);
      await things.create(things.object('a', { spec: { host: 'ab' } }));
      await things.get('a/scale');
      const scale = {
        apiVersion: 'autoscaling/v1',
        kind: 'Scale',
        metadata: { name: 'a' },
        spec: { replicas: 4 },
      };
      await things.put('a/scale', scale);
      await things.patch('a/scale', 'merge', { spec: { replicas: 3 } });
      await things.patch('a/scale', 'merge', { spec: { replicas: 9 } });
      await things.put('a/scale', { ...scale, metadata: { name: 'a', resourceVersion: '1' } });
      await things.patch('a/status', 'merge', { status: { replicas: 2, selector: 'app=a' } });
      await things.get('a/scale');
      await things.get('a');
      await things.get('none/scale');
      await things.delete('a/scale');
      await api.of(widgets).get('a/scale');
    },
  },
  {
    name: 'the scale of a Deployment is read, written and applied',
    async run(api) {
      const things = api.of(deployments);
      await things.create(things.object('a', { spec: deploymentSpec() }));
      await things.get('a/scale');
      const scale = {
        apiVersion: 'autoscaling/v1',
        kind: 'Scale',
        metadata: { name: 'a' },
        spec: { replicas: 4 },
      };
      await things.put('a/scale', scale);
      await things.patch('a/scale', 'strategic', { spec: { replicas: 3 } });
      await things.patch('a/scale', 'merge', { spec: { replicas: -1 } });
      await things.patch(
        'a/scale',
        'apply',
        { ...scale, spec: { replicas: 3 } },
        { fieldManager: 'one' },
      );
      await things.put('a/scale', { spec: { replicas: 4 } });
      await things.put('a/scale', { ...scale, metadata: { name: 'a', resourceVersion: '1' } });
      await api.call('POST', `${things.path}/a/scale`, { body: scale });
      await things.get('a');
    },
  },
  {
    name: 'a Pod is bound to a node once, and evicted',
    async run(api) {
      const things = api.of(pods);
      const tolerations = ['not-ready', 'unreachable'].map((name) => ({
        ...{
          key: `node.kubernetes.io/${name}`,
          operator: 'Exists',
          effect: 'NoExecute',
          tolerationSeconds: 300,
        },
      }));
      const spec = {
        tolerations,
        priority: 0,
        enableServiceLinks: true,
        preemptionPolicy: 'PreemptLowerPriority',
      };
      const quiet = api.unrecorded().of(pods);
      for (const name of ['a', 'b'])
        await quiet.create(things.object(name, { spec: podSpec([defaultedContainer('a')], spec) }));
      const post = (path: string, body: unknown, query: Record<string, string> = {}) =>
        api.call('POST', `${things.path}/${path}`, { body, query });
      const binding = { metadata: { name: 'a' }, target: { kind: 'Node', name: 'n1' } };
      await post('a/binding', binding, { dryRun: 'All' });
      await post('a/binding', { target: binding.target });
      await post('a/binding', { ...binding, target: {} });
      await post('a/binding', { ...binding, target: { kind: 'Pod', name: 'x' } });
      await post('none/binding', { ...binding, metadata: { name: 'none' } });
      await post('a/binding', binding);
      await post('a/binding', binding);
      await api.call('GET', `${things.path}/a/binding`);
      const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'b' } };
      await post('b/eviction', { ...eviction, metadata: {} });
      await post('b/eviction', eviction, { dryRun: 'All' });
      await post('b/eviction', eviction);
      await post('b/eviction', eviction);
    },
  },
  {
    name: 'discovery tells groups, versions and resources',
    async run(api) {
      const groups = ['apps', 'autoscaling', 'e2e.capstan.dev', 'none.example'];
      for (const group of groups) await api.call('GET', `/apis/${group}`);
      await api.call('GET', '/apis/none.example/v1');
    },
  },
  {
    name: 'Events are one storage under two names',
    async run(api) {
      const [core, other] = [api.of(coreEvents), api.of(events)];
      const regarding = { kind: 'Pod', namespace: api.namespace, name: 'p' };
      const eventTime = '2026-01-01T00:00:00.000000Z';
      const nulls = {
        deprecatedSource: {},
        deprecatedFirstTimestamp: null,
        deprecatedLastTimestamp: null,
      };
      const common = {
        reason: 'R',
        type: 'Normal',
        action: 'A',
        eventTime,
        reportingInstance: 'i',
      };
      const watch = await core.watch({
        resourceVersion: (await core.list()).body.metadata.resourceVersion,
      });
      await other.create(
        other.object('a', {
          ...common,
          ...nulls,
          regarding,
          note: 'M',
          reportingController: 'c/d',
        }),
      );
      await core.get('a');
      await core.list();
      await other.patch('a', 'merge', { series: { count: 2, lastObservedTime: eventTime } });
      await core.patch('a', 'strategic', { message: 'N', metadata: { labels: { a: 'b' } } });
      const old = {
        source: { component: 'c', host: 'h' },
        firstTimestamp: null,
        lastTimestamp: null,
        count: 3,
      };
      const rest = {
        ...common,
        ...old,
        involvedObject: regarding,
        message: 'M',
        reportingComponent: '',
        eventTime: null,
        reportingInstance: '',
      };
      await core.create(core.object('b', rest));
      await other.get('b');
      await other.list({ labelSelector: 'a=b' });
      await other.delete('a');
      await watch.take(5);
      await (await other.watch({ resourceVersion: '0' })).take(1);
    },
  },
];
