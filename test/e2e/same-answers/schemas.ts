/** Exchanges about schemas: defaults, pruning, validation, and unknown fields. */
import type { JsonObject } from './api.ts';
import type { Exchange } from './exchange.ts';
import { configMaps, deployments, leases, podTemplates, sites } from './resources.ts';
import { defaultedContainer, template } from './templates.ts';

/**
 * Specs of a site. Each breaks one rule only, since the real server reports several in random
 * order.
 */
const WRONG: [what: string, spec: unknown][] = [
  ['lacks what is required', {}],
  ['is null', null],
  ['is text', 'text'],
  ['has null for what is required', { host: null }],
  ['is too short', { host: 'x' }],
  ['is too long', { host: 'toolong' }],
  ['does not match', { host: 'ABC' }],
  ['is a number for text', { host: 3 }],
  ['is too small', { host: 'ab', replicas: 0 }],
  ['is too large', { host: 'ab', replicas: 9 }],
  ['is negative', { host: 'ab', replicas: -1 }],
  ['is text for a number', { host: 'ab', replicas: '3' }],
  ['is none of some', { host: 'ab', mode: 'z' }],
  ['is no multiple', { host: 'ab', ratio: 0.3 }],
  ['is too large by nothing', { host: 'ab', ratio: 9 }],
  ['is text for a truth', { host: 'ab', on: 'yes' }],
  ['is a truth for a port', { host: 'ab', port: true }],
  ['is twice in a set', { host: 'ab', tags: ['a', 'b', 'a'] }],
  ['is too many', { host: 'ab', tags: ['a', 'b', 'c', 'd'] }],
  ['is too few', { host: 'ab', plain: [] }],
  ['is twice by its keys', { host: 'ab', rules: [{ name: 'a' }, { name: 'a' }] }],
  ['lacks a key', { host: 'ab', rules: [{ proto: 'UDP' }] }],
  ['is a map for a list', { host: 'ab', plain: { a: 1 } }],
  ['has null in a list', { host: 'ab', tags: [null] }],
  ['is a number in a map', { host: 'ab', labels: { a: 1 } }],
  ['has too many members', { host: 'ab', labels: { a: '1', b: '1', c: '1' } }],
  ['is no time', { host: 'ab', when: 'nope' }],
  ['is beyond 32 bits', { host: 'ab', rules: [{ name: 'a', value: 99_999_999_999 }] }],
];

const RIGHT: JsonObject[] = [
  { host: 'ab' },
  { host: 'ab', on: null, tags: null, port: null, free: null, maybe: null },
  { host: 'ab', nested: null, mode: null },
  { host: 'ab', labels: { a: null }, plain: ['x'] },
  { host: 'ab', port: 'http', ratio: 1.5, tags: ['b', 'a'], when: '2026-01-01T00:00:00Z' },
  {
    host: 'ab',
    rules: [{ name: 'a' }, { name: 'a', proto: 'UDP', value: 1 }],
    free: { a: { b: null, c: [] } },
  },
  { host: 'ab', either: { a: '1' } },
];

const APPLIED_NULLS: JsonObject[] = [
  { host: null },
  { host: 'ab', tags: null },
  { host: 'ab', mode: null, nested: { x: null } },
  { host: 'ab', maybe: null, free: { a: null } },
  { host: 'ab', labels: { a: null } },
  { host: 'ab', rules: [{ name: 'a', value: null }] },
];

const FORMATTED = {
  when: [
    ...[
      '2026-01-01T00:00:00Z',
      '2026-01-01t23:59:59.5z',
      '2026-01-01T00:00:00+25:99',
      '2026-01-01 00:00:00Z',
    ],
    ...[
      '2026-01-01T24:00:00Z',
      '2026-01-01T00:60:00Z',
      '2026-01-01T00:00:60Z',
      '2026-02-30T00:00:00Z',
      '',
    ],
    ...['2026-01-01T00:00:00', '2026-01-01T00:00Z', '2026-01-01T00:00:00+0100', '2026-01-01'],
  ],
  day: ['2026-01-01', '2024-02-29', '2026-02-29', '2026-1-1', '2026-01-01T00:00:00Z', ''],
  bytes: ['YQ==', 'YWE=', 'YWFh', 'YQ', 'Y', '', 'a b', '_-8=', 'YQ==YQ=='],
  link: [
    ...[
      'http://a',
      '/x',
      '//x',
      '/a b',
      '/a?%',
      '*',
      'mailto:x',
      'http:',
      'http:/a',
      'file:///a',
      'http://',
      'a+b://c',
    ],
    ...[
      'http://u:p@a:80/x?y#z',
      'http://[::1]:80/',
      'http://a:/',
      'http://a?x',
      'http://\u00fc/',
      'http://a_b"/',
    ],
    ...[
      'http://a%41/',
      '',
      'a',
      'a b',
      ':',
      '?x',
      '#x',
      '/%zz',
      '/a%',
      'http://a b',
      'http://a:b',
      'http://a#b',
      '1a:b',
    ],
    ...['http://u@v@a', 'http://u /@a', 'http://[::1', 'http://a/\n', 'http://a\\b', './a', '**'],
  ],
  mail: [
    ...[
      'a@b.c',
      'a@b',
      '"A B" <a@b.c>',
      'A B <a@b.c>',
      '<a@b.c>',
      ' a@b.c ',
      '"a@b" <c@d>',
      '"\\"" <a@b>',
      '\u00fc@b.c',
    ],
    ...[
      "a+b'c@d",
      'a.b@c.d',
      '',
      'a',
      '@b',
      'a@',
      'a..b@c',
      '.a@b',
      'a@b.',
      'a b@c',
      'a@b c',
      'a@b@c',
      'a@b, c@d',
      '<a@b',
    ],
    ...['a@b>', 'A, B <a@b>', 'A (B) a@b', '"A <a@b>', 'a;b@c', 'A <a@b> B', 'A <>'],
  ],
};

export const schemas: Exchange[] = [
  ...WRONG.map(
    ([what, spec]): Exchange => ({
      name: `a custom object that ${what} is invalid`,
      async run(api) {
        const things = api.of(sites);
        await things.create({ ...things.object('a'), spec });
      },
    }),
  ),
  {
    name: 'a custom object gets its defaults, and loses what its schema does not know',
    async run(api) {
      const things = api.of(sites);
      for (const [at, spec] of RIGHT.entries())
        await things.create(things.object(`a${at}`, { spec, status: { x: 1 } }));
      const { body } = await things.create(
        things.object('b', { spec: { host: 'ab', more: 1 }, other: 1 }),
      );
      await things.put('b', { ...body, spec: { host: 'cd', nested: { x: 'z', q: 1 } } });
      await things.patch('b', 'merge', { spec: { mode: null, replicas: 3, unknown: { a: 1 } } });
      await things.patch('b', 'merge', { spec: { host: 'toolong' } });
      await things.patch('b', 'json', [{ op: 'remove', path: '/spec/host' }]);
      await things.get('b');
    },
  },
  {
    name: 'strings are held to their formats, as Go reads them',
    async run(api) {
      const things = api.of(sites);
      for (const [name, values] of Object.entries(FORMATTED))
        for (const value of values)
          await things.create(things.object('a', { spec: { host: 'ab', [name]: value } }), {
            dryRun: 'All',
          });
    },
  },
  {
    name: 'the status is held to the schema too',
    async run(api) {
      const things = api.of(sites);
      await things.create(things.object('a', { spec: { host: 'ab' } }));
      await things.patch('a/status', 'merge', { status: { conditions: [{ type: 'Ready' }] } });
      await things.patch('a/status', 'merge', { status: { replicas: 'x' } });
      await things.patch('a/status', 'merge', {
        spec: { host: 'x' },
        status: { replicas: 1, unknown: 1 },
      });
      const twice = [1, 2].map(() => ({ type: 'Ready', status: 'True' }));
      await things.patch('a/status', 'merge', { status: { conditions: twice } });
    },
  },
  {
    name: 'what a custom resource applies is merged as its schema says',
    async run(api) {
      const things = api.of(sites);
      const rules = (...names: string[]) => names.map((name) => ({ name }));
      await things.apply('a', 'one', {
        spec: { host: 'ab', tags: ['a'], plain: ['a'], rules: rules('x'), whole: { a: '1' } },
      });
      await things.apply('a', 'two', {
        spec: { tags: ['b'], rules: rules('y'), labels: { q: '1' } },
      });
      await things.apply('a', 'two', { spec: { plain: ['b'] } });
      await things.apply('a', 'two', { spec: { whole: { b: '1' } } });
      await things.apply('a', 'two', { spec: { replicas: 3, nested: { x: 'z' } } });
      await things.apply('a', 'two', { spec: { unknown: 1 } });
      await things.apply('a', 'two', { spec: { host: 7 } });
      await things.apply('a', 'two', { spec: { tags: ['b', 'b'] } });
      await things.apply('a', 'two', { spec: { host: 'toolong' } }, { force: 'true' });
      await things.apply('a', 'one', { spec: { host: 'ab' } });
      await things.apply('a/status', 'one', {
        status: { conditions: [{ type: 'Ready', status: 'True' }] },
      });
      await things.apply('a/status', 'two', {
        status: { conditions: [{ type: 'Other', status: 'True' }] },
      });
    },
  },
  {
    name:
      'null that is applied is held to the schema, and so is a map whose last member is ' +
      'applied no longer',
    async run(api) {
      const things = api.of(sites);
      for (const [at, spec] of APPLIED_NULLS.entries())
        await things.apply(`a${at}`, 'one', { spec });
      await things.create(things.object('b', { spec: { host: 'ab', labels: {}, free: {} } }));
      for (const map of ['labels', 'free']) {
        await things.apply('b', 'one', { spec: { [map]: { q: '1' } } });
        await things.apply('b', 'one', { spec: { on: true } });
        await things.get('b');
      }
      await things.apply('b/status', 'one', { status: { conditions: null } });
      await things.patch('b/status', 'merge', { status: { conditions: null, replicas: 1 } });
    },
  },
  {
    name: 'a key of null is another than the default that takes its place',
    async run(api) {
      const things = api.of(sites);
      const [host, rules, tcp] = [
        'ab',
        [{ name: 'a', proto: null }],
        { name: 'a', proto: 'TCP', value: 1 },
      ];
      for (const [name, applied] of Object.entries<[manager: string, spec: JsonObject][]>({
        a: [
          ['one', { host, rules }],
          ['one', { host, rules: null }],
          ['one', { host, rules: [] }],
          ['one', { host }],
        ],
        b: [
          ['one', { host, rules }],
          ['one', { host, rules }],
          ['two', { rules: [{ name: 'a' }] }],
          ['two', { rules }],
        ],
        c: [
          ['one', { host, rules }],
          ['two', { rules: [tcp] }],
          ['one', { host }],
          ['two', {}],
        ],
        d: [
          ['one', { host, rules: [...rules, { name: 'a' }] }],
          ['one', { host, rules: [{ name: null }] }],
        ],
        e: [
          ['one', { host, rules: [tcp] }],
          ['two', { rules: null }],
          ['one', { host, rules: null }],
        ],
      }))
        for (const [manager, spec] of applied) await things.apply(name, manager, { spec });
    },
  },
  {
    name: 'unknown fields are refused, told or ignored, as the request asks',
    async run(api) {
      const bodies: [type: typeof sites, fields: JsonObject][] = [
        [
          sites,
          {
            spec: { host: 'ab', foo: 1, nested: { z: 1 }, rules: [{ name: 'a', yy: 1 }] },
            extra: 1,
          },
        ],
        [configMaps, { foo: 1, data: { a: 'b' } }],
        [leases, { spec: { holderIdentity: 'a', unknown: { x: 1 } } }],
        [
          podTemplates,
          { template: template([defaultedContainer('a', { bar: 1, ports: [] })], { baz: {} }) },
        ],
      ];
      for (const [type, fields] of bodies) {
        const things = api.of(type);
        const object = things.object('a', { ...fields, metadata: { known: 'no' } });
        for (const fieldValidation of ['Strict', 'Ignore', 'Other'])
          await things.create(object, { fieldValidation, dryRun: 'All' });
        await things.create(object, { fieldValidation: 'Warn' });
        await things.patch('a', 'merge', { odd: 1 }, { fieldValidation: 'Warn' });
        await things.patch('a', 'merge', { odd: 1 }, { fieldValidation: 'Ignore' });
        await things.patch('a', 'merge', { odd: 1 }, { fieldValidation: 'Other' });
        await things.patch('a', 'json', [{ op: 'add', path: '/odd', value: 1, by: 2 }]);
      }
    },
  },
  {
    name: 'a name that stands twice is refused or told',
    async run(api) {
      const [map, site] = [api.of(configMaps), api.of(sites)];
      for (const fieldValidation of ['Strict', 'Warn', 'Ignore']) {
        await map.create('{"metadata":{"name":"a"},"data":{"a":"1","a":"2","b":"\\"}"}}', {
          fieldValidation,
        });
        const head = '{"apiVersion":"e2e.capstan.dev/v1","kind":"Site","metadata":{"name":"a"}';
        await site.create(
          `${head},"spec":{"host":"ab","host":"cd", "rules": [{"name":"a", "name":"b"}]}}`,
          {
            fieldValidation,
          },
        );
      }
      await map.patch('a', 'merge', '{"data":{"x":"1","x":"2"}}');
      await map.patch('a', 'strategic', '{"data":{"x":"1","x":"3"}}');
      for (const operation of [
        '"op":"remove","op":"add","path":"/data/y","path":"/data/z","value":"1"',
        '"op":"add","path":"/odd","value":1,"value":2',
      ])
        for (const fieldValidation of ['Warn', 'Ignore'])
          await map.patch(
            'a',
            'json',
            `[{"op":"test","path":"/kind","value":"ConfigMap"},{${operation}}]`,
            {
              fieldValidation,
            },
          );
    },
  },
  {
    name: 'a field of another type is refused',
    async run(api) {
      const [map, deployment, lease] = [api.of(configMaps), api.of(deployments), api.of(leases)];
      await map.create(map.object('a', { data: { a: 1 } }));
      await map.create(map.object('a', { data: [] }));
      await map.create(map.object('a', { immutable: 'yes' }));
      await deployment.create(deployment.object('a', { spec: { replicas: 'x' } }));
      await deployment.create(deployment.object('a', { spec: { selector: [] } }));
      await deployment.create(
        deployment.object('a', { spec: { template: { spec: { containers: [{ image: 1 }] } } } }),
      );
      await deployment.create(
        deployment.object('a', { spec: { template: { spec: { containers: {} } } } }),
      );
      await lease.create(lease.object('a', { spec: { leaseDurationSeconds: 1.5 } }));
      await lease.create(lease.object('a', { spec: 'text' }));
    },
  },
];
