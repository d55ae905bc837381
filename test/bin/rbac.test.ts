/**
 * `capstan rbac`: the Roles for a record or an audit log, and how existing Roles differ from them.
 */
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { capstan } from '../helpers/command-line.ts';

const place = realpathSync(mkdtempSync(join(tmpdir(), 'capstan-rbac-')));
afterAll(() => rmSync(place, { recursive: true, force: true }));
let files = 0;
function write(text: string, end = 'jsonl'): string {
  const path = join(place, `${files++}.${end}`);
  writeFileSync(path, text);
  return path;
}

type Entry = Record<string, unknown>;
const entry = (verb: string, resource: string, more: Entry = {}): Entry => {
  const [group = '', plural = '', subresource] =
    resource.split(/[.:]/).length > 1
      ? [resource.split(':')[0], ...(resource.split(':')[1] ?? '').split('/')]
      : ['', ...resource.split('/')];
  return {
    verb,
    group,
    resource: plural,
    ...(subresource === undefined ? {} : { subresource }),
    names: ['*'],
    count: 1,
    refused: 0,
    by: { 'reconcile (file:///app/main.ts:12)': 1 },
    ...more,
  };
};
const record = (...entries: Entry[]): string =>
  write(entries.map((each) => `${JSON.stringify(each)}\n`).join(''));
const INFORMER = { by: { informer: 1 } };
const ELECTION = { namespace: 'web', by: { 'leader election': 1 } };

/** The requests of a controller of Websites in a test. */
const WEBSITE = [
  entry('get', '', { path: '/apis/example.com/v1', resource: undefined }),
  entry('list', 'example.com:websites', INFORMER),
  entry('watch', 'example.com:websites', INFORMER),
  entry('patch', 'example.com:websites/status', { namespace: 'default', names: ['a'], count: 3 }),
  entry('create', 'apps:deployments', { namespace: 'default', kind: 'Deployment', refused: 1 }),
  entry('update', 'example.com:', {
    ...{ resource: undefined, kind: 'Website', subresource: 'finalizers', namespace: 'default' },
    names: ['a'],
  }),
  entry('create', 'coordination.k8s.io:leases', ELECTION),
  entry('get', 'coordination.k8s.io:leases', { ...ELECTION, names: ['web'] }),
  entry('create', 'events.k8s.io:events', {
    namespace: 'default',
    by: { 'event recorder': 1 },
  }),
];

const PRINTED = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: web
rules:
  # create: reconcile (file:///app/main.ts:12), 1 request, 1 refused, in default so far
  - apiGroups: [apps]
    resources: [deployments]
    verbs: [create]
  # create: event recorder, 1 request, in default so far
  # patch: event recorder needs it too
  - apiGroups: [events.k8s.io]
    resources: [events]
    verbs: [create, patch]
  # list, watch: informer, 1 request
  - apiGroups: [example.com]
    resources: [websites]
    verbs: [list, watch]
  # update: blockOwnerDeletion of reconcile (file:///app/main.ts:12), 1 request, in default so far
  - apiGroups: [example.com]
    resources: [websites/finalizers]
    verbs: [update]
  # patch: reconcile (file:///app/main.ts:12), 3 requests, in default so far
  - apiGroups: [example.com]
    resources: [websites/status]
    verbs: [patch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: web
  namespace: web
rules:
  # create: leader election, 1 request
  - apiGroups: [coordination.k8s.io]
    resources: [leases]
    verbs: [create]
  # get: leader election, 1 request
  # update: leader election needs it too
  - apiGroups: [coordination.k8s.io]
    resources: [leases]
    resourceNames: [web]
    verbs: [get, update]
`;

async function printed(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await capstan('rbac', ...args);
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
}

/** The differences, as lines. */
async function checked(file: string, role: string, ...args: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await capstan('rbac', file, '--check', role, ...args);
  expect(stderr).toBe('');
  const lines = stdout.trim().split('\n');
  expect(code).toBe(stdout === 'equal\n' ? 0 : 2);
  return lines;
}

const role = (rules: string, kind = 'ClusterRole', namespace?: string): string =>
  write(
    `kind: ${kind}\nmetadata: ${JSON.stringify({ name: 'web', namespace })}\nrules:\n${rules}`,
    'yaml',
  );

describe('prints', () => {
  test('the least Roles with their reasons, which are equal to themselves', async () => {
    const file = record(...WEBSITE);
    const roles = await printed(file, '--name', 'web');
    expect(roles).toBe(PRINTED);
    expect(await checked(file, write(roles, 'yaml'))).toEqual(['equal']);
  });

  test('exactly the recorded names and namespaces, with --exact', async () => {
    const file = record(...WEBSITE);
    const roles = await printed(file, '--exact');
    const documents = parseAllDocuments(roles).map((each) => each.toJS());
    expect(documents.map(({ kind, metadata }) => `${kind} ${metadata.namespace}`)).toEqual([
      'ClusterRole undefined',
      'Role default',
      'Role web',
    ]);
    expect(documents[1].rules).toContainEqual({
      apiGroups: ['example.com'],
      resources: ['websites/status'],
      resourceNames: ['a'],
      verbs: ['patch'],
    });
    expect(await checked(file, write(roles, 'yaml'), '--exact')).toEqual(['equal']);
  });

  test('a Role for requests in one namespace alone, beside the ClusterRole', async () => {
    const config = entry('get', 'secrets', { namespace: 'web', names: ['tls'] });
    const documents = parseAllDocuments(await printed(record(...WEBSITE, config)));
    const [all, own] = documents.map((each) => JSON.stringify(each.toJS()));
    expect(all).not.toContain('secrets');
    expect(own).toContain('secrets');
    const reads = [entry('list', 'example.com:websites', INFORMER), config];
    expect(parse(await printed(record(...reads))).kind).toBe('ClusterRole');
  });

  test('a Role for each namespace if no request is for all namespaces', async () => {
    const file = record(
      entry('get', 'secrets', { namespace: 'a', names: ['x'] }),
      entry('list', 'nodes', INFORMER),
      entry('get', 'namespaces', { namespace: 'b', names: ['b'] }),
      entry('get', 'example.com:flags', { names: ['f'] }),
      entry('list', 'example.com:flags', INFORMER),
    );
    const documents = parseAllDocuments(await printed(file)).map((each) => each.toJS());
    expect(documents.map(({ metadata }) => metadata.namespace)).toEqual([undefined, 'a']);
    expect(documents[0].rules.map((rule: { resources: string[] }) => rule.resources[0])).toEqual([
      'namespaces',
      'nodes',
      'flags',
    ]);
  });

  test('bindings to an account, in the namespaces where it will run', async () => {
    const roles = await printed(
      record(...WEBSITE),
      ...['--namespace', 'web=prod', '--service-account', 'prod/web', '--name', 'web'],
    );
    const documents = parseAllDocuments(roles).map((each) => each.toJS());
    expect(documents.map(({ kind, metadata }) => `${kind} ${metadata.namespace}`)).toEqual([
      'ClusterRole undefined',
      'ClusterRoleBinding undefined',
      'Role prod',
      'RoleBinding prod',
    ]);
    expect(documents[3]).toMatchObject({
      roleRef: { kind: 'Role', name: 'web' },
      subjects: [{ kind: 'ServiceAccount', name: 'web', namespace: 'prod' }],
    });
  });

  test('one ClusterRole, with --all-namespaces', async () => {
    const file = record(
      entry('get', 'secrets', { namespace: 'a', names: ['x'] }),
      entry('get', 'secrets', { namespace: 'b', names: ['y'] }),
      ...WEBSITE,
    );
    const roles = await printed(file, '--all-namespaces');
    const documents = parseAllDocuments(roles).map((each) => each.toJS());
    expect(documents.map(({ kind }) => kind)).toEqual(['ClusterRole']);
    expect(roles).toContain('2 requests, in a, b so far');
    expect(await checked(file, write(roles, 'yaml'), '--all-namespaces')).toEqual(['equal']);
    const { code, stderr } = await capstan('rbac', file, '--all-namespaces', '--exact');
    expect([code, stderr]).toEqual([1, expect.stringContaining('--exact or --all-namespaces')]);
  });

  // The API server refused the approval: its admission plugin checks a permission that is in no
  // request.
  test('the permission that an approval of certificates also needs', async () => {
    const requests = 'certificates.k8s.io:certificatesigningrequests';
    const file = record(
      entry('update', `${requests}/approval`),
      entry('patch', `${requests}/status`),
    );
    const roles = await printed(file);
    expect(parse(roles).rules).toContainEqual({
      apiGroups: ['certificates.k8s.io'],
      resources: ['signers'],
      verbs: ['approve', 'sign'],
    });
    expect(await checked(file, write(roles, 'yaml'))).toEqual(['equal']);
  });

  // The API server refused writes of Leases whose names were not in the record of the first run.
  test('Leases of any name where the program lists them, not those of elections', async () => {
    const leases = 'coordination.k8s.io:leases';
    const [own, all] = [{ namespace: 'default' }, { namespace: 'web' }];
    const names = async (...entries: Entry[]): Promise<(string[] | undefined)[]> => {
      const patch = entry('patch', leases, { ...own, names: ['a', 'b'] });
      const election = entry('get', leases, { ...ELECTION, names: ['web'] });
      const file = record(patch, election, ...entries);
      const roles = await printed(file);
      expect(await checked(file, write(roles, 'yaml'))).toEqual(['equal']);
      const rules = parseAllDocuments(roles).flatMap((each) => each.toJS().rules);
      return ['patch', 'get'].map((verb) => rules.find(by(verb)).resourceNames);
    };
    const by = (verb: string) => (rule: { verbs: string[] }) => rule.verbs.includes(verb);
    expect(await names()).toEqual([['a', 'b'], ['web']]);
    expect(await names(entry('list', leases, own))).toEqual([undefined, ['web']]);
    expect(await names(entry('watch', leases, INFORMER))).toEqual([undefined, ['web']]);
    expect(await names(entry('list', leases, all))).toEqual([['a', 'b'], ['web']]);
    expect(await names(entry('watch', leases, { ...own, names: ['a'] }))).toEqual([
      ['a', 'b'],
      ['web'],
    ]);
  });

  test('no permission that every user has, unless --all asks for it', async () => {
    const review = entry('create', 'authorization.k8s.io:selfsubjectaccessreviews');
    const file = record(
      ...WEBSITE,
      review,
      entry('get', '', { path: '/metrics', resource: undefined }),
    );
    const roles = await printed(file);
    expect(roles).toContain('nonResourceURLs: ["/metrics"]');
    expect(roles).not.toContain('selfsubject');
    const all = await printed(file, '--all');
    expect(all).toContain('nonResourceURLs: ["/apis/example.com/v1"]');
    expect(all).toContain('selfsubjectaccessreviews');
    expect(await checked(file, write(roles, 'yaml'))).toEqual(['equal']);
  });

  test('the requests of several records; of each run the last line counts', async () => {
    const [one, two] = [{ run: '1' }, { run: '2' }];
    const get = (count: number, run: object): Entry =>
      entry('get', 'pods', { namespace: 'a', ...run, count, by: { x: count } });
    const file = record(get(1, one), get(5, one), get(1, two));
    expect(await printed(file, record(get(2, {})))).toContain('# get: x, 8 requests');
  });

  test('no requests of the code that --ignore names', async () => {
    const by = { 'test (file:///app/test/a.ts:1)': 2, 'reconcile (file:///app/main.ts:1)': 3 };
    const file = record(
      entry('get', 'pods', { namespace: 'a', count: 5, by }),
      entry('delete', 'pods', { namespace: 'a', by: { 'file:///app/test/a.ts:9': 1 } }),
    );
    const roles = await printed(file, '--ignore', '/test/');
    expect(parse(roles).rules).toEqual([{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }]);
    expect(roles).toContain('# get: reconcile (file:///app/main.ts:1), 3 requests');
  });

  test('the Roles for a record at an address', async () => {
    const text = WEBSITE.map((each) => `${JSON.stringify(each)}\n`).join('');
    const server = createServer((_, response) => response.end(text)).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    expect(await printed(`http://127.0.0.1:${port}/debug/capstan/access`, '--name', 'web')).toBe(
      PRINTED,
    );
  });
});

test('an audit log is read as a record of the requests of a user', async () => {
  const event = (verb: string, user: string, more: object, id = `${files++}`): string =>
    `${JSON.stringify({
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      auditID: id,
      stage: 'ResponseComplete',
      requestURI: '/apis/apps/v1/namespaces/a/deployments?watch=true',
      verb,
      user: { username: user },
      userAgent: 'web/v1 (linux)',
      ...more,
    })}\n`;
  const deployments = { apiGroup: 'apps', resource: 'deployments', namespace: 'a' };
  const owner = {
    apiVersion: 'example.com/v1',
    kind: 'Policy',
    name: 'p',
    blockOwnerDeletion: true,
  };
  const text = [
    event('watch', 'web', { objectRef: deployments }, 'w'),
    event('watch', 'web', { objectRef: deployments, stage: 'ResponseStarted' }, 'w'),
    event('get', 'other', { objectRef: { resource: 'secrets', namespace: 'a', name: 's' } }),
    event('create', 'admin', {
      impersonatedUser: { username: 'web' },
      objectRef: { ...deployments, name: 'd' },
      requestObject: { kind: 'Deployment', metadata: { ownerReferences: [owner] } },
      responseStatus: { code: 403 },
    }),
    event('get', 'web', { requestURI: '/metrics?x=1' }),
    // This apply created its object.
    event('patch', 'web', {
      objectRef: { resource: 'configmaps', namespace: 'a', name: 'm' },
      responseStatus: { code: 201 },
    }),
  ].join('');
  const roles = await printed(write(text), '--user', 'web');
  expect(parseAllDocuments(roles).map((each) => each.toJS().rules)).toEqual([
    [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }],
    [
      { apiGroups: [''], resources: ['configmaps'], verbs: ['create', 'patch'] },
      { apiGroups: ['apps'], resources: ['deployments'], verbs: ['watch', 'create'] },
      { apiGroups: ['example.com'], resources: ['policies/finalizers'], verbs: ['update'] },
    ],
  ]);
  expect(roles).toContain('# watch: web by web/v1, 1 request\n');
  expect(roles).toContain('# create: web by web/v1, 1 request, 1 refused\n');
});

describe('checks', () => {
  const file = record(...WEBSITE);

  test('a missing rule, with the code that sent the requests and their number', async () => {
    const smaller = write(PRINTED.replace('    verbs: [list, watch]', '    verbs: [list]'), 'yaml');
    const said = 'too small: watch of websites (example.com) is missing: informer, 1 request';
    expect(await checked(file, smaller)).toEqual([said]);
    expect(await checked(file, smaller, '--allow-wider')).toEqual([said]);
    const { stdout } = await capstan('rbac', file, '--check', smaller, '--json');
    expect(JSON.parse(stdout)).toEqual([{ kind: 'too small', message: said.slice(11) }]);
  });

  test.each<[string, string, string, string[]]>([
    [
      'a verb',
      'verbs: [list, watch]',
      'verbs: [list, watch, delete]',
      ['wider: ClusterRole web: delete of websites (example.com) was never used'],
    ],
    [
      'a misspelt verb',
      'verbs: [list, watch]',
      'verbs: [list, wacth]',
      [
        'too small: watch of websites (example.com) is missing: informer, 1 request',
        'wider: ClusterRole web: wacth of websites (example.com) was never used: did ' +
          'you mean watch?',
      ],
    ],
    [
      'a misspelt resource',
      'resources: [deployments]',
      'resources: [deployment]',
      [
        'too small: create of deployments (apps) is missing: reconcile ' +
          '(file:///app/main.ts:12), 1 request, 1 refused, in default so far; did you mean ' +
          'deployments where there is deployment?',
        'wider: ClusterRole web: deployment (apps) was never used: did you mean deployments?',
      ],
    ],
    [
      'another group',
      'apiGroups: [apps]',
      'apiGroups: [""]',
      [
        'too small: create of deployments (apps) is missing: reconcile ' +
          '(file:///app/main.ts:12), 1 request, 1 refused, in default so far; ClusterRole ' +
          'web has deployments of the group ""',
        'wider: ClusterRole web: deployments was never used: did you mean the group "apps"?',
      ],
    ],
    [
      'every verb',
      'verbs: [list, watch]',
      'verbs: ["*"]',
      [
        'wider: ClusterRole web: * allows every verb of websites (example.com), ' +
          'used: list websites, watch websites',
      ],
    ],
    [
      'every resource',
      'resources: [deployments]',
      'resources: ["*"]',
      ['wider: ClusterRole web: * (apps) allows more than was used: create deployments'],
    ],
    [
      'every group',
      'apiGroups: [apps]',
      'apiGroups: ["*"]',
      [
        'wider: ClusterRole web: deployments (*) allows more than was used: create ' +
          'deployments',
      ],
    ],
    [
      'a subresource of all',
      'resources: [websites/status]',
      'resources: ["*/status"]',
      [
        'wider: ClusterRole web: */status (example.com) allows more than was used: ' +
          'patch websites/status',
      ],
    ],
    [
      'any name',
      '    resourceNames: [web]\n',
      '',
      [
        'wider: Role web: get of leases (coordination.k8s.io) of any name, used: web',
        'wider: Role web: update of leases (coordination.k8s.io) of any name, used: web',
      ],
    ],
    [
      'another name',
      'resourceNames: [web]',
      'resourceNames: [web, other]',
      [
        'wider: Role web: get of leases (coordination.k8s.io) named other was never used',
        'wider: Role web: update of leases (coordination.k8s.io) named other was never used',
      ],
    ],
    [
      'another namespace',
      'namespace: web',
      'namespace: wob',
      [
        'too small: create of leases (coordination.k8s.io) in the namespace web is ' +
          'missing: leader election, 1 request',
        'too small: get of leases (coordination.k8s.io) named web in the namespace web ' +
          'is missing: leader election, 1 request',
        'too small: update of leases (coordination.k8s.io) named web in the namespace ' +
          'web is missing: leader election needs it too',
        'wider: Role web: create of leases (coordination.k8s.io) was only used in other ' +
          'namespaces: web',
        'wider: Role web: get of leases (coordination.k8s.io) was only used in other ' +
          'namespaces: web',
        'wider: Role web: update of leases (coordination.k8s.io) was only used in other ' +
          'namespaces: web',
      ],
    ],
    [
      'all namespaces',
      'kind: Role\n',
      'kind: ClusterRole\n',
      [
        'wider: ClusterRole web: create of leases (coordination.k8s.io) in all ' +
          'namespaces, used in: web',
        'wider: ClusterRole web: get of leases (coordination.k8s.io) in all namespaces, ' +
          'used in: web',
        'wider: ClusterRole web: update of leases (coordination.k8s.io) in all ' +
          'namespaces, used in: web',
      ],
    ],
  ])('%s', async (_, from, to, expected) => {
    expect(PRINTED).toContain(from);
    const changed = write(PRINTED.replace(from, to), 'yaml');
    expect(await checked(file, changed)).toEqual(expected);
    if (!expected.some((line) => line.startsWith('too small')))
      expect(await checked(file, changed, '--allow-wider')).toEqual(['equal']);
  });

  test('rules with wildcards cover all that they match', async () => {
    const any = role('- {apiGroups: ["*"], resources: ["*"], verbs: ["*"]}\n');
    expect(await checked(file, any, '--allow-wider')).toEqual(['equal']);
    const urls = record(entry('get', '', { path: '/metrics/slis', resource: undefined }));
    const below = role('- {nonResourceURLs: ["/metrics/*"], verbs: [get]}\n');
    expect(await checked(urls, below, '--allow-wider')).toEqual(['equal']);
    expect(await checked(urls, below)).toEqual([
      'wider: ClusterRole web: get of /metrics/* allows more than was used: get /metrics/slis',
    ]);
    expect(await checked(urls, role('- {nonResourceURLs: [/healthz], verbs: [get]}\n'))).toEqual([
      'too small: get of /metrics/slis is missing: reconcile (file:///app/main.ts:12), 1 request',
      'wider: ClusterRole web: get of /healthz was never used',
    ]);
  });

  test('a ClusterRole that is bound in a namespace counts there', async () => {
    const pods = record(entry('get', 'pods', { namespace: 'a' }));
    const text = (namespace: string): string => `kind: List
items:
- kind: ClusterRole
  metadata: {name: web}
  rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
- kind: RoleBinding
  metadata: {name: web, namespace: ${namespace}}
  roleRef: {kind: ClusterRole, name: web}
`;
    expect(await checked(pods, write(text('a'), 'yaml'))).toEqual(['equal']);
    expect(await checked(pods, write(text('b'), 'yaml'))).toHaveLength(2);
    expect(
      await checked(pods, role('- {apiGroups: [""], resources: [pods], verbs: [get]}\n', 'Role')),
    ).toEqual(['equal']);
  });

  test('two files together', async () => {
    const [one = '', two = ''] = PRINTED.split('---\n');
    const both = ['--check', write(two, 'yaml')];
    expect(await checked(file, write(one, 'yaml'), ...both)).toEqual(['equal']);
  });
});

test.each([
  [[], 'rbac expected a record of requests'],
  [['/nowhere.jsonl'], '/nowhere.jsonl could not be read'],
  [[write('kind: Role\n')], 'expected a line of a record of requests'],
  [[write('{"verb":"get"}\n')], 'line 1 of'],
  [[record(entry('get', '', { path: '/version', resource: undefined }))], 'got none'],
  [[record(...WEBSITE), '--service-account', 'web'], '<namespace>/<name>, got web'],
  [[record(...WEBSITE), '--namespace', 'a'], '<from>=<to>, got a'],
  [[record(...WEBSITE), '--name', 'A b'], 'a name for Roles, got A b'],
  [[record(...WEBSITE), '--check', write('kind: Pod\n', 'yaml')], 'a ClusterRole, got Pod'],
  [[record(...WEBSITE), '--check', role('- {verbs: get}\n')], 'verbs of ClusterRole web'],
  [[record(...WEBSITE), '--checks', 'x'], 'did you mean "--check"?'],
])('refuses %j', async (args, message) => {
  const { code, stdout, stderr } = await capstan('rbac', ...args);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain(message);
});
