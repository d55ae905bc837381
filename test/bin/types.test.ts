/**
 * `capstan types`: what it writes for small definitions in the style of the most used operators
 * compiles under the strictest options, does not depend on where definitions come from or how they
 * are ordered, and accepts the objects that the API server does.
 */
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CustomResourceDefinition, crdResource, newClient } from 'capstan/client';
import { ApiServer } from 'capstan/testing';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { parseAllDocuments, type parseDocument } from 'yaml';
import { definitionsOf } from '../../bin/definition-files.ts';
import { compareVersions, typesOf } from '../../bin/types.ts';
import { capstan } from '../helpers/command-line.ts';
import { FILES, foxes, textOfFile, writeKubeconfig } from '../helpers/definition-sources.ts';
import { Random, testSeed } from '../helpers/random.ts';
import { root } from '../helpers/repository.ts';
import { typeErrors } from '../helpers/type-errors.ts';
import { schemaFeatures } from './schema-features.ts';

const place = realpathSync(mkdtempSync(join(tmpdir(), 'capstan-types-')));
afterAll(() => rmSync(place, { recursive: true, force: true }));
const at = (name: string): string => join(place, name);
const ALL = { groups: [], kinds: [] };

/** The text for a schema of a spec, from the spec's interface on. */
const specText = (spec: Parameters<typeof foxes>[0]): string => {
  const text = typesOf([foxes(spec)], ALL);
  const from = text.indexOf('export interface FoxSpec');
  return text.slice(from, text.indexOf('/** The resource of')).trim();
};

/** Its members in another order. Lists keep theirs. */
function shuffled(value: unknown, random: Random): unknown {
  if (Array.isArray(value)) return value.map((item) => shuffled(item, random));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, of]) => ({ key, of, at: random.next() }));
  entries.sort((a, b) => a.at - b.at);
  return Object.fromEntries(entries.map(({ key, of }) => [key, shuffled(of, random)]));
}

describe('types of the definitions of well-known operators', () => {
  it('are tried with all features of schemas that those have', async () => {
    const definitions = await definitionsOf(FILES);
    expect(definitions.length).toBeGreaterThanOrEqual(30);
    const features = textOfFile(`${root}/test/bin/definitions/features.txt`)
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    const tried = schemaFeatures(definitions);
    expect(features.length).toBeGreaterThan(100);
    expect(features.filter((feature) => !tried.includes(feature))).toEqual([]);
    const groups = new Set(definitions.map(({ spec }) => spec.group));
    for (const group of [
      'argoproj.io',
      'cert-manager.io',
      'cluster.x-k8s.io',
      'apiextensions.crossplane.io',
      'gateway.networking.k8s.io',
      'networking.istio.io',
      'monitoring.coreos.com',
    ])
      expect(groups).toContain(group);
  });

  it('compile under the strictest options, and are what the schemas say', async () => {
    const { stdout, stderr } = await capstan('types', ...FILES);
    expect(stderr).toBe('');
    const resources = [...stdout.matchAll(/^export const (\w+): Resource/gm)];
    expect(resources.length).toBeGreaterThanOrEqual(30);
    const right = `${stdout}\n${PROGRAM}`;
    const errors = typeErrors('types', `${right}${WRONG.join('\n')}\n`, {
      noUnusedLocals: true,
      noPropertyAccessFromIndexSignature: true,
      verbatimModuleSyntax: true,
      isolatedDeclarations: true,
      declaration: true,
      erasableSyntaxOnly: true,
    });
    const first = right.split('\n').length;
    const found = [...errors.matchAll(/^build\S*\((\d+),\d+\): error/gm)];
    expect(
      found.map(([, line]) => Number(line) - first),
      errors,
    ).toEqual(WRONG.map((_, index) => index));
  }, 60_000);

  it('depend neither on the order of files nor on the order of members', async () => {
    const seed = testSeed();
    const random = new Random(seed);
    const definitions = await definitionsOf(FILES);
    const text = typesOf(definitions, ALL);
    for (let round = 0; round < 20; round++) {
      const others = definitions
        .map((crd) => ({
          crd: shuffled(crd, random) as CustomResourceDefinition,
          at: random.next(),
        }))
        .sort((a, b) => a.at - b.at);
      expect(
        typesOf(
          others.map(({ crd }) => crd),
          ALL,
        ),
        `CAPSTAN_SEED=${seed}`,
      ).toBe(text);
    }
  });

  it('are the same from a cluster, which takes each of the definitions', async () => {
    const server = await ApiServer.start();
    onTestFinished(() => server.stop());
    await using transport = server.transport();
    const client = newClient({ transport });
    for (const crd of await definitionsOf(FILES)) await client.create(crdResource, crd);
    const kubeconfig = writeKubeconfig(place, server.url);
    const fromFiles = await capstan('types', ...FILES);
    expect(await capstan('types', '--kubeconfig', kubeconfig)).toEqual(fromFiles);
    const some = ['--kind', 'Backup', '--kind', 'Task', '--group', 'velero.io'];
    const { stdout } = await capstan('types', '--kubeconfig', kubeconfig, ...some);
    expect(stdout).toContain('export const Backup:');
    expect(stdout).not.toContain('Task');
    expect(await capstan('types', '--kubeconfig', kubeconfig, '--context', 'no')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('there is no context "no" in the kubeconfig'),
    });
  });

  it('are the same from an address, and an error of it is told', async () => {
    const server = createServer(({ url = '' }, response) => {
      response.statusCode = url.includes('cert-manager') ? 200 : 404;
      response.end(textOfFile(FILES[1] as string));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/cert-manager.yaml`;
    expect(await capstan('types', url)).toEqual(await capstan('types', FILES[1] as string));
    expect(await capstan('types', `http://127.0.0.1:${port}/no.yaml`)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('/no.yaml could not be read: status 404'),
    });
  });

  it('are the same from JSON, from a list, and from a module', async () => {
    const path = FILES[1] as string;
    const documents = parseAllDocuments(readFileSync(path, 'utf8'), { merge: true });
    const items = (documents as ReturnType<typeof parseDocument>[]).map((one) => one.toJS());
    const expected = await capstan('types', path);
    const list = { apiVersion: 'v1', kind: 'List', items };
    // as an API server answers: its items have no kind of their own
    const typed = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinitionList',
      items: items.map(({ apiVersion: _, kind: __, ...item }) => item),
    };
    writeFileSync(at('list.json'), JSON.stringify(list));
    writeFileSync(at('typed.json'), JSON.stringify(typed));
    writeFileSync(at('all.mjs'), `export const [a, b, c] = ${JSON.stringify(items)};`);
    for (const name of ['list.json', 'typed.json', 'all.mjs'])
      expect(await capstan('types', at(name)), name).toEqual(expected);
    // the same definition twice is one
    expect(await capstan('types', at('list.json'), at('typed.json'))).toMatchObject({ code: 0 });
  });
});

/** Uses the types. */
const PROGRAM = `
const backup: Backup = {
  metadata: { name: 'a' },
  spec: { includedNamespaces: null, snapshotVolumes: null },
};
backup.spec = undefined;
backup.spec = { orLabelSelectors: [null, { matchLabels: { a: 'b' } }] };
export const issuer: Certificate = {
  metadata: {},
  spec: { secretName: 's', issuerRef: { name: 'i' }, usages: ['signing'], privateKey: undefined },
};
export const cluster: ClusterCluster = {
  metadata: {},
  spec: { topology: { version: 'v1', variables: [{ name: 'a', value: { any: 1 } }] } },
};
type Surge = MachineDeploymentSpecRolloutStrategyRollingUpdate;
export const surge: Surge[] = [{ maxSurge: 1 }, { maxSurge: '10%' }];
export const step: CompositionSpecPipelineItemInput = {
  apiVersion: 'v1',
  kind: 'Input',
  metadata: { name: 'a' },
  more: [1],
};
export const odd: OdditiesResourceSpec = {
  class: 'a',
  level: 3,
  'no-identifier': {},
  maybe: null,
  any: [],
  $$: { '*': 1 },
};
export const open: Task = { metadata: {}, spec: { steps: [] } };
export const deep: boolean | undefined = odd.nested?.['a']?.['b']?.[0]?.['c']?.deep;
const gateways = [GatewayGateway, GatewayV1beta1Gateway, NetworkingGateway];
export const all: number = [...gateways, V1alpha3VirtualService].length;
`;

/** What must not compile, line by line. */
const WRONG = [
  // issuerRef is required
  "export const noIssuer: CertificateSpec = { secretName: 's' };",
  // a value that the enum does not have
  "export const usage: CertificateSpecUsagesItem = 'sign';",
  // an index of a record may be undefined
  "export const label: string = (backup.metadata.labels ?? {})['a'];",
  // neither a number nor a string
  'export const noSurge: MachineDeploymentSpecRolloutStrategyRollingUpdate = { maxSurge: true };',
  // an embedded object has a kind
  "export const noStep: CompositionSpecPipelineItemInput = { apiVersion: 'v1' };",
  // 4 is no level
  "export const noLevel: OdditiesResourceSpec['level'] = 4;",
  // the server prunes members of an object without any
  'export const template: IssuerSpecAcmeSolversItemHttp01Ingress = { podTemplate: { spec: 1 } };',
];

describe('types of a schema', () => {
  it('have docstrings, in which no text ends the comment or is a tag', () => {
    const description =
      'First line\nof a paragraph with words that go on and on until the line is too long for' +
      ' one.\n\n' +
      '- a list\n- of two */ items\n\n@param is no tag';
    expect(
      specText({
        type: 'object',
        properties: {
          age: { type: 'integer', description: 'In years.', default: 1 },
          den: { type: 'string', description },
          friends: {
            type: 'array',
            items: { type: 'string' },
            'x-kubernetes-list-type': 'set',
          },
        },
      }),
    ).toBe(`export interface FoxSpec {
  /**
   * In years.
   * Default: \`1\`.
   */
  age?: number | undefined;
  /**
   * First line of a paragraph with words that go on and on until the line is too long for one.
   *
   * - a list
   * - of two *\\/ items
   *
   * \\@param is no tag
   */
  den?: string | undefined;
  /** A set: no value comes twice. */
  friends?: string[] | undefined;
}`);
  });

  it.each([
    [{ type: 'string' }, 'string'],
    [{ type: 'string', nullable: true }, 'string | null'],
    [{ type: 'integer', enum: [1, 2] }, '1 | 2'],
    [{ type: 'string', enum: ["it's", '\\', '\n'] }, `'it\\'s' | '\\\\' | '\\n'`],
    [{ type: 'string', nullable: true, enum: ['a', null] }, "'a' | null"],
    [{ type: 'object', enum: [{ a: 1 }] }, '{ [name: string]: never }'],
    [{ type: 'object' }, '{ [name: string]: never }'],
    [
      { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      '{ [name: string]: unknown }',
    ],
    [{ 'x-kubernetes-preserve-unknown-fields': true, nullable: true }, 'unknown'],
    [{ 'x-kubernetes-int-or-string': true, nullable: true }, 'number | string | null'],
    [{ type: 'array', items: { type: 'string', nullable: true } }, '(string | null)[]'],
    [{ type: 'array', items: { type: 'array', items: { type: 'number' } } }, 'number[][]'],
    [{ type: 'object', additionalProperties: { type: 'boolean' } }, '{ [name: string]: boolean }'],
  ] as [Parameters<typeof foxes>[0], string][])('%j', (schema, type) => {
    const text = specText({ type: 'object', properties: { a: schema }, required: ['a'] });
    expect(text.split('\n').slice(1, -1)).toEqual([`  a: ${type};`]);
  });

  it('gives each object a name of its own', () => {
    const nested = { type: 'object', properties: { a: { type: 'string' } } } as const;
    const text = specText({
      type: 'object',
      properties: { 'a-b': nested, aB: nested, a: { type: 'object', properties: { b: nested } } },
    });
    expect([...text.matchAll(/interface (\w+)/g)].map(([, name]) => name)).toEqual([
      'FoxSpec',
      'FoxSpecA',
      'FoxSpecAB',
      'FoxSpecAB2',
      'FoxSpecAB3',
    ]);
  });

  it('writes no version that is not served, and marks a deprecated one', () => {
    const crd = foxes({ type: 'object' });
    const [v1] = crd.spec.versions as [CustomResourceDefinition['spec']['versions'][number]];
    crd.spec.versions.push(
      { ...v1, name: 'v1beta1', deprecated: true, deprecationWarning: 'use v1' },
      { ...v1, name: 'v1alpha1', served: false },
    );
    const text = typesOf([crd], ALL);
    expect(text).toContain(
      ' * Fox of acme.io/v1beta1.\n * @deprecated use v1\n */\nexport interface V1beta1Fox {',
    );
    expect(text).not.toContain('V1alpha1Fox');
  });

  it('puts the preferred version first as discovery does', () => {
    const sorted = ['v10', 'v2', 'v1', 'v11beta2', 'v10beta3', 'v3beta1', 'v12alpha1', 'v11alpha2'];
    const others = ['foo1', 'foo10'];
    expect([...others, ...sorted].reverse().sort(compareVersions)).toEqual([...sorted, ...others]);
  });
});

describe('capstan types', () => {
  it('writes the file of --out, and --check compares it', async () => {
    const out = at('types.ts');
    const args = ['types', FILES[1] as string, '--out', out];
    expect(await capstan(...args)).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(await capstan(...args, '--check')).toMatchObject({ code: 0 });
    writeFileSync(out, `${readFileSync(out, 'utf8')}// changed\n`);
    expect(await capstan(...args, '--check')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('expected the types of the definitions, and differs from'),
    });
  });

  const old = 'apiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\n';
  it.each([
    ['none.yaml', 'kind: ConfigMap\n', 'expected CustomResourceDefinitions of'],
    ['empty.yaml', '', 'expected CustomResourceDefinitions of apiextensions.k8s.io/v1, got none'],
    ['old.yaml', `${old}metadata: {name: a.b}`, 'got a.b of apiextensions.k8s.io/v1beta1'],
    ['helm.yaml', '{{- if .Values.crds }}\nkind: A\n', 'could not be read as YAML'],
    ['part.json', JSON.stringify({ ...foxes({}), spec: { group: 'a.b' } }), 'no spec.names.kind'],
    [
      'unserved.json',
      JSON.stringify(foxes({})).replace('"served":true', '"served":false'),
      'expected a definition with a served version, got foxes.acme.io',
    ],
  ])('rejects %s', async (name, text, why) => {
    writeFileSync(at(name), text);
    const { code, stdout, stderr } = await capstan('types', at(name));
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(why);
    expect(stderr).toMatch(/^capstan: .* \(INVALID_ARGUMENT\)\n$/);
  });

  it('rejects two definitions of a name that differ, and a filter that leaves none', async () => {
    writeFileSync(at('one.json'), JSON.stringify(foxes({ type: 'object' })));
    writeFileSync(at('two.json'), JSON.stringify(foxes({ type: 'string' })));
    expect((await capstan('types', at('one.json'), at('two.json'))).stderr).toContain(
      `foxes.acme.io expected one definition, got two that differ, of ${at('one.json')} and of`,
    );
    expect((await capstan('types', at('one.json'), '--kind', 'Bear')).stderr).toContain(
      'got foxes.acme.io, which --group and --kind leave out',
    );
    for (const args of [[], [at('one.json'), '--cluster']])
      expect((await capstan('types', ...args)).stderr).toContain(
        'types expected either files and addresses, or --cluster; see capstan types --help',
      );
  });
});
