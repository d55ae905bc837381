/**
 * Exchanges about single values as Go decodes them: null, times, and the field selectors of
 * built-in kinds.
 */
import type { Json, JsonObject } from './api.ts';
import type { Exchange } from './exchange.ts';
import {
  capacities,
  configMaps,
  coreEvents,
  deployments,
  events,
  leases,
  podTemplates,
  type ResourceType,
  secrets,
  sites,
  widgets,
} from './resources.ts';
import { defaultedContainer, deploymentSpec, template } from './templates.ts';

const TIMES = [
  '2026-01-02T03:04:05Z',
  '2026-01-02T03:04:05.123Z',
  '2026-01-02T03:04:05.123456Z',
  '2026-01-02T03:04:05.1234567Z',
  '2026-01-02T03:04:05.000001+02:30',
  '2026-01-02T03:04:05-08:00',
  '2026-01-02T03:04:05',
  '2026-01-02 03:04:05Z',
  '2026-01-02T03:04Z',
  '2026-02-30T03:04:05Z',
  '2026-13-01T03:04:05Z',
  '2026-01-02T25:04:05Z',
  '2026-01-02T03:61:05Z',
  '2026-01-02T03:04:05Z ',
  '2026-01-02T03:04:05.5Z',
  'yesterday',
  '',
];

const QUANTITIES = [
  ...['1000m', '1500m', '0.5', '.5', '1.', '1024Mi', '1.5Gi', '512', '0.1Ki', '100000', '1e3'],
  ...['12e-3', '0.1n', '0Gi', '+1', '1E', '1000Ki', '1 Gi', '1e', 'much', '', 2, 0.25],
];

const BYTES = [
  ...['AQI\nD', 'AQ ID', 'AQ', 'AQ==\n', 'AQID=', 'A', 'AR==', '', 'AQ==AQ==', 'A\nB', 'QUJ_'],
  ...['QUI=x', '\r\nAQID', 'AQ=\n=', 'AQ=x', 'AQ=', 'QUJ', '!QUJ'],
];

const event = (time: string): JsonObject => ({
  ...{ eventTime: time, reason: 'Made', action: 'Make', type: 'Normal', note: 'x' },
  ...{ reportingController: 'example.com/c', reportingInstance: 'c-1' },
  ...{ deprecatedFirstTimestamp: null, deprecatedLastTimestamp: null, deprecatedSource: {} },
});

export const values: Exchange[] = [
  {
    name: 'null is an absent field, and dropped from lists and maps',
    async run(api) {
      const maps = api.of(configMaps);
      await maps.create(maps.object('a', { data: { x: null, y: '1' }, immutable: null }));
      await maps.create(maps.object('b', { data: null, binaryData: null }));
      await maps.patch('a', 'json', [{ op: 'add', path: '/data/z', value: null }]);
      await maps.patch('a', 'merge', { data: { y: null } });
      const kept = api.of(secrets);
      await kept.create(kept.object('a', { type: 'Opaque', stringData: { x: null, y: '1' } }));
      const apps = api.of(deployments);
      const nulls = { command: null, env: null, args: ['a', null] };
      const spec = deploymentSpec({
        template: template([defaultedContainer('a', nulls)]),
        paused: null,
      });
      const { body } = await apps.create(apps.object('a', { spec }));
      await apps.put('a', {
        ...body,
        spec: deploymentSpec({
          template: template([defaultedContainer('a', { args: ['a', ''] })]),
        }),
      });
      await apps.patch('a', 'strategic', {
        spec: { template: { spec: { containers: [{ name: 'a', args: null }] } } },
      });
    },
  },
  {
    name:
      'a quantity is written in the largest unit in which it is whole, and what is none ' +
      'is refused',
    async run(api) {
      const things = api.of(capacities);
      for (const [i, capacity] of QUANTITIES.entries())
        await things.create(things.object(`q${i}`, { storageClassName: 'slow', capacity }));
    },
  },
  {
    name: 'bytes are written without line breaks, and what is no base64 is refused with its place',
    async run(api) {
      for (const [type, member] of [
        [secrets, 'data'],
        [configMaps, 'binaryData'],
      ] as const) {
        const things = api.of(type);
        for (const [i, a] of BYTES.entries())
          await things.create(things.object(`b${i}`, { [member]: { a } }));
        await things.patch('b0', 'merge', { [member]: { a: 'AR==' } });
        await things.apply('c', 'm', { [member]: { a: 'AQI\nD' } });
        await things.apply('d', 'm', { [member]: { a: 'AQ' } });
      }
    },
  },
  {
    name:
      'a time is written in UTC, by whole seconds or by six digits of one, and what is ' +
      'none is refused',
    async run(api) {
      const held = api.of(leases);
      for (const [i, renewTime] of TIMES.entries()) {
        await held.create(held.object(`l${i}`, { spec: { holderIdentity: 'a', renewTime } }));
      }
      await held.create(
        held.object('one', { spec: { acquireTime: '2026-01-02T03:04:05.000000Z' } }),
      );
      await held.patch('one', 'merge', { spec: { renewTime: '2026-01-02T03:04:05.120000+01:00' } });
      const apps = api.of(deployments);
      await apps.create(apps.object('a', { spec: deploymentSpec() }));
      for (const lastTransitionTime of TIMES.slice(0, 6)) {
        const condition = {
          type: 'Ready',
          status: 'True',
          lastTransitionTime,
          lastUpdateTime: lastTransitionTime,
        };
        await apps.patch('a/status', 'merge', { status: { conditions: [condition] } });
      }
    },
  },
  {
    name: 'an event has the time that it was given, under both of its names',
    async run(api) {
      const things = api.of(events);
      for (const [i, time] of TIMES.slice(0, 5).entries()) {
        const regarding = { kind: 'Pod', namespace: api.namespace, name: `p${i}` };
        await things.create(things.object(`e${i}`, { ...event(time), regarding }));
      }
      await things.list();
      for (const fieldSelector of [
        'regarding.name=p2',
        'regarding.kind!=Pod',
        'reason=Made',
        'involvedObject.name=p2',
      ])
        await things.list({ fieldSelector });
      for (const fieldSelector of [
        'involvedObject.name=p2',
        'regarding.name=p2',
        'source=',
        'reportingComponent=x',
      ])
        await api.of(coreEvents).list({ fieldSelector });
    },
  },
  {
    name: 'names of JavaScript such as __proto__ are ordinary names',
    async run(api) {
      const names =
        '"__proto__":{"a":1},"constructor":{"b":{}},"toString":"x","hasOwnProperty":[1]';
      const body = (type: ResourceType, spec: string) =>
        `{"apiVersion":"${type.apiVersion}","kind":"${type.kind}","metadata":{"name":"a"},"spec":${spec}}`;
      const [open, strict, map] = [api.of(widgets), api.of(sites), api.of(configMaps)];
      await open.create(body(widgets, `{${names},"map":{${names}}}`));
      await strict.create(
        body(sites, `{"host":"ab",${names},"nested":{${names}},"free":{${names}}}`),
      );
      for (const things of [open, strict]) {
        await things.patch(
          'a',
          'merge',
          `{"spec":{"free":{"__proto__":{"a":2}},"nested":{${names}}}}`,
        );
        await things.patch('a', 'json', [{ op: 'add', path: '/spec/free/__proto__/c', value: 1 }]);
        await things.patch('a', 'json', [{ op: 'remove', path: '/spec/free/__proto__' }]);
        await things.patch('a', 'json', [{ op: 'test', path: '/spec/free/toString', value: null }]);
        await things.get('a');
      }
      const data = (value: string): Json =>
        JSON.parse(`{"__proto__":"${value}","constructor":"y"}`);
      for (const [manager, value] of [
        ['one', 'x'],
        ['two', 'x'],
        ['two', 'z'],
      ] as const)
        await map.apply('a', manager, { data: data(value) });
      await map.apply('a', 'one', { data: {} });
      await map.apply('a', 'two', {});
      await map.get('a');
    },
  },
  {
    name: 'fields that are not there have the value of their type to a selector',
    async run(api) {
      const jobs = {
        prefix: '/apis/batch/v1',
        apiVersion: 'batch/v1',
        kind: 'Job',
        plural: 'jobs',
      };
      const sets = {
        prefix: '/apis/apps/v1',
        apiVersion: 'apps/v1',
        kind: 'ReplicaSet',
        plural: 'replicasets',
      };
      for (const fieldSelector of ['status.successful=0', 'status.succeeded=0'])
        await api.of(jobs).list({ fieldSelector });
      await api.of(sets).list({ fieldSelector: 'status.replicas=0' });
      await api.of(podTemplates).list({ fieldSelector: 'status.replicas=0' });
    },
  },
];
