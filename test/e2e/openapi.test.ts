// kubectl explain, apply and diff read the server's OpenAPI. The embedded server must serve the
// same documents as a real one: those of built-in kinds byte for byte, and for custom kinds those
// of their definition, in both versions of OpenAPI.
import type { Transport } from 'capstan/cache';
import { kubeConfigTransport } from 'capstan/client-node';
import { ApiServer } from 'capstan/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../helpers/control-plane/conditions.ts';
import { ControlPlane } from '../helpers/control-plane/control-plane.ts';
import { readKubeConfig } from './same-answers/servers.ts';

interface Got {
  status: number;
  headers: Record<string, string | null>;
  text: string;
}

type Document = Record<string, Record<string, unknown>>;

const HEADERS = ['content-type', 'etag', 'cache-control', 'vary', 'location'];

async function get(
  transport: Transport,
  path: string,
  query: Record<string, string> = {},
  headers: Record<string, string> = {},
): Promise<Got> {
  const answer = await transport.request({ method: 'GET', path, query, headers });
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer.body) chunks.push(chunk);
  return {
    status: answer.status,
    headers: Object.fromEntries(HEADERS.map((name) => [name, answer.headers.get(name)])),
    text: Buffer.concat(chunks).toString('utf8'),
  };
}

const document = async (transport: Transport, path: string): Promise<Document> =>
  JSON.parse((await get(transport, path)).text) as Document;

const type = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });

const OPEN = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

/** Everything that OpenAPI v2 and v3 write differently. */
const FIELDS = {
  replicas: { type: 'integer', format: 'int32', minimum: 1, default: 1, description: 'How many.' },
  any: OPEN,
  nullable: { type: 'string', nullable: true, enum: ['a', 'b'] },
  nullableObject: type({ a: { type: 'string' } }, { nullable: true }),
  port: { 'x-kubernetes-int-or-string': true },
  ports: {
    type: 'array',
    items: { anyOf: [{ type: 'integer' }, { type: 'string' }], 'x-kubernetes-int-or-string': true },
  },
  list: {
    type: 'array',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['name'],
    items: type({ name: { type: 'string' } }, { required: ['name'] }),
  },
  open: { type: 'array', 'x-kubernetes-preserve-unknown-fields': true, items: OPEN },
  embedded: { ...OPEN, 'x-kubernetes-embedded-resource': true },
  closed: type({ spec: type({}) }, { 'x-kubernetes-embedded-resource': true }),
  texts: { type: 'object', additionalProperties: { type: 'string', nullable: true } },
  atomic: type({ a: { type: 'string' } }, { 'x-kubernetes-map-type': 'atomic' }),
};

const spec = type(FIELDS, {
  required: ['replicas', 'nullable'],
  oneOf: [{ required: ['any'] }, { required: ['port'] }],
  'x-kubernetes-validations': [{ rule: 'self.replicas < 10', message: 'few' }],
});

function definition(plural: string, kind: string, version: object, spec: object = {}): object {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.some-thing.example.com` },
    spec: {
      group: 'some-thing.example.com',
      scope: 'Namespaced',
      names: { plural, kind },
      versions: [{ name: 'v1beta1', served: true, storage: true, ...version }],
      ...spec,
    },
  };
}

const schema = (openAPIV3Schema: object) => ({ schema: { openAPIV3Schema } });
const scale = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' };

const DEFINITIONS = [
  definition('gadgets', 'Gadget', {
    ...schema(type({ spec, status: type({ replicas: { type: 'integer' } }) })),
    subresources: { status: {}, scale },
    selectableFields: [{ jsonPath: '.spec.replicas' }],
  }),
  definition(
    'gizmos',
    'Gizmo',
    { ...schema(type({ spec }, { description: 'A gizmo.' })), subresources: { status: {} } },
    { scope: 'Cluster', names: { plural: 'gizmos', kind: 'Gizmo', listKind: 'Gizmoes' } },
  ),
  definition('blobs', 'Blob', schema(OPEN)),
];

const CUSTOM = '/openapi/v3/apis/some-thing.example.com/v1beta1';

let plane: ControlPlane;
let server: ApiServer;
let real: Transport;
let embedded: Transport;

beforeAll(async () => {
  plane = await ControlPlane.start();
  server = await ApiServer.start();
  real = kubeConfigTransport(await readKubeConfig(plane));
  embedded = server.transport();
});

afterAll(async () => {
  await real?.close?.();
  await embedded?.close?.();
  await server?.stop();
  await plane?.stop();
});

/** The OpenID discovery documents, which the embedded server does not have. */
const isLeftOut = (path: string): boolean => path.startsWith('.well') || path.startsWith('openid');

it('the index names the documents of a real server with the same hashes', async () => {
  const wanted = (await document(real, '/openapi/v3')).paths!;
  const got = (await document(embedded, '/openapi/v3')).paths;
  const served = Object.entries(wanted).filter(([path]) => !isLeftOut(path));
  expect(got).toEqual(Object.fromEntries(served));
});

it('a document comes with the headers of a real server', async () => {
  const path = '/openapi/v3/apis/apps/v1';
  const etag = (await get(real, path)).headers.etag ?? '';
  const asked: [string, Record<string, string>?, Record<string, string>?][] = [
    [path],
    [path, { hash: etag.replaceAll('"', '') }],
    [path, { hash: 'of-yesterday' }],
    [path, {}, { accept: 'application/json' }],
    [path, {}, { accept: 'text/plain' }],
    [path, {}, { 'if-none-match': etag }],
    ['/openapi/v3'],
    ['/openapi/v3/'],
    ['/openapi/v3/apis/none/v1'],
    ['/openapi'],
    ['/openapi/v4'],
    ['/openapi/v2', {}, { accept: 'text/plain' }],
  ];
  for (const [path, query, headers] of asked) {
    const [wanted, got] = [
      await get(real, path, query, headers),
      await get(embedded, path, query, headers),
    ];
    const heads = ({ status, headers }: Got) => ({ path, query, status, headers });
    expect(heads(got)).toEqual(heads(wanted));
    if (path !== '/openapi/v3') expect(got.text).toBe(wanted.text);
  }
});

it('custom kinds are described as by a real server, in both versions', async () => {
  for (const body of DEFINITIONS) {
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    for (const transport of [real, embedded]) {
      const answer = await transport.request({
        method: 'POST',
        path,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      for await (const _ of answer.body);
      expect(answer.status).toBe(201);
    }
  }
  await eventually('the real server describes all kinds', async () => {
    const { text } = await get(real, CUSTOM);
    const v2 = (await get(real, '/openapi/v2')).text;
    const all = ['Gadget', 'Gizmo', 'Blob'].every(
      (kind) => text.includes(`.${kind}"`) && v2.includes(`.${kind}"`),
    );
    return all || 'not yet';
  });
  const wanted = await document(real, CUSTOM);
  const got = await document(embedded, CUSTOM);
  expect(Object.keys(got.paths!).sort()).toEqual(Object.keys(wanted.paths!).sort());
  expect(got).toEqual(wanted);
  const wantedV2 = await document(real, '/openapi/v2');
  const gotV2 = await document(embedded, '/openapi/v2');
  for (const path of Object.keys(wantedV2.paths!))
    if (isLeftOut(path.slice(1))) delete wantedV2.paths![path];
  expect(gotV2).toEqual(wantedV2);
});
