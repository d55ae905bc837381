/** Exchanges about strategic merge patches, and errors of all kinds of patches. */
import type { Exchange } from './exchange.ts';
import { configMaps, deployments, podTemplates, widgets } from './resources.ts';
import { defaultedContainer, deploymentSpec, template } from './templates.ts';

const env = (...names: string[]) => names.map((name) => ({ name, value: name }));

/** Patches of a PodTemplate with the containers a and b, each applied to a new object. */
const ON_CONTAINERS: [what: string, patch: object][] = [
  ['merges by name', { containers: [{ name: 'b', image: 'image:2' }] }],
  ['adds ahead', { containers: [defaultedContainer('c')] }],
  ['deletes by name', { containers: [{ name: 'a', $patch: 'delete' }] }],
  ['replaces the list', { containers: [defaultedContainer('c'), { $patch: 'replace' }] }],
  [
    'orders',
    {
      containers: [{ name: 'b', image: 'image:2' }],
      '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }],
    },
  ],
  ['orders alone', { '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }] }],
  [
    'orders some',
    {
      '$setElementOrder/containers': [{ name: 'b' }],
      containers: [{ name: 'b', image: 'image:3' }],
    },
  ],
  [
    'orders another way',
    {
      '$setElementOrder/containers': [{ name: 'a' }],
      containers: [{ name: 'b', image: 'image:3' }],
    },
  ],
  [
    'merges below',
    { containers: [{ name: 'a', env: [{ name: 'y', value: 'new' }, ...env('z')] }] },
  ],
  ['deletes below', { containers: [{ name: 'a', env: [{ name: 'x', $patch: 'delete' }] }] }],
  ['takes null', { containers: [{ name: 'a', env: null }] }],
  ['knows no container without a name', { containers: [{ image: 'image:2' }] }],
  ['replaces tolerations', { tolerations: [{ key: 'b', operator: 'Exists' }] }],
  [
    'deletes what is no list',
    { affinity: { $patch: 'delete' }, nodeSelector: { $patch: 'delete' } },
  ],
  [
    'deletes what is no list, below and where there is nothing',
    {
      containers: [{ name: 'a', securityContext: { $patch: 'delete' } }],
      securityContext: { $patch: 'delete' },
    },
  ],
  [
    'retains keys',
    {
      volumes: [
        { name: 'v', $retainKeys: ['name', 'hostPath'], hostPath: { path: '/x', type: '' } },
      ],
    },
  ],
  [
    'wants what it sets in the keys',
    { volumes: [{ name: 'v', $retainKeys: ['name'], hostPath: { path: '/x', type: '' } }] },
  ],
  ['replaces a map', { nodeSelector: { $patch: 'replace', z: '1' } }],
  ['merges a map', { nodeSelector: { z: '1', x: null } }],
  ['empties a map', { nodeSelector: { $patch: 'delete' } }],
  ['knows no other directive', { nodeSelector: { $patch: 'other' } }],
  ['knows no directive in a list', { containers: [{ name: 'a', $patch: 'other' }] }],
  ['does not merge by directive', { containers: [{ name: 'a', $patch: 'merge' }] }],
  ['wants no null in a list', { containers: [null] }],
  ['wants no null beside others', { containers: [{ name: 'a' }, null] }],
  ['wants an order to be a list', { '$setElementOrder/containers': 'a' }],
  ['wants keys to be a list', { volumes: [{ name: 'v', $retainKeys: 'name' }] }],
  ['wants deletions to be a list', { '$deleteFromPrimitiveList/x': 'a' }],
];

export const patches: Exchange[] = [
  ...ON_CONTAINERS.map(
    ([what, spec]): Exchange => ({
      name: `a strategic merge patch of a pod template ${what}`,
      async run(api) {
        const things = api.of(podTemplates);
        const securityContext = { runAsUser: 1 };
        const made = template(
          [
            defaultedContainer('a', { env: env('x', 'y'), securityContext }),
            defaultedContainer('b'),
          ],
          {
            affinity: { nodeAffinity: {} },
            tolerations: [{ key: 'a', operator: 'Exists' }],
            volumes: [{ name: 'v', emptyDir: {} }],
            nodeSelector: { x: '1', y: '1' },
          },
        );
        await things.create(things.object('one', { template: made }));
        await things.patch('one', 'strategic', { template: { spec } });
      },
    }),
  ),
  {
    name: 'a strategic merge patch merges finalizers and owner references',
    async run(api) {
      const things = api.of(configMaps);
      const owner = (uid: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', name: uid, uid });
      const metadata = {
        finalizers: ['e.x/a', 'e.x/b'],
        ownerReferences: [owner('uid-a')],
        labels: { a: '1' },
      };
      await things.create(things.object('one', { metadata, data: { k: '1' } }));
      for (const patch of [
        { finalizers: ['e.x/c', 'e.x/a'] },
        { '$deleteFromPrimitiveList/finalizers': ['e.x/a'] },
        { '$setElementOrder/finalizers': ['e.x/c', 'e.x/b', 'e.x/d'], finalizers: ['e.x/d'] },
        { ownerReferences: [owner('uid-b')] },
        { ownerReferences: [{ uid: 'uid-a', $patch: 'delete' }] },
        { labels: { a: null, b: '1' } },
        { finalizers: null },
      ])
        await things.patch('one', 'strategic', { metadata: patch });
      await things.patch('one', 'strategic', { data: { $patch: 'replace', z: '1' } });
      await things.patch('one', 'strategic', { data: { k: null } });
      await things.patch('one', 'strategic', '[]');
      await things.patch('one', 'strategic', '{');
    },
  },
  {
    name: 'a strategic merge patch retains the keys of a strategy',
    async run(api) {
      const things = api.of(deployments);
      await things.create(things.object('one', { spec: deploymentSpec() }));
      await things.patch('one', 'strategic', {
        spec: { strategy: { $retainKeys: ['type'], type: 'Recreate' } },
      });
      const rollingUpdate = { maxUnavailable: 1, maxSurge: 1 };
      const rolling = {
        $retainKeys: ['type', 'rollingUpdate'],
        type: 'RollingUpdate',
        rollingUpdate,
      };
      await things.patch('one', 'strategic', { spec: { strategy: rolling } });
      const recreate = { $retainKeys: ['type'], type: 'Recreate' };
      await things.patch('one', 'strategic', {
        spec: { strategy: { ...recreate, rollingUpdate } },
      });
      await things.patch('one', 'strategic', {
        spec: { strategy: { ...recreate, rollingUpdate: null } },
      });
    },
  },
  {
    name:
      'a merge patch takes nulls out of what it adds, and not out of a list in place of ' +
      'an object',
    async run(api) {
      const things = api.of(widgets);
      await things.create(
        things.object('one', { spec: { list: [1], map: { a: 1 }, none: null, text: 'a' } }),
      );
      const list = [{ k: null, l: 1 }, null, [{ k: null }]];
      for (const name of ['list', 'map', 'none', 'text', 'fresh'])
        await things.patch('one', 'merge', { spec: { [name]: list } });
      await things.patch('one', 'merge', { spec: { list: { k: null, deep: list } } });
      await things.patch('one', 'merge', { spec: null });
      await things.patch('one', 'merge', { spec: list });
    },
  },
  {
    name: 'JSON patches follow their paths to the letter',
    async run(api) {
      const things = api.of(widgets);
      const spec = { list: [1, 2, 3], map: { a: { b: 1 }, 'x/y': 1, 'm~n': 2, '': 3 }, none: null };
      await things.create(things.object('one', { spec }));
      for (const operation of [
        { op: 'replace', path: '/spec/map/x~1y', value: 2 },
        { op: 'replace', path: '/spec/map/m~0n', value: 2 },
        { op: 'add', path: '/spec/list/3', value: 4 },
        { op: 'add', path: '/spec/list/9', value: 4 },
        { op: 'add', path: '/spec/list/01', value: 4 },
        { op: 'add', path: '/spec/list/x', value: 4 },
        { op: 'remove', path: '/spec/list/-' },
        { op: 'remove', path: '/spec/list/3' },
        { op: 'replace', path: '/spec/list/0', value: null },
        { op: 'test', path: '/spec/none', value: null },
        { op: 'test', path: '/spec/missing', value: null },
        { op: 'test', path: '/spec/missing/deep', value: null },
        { op: 'test', path: '/spec/map/a', value: { b: 1 } },
        { op: 'test', path: '/spec/map/a', value: { b: 2 } },
        { op: 'move', from: '/spec/map/a', path: '/spec/map/c' },
        { op: 'move', from: '/spec/map/c', path: '/spec/map/c/d' },
        { op: 'copy', from: '/spec/map/c', path: '/spec/list/0' },
        { op: 'copy', from: '/spec/missing', path: '/spec/x' },
        { op: 'copy', from: '', path: '/spec/x' },
        { op: 'move', from: '', path: '/spec/x' },
        { op: 'add', path: '/spec/text', value: 'a<b&c>' },
        { op: 'test', path: '/spec/text', value: 'a<b&c>' },
        { op: 'test', path: '/spec/text', value: 'a' },
        { op: 'add', path: '/spec/deep<er', value: { text: 'a\u2028', plain: '/ü"' } },
        { op: 'test', path: '/spec/deep<er', value: { text: 'a\u2028', plain: '/ü"' } },
        { op: 'test', path: '/spec/deep<er/plain', value: '/ü"' },
        { op: 'add', path: '/spec/keys', value: { 'a<b': 1 } },
        { op: 'test', path: '/spec/keys', value: { 'a<b': 1 } },
        { op: 'add', path: '/spec/deep/er', value: 1 },
        { op: 'add', path: '/spec/added', value: { a: [] } },
        { op: 'add', path: '/spec/novalue' },
        { op: 'other', path: '/spec' },
        { path: '/spec' },
        { op: 'remove' },
        { op: 'add', path: 'spec/x', value: 1 },
        { op: 'add', path: '', value: {} },
        { op: 'copy', from: '/spec/map', path: '' },
        { op: 'move', from: '/spec/map', path: '' },
        { op: 'remove', path: '' },
        { op: 'replace', path: '', value: {} },
        { op: 'replace', path: '', value: null },
      ])
        await things.patch('one', 'json', [operation]);
      await things.get('one');
    },
  },
  {
    name: 'JSON patches are read as operations before any is carried out',
    async run(api) {
      for (const type of [widgets, configMaps]) {
        const things = api.of(type);
        await things.create(things.object('one'));
        const first = { op: 'add', path: '/metadata/labels', value: { a: '1' } };
        for (const wrong of [
          1,
          'x',
          true,
          [],
          null,
          { op: 1 },
          { op: 'add', path: 1 },
          { op: 'copy', from: [] },
        ])
          await things.patch('one', 'json', [first, wrong]);
        await things.patch('one', 'json', [
          first,
          { op: 'test', path: '/kind', from: null, value: type.kind },
        ]);
        for (const body of ['null', '1', '"x"', 'true', '{}'])
          await things.patch('one', 'json', body);
        for (const body of ['1', '"x"', 'true', '[]']) await things.patch('one', 'merge', body);
      }
      const things = api.of(configMaps);
      for (const body of ['null', '1', 'true']) await things.patch('one', 'strategic', body);
    },
  },
  {
    name: 'a patch leads to no other kind',
    async run(api) {
      const things = api.of(widgets);
      await things.create(things.object('one'));
      const others = [
        { kind: 'Other' },
        { apiVersion: 'other/v1' },
        { apiVersion: 'v9' },
        { kind: 'Pod', apiVersion: 'v1' },
      ];
      for (const other of others) {
        await things.patch('one', 'merge', other);
        const operations = Object.entries(other).map(([name, value]) => ({
          op: 'replace',
          path: `/${name}`,
          value,
        }));
        await things.patch('one', 'json', operations);
      }
      const builtIn = api.of(configMaps);
      await builtIn.create(builtIn.object('one'));
      for (const other of others) await builtIn.patch('one', 'strategic', other);
    },
  },
  {
    name: 'a patch takes no kind and no apiVersion away',
    async run(api) {
      const builtIn = api.of(configMaps);
      await builtIn.create(builtIn.object('one', { data: { a: '1' } }));
      for (const body of [{ kind: null }, { kind: '' }, { kind: null, apiVersion: null }]) {
        await builtIn.patch('one', 'merge', body);
        await builtIn.patch('one', 'strategic', body);
      }
      await builtIn.patch('one', 'json', [{ op: 'remove', path: '/kind' }]);
      const custom = api.of(widgets);
      await custom.create(custom.object('one', { data: { a: '1' } }));
      // If the kind is missing too, the response has the object with reordered members.
      for (const things of [builtIn, custom]) {
        for (const apiVersion of [null, '']) await things.patch('one', 'merge', { apiVersion });
        await things.patch('one', 'json', [{ op: 'remove', path: '/apiVersion' }]);
      }
      await builtIn.patch('one', 'json', [{ op: 'replace', path: '/apiVersion', value: null }]);
    },
  },
  {
    name: 'a JSON patch of more than 10000 operations is too large',
    async run(api) {
      const things = api.of(configMaps);
      await things.create(things.object('one'));
      const many = (count: number) =>
        Array.from({ length: count }, () => ({ op: 'test', path: '/kind', value: 'ConfigMap' }));
      await things.patch('one', 'json', many(10_000));
      await things.patch('one', 'json', many(10_001));
    },
  },
];
